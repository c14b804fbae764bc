"""Custom kinds as they are served: their rows, which come and go, and what else the verbs need of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import orjson

from apiserver.api import errors, field
from apiserver.api.golang.numbers import floats_as_go_reads
from apiserver.api.json_input import first_overflow
from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.scale_paths import ScalePaths, scale_paths
from apiserver.api.schema import Decoded, DecodeError, Schema, may_repeat_fields, repeated_fields
from apiserver.api.validation.embedded import validate_embedded
from apiserver.apiextensions.rules.rules import RuleValidator
from apiserver.apiextensions.rules.verdicts import RuleResult, has_rules
from apiserver.apiextensions.structural import StructuralSchema
from apiserver.apiextensions.structural.openapi import published
from apiserver.groups.kruise.conversion import conversion
from apiserver.registry.codec import SchemaGeneration
from apiserver.registry.custom_conversion import ConversionWebhook, UnpreparedError
from apiserver.registry.custom_scale import scale_spec, scale_status

GroupVersionKind = tuple[str, str, str]
"""Group, version and kind."""
Listener = Callable[[], None]

_BLOCKING = frozenset(
    (
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
"""Errors after which rules are not evaluated, as they could fail for the same reason (customresource/strategy.go)."""
_MAX_DEPTH = 128
"""A text with no more brackets than this cannot be nested too deeply, so its nesting is not checked."""
_UNVALIDATED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class BuiltinTypes(NamedTuple):
    """The types of what all objects have, built-in or custom: their metadata."""

    schema: Schema
    fields: FieldSchema


class CustomVersions:
    """The versions of a kind as its definition has them, served or not, and their conversion.

    Attributes:
        entries: the definition's spec.versions, by name.
        storage: the name of the storage version.
        is_converted: whether the conversion strategy is "None": versions differ only in what their schemas keep.
        conversion: the definition's spec.conversion.
        webhook: the webhook that converts objects; None if there is none, or if none is needed.
        schema_generation: marks the objects that these schemas have written.
    """

    def __init__(self, spec: Obj, types: BuiltinTypes, webhook: ConversionWebhook | None = None) -> None:
        """Read the spec of a definition."""
        self.entries: Mapping[str, Obj] = {each["name"]: each for each in spec["versions"]}
        self.storage = next((name for name, each in self.entries.items() if each.get("storage")), "")
        self.conversion: Obj = spec.get("conversion") or {}
        self.is_converted = self.conversion.get("strategy") != "Webhook"
        self.webhook = None if self.is_converted else webhook
        self.schema_generation = SchemaGeneration()
        self.types = types
        self._structurals: dict[str, StructuralSchema] = {}
        self._fields: dict[str, Struct] = {}

    def structural(self, name: str) -> StructuralSchema | None:
        """Return the structural schema of a version, None if the definition has no such version (any longer)."""
        structural = self._structurals.get(name)
        if structural is None and name in self.entries:
            structural = self._structurals[name] = StructuralSchema(_schema(self.entries[name]), self.types.schema)
        return structural

    def fields(self, name: str) -> Struct | None:
        """Return the kind in a version as managedFields sees it, None if the definition has no such version."""
        fields = self._fields.get(name)
        if fields is None and name in self.entries:
            fields = self._fields[name] = self.types.fields.custom(_schema(self.entries[name]))
        return fields

    def decodes_like(self, other: "CustomVersions") -> bool:
        """Return whether objects are read and written the same by these versions and by others."""
        return self.entries == other.entries and self.conversion == other.conversion


class CustomKind:
    """A custom kind in one served version; what depends on its schema is compiled on first use.

    Attributes:
        resource: its row.
        versions: all versions of the kind.
        version: the entry of the definition's spec.versions.
        terminates: whether its definition is being deleted, so that no more objects are created.
        verbs: its verbs in discovery; () if its definition is not Established: then neither discovery nor OpenAPI
            lists it.
    """

    def __init__(self, resource: Resource, versions: CustomVersions) -> None:
        self.resource = resource
        self.versions = versions
        self.version = versions.entries[resource.version]
        self.terminates = False
        self.verbs: tuple[str, ...] = resource.verbs
        self._published: Obj | None = None

    @property
    def schema(self) -> Obj:
        """The schema of its objects."""
        return _schema(self.version)

    @cached_property
    def structural(self) -> StructuralSchema:
        """The structural schema of its objects."""
        structural = self.versions.structural(self.resource.version)
        assert structural is not None, "a row is that of a version"
        return structural

    @cached_property
    def fields(self) -> Struct:
        """The kind as managedFields sees it."""
        fields = self.versions.fields(self.resource.version)
        assert fields is not None, "a row is that of a version"
        return fields

    def published(self, definitions: Mapping[str, Obj]) -> Obj:
        """Return the kind's schema for OpenAPI v3 documents; `definitions` are those of the release."""
        if self._published is None:
            resource = self.resource
            selectable = [each["jsonPath"] for each in self.version.get("selectableFields") or ()]
            gvk = (resource.group, resource.version, resource.kind)
            self._published = published(self.schema, gvk, definitions, selectable=selectable)
        return self._published

    @cached_property
    def rules(self) -> RuleValidator | None:
        """The CEL validation rules of its schema, None if there are none."""
        return RuleValidator(self.schema) if has_rules(self.schema) else None

    @cached_property
    def scale(self) -> ScalePaths | None:
        """The paths of its scale subresource, None if it has none."""
        return scale_paths(self.version)

    def decode(self, document: Obj, *, body: bytes = b"", strict: bool = True, keep_nulls: bool = False) -> Decoded:
        """Return a document as an object of the kind, with defaults.

        Args:
            document: the document; the object may share its parts.
            body: its text as JSON, to find repeated fields.
            strict: report repeated and unknown fields.
            keep_nulls: leave nulls that are not valid, so that validation finds them.

        Raises:
            DecodeError: its metadata is malformed, or it is nested too deeply.
        """
        obj = _copied(document) if _is_deep(body) else dict(document)
        try:
            floats_as_go_reads(obj)
        except OverflowError as error:
            number = first_overflow(body)
            raise DecodeError(f"json: cannot unmarshal number {number} into Go value of type float64") from error
        repeated = tuple(repeated_fields(body)) if strict and body and may_repeat_fields(body, document) else ()
        unknown = self.structural.coerce(obj, keep_nulls=keep_nulls)
        self.structural.default(obj)
        return Decoded(obj, repeated + tuple([f'unknown field "{path}"' for path in unknown]) if strict else ())

    @property
    def stored_generation(self) -> SchemaGeneration | None:
        """The generation whose stored objects need no conversion to this version; None: it is not stored."""
        return self.versions.schema_generation if self.resource.version == self.versions.storage else None

    def from_storage(self, stored: Obj) -> Obj:
        """Return an object that another schema stored, converted to this version; the argument may be changed.

        The version that it was stored in prunes and defaults it (upstream's crdConversionRESTOptionsGetter).

        Raises:
            ApiError: 500, only a webhook could convert it.
        """
        written_in = self.prune_stored(stored)
        if written_in != self.resource.version:
            stored = self.convert(stored, written_in, self.resource.version)
            self.structural.coerce(stored, drops=True)
        return stored

    def prune_stored(self, stored: Obj) -> str:
        """Prune and default a stored object by its version's present schema, in place; return the version's name."""
        written_in: str = stored["apiVersion"].rpartition("/")[2]
        stored["metadata"].setdefault("generation", 1)
        if structural := self.versions.structural(written_in):
            structural.coerce(stored, drops=True)
            structural.default(stored)
        return written_in

    def to_storage(self, obj: Obj) -> Obj:
        """Convert an object of this version to the storage version, whose schema prunes it, in place.

        Raises:
            ApiError: 500, only a webhook could convert it.
        """
        if self.resource.version != self.versions.storage:
            obj = self.convert(obj, self.resource.version, self.versions.storage)
            if structural := self.versions.structural(self.versions.storage):
                structural.prune(obj)
        return obj

    def convert(self, obj: Obj, source: str, target: str) -> Obj:
        """Return an object as converted to another version, before that prunes it; it may change the argument.

        OpenKruise's conversions are built in.

        Raises:
            ApiError: 500, only another webhook could convert it.
        """
        if self.versions.is_converted:
            return obj
        group, kind = self.resource.group, self.resource.kind
        if (convert := conversion(group, kind, source=source, target=target)) is not None:
            return convert(obj)
        webhook = self.versions.webhook
        assert webhook is not None, "a definition whose strategy is Webhook has one"
        if (copy := webhook.copy(obj, f"{group}/{target}")) is None:
            raise UnpreparedError(webhook, obj, f"{group}/{target}")
        if resource_version := obj["metadata"].get("resourceVersion"):
            copy["metadata"]["resourceVersion"] = resource_version
        return copy

    @property
    def calls_webhook(self) -> bool:
        """Return whether objects have to be prepared before they are read and written in this version."""
        return self.versions.webhook is not None and len(self.versions.entries) > 1

    async def prepare_reads(self, values: Iterable[bytes]) -> None:
        """Have the webhook convert stored objects to this version, so that they can be read.

        Raises:
            ApiError: 500, it does not convert them.
        """
        stored = [orjson.loads(value) for value in values]
        for obj in stored:
            self.prune_stored(obj)
        await self._prepare(stored, self.resource.version)

    async def prepare_write(self, obj: Obj) -> None:
        """Have the webhook convert an object to the storage version, so that it can be stored.

        Raises:
            ApiError: 500, it does not convert it.
        """
        await self._prepare([obj], self.versions.storage)

    async def _prepare(self, objs: list[Obj], target: str) -> None:
        group, kind, webhook = self.resource.group, self.resource.kind, self.versions.webhook
        foreign = [
            obj
            for obj in objs
            if conversion(group, kind, source=obj["apiVersion"].rpartition("/")[2], target=target) is None
        ]
        if webhook is not None and foreign:
            await webhook.prepare(foreign, f"{group}/{target}")

    def validate(self, obj: Obj, old: Obj | None = None, *, of_status: bool = False) -> RuleResult:
        """Validate an object, all but its metadata (customresource/strategy.go and validator.go).

        Rules that fail for parts which an update leaves unchanged give warnings.

        Args:
            obj: the object, with defaults.
            old: the object that it replaces, None at creation.
            of_status: only the status is written.
        """
        schema = self.structural
        if of_status and old is not None:
            failures = schema.validate_status(obj, old)
        else:
            failures = schema.validate(obj, old)
            failures += scale_spec(obj, self.scale) if self.scale else ()
        failures += scale_status(obj, self.scale) if self.scale else ()
        for path, resource in () if of_status else schema.embedded(obj):
            failures += validate_embedded(path, resource)
        failures += schema.list_errors(obj, old)
        if self.rules is None:
            return RuleResult(failures)
        if any(error.reason in _BLOCKING for error in failures):
            return RuleResult([*failures, field.invalid("<nil>", None, _UNVALIDATED)])
        verdict = self.rules.validate(obj, old)
        return RuleResult(failures + verdict.errors, verdict.warnings)


