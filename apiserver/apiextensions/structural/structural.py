"""The schema of a custom resource's version at work: everything that it does to objects, compiled as it is needed."""

from functools import cached_property

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema import Schema
from apiserver.api.schema.keywords import properties
from apiserver.apiextensions.structural.checks import Check, check_of
from apiserver.apiextensions.structural.defaulting import SetDefaults, defaulter
from apiserver.apiextensions.structural.embedded import (
    coerce_metadata,
    coerce_resource,
    embedded_resources,
    has_embedded,
)
from apiserver.apiextensions.structural.full_validation import explain
from apiserver.apiextensions.structural.list_types import HasUniqueItems, list_errors, unique_check
from apiserver.apiextensions.structural.pruning import IsClean, clean_check, drop_nulls, prune
from apiserver.apiextensions.structural.ratcheting import Pair


class Structural:
    """A structural schema.

    Objects are changed in place; they are decoded JSON that nobody else has. Nothing is compiled before it is used.

    Attributes:
        schema: the schema, as spec.versions[].schema.openAPIV3Schema has it; read-only.
    """

    def __init__(self, schema: Obj, types: Schema) -> None:
        """Take a schema.

        Args:
            schema: one of which `structural_errors` and `default_errors` tell nothing.
            types: the release that the server is: what decodes metadata, and whose rules hold.
        """
        self.schema = schema
        self._types = types
        self._minor = int(types.version.partition(".")[2])

    def coerce(self, obj: Obj, *, drops: bool = False) -> list[str]:
        """Make of a decoded document an object that the schema knows, but for defaults (unstructuredSchemaCoercer).

        Metadata becomes what its type has, here and in embedded resources; unknown fields and idle nulls go.

        Args:
            obj: the document; its apiVersion and kind are texts.
            drops: malformed metadata is left out, as is right for what is stored.

        Returns:
            The paths of unknown fields, for errors such as 'unknown field "spec.foo"', in upstream's order.

        Raises:
            DecodeError: metadata is malformed.
        """
        unknown = coerce_metadata(obj, "", self._types, drops=drops) if "metadata" in obj else []
        unknown += self.prune(obj)
        if self._has_embedded:
            found = [*embedded_resources(obj, self.schema)]
            paths = [path for at, each in found for path in coerce_resource(each, at, self._types, drops=drops)]
            unknown += sorted(paths)
        return unknown

    def prune(self, obj: Obj) -> list[str]:
        """Take out fields that the schema does not know, and nulls that are no values and get no default.

        What is in the metadata of objects stays.

        Returns:
            The paths of the unknown fields, sorted.
        """
        if self._is_clean(obj):
            return []
        unknown = prune(obj, self.schema)
        drop_nulls(obj, self.schema)
        return unknown

    @property
    def has_defaults(self) -> bool:
        """Can `default` change anything?"""
        return self._defaulter is not None

    def default(self, obj: Obj) -> None:
        """Fill in the defaults of absent fields, and of nulls that are no values."""
        if self._defaulter is not None:
            self._defaulter(obj)

    def validate(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """What is wrong with an object's values.

        Args:
            obj: the object.
            old: what it replaces: what is wrong in both, at the same place, is let through.
        """
        if self._is_good(obj):
            return []
        pair = None if old is None else Pair(self.schema, obj, old)
        return explain(self.schema, obj, minor=self._minor, pair=pair).errors("")

    def fits_types(self, obj: Obj) -> bool:
        """Return whether each value of an object is of the type that the schema says."""
        if self._is_good(obj):
            return True
        problems = explain(self.schema, obj, minor=self._minor).errors("")
        return not any(problem.reason == "FieldValueTypeInvalid" for problem in problems)

    def validate_status(self, obj: Obj, old: Obj) -> list[FieldError]:
        """What is wrong with an object's status, and that alone, where the rest of it stays.

        Messages name fields from the status on, as upstream's do since 1.28: "count in body should be ...".
        """
        schema = properties(self.schema).get("status")
        if schema is None or "status" not in obj or self._is_good_status(obj["status"]):
            return []
        pair = Pair(schema, obj["status"], old.get("status"))
        return explain(schema, obj["status"], minor=self._minor, pair=pair).errors("status")

    def list_errors(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """The items that stand twice in lists that are sets or maps.

        Args:
            obj: the object.
            old: what it replaces: if there are any in it, none are told.
        """
        if self._has_unique_items is None or self._has_unique_items(obj):
            return []
        found = [*list_errors(obj, self.schema)]
        return [] if found and old is not None and any(list_errors(old, self.schema)) else found

    def embedded(self, obj: Obj) -> list[tuple[str, Obj]]:
        """The embedded resources of an object with their paths, for what else must hold of them."""
        return [*embedded_resources(obj, self.schema)] if self._has_embedded else []

    @cached_property
    def _is_clean(self) -> IsClean:
        return clean_check(self.schema)

    @cached_property
    def _defaulter(self) -> SetDefaults | None:
        return defaulter(self.schema)

    @cached_property
    def _is_good(self) -> Check:
        return check_of(self.schema, self._minor)

    @cached_property
    def _is_good_status(self) -> Check:
        return check_of(properties(self.schema)["status"], self._minor)

    @cached_property
    def _has_unique_items(self) -> HasUniqueItems | None:
        return unique_check(self.schema)

    @cached_property
    def _has_embedded(self) -> bool:
        return has_embedded(self.schema)
