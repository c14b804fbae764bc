"""The OpenAPI documents of a server, made on first use and kept as the bytes that are sent."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.apiextensions.structural.openapi import in_version_2, published_list
from apiserver.endpoints.openapi.gnostic import encode_document
from apiserver.endpoints.openapi.operations import (
    META,
    Gvk,
    Operation,
    group_tag,
    list_definition,
    operations_of,
    short_group,
    valid_identifier,
)
from apiserver.endpoints.openapi.rendering import CUSTOM, V2, V3, rendered
from apiserver.groups.kinds import KINDS

FORMAT = "3"
"""Part of every hash: raise it when documents of the same resources change, since clients cache them by hash."""

ALWAYS = (f"{META}.APIResourceList", f"{META}.Status")
"""Definitions that every document has: clients need them although no operation refers to them."""

ROOTS = {"api": "APIVersions", "apis": "APIGroupList", "version": ""}
"""Paths of discovery documents → the kind that they return."""

WHOLE = frozenset(("v2", "v2+protobuf", "v3"))
"""The cache keys of the documents about all paths."""


@dataclass(frozen=True, slots=True)
class OpenAPIDocument:
    """A document as it is sent; `hash` is the hash in its URL, `etag` the same in quotes."""

    body: bytes
    hash: str

    @property
    def etag(self) -> str:
        """The value of the ETag header."""
        return f'"{self.hash}"'


class OpenAPI:
    """The documents of a table.

    Args:
        table: the rows that are served; call invalidate() after a row is added or removed.
        definitions: the definitions of the release, by name, with references to "#/$defs/NAME".
        minor: the minor version of the emulated Kubernetes release: 34 for v1.34.0.
        customs: returns the definitions of custom kinds, in version 3; lists need none. A custom row without one is
            not described.
    """

    def __init__(
        self,
        table: ResourceTable,
        definitions: Mapping[str, Obj],
        *,
        minor: int,
        customs: Callable[[], Mapping[str, Obj]] = dict,
    ) -> None:
        self._table = table
        self._release_definitions = definitions
        self._customs = customs
        self._known: Mapping[str, Obj] | None = None
        self._release = f"v1.{minor}.0"
        self._cached: dict[str, OpenAPIDocument] = {}
        self._rows: dict[str, list[Resource]] = {}
        self._kinds: dict[Gvk, str] = {}
        self._hashes: dict[str, str] = {}

    def invalidate(self) -> None:
        """Drop what depends on custom resources; a document whose hash stays the same is not made again."""
        self._known = None
        self._drop_removed()
        self._rows.clear()
        self._kinds.clear()
        self._hashes.clear()

    def _drop_removed(self) -> None:
        """Drop the documents of groups and versions that are gone."""
        current = {path for row in self._table for path in (f"apis/{row.group}", _path_of(row))}
        for path in self._cached.keys() - current - ROOTS.keys() - WHOLE:
            del self._cached[path]

    @property
    def _definitions(self) -> Mapping[str, Obj]:
        """The definitions of the release and of the custom kinds that are served."""
        if self._known is None:
            customs = self._custom_definitions()
            self._known = {**self._release_definitions, **customs} if customs else self._release_definitions
        return self._known

    def _custom_definitions(self) -> dict[str, Obj]:
        """Return the definitions of custom kinds and of their lists, in version 3."""
        definitions = {**self._customs()}
        for row in self._table:
            item = definitions.get(row.definition) or self._release_definitions.get(row.definition)
            if row.group not in KINDS and item is not None:
                definitions.setdefault(row.definition, item)
                definitions[list_definition(row)] = published_list(row, item, self._release_definitions)
        return definitions

    def v2(self) -> OpenAPIDocument:
        """GET /openapi/v2 as JSON."""
        return self._up_to_date("v2", lambda: orjson.dumps(self._document_v2()))

    def v2_protobuf(self) -> OpenAPIDocument:
        """GET /openapi/v2 as gnostic.CONTENT_TYPE."""
        return self._up_to_date("v2+protobuf", lambda: encode_document(self._document_v2()))

    def index(self) -> OpenAPIDocument:
        """GET /openapi/v3: every path with a document, and the URL of its current state."""
        paths = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hash(path)}"} for path in sorted(self._paths())
        }
        return self._up_to_date("v3", lambda: orjson.dumps({"paths": paths}))

    def v3(self, path: str) -> OpenAPIDocument | None:
        """GET /openapi/v3/PATH, such as "apis/apps/v1"; None if there is no such document."""
        if path not in self._paths():
            return None
        return self._up_to_date(path, lambda: orjson.dumps(self._document_v3(path)))

    def _up_to_date(self, key: str, make: Callable[[], bytes]) -> OpenAPIDocument:
        current = self._hash(key)
        document = self._cached.get(key)
        if document is None or document.hash != current:
            document = self._cached[key] = OpenAPIDocument(make(), current)
        return document

    def _paths(self) -> dict[str, list[Resource]]:
        """Return path of a version 3 document → the rows that it describes."""
        if not self._rows:
            self._rows.update((root, []) for root in ROOTS)
            for row in self._table:
                if row.custom and row.definition not in self._definitions:
                    continue
                if row.group in KINDS and row.group:  # a group of custom kinds has no document of its own
                    self._rows.setdefault(f"apis/{row.group}", [])
                self._rows.setdefault(_path_of(row), []).append(row)
        return self._rows

    def _hash(self, key: str) -> str:
        """Return a hash of everything that the document is made from, which is much cheaper than making it."""
        digest = self._hashes.get(key)
        if digest is None:
            rows = self._paths().get(key)
            described = [row for each in self._paths().values() for row in each] if rows is None else rows
            custom = [self._definitions.get(row.definition) for row in described if row.group not in KINDS]
            state = f"{FORMAT} {self._release} {key} {described}".encode() + orjson.dumps(custom)
            digest = self._hashes[key] = hashlib.sha512(state).hexdigest().upper()
        return digest

    def _definition_of(self) -> dict[Gvk, str]:
        """Return (group, version, kind) → definition, for the bodies of subresources."""
        if not self._kinds:
            for name, schema in self._definitions.items():
                for gvk in schema.get("x-kubernetes-group-version-kind", ()):
                    self._kinds[gvk["group"], gvk["version"], gvk["kind"]] = name
        return self._kinds

    def _document_v3(self, path: str) -> Obj:
        rows = self._paths()[path]
        custom = _is_custom(rows)
        operations = [operation for row in rows for operation in operations_of(row, self._definition_of())]
        return rendered(
            operations if custom else [_root_operation(path), *operations],
            dialect=V3,
            definitions=self._definitions,
            customs=self._custom_definitions(),
            names=() if custom else ALWAYS,
            info=CUSTOM if custom else self._info,
        )

    def _document_v2(self) -> Obj:
        customs = self._custom_definitions()
        described = {name: in_version_2(each) for name, each in self._customs().items()}
        return rendered(
            self._all_operations(),
            dialect=V2,
            definitions={**self._definitions, **described},
            customs=customs,
            names=ALWAYS,
            info=self._info,
        )

    @property
    def _info(self) -> Obj:
        return {"title": "Kubernetes", "version": self._release}

    def _all_operations(self) -> Iterator[Operation]:
        for path, rows in self._paths().items():
            if not _is_custom(rows):
                yield _root_operation(path)
            for row in rows:
                yield from operations_of(row, self._definition_of())


def _path_of(row: Resource) -> str:
    return f"apis/{row.group}/{row.version}" if row.group else f"api/{row.version}"


def _is_custom(rows: list[Resource]) -> bool:
    """Return whether the rows of a path are of custom kinds."""
    return bool(rows) and rows[0].group not in KINDS


def _root_operation(path: str) -> Operation:
    """Return the operation that reads the discovery document at a path."""
    root, *rest = path.split("/")
    group, version = ("", rest[0]) if root == "api" and rest else (*rest, "", "")[:2]
    if root == "version":
        name, words, answer, tag = "CodeVersion", "get the version information for this server", "", "version"
    elif not rest:
        prefix, tag = ("Core", "core") if root == "api" else ("", root)
        name, words, answer = f"{prefix}APIVersions", "get available API versions", ROOTS[root]
    else:
        tag = group_tag(group, version)
        prefix = "".join(valid_identifier(each, capital=True) for each in (short_group(group), version) if each)
        name = f"{prefix}{'APIResources' if version else 'APIGroup'}"
        words = "get available resources" if version else "get information of a group"
        answer = "APIResourceList" if version else "APIGroup"
    return Operation(
        path=f"/{path}/",
        method="get",
        identifier=f"get{name}",
        description=words,
        tag=tag,
        answer=f"{META}.{answer}" if answer else "",
    )