class CustomKinds:
    """The custom kinds of one server, by group, version and kind.

    Attributes:
        table: the rows of all kinds; rows of custom kinds are added and removed here.
    """

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        self._kinds: dict[GroupVersionKind, CustomKind] = {}
        self._by_prefix: dict[str, CustomKind] = {}
        self._listeners: list[Listener] = []

    def find(self, resource: Resource) -> CustomKind | None:
        """Return the custom kind of a row, None for a built-in row."""
        return self._kinds.get(_gvk(resource)) if resource.custom else None

    def columns(self, resource: Resource) -> Sequence[Obj] | None:
        """Return the additionalPrinterColumns of a row, None for a built-in row."""
        kind = self.find(resource)
        return None if kind is None else kind.version.get("additionalPrinterColumns") or ()

    def verbs(self, resource: Resource) -> tuple[str, ...]:
        """Return the verbs of a row, built-in or custom, in discovery; () if discovery does not list it."""
        kind = self.find(resource) if resource.custom else None
        return resource.verbs if kind is None else kind.verbs

    def check_resolved(self, resource: Resource) -> None:
        """Refuse any request for a kind whose names are accepted, but which is not Established.

        Such a kind has a conversion webhook whose certificates cannot be read: upstream cannot make a client for it,
        and handles the request no further (customresource_handler.go's getOrCreateServingInfoFor).

        Raises:
            ApiError: 500.
        """
        if resource.custom and not self.verbs(resource):
            raise errors.internal("error resolving resource")

    def find_by_prefix(self, prefix: str) -> CustomKind | None:
        """Return one version of the kind stored under a prefix, if it has selectableFields; else None."""
        return self._by_prefix.get(prefix)

    def __iter__(self) -> Iterator[CustomKind]:
        return iter(self._kinds.values())

    def on_change(self, listener: Listener) -> None:
        """Add a listener, called whenever rows are added, changed or removed, or their discovery changes."""
        self._listeners.append(listener)

    def replace_kinds(self, kinds: list[CustomKind], *, instead: list[CustomKind]) -> None:
        """Serve `kinds` from now on in place of `instead`, which may be their earlier states."""
        for kind in instead:
            if self._kinds.pop(_gvk(kind.resource), None):
                self.table.remove(kind.resource)
        for kind in kinds:
            resource = kind.resource
            existing = self.table.find(resource.group, resource.version, resource.plural)
            if existing is None or existing.custom:  # a built-in kind answers before its namesake
                self.table.add(resource)
                self._kinds[_gvk(resource)] = kind
        self._by_prefix = {
            kind.resource.storage_prefix: kind for kind in self._kinds.values() if kind.resource.kept_fields
        }
        self.notify()

    def notify(self) -> None:
        """Call the listeners, who read the rows again; a row that is the same object has not changed."""
        for listener in self._listeners:
            listener()


def _schema(version: Obj) -> Obj:
    schema: Obj = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _copied(obj: Obj) -> Obj:
    """Return a deep copy of an object that may share parts with others, such as the outcome of a patch.

    Raises:
        DecodeError: it is nested too deeply.
    """
    try:
        copy: Obj = orjson.loads(orjson.dumps(obj))
    except (orjson.JSONEncodeError, orjson.JSONDecodeError) as error:
        raise DecodeError("exceeded max depth") from error
    return copy


def _is_deep(body: bytes) -> bool:
    """Return whether a text may be nested too deeply to be stored; true if there is no text."""
    return not body or body.count(b"{") + body.count(b"[") > _MAX_DEPTH


def _gvk(resource: Resource) -> GroupVersionKind:
    return resource.group, resource.version, resource.kind
