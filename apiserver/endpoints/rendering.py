"""Renders answers: objects as they are, as a Table or as metadata only; one object, a list, or watch events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.endpoints.negotiation import MediaType
from apiserver.endpoints.tables import Tables
from apiserver.groups.columns import TableRow
from apiserver.registry.clock import Clock
from apiserver.registry.codec import Buffer, Codec
from apiserver.registry.storage import ListPage
from etcd.store import KeyValue

CACHED_ROWS = 30_000
"""The number of Table rows that are cached; a pod's takes about 1.5 kB."""
INCLUDE = ("", "Metadata", "Object", "None")


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """A form, and the parameter includeObject, by which a Table has a part of the object in each row."""

    form: MediaType
    include: str = ""

    @property
    def plain(self) -> bool:
        """Return whether the object is sent without transformation."""
        return not self.form.transform

    def check(self) -> None:
        """Check the parameter of a Table; upstream does so when it writes the answer (optionsForTransform).

        Raises:
            ApiError: 400, it is not one of the known parts.
        """
        if self.form.transform == "Table" and self.include not in INCLUDE:
            raise errors.bad_request(
                "Unable to convert to Table as requested: includeObject: Invalid value: "
                f"{orjson.dumps(self.include).decode()}: must be 'Metadata', 'Object', 'None', or empty"
            )


PLAIN = OutputOptions(MediaType())
"""The shape of JSON without transformation."""


def output_options_of(form: MediaType, query: Parameters) -> OutputOptions:
    """Return the shape of an answer."""
    if form.transform != "Table":
        return PLAIN if form == PLAIN.form else OutputOptions(form)
    return OutputOptions(form, query.get("includeObject", ""))


