"""The collaborators of every verb as one value: storage, rows, schema, codecs, admission, time and ids."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj
from apiserver.api.patch.merge_schema import MergeSchema
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.schema import Schema
from apiserver.api.user import AuthenticatorResponse, User
from apiserver.groups.conversion import Conversion
from apiserver.registry.admission import Chain
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.clock import Clock, Ids, Timestamps
from apiserver.registry.codec import Codec, IndexAttrs, LazyIndexAttrs
from apiserver.registry.custom_resources import CustomKinds
from apiserver.registry.decoding import Decoder
from apiserver.registry.kind_tables import conversion_of, selectable_fields
from apiserver.registry.options import Target, TokenLimits
from apiserver.registry.serviceip.allocator import ServiceAllocator
from apiserver.registry.serviceip.reservations import ReservationStore
from apiserver.registry.storage import ROOT, Storage
from apiserver.webhook.client import WebhookClient
from etcd.store import KeyValue


class Security(Protocol):
    """Authentication and authorization, for API objects such as TokenReviews and SubjectAccessReviews."""

    @property
    def audiences(self) -> tuple[str, ...]:
        """The default audiences of tokens: this server."""
        ...

    @property
    def token_limits(self) -> TokenLimits:
        """The limits of the tokens that are issued."""
        ...

    def issue_token(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        ...

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse:
        """Return the user of a token and its audiences among the given ones.

        Raises:
            AuthenticationError: the token is invalid, or for none of the audiences.
        """
        ...

    @property
    def authorizer(self) -> Authorizer:
        """Decides on requests, as it does on those of clients."""
        ...

    async def check_escalation(self, user: User, target: Target, *, new: Obj, old: Obj | None) -> None:
        """Refuse a Role, ClusterRole or binding by which its writer would grant more than he may do.

        Raises:
            ApiError: 403; 404, the role of a binding does not exist.
        """
        ...


class Codecs:
    """The codec of each resource, made on first use."""

    def __init__(self, customs: CustomKinds) -> None:
        self._customs = customs
        self._made: dict[tuple[str, str, str], Codec] = {}

    def codec_of(self, resource: Resource) -> Codec:
        """Return the codec that reads and writes objects in the resource's version."""
        key = (resource.group, resource.version, resource.plural)
        codec = self._made.get(key)
        if codec is None:
            codec = self._made[key] = self._codec(resource)
        return codec

    def _codec(self, resource: Resource) -> Codec:
        custom = self._customs.find(resource)
        if custom is None:
            return Codec(resource, conversion_of(resource))
        return Codec(
            custom.resource,
            Conversion(custom.to_storage, custom.from_storage),
            schema_generation=custom.stored_generation,
            preparation=custom if custom.calls_webhook else None,
        )

    def invalidate(self) -> None:
        """Drop all codecs, so that they are built again: rows have changed."""
        self._made.clear()


@dataclass(frozen=True, slots=True)
class Registry:
    """The collaborators of the verbs; each server in a process has its own."""

    storage: Storage
    table: ResourceTable
    schema: Schema
    merge_schema: MergeSchema
    field_schema: FieldSchema
    admission: Chain
    clock: Clock
    ids: Ids
    timestamps: Timestamps
    security: Security
    service_allocator: ServiceAllocator
    customs: CustomKinds
    codecs: Codecs
    decoder: Decoder
    webhooks: WebhookClient
    reservations: ReservationStore | None = None
    event_ttl: float = 0.0

    def ttl_of(self, resource: Resource) -> float:
        """Return the seconds for which objects of a kind are kept after their last write; 0 means forever."""
        return self.event_ttl if resource.storage_prefix == "events" else 0.0

    async def decode(self, resource: Resource, kv: KeyValue) -> Obj:
        """Return a stored object in the resource's version; the caller may change it.

        Raises:
            ApiError: 500, it cannot be converted.
        """
        codec = self.codecs.codec_of(resource)
        await codec.prepare((kv,))
        return codec.decode(kv)

    def fields_of(self, resource: Resource) -> Struct:
        """Return a kind as managedFields sees it."""
        custom = self.customs.find(resource)
        return custom.fields if custom else self.field_schema.root(resource.definition)


class Current(NamedTuple):
    """A stored object and its decoded form.

    Attributes:
        kv: the object as it is stored.
        obj: the same, decoded; read-only.
    """

    kv: KeyValue
    obj: Obj


class WriteResult(NamedTuple):
    """The outcome of a write.

    Attributes:
        kv: the object as it is stored now; after a dry run, as it would be, with its previous revision, or 0.
        created: whether the object is new.
        warnings: the texts for the Warning headers of the response.
    """

    kv: KeyValue
    created: bool = False
    warnings: tuple[str, ...] = ()


def index_attrs(resource: Resource, obj: Obj, codec: Codec | None = None) -> IndexAttrs:
    """Return the labels and fields that the store keeps with an object's bytes.

    Args:
        resource: the row that the request was routed to; another may have replaced it since.
        obj: the object.
        codec: the codec that encoded the bytes, None if they were read from the store.
    """
    schema_generation = codec.schema_generation if codec is not None and codec.resource is resource else None
    return IndexAttrs(obj["metadata"].get("labels") or {}, selectable_fields(resource, obj), schema_generation)


Change = Callable[[Obj], Obj]
"""Returns the new object for the old one, which it does not change."""


_WRITTEN_HERE = re.compile(rb'\{"kind":"[^"\\]+","apiVersion":"[^"\\]+","metadata":\{"')
"""The beginning of all values that a Codec writes."""


class ComputeIndexAttrs:
    """Returns IndexAttrs of stored bytes, for objects read when the store opens or written by other servers.

    A value is parsed at once, which shows whether it is an object. In a store that only this program writes to and that
    keeps a checksum of each value, those that a Codec wrote are objects, and are parsed when a selector first asks.

    Args:
        table: the resources of the release.
        customs: the kinds of custom resources.
        verified: True for such a store; False for etcd, where others may have written anything.
    """

    def __init__(self, table: ResourceTable, customs: CustomKinds, *, verified: bool) -> None:
        self._customs, self._verified = customs, verified
        self._rows = {row.storage_prefix: row for row in table}
        for row in table:
            if (row.group, row.version) == (row.storage_group, row.storage_version):
                self._rows[row.storage_prefix] = row

    def __call__(self, key: str, value: bytes) -> IndexAttrs:
        """Return the labels and fields of the object under a key; raises one of DECODE_ERRORS if there is no object."""
        if self._verified and _WRITTEN_HERE.match(value) and value.endswith(b"}"):
            return LazyIndexAttrs(self._read, key, value)
        return self._read(key, value)

    def _read(self, key: str, value: bytes) -> IndexAttrs:
        obj: Obj = orjson.loads(value)
        if not obj["metadata"].get("name"):
            raise ValueError("it has no metadata.name")
        resource = self._resource(key)
        if resource is not None:
            return index_attrs(resource, obj)
        if (custom := self._customs.find_by_prefix("/".join(_parts(key)[:2]))) is not None:
            custom.prune_stored(obj)
            return index_attrs(custom.resource, obj)
        meta = obj["metadata"]  # a custom object, whose row may come once its definition has been read
        fields = {"metadata.name": meta.get("name", ""), "metadata.namespace": meta.get("namespace", "")}
        return IndexAttrs(meta.get("labels") or {}, fields)

    def _resource(self, key: str) -> Resource | None:
        parts = _parts(key)
        return self._rows.get(parts[0]) or self._rows.get("/".join(parts[:2]))


def _parts(key: str) -> list[str]:
    return key.removeprefix(ROOT).split("/")
