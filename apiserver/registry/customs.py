"""Custom kinds as they are served: rows that come and go, and what the verbs need of each beside its row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from typing import NamedTuple

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.field_kinds import Struct
from apiserver.api.field_schema import FieldSchema
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.rules.rules import Rules, has_rules
from apiserver.api.scale_paths import ScalePaths, scale_paths
from apiserver.api.schema import Decoded, DecodeError, Schema, may_repeat_fields, repeated_fields
from apiserver.api.structural import Structural
from apiserver.api.structural.openapi import published
from apiserver.registry.validation.custom_scale import scale_spec, scale_status
from apiserver.registry.validation.embedded import validate_embedded

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
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class Types(NamedTuple):
    """The types that all objects have, built in or custom: their metadata."""

    schema: Schema
    fields: FieldSchema


class CustomKind:
    """A custom kind in one version that is served; what is made of its schema is compiled when it is first needed.

    Attributes:
        resource: its row.
        version: the entry of the definition's spec.versions.
        storage: that of the version that is stored.
        since: the revision from which on everything was written by this schema; what is older is read through it.
        terminates: whether its definition is being deleted, so that no more of its objects are made.
    """

    def __init__(self, resource: Resource, version: Obj, *, storage: Obj, since: int, types: Types) -> None:
        self.resource = resource
        self.version = version
        self.storage = storage
        self.since = since
        self.terminates = False
        self._types = types
        self._published: Obj | None = None

    @property
    def schema(self) -> Obj:
        """The schema of its objects."""
        return _schema(self.version)

    @cached_property
    def structural(self) -> Structural:
        """The schema at work."""
        return Structural(self.schema, self._types.schema)

    @cached_property
    def fields(self) -> Struct:
        """The kind as managedFields sees it."""
        return self._types.fields.custom(self.schema)

    def published(self, definitions: Mapping[str, Obj]) -> Obj:
        """The kind as OpenAPI documents of version 3 describe it; `definitions` are those of the release."""
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
        """A document as an object of the kind, with defaults.

        Args:
            given: the document; the object may share its parts.
            body: its text as JSON, for repeated fields.
            strict: look for repeated and name unknown fields.

        Raises:
            DecodeError: its metadata is none, or it is nested too deeply.
        """
        obj = _copied(given) if _is_deep(body) else dict(given)
        repeated = tuple(repeated_fields(body)) if strict and body and may_repeat_fields(body, given) else ()
        unknown = self.structural.coerce(obj)
        self.structural.default(obj)
        return Decoded(obj, repeated + tuple([f'unknown field "{path}"' for path in unknown]) if strict else ())

    @property
    def current(self) -> float:
        """The revision from which on what is stored is as this version has it."""
        return self.since if self.version.get("storage") else inf

    def reread(self, stored: Obj) -> Obj:
        """An object that was stored by another schema, as this version has it; the argument may be changed."""
        self.structural.coerce(stored, drops=True)
        self.structural.default(stored)
        return stored

    def stored(self, obj: Obj) -> Obj:
        """An object of this version as the stored version has it: without what that does not know, in place."""
        if self.storage is not self.version:
            self._stored.prune(obj)
        return obj

    @cached_property
    def _stored(self) -> Structural:
        return Structural(_schema(self.storage), self._types.schema)

    def problems(self, obj: Obj, old: Obj | None = None, *, of_status: bool = False) -> list[FieldError]:
        """What is wrong with an object beside its metadata (customresource/strategy.go and validator.go).

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
            return found
        if any(error.reason in _BLOCKING for error in found):
            return [*found, field.invalid("<nil>", None, _UNCHECKED)]
        return found + self.rules.check(obj, old)


class Customs:
    """The custom kinds of one server, by group, version and kind; the rows of the table come and go with them."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table
        self._kinds: dict[Place, CustomKind] = {}
        self._listeners: list[Listener] = []

    def find(self, resource: Resource) -> CustomKind | None:
        """What serves a row, None where it is a built-in one."""
        return self._kinds.get((resource.group, resource.version, resource.kind))

    def columns(self, resource: Resource) -> Sequence[Obj] | None:
        """The additionalPrinterColumns of a row, None where it is a built-in one."""
        kind = self.find(resource)
        return None if kind is None else kind.version.get("additionalPrinterColumns") or ()

    def __iter__(self) -> Iterator[CustomKind]:
        return iter(self._kinds.values())

    def listen(self, listener: Listener) -> None:
        """Have somebody called whenever rows have come, changed or gone."""
        self._listeners.append(listener)

    def serve(self, kinds: list[CustomKind], *, instead: list[CustomKind]) -> None:
        """Serve some kinds from now on, instead of others, which may be the same in an earlier state."""
        for kind in instead:
            if self._kinds.pop(_place(kind.resource), None):
                self._table.remove(kind.resource)
        for kind in kinds:
            resource = kind.resource
            stands = self._table.find(resource.group, resource.version, resource.plural)
            if stands is None or stands.custom:  # a built-in kind answers before its namesake
                self._table.add(resource)
                self._kinds[_place(resource)] = kind
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