class Renderer:
    """Writes stored objects in the shape that a client requested; rows and metadata are cached per (key, revision)."""

    def __init__(self, clock: Clock, tables: Tables) -> None:
        self._clock = clock
        self._tables = tables
        self._rows: dict[tuple[str, str, int, int], tuple[TableRow, bytes]] = {}

    def invalidate(self) -> None:
        """Drop all rows: the columns of a custom kind may have changed."""
        self._tables.invalidate()
        self._rows.clear()

    def render_object(self, kv: KeyValue, codec: Codec, shape: OutputOptions) -> bytes:
        """Render one object.

        Raises:
            ApiError: 400; 406, or 500 for a custom object: a list was requested.
        """
        shape.check()
        match shape.form.transform:
            case "":
                return codec.json(kv)
            case "Table":
                return self._table(codec, [kv], shape, metadata={"resourceVersion": str(kv.mod_revision)})
            case "PartialObjectMetadata":
                return self._metadata_only(codec, kv, shape)
            case _ if codec.resource.custom:  # Go checks only here whether a custom object has items
                raise ApiError(500, "", "content is not a list")
            case _:
                raise _no_list(f"{_go_package(codec.resource)}.{codec.resource.kind}")

    def computed(self, resource: Resource, obj: Obj, shape: OutputOptions) -> bytes:
        """Render an object that is not stored, such as the Scale of a resource; a Status stays as it is.

        Raises:
            ApiError: 400; 406, a list was requested.
        """
        shape.check()
        if not shape.form.transform or obj.get("kind") == "Status":
            return orjson.dumps(obj)
        version, metadata = f"meta.k8s.io/{shape.form.version}", obj.get("metadata", {})
        partial = {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata}
        if shape.form.transform == "PartialObjectMetadata":
            return orjson.dumps(partial)
        if shape.form.transform == "PartialObjectMetadataList":
            group, _, api_version = obj["apiVersion"].rpartition("/")
            package = api_version if resource.custom else group.partition(".")[0] or "core"
            raise _no_list(f"{package}.{obj['kind']}")
        printer = self._tables.computed(resource, obj)
        included = {"None": None, "Object": obj}.get(shape.include, partial)
        row = {"cells": printer.row(obj).cells_at(self._clock.now()), "object": included}
        table = {
            "kind": "Table",
            "apiVersion": version,
            "metadata": {"resourceVersion": metadata.get("resourceVersion", "")},
            "columnDefinitions": self._tables.column_definitions(printer),
            "rows": [row],
        }
        return orjson.dumps(table)

    def render_list(self, selected: ListPage, codec: Codec, shape: OutputOptions) -> bytes:
        """Render a list.

        Raises:
            ApiError: 400; 406, a single object was requested.
        """
        shape.check()
        metadata = _list_metadata(selected)
        match shape.form.transform:
            case "":
                head = {"kind": codec.resource.list_kind, "apiVersion": codec.resource.api_version}
                if codec.resource.custom:  # an object without a Go type keeps empty fields
                    metadata = {"continue": ""} | metadata
                return _list(head, metadata, codec.items(selected.items))
            case "Table":
                return self._table(codec, self._in_row_order(codec, selected.items), shape, metadata=metadata)
            case "PartialObjectMetadataList":
                head = {"kind": shape.form.transform, "apiVersion": f"meta.k8s.io/{shape.form.version}"}
                if not selected.items:  # upstream's list begins as nil here
                    return orjson.dumps(head | {"metadata": metadata, "items": None})
                items = [self._metadata_only(codec, kv, shape) for kv in selected.items]
                return _list(head, metadata, [b",".join(items)])
            case transform:
                of_list = f"{_go_package(codec.resource)}.{codec.resource.list_kind}"
                go_type = "unstructured.UnstructuredList" if codec.resource.custom else of_list
                raise errors.not_acceptable(
                    f"you requested {transform}, but the requested object is a list (*{go_type})"
                )

    def event(self, kv: KeyValue, codec: Codec, shape: OutputOptions, *, first: bool) -> bytes:
        """Return the object of a watch event; a watch of Tables names its columns in the first event only."""
        if shape.form.transform == "Table":
            metadata = {"resourceVersion": str(kv.mod_revision)}
            return self._table(codec, [kv], shape, metadata=metadata, with_columns=first)
        return self.render_object(kv, codec, shape)

    def bookmark(
        self, revision: int, codec: Codec, shape: OutputOptions, annotations: Obj | None = None, *, first: bool = False
    ) -> bytes:
        """Return the object of a BOOKMARK: only its kind and the resourceVersion that the watch has reached."""
        metadata: Obj = {"resourceVersion": str(revision)} | ({"annotations": annotations} if annotations else {})
        kind, version = codec.resource.kind, codec.resource.api_version
        partial = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{shape.form.version}"}
        if shape.form.transform == "PartialObjectMetadata":
            return orjson.dumps(partial | {"metadata": metadata})
        obj: Obj = {"kind": kind, "apiVersion": version, "metadata": metadata}
        if shape.form.transform != "Table":
            return orjson.dumps(obj)
        included: Obj | None = partial | {"metadata": metadata}
        if shape.include == "Object":
            included = obj
        elif shape.include == "None" and not annotations:  # the end of the initial events must be marked
            included = None
        printer = self._tables.printer(codec.resource)
        row = {"cells": printer.row(obj).cells_at(self._clock.now()), "object": included}
        table = {
            "kind": "Table",
            "apiVersion": partial["apiVersion"],
            "metadata": {"resourceVersion": str(revision)},
            "columnDefinitions": self._tables.column_definitions(printer) if first else None,
            "rows": [row],
        }
        return orjson.dumps(table)

    def _table(
        self, codec: Codec, items: Sequence[KeyValue], shape: OutputOptions, *, metadata: Obj, with_columns: bool = True
    ) -> bytes:
        version = f"meta.k8s.io/{shape.form.version}"
        now = self._clock.now()
        rows = b",".join([self._row(codec, kv, shape, now) for kv in items])
        defined = self._tables.column_definitions(self._tables.printer(codec.resource)) if with_columns else None
        head = {"kind": "Table", "apiVersion": version, "metadata": metadata, "columnDefinitions": defined}
        return b'%b,"rows":[%b]}' % (orjson.dumps(head)[:-1], rows)

    def _row(self, codec: Codec, kv: KeyValue, shape: OutputOptions, now: float) -> bytes:
        row, metadata = self._compiled(codec, kv)
        match shape.include:
            case "None":
                obj = b"null"
            case "Object":
                obj = codec.json(kv)
            case _:
                obj = _partial(shape.form.version, metadata)
        conditions = b'"conditions":%b,' % orjson.dumps(row.conditions) if row.conditions else b""
        return b'{"cells":%b,%b"object":%b}' % (orjson.dumps(row.cells_at(now)), conditions, obj)

    def _in_row_order(self, codec: Codec, items: Sequence[KeyValue]) -> Sequence[KeyValue]:
        """Return the objects in the order in which a Table shows them."""
        order = self._tables.printer(codec.resource).order
        return items if order is None else sorted(items, key=lambda kv: order(codec.decode(kv)))

    def _metadata_only(self, codec: Codec, kv: KeyValue, shape: OutputOptions) -> bytes:
        return _partial(shape.form.version, self._compiled(codec, kv)[1])

    def _compiled(self, codec: Codec, kv: KeyValue) -> tuple[TableRow, bytes]:
        resource = codec.resource
        # bytes cache their hash; a dry run has other bytes at the stored revision
        key = (resource.api_version, kv.key, kv.mod_revision, hash(kv.value))
        cached = self._rows.get(key) if kv.mod_revision else None
        if cached is None:
            obj = codec.decode(kv)
            metadata = memoryview(orjson.dumps(obj["metadata"])).tobytes()  # as in Codec.encode
            cached = self._tables.printer(resource).row(obj), metadata
            if len(self._rows) >= CACHED_ROWS:
                self._rows.clear()
            if kv.mod_revision:
                self._rows[key] = cached
        return cached


def _partial(version: str, metadata: bytes) -> bytes:
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":%b}' % (
        version.encode(),
        metadata,
    )


def _list(head: Obj, metadata: Obj, items: Iterable[Buffer]) -> bytes:
    return b"".join((orjson.dumps(head | {"metadata": metadata})[:-1], b',"items":[', *items, b"]}"))


def _list_metadata(selected: ListPage) -> Obj:
    metadata: Obj = {"resourceVersion": str(selected.revision)}
    if selected.token:
        metadata["continue"] = selected.token
    if selected.remaining is not None:
        metadata["remainingItemCount"] = selected.remaining
    return metadata


def _no_list(go_type: str) -> ApiError:
    return errors.not_acceptable(
        f"you requested PartialObjectMetadataList, but the requested object is not a list (*{go_type})"
    )


def _go_package(resource: Resource) -> str:
    """Return the Go package of the internal type, as the messages of negotiation print it."""
    return resource.group.partition(".")[0] or "core"
