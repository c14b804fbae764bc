"""Custom kinds as they are served: rows that come and go, and what the verbs need of each beside its row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import orjson

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import floats_as_go_reads
from apiserver.api.json_input import first_overflow
from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.scale_paths import ScalePaths, scale_paths
from apiserver.api.schema import Decoded, DecodeError, Schema, may_repeat_fields, repeated_fields
from apiserver.api.validation.embedded import validate_embedded
from apiserver.apiextensions.rules.rules import Rules
from apiserver.apiextensions.rules.verdicts import Verdict, has_rules
from apiserver.apiextensions.structural import Structural
from apiserver.apiextensions.structural.openapi import published
from apiserver.groups.kruise.conversion import conversion
from apiserver.registry.codec import SchemaGeneration
from apiserver.registry.custom_scale import scale_spec, scale_status

Place = tuple[str, str, str]
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
"""Errors after which rules are not looked at, as they could fail for the same reason (customresource/strategy.go)."""
_DEEPEST = 128
"""Brackets that a text may have to be looked into without a look at how they are nested."""
_NO_WEBHOOKS = (
    "this server calls no webhooks; use the version that is stored, or set spec.conversion.strategy to None in its "
    "CustomResourceDefinition"
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class Types(NamedTuple):
    """The types that all objects have, built in or custom: their metadata."""

    schema: Schema
    fields: FieldSchema


class Versions:
    """The versions of a kind as its definition has them, served or not, and how objects get from one to another.

    Attributes:
        entries: those of the definition's spec.versions, by name.
        storage: the name of the one that is stored.
        is_converted: whether the objects of all are alike but for what their schemas know: conversion is "None".
        edition: what objects that are written by these schemas are known by.
    """

    def __init__(self, spec: Obj, types: Types) -> None:
        """Take the spec of a definition."""
        self.entries: Mapping[str, Obj] = {each["name"]: each for each in spec["versions"]}
        self.storage = next((name for name, each in self.entries.items() if each.get("storage")), "")
        self.is_converted = (spec.get("conversion") or {}).get("strategy") != "Webhook"
        self.edition = SchemaGeneration()
        self.types = types
        self._structurals: dict[str, Structural] = {}

    def structural(self, name: str) -> Structural | None:
        """Return the schema of a version at work, None where there is no such version (any more)."""
        found = self._structurals.get(name)
        if found is None and name in self.entries:
            found = self._structurals[name] = Structural(_schema(self.entries[name]), self.types.schema)
        return found

    def says_the_same(self, other: "Versions") -> bool:
        """Whether objects are read and written by others as by these."""
        return self.entries == other.entries and self.is_converted == other.is_converted


class CustomKind:
    """A custom kind in one version that is served; what is made of its schema is compiled when it is first needed.

    Attributes:
        resource: its row.
        versions: all versions of the kind.
        version: the entry of the definition's spec.versions.
        terminates: whether its definition is being deleted, so that no more of its objects are made.
        verbs: what discovery says that can be done with it; () where its definition is not Established, and neither
            discovery nor OpenAPI tells of it.
    """

    def __init__(self, resource: Resource, versions: Versions) -> None:
        self.resource = resource
        self.versions = versions
        self.version = versions.entries[resource.version]
        self.terminates = False
        self.verbs: tuple[str, ...] = resource.verbs
        self._types = versions.types
        self._published: Obj | None = None

    @property
    def schema(self) -> Obj:
        """The schema of its objects."""
        return _schema(self.version)

    @cached_property
    def structural(self) -> Structural:
        """The schema at work."""
        found = self.versions.structural(self.resource.version)
        assert found is not None, "a row is that of a version"
        return found

    @cached_property
    def fields(self) -> Struct:
        """The kind as managedFields sees it."""
        return self._types.fields.custom(self.schema)

    def published(self, definitions: Mapping[str, Obj]) -> Obj:
        """Return the kind as OpenAPI documents of version 3 describe it; `definitions` are those of the release."""
        if self._published is None:
            resource = self.resource
            selectable = [each["jsonPath"] for each in self.version.get("selectableFields") or ()]
            place = (resource.group, resource.version, resource.kind)
            self._published = published(self.schema, place, definitions, selectable=selectable)
        return self._published

    @cached_property
    def rules(self) -> Rules | None:
        """What its objects must be beside their schema, None where nothing is said."""
        return Rules(self.schema) if has_rules(self.schema) else None

    @cached_property
    def scale(self) -> ScalePaths | None:
        """Where its objects keep what a Scale tells of them, None where they cannot be scaled."""
        return scale_paths(self.version)

    def decode(self, given: Obj, *, body: bytes = b"", strict: bool = True) -> Decoded:
        """Return a document as an object of the kind, with defaults.

        Args:
            given: the document; the object may share its parts.
            body: its text as JSON, for repeated fields.
            strict: look for repeated and name unknown fields.

        Raises:
            DecodeError: its metadata is none, or it is nested too deeply.
        """
        obj = _copied(given) if _is_deep(body) else dict(given)
        try:
            floats_as_go_reads(obj)
        except OverflowError as error:
            number = first_overflow(body)
            raise DecodeError(f"json: cannot unmarshal number {number} into Go value of type float64") from error
        repeated = tuple(repeated_fields(body)) if strict and body and may_repeat_fields(body, given) else ()
        unknown = self.structural.coerce(obj)
        self.structural.default(obj)
        return Decoded(obj, repeated + tuple([f'unknown field "{path}"' for path in unknown]) if strict else ())

    @property
    def current(self) -> SchemaGeneration | None:
        """The edition of which what is stored is as this version has it; None: its objects are never stored as such."""
        return self.versions.edition if self.resource.version == self.versions.storage else None

    def reread(self, stored: Obj) -> Obj:
        """Return an object that was stored by another schema, as this version has it; the argument may be changed.

        Upstream's crdConversionRESTOptionsGetter: the version that it was stored in prunes it and gives the defaults.

        Raises:
            ApiError: 500, it is to be converted by a webhook.
        """
        written_in = self.restored(stored)
        if written_in != self.resource.version:
            stored = self._converted(stored, written_in, self.resource.version)
            self.structural.coerce(stored, drops=True)
        return stored

    def restored(self, stored: Obj) -> str:
        """Make of an object in the store what the version that it was stored in says now; answers with its name."""
        written_in: str = stored["apiVersion"].rpartition("/")[2]
        stored["metadata"].setdefault("generation", 1)
        if structural := self.versions.structural(written_in):
            structural.coerce(stored, drops=True)
            structural.default(stored)
        return written_in

    def stored(self, obj: Obj) -> Obj:
        """An object of this version as the stored version has it: without what that does not know, in place.

        Raises:
            ApiError: 500, it is to be converted by a webhook.
        """
        if self.resource.version != self.versions.storage:
            obj = self._converted(obj, self.resource.version, self.versions.storage)
            if structural := self.versions.structural(self.versions.storage):
                structural.prune(obj)
        return obj

    def _converted(self, obj: Obj, source: str, target: str) -> Obj:
        """An object of another version, before that prunes it; of OpenKruise's webhook the work is done here.

        Raises:
            ApiError: 500, another webhook is to be asked.
        """
        if self.versions.is_converted:
            return obj
        group, kind = self.resource.group, self.resource.kind
        if (convert := conversion(group, kind, source=source, target=target)) is None:
            raise ApiError(500, "", f"conversion webhook for {group}/{source}, Kind={kind} failed: {_NO_WEBHOOKS}")
        return convert(obj)

    def judge(self, obj: Obj, old: Obj | None = None, *, of_status: bool = False) -> Verdict:
        """What is wrong with an object beside its metadata (customresource/strategy.go and validator.go).

        What its rules say of parts that an update leaves as they were is a warning.

        Args:
            obj: the object, with defaults.
            old: what it is to replace, None where it is new.
            of_status: nothing but the status is written.
        """
        schema = self.structural
        if of_status and old is not None:
            found = schema.validate_status(obj, old)
        else:
            found = schema.validate(obj, old)
            found += scale_spec(obj, self.scale) if self.scale else ()
        found += scale_status(obj, self.scale) if self.scale else ()
        for path, resource in () if of_status else schema.embedded(obj):
            found += validate_embedded(path, resource)
        found += schema.list_errors(obj, old)
        if self.rules is None:
            return Verdict(found)
        if any(error.reason in _BLOCKING for error in found):
            return Verdict([*found, field.invalid("<nil>", None, _UNCHECKED)])
        verdict = self.rules.judge(obj, old)
        return Verdict(found + verdict.errors, verdict.warnings)


class Customs:
    """The custom kinds of one server, by group, version and kind.

    Attributes:
        table: the rows of all kinds; those of custom ones come and go with them.
    """

    def __init__(self, table: ResourceTable) -> None:
        self.table = table
        self._kinds: dict[Place, CustomKind] = {}
        self._selecting: dict[str, CustomKind] = {}
        self._listeners: list[Listener] = []

    def find(self, resource: Resource) -> CustomKind | None:
        """What serves a row, None where it is a built-in one."""
        return self._kinds.get(_place(resource)) if resource.custom else None

    def columns(self, resource: Resource) -> Sequence[Obj] | None:
        """Return the additionalPrinterColumns of a row, None where it is a built-in one."""
        kind = self.find(resource)
        return None if kind is None else kind.version.get("additionalPrinterColumns") or ()

    def verbs(self, resource: Resource) -> tuple[str, ...]:
        """What discovery says that can be done with a row, built in or custom; () where it does not tell of it."""
        kind = self.find(resource) if resource.custom else None
        return resource.verbs if kind is None else kind.verbs

    def check_resolved(self, resource: Resource) -> None:
        """Refuse any request for a kind whose names are accepted, but which is not Established.

        What keeps it from that is a webhook whose certificates cannot be read: upstream cannot make a client for it,
        and does not look at the request any further (customresource_handler.go's getOrCreateServingInfoFor).

        Raises:
            ApiError: 500.
        """
        if resource.custom and not self.verbs(resource):
            raise errors.internal("error resolving resource")

    def selecting(self, prefix: str) -> CustomKind | None:
        """One of the versions of the kind whose objects lie under a prefix, if field selectors know more than names."""
        return self._selecting.get(prefix)

    def __iter__(self) -> Iterator[CustomKind]:
        return iter(self._kinds.values())

    def listen(self, listener: Listener) -> None:
        """Have somebody called whenever rows have come, changed or gone, or what is told of them is another."""
        self._listeners.append(listener)

    def serve(self, kinds: list[CustomKind], *, instead: list[CustomKind]) -> None:
        """Serve some kinds from now on, instead of others, which may be the same in an earlier state."""
        for kind in instead:
            if self._kinds.pop(_place(kind.resource), None):
                self.table.remove(kind.resource)
        for kind in kinds:
            resource = kind.resource
            stands = self.table.find(resource.group, resource.version, resource.plural)
            if stands is None or stands.custom:  # a built-in kind answers before its namesake
                self.table.add(resource)
                self._kinds[_place(resource)] = kind
        self._selecting = {
            kind.resource.storage_prefix: kind for kind in self._kinds.values() if kind.resource.kept_fields
        }
        self.announce()

    def announce(self) -> None:
        """Have the listeners called, who look again; rows that are the same objects are the same to them."""
        for listener in self._listeners:
            listener()


def _schema(version: Obj) -> Obj:
    found: Obj = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return found


def _copied(obj: Obj) -> Obj:
    """A copy of what may share its parts with others, as the outcome of a patch does.

    Raises:
        DecodeError: it is nested too deeply.
    """
    try:
        found: Obj = orjson.loads(orjson.dumps(obj))
    except (orjson.JSONEncodeError, orjson.JSONDecodeError) as error:
        raise DecodeError("exceeded max depth") from error
    return found


def _is_deep(body: bytes) -> bool:
    """Whether a text may be nested so deeply that it could not be stored; also where there is none."""
    return not body or body.count(b"{") + body.count(b"[") > _DEEPEST


def _place(resource: Resource) -> Place:
    return resource.group, resource.version, resource.kind
