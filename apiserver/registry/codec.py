"""Object ↔ stored bytes, and the one place that stamps a resourceVersion.

The store keeps the object's JSON without a resourceVersion, since that is known only after the write. Its head
(`{"kind":…,"apiVersion":…,"metadata":{`) has a fixed length for each kind, so stamping is two slices and no parsing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import orjson

from apiserver.api.errors import bad_request
from apiserver.api.golang.numbers import as_go_writes
from apiserver.api.meta import Obj, api_version
from apiserver.api.resources import Resource
from apiserver.groups.conversion import Conversion
from etcd.store import KeyValue

Buffer = bytes | memoryview


_DEFINITIONS = "apiextensions.k8s.io"
"""The only group whose built-in kinds have numbers that are not integers."""


class SchemaGeneration:
    """One state of a custom kind's schemas, compared by identity.

    Objects that this generation wrote or checked can be read as they are stored.
    """

    __slots__ = ()


@dataclass(slots=True)
class IndexAttrs:
    """An object's labels and fields, kept by the store with its bytes so that selectors match without decoding.

    Attributes:
        labels: metadata.labels.
        fields: the kind's selectable fields, metadata.name and metadata.namespace among them.
        schema_generation: the generation for which the bytes need no conversion when they are read; None if unknown.
    """

    labels: dict[str, str]
    fields: dict[str, str]
    schema_generation: SchemaGeneration | None = None

    @property
    def is_read(self) -> bool:
        """True if the labels and fields are known, False if asking for them parses the object."""
        return True


class LazyIndexAttrs(IndexAttrs):
    """Index attributes that are read from an object's bytes when a selector first asks for them.

    A server finds all its objects in the store when it starts, and selectors ask for few of them.
    """

    __slots__ = ("_key", "_read", "_value")

    def __init__(self, read: Callable[[str, bytes], IndexAttrs], key: str, value: bytes) -> None:
        self._read, self._key, self._value = read, key, value
        self.schema_generation = None

    @property
    def is_read(self) -> bool:
        """True once the labels and fields have been asked for."""
        return not hasattr(self, "_read")

    def __getattr__(self, name: str) -> dict[str, str]:
        """Read the labels and fields, whose slots are empty until then: a filled slot never comes here."""
        if name not in ("labels", "fields"):
            raise AttributeError(name)
        attrs = self._read(self._key, self._value)
        self.labels, self.fields = attrs.labels, attrs.fields
        del self._read, self._key, self._value
        return self.labels if name == "labels" else self.fields


class Preparation(Protocol):
    """Conversions that have to be waited for, before objects are read and written in a version."""

    async def prepare_reads(self, values: Iterable[bytes]) -> None:
        """Convert stored objects, so that they can be decoded."""
        ...

    async def prepare_write(self, obj: Obj) -> None:
        """Convert an object, so that it can be encoded."""
        ...


class Codec:
    """Reads and writes the stored form of one kind, in one version that is served."""

    def __init__(
        self,
        resource: Resource,
        conversion: Conversion | None = None,
        *,
        schema_generation: SchemaGeneration | None = None,
        preparation: Preparation | None = None,
    ) -> None:
        """Make the codec of a resource.

        Args:
            resource: the row; objects are decoded and encoded in its version.
            conversion: to and from the stored version, None if they are alike.
            schema_generation: stored objects of this generation need no conversion; None: all of them need it.
            preparation: makes conversions that have to be waited for; None if there are none.
        """
        self._preparation = preparation
        self.resource = resource
        self._to_storage = conversion.to_storage if conversion else None
        self._convert = conversion.from_storage if conversion else None
        self.schema_generation = schema_generation
        self._stored_api_version = api_version(resource.storage_group, resource.storage_version)
        # a merge keeps the order of its left side: the head comes first, so that it can be cut off by length
        self._order: Obj = {"kind": resource.kind, "apiVersion": "", "metadata": None}
        self._head = _head(resource.kind, resource.api_version)
        self._stored_head = _head(resource.kind, self._stored_api_version)
        self._cut = len(self._stored_head)
        has_floats = resource.custom or resource.group == _DEFINITIONS
        self._dumps: Callable[[Obj], bytes] = _dumps_as_go if has_floats else orjson.dumps

    async def prepare(self, kvs: Iterable[KeyValue]) -> None:
        """Do what has to be waited for before these objects are decoded or rendered; for most kinds that is nothing.

        Raises:
            ApiError: 500, they cannot be converted.
        """
        if self._preparation is not None:
            await self._preparation.prepare_reads(kv.value for kv in kvs if not self._is_current(kv))

    async def encode_prepared(self, obj: Obj) -> bytes:
        """Do what has to be waited for, and return the bytes to store; see `encode`. They can be rendered afterwards.

        Raises:
            ApiError: 400, the object is nested too deeply; 500, it cannot be converted.
        """
        if self._preparation is None:
            return self.encode(obj)
        await self._preparation.prepare_write(obj)
        value = self.encode(obj)
        await self._preparation.prepare_reads((value,))
        return value

    def encode(self, obj: Obj) -> bytes:
        """Return the bytes to store for an object of this version; may change it. Its metadata must not be empty.

        Raises:
            ApiError: 400, the object is nested too deeply.
        """
        if self._to_storage is not None:
            obj = self._to_storage(obj)
        obj["apiVersion"] = self._stored_api_version
        obj["metadata"].pop("resourceVersion", None)
        try:
            # the bytes that orjson returns hold on to their buffer, which may be twice as large: a copy frees it
            return memoryview(self._dumps(self._order | obj)).tobytes()
        except orjson.JSONEncodeError as error:  # parts without a schema can be nested deeper than can be written
            raise bad_request(f"the object cannot be stored: {error}") from error

    def decode(self, kv: KeyValue) -> Obj:
        """Return the object in this version, with its resourceVersion; the caller may change it."""
        obj: Obj = orjson.loads(kv.value)
        if self._convert is not None and not self._is_current(kv):
            obj = self._convert(obj)
        obj["apiVersion"] = self.resource.api_version
        if kv.mod_revision:
            obj["metadata"]["resourceVersion"] = str(kv.mod_revision)
        return obj

    def is_canonical(self, kv: KeyValue) -> bool:
        """Return whether encoding the decoded object again would give the stored bytes."""
        if self._convert is None or self._is_current(kv):
            return True
        if self._preparation is not None:  # a webhook is not called only to compare
            return kv.value.startswith(self._stored_head)
        encoded: Obj = orjson.loads(self.encode(self.decode(kv)))  # conversions may change the order of fields
        stored: Obj = orjson.loads(kv.value)
        return encoded == stored

    def json(self, kv: KeyValue) -> bytes:
        """Return the object's JSON as responses have it."""
        return self._stamped(self._head, kv)

    def items(self, kvs: Iterable[KeyValue]) -> list[Buffer]:
        """Return the objects' JSON as pieces of a list to be joined, commas included; custom ones name their kind.

        The pieces are views of the stored bytes, so that a list of any length is copied once.
        """
        pieces: list[Buffer] = []
        if self.resource.custom:
            for kv in kvs:
                pieces += (b",", self._stamped(self._head, kv))
            return pieces[1:]
        if self._convert is not None:
            for kv in kvs:
                pieces += (b",", self._stamped(b'{"metadata":{', kv))
            return pieces[1:]
        head, cut = self._stored_head, self._cut
        for kv in kvs:
            value = kv.value if kv.value.startswith(head) else self._reheaded(kv.value)
            pieces.append(b',{"metadata":{"resourceVersion":"%d",' % kv.mod_revision)
            pieces.append(memoryview(value)[cut:])
        pieces[:1] = [memoryview(piece)[1:] for piece in pieces[:1]]  # no comma before the first
        return pieces

    def _stamped(self, head: bytes, kv: KeyValue) -> bytes:
        if self._convert is not None and not self._is_current(kv):
            obj = self._convert(orjson.loads(kv.value)) | {"apiVersion": self.resource.api_version}
            value = self._dumps(self._order | obj)
            if value == kv.value:
                kv.index_attrs.schema_generation = self.schema_generation
            return _join(head, kv.mod_revision, value[len(self._head) :])
        value = kv.value if kv.value.startswith(self._stored_head) else self._reheaded(kv.value)
        return _join(head, kv.mod_revision, value[self._cut :])

    def _reheaded(self, value: bytes) -> bytes:
        """Return the JSON of an object that another release stored in another version, with the stored head."""
        return self._dumps(self._order | orjson.loads(value) | {"apiVersion": self._stored_api_version})

    def _is_current(self, kv: KeyValue) -> bool:
        """Return whether the object can be read without conversion."""
        return self.schema_generation is not None and kv.index_attrs.schema_generation is self.schema_generation


def _join(head: bytes, revision: int, rest: bytes) -> bytes:
    if not revision:  # a dry run was never stored
        return head + rest
    return b'%b"resourceVersion":"%d",%b' % (head, revision, rest)


def _head(kind: str, version: str) -> bytes:
    return b'{"kind":"%b","apiVersion":"%b","metadata":{' % (kind.encode(), version.encode())


def _dumps_as_go(obj: Obj) -> bytes:
    return as_go_writes(orjson.dumps(obj))
