"""The schema of a custom resource's version at work: all its operations on objects, compiled when first used."""

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
from apiserver.apiextensions.structural.full_validation import validate_fully
from apiserver.apiextensions.structural.list_types import HasUniqueItems, list_errors, unique_check
from apiserver.apiextensions.structural.pruning import IsClean, clean_check, drop_nulls, prune
from apiserver.apiextensions.structural.ratcheting import CorrelatedValue


class StructuralSchema:
    """A structural schema.

    Objects are changed in place; they are decoded JSON that nobody else holds. Nothing is compiled before it is used.

    Attributes:
        schema: the schema, as spec.versions[].schema.openAPIV3Schema has it; read-only.
    """

    def __init__(self, schema: Obj, types: Schema) -> None:
        """Create it for a schema.

        Args:
            schema: a schema without `structural_errors` and `default_errors`.
            types: the types of the emulated release: they decode metadata, and their release's rules apply.
        """
        self.schema = schema
        self._types = types
        self._minor = int(types.version.partition(".")[2])

    def coerce(self, obj: Obj, *, drops: bool = False, keep_nulls: bool = False) -> list[str]:
        """Convert a decoded document to an object of the schema, except for defaults (unstructuredSchemaCoercer).

        Metadata is converted to its type, here and in embedded resources; unknown fields and idle nulls are removed.

        Args:
            obj: the document; its apiVersion and kind are strings.
            drops: drop malformed metadata, as is right for stored objects.
            keep_nulls: leave idle nulls, as an apply does.

        Returns:
            The paths of unknown fields, for errors such as 'unknown field "spec.foo"', in upstream's order.

        Raises:
            DecodeError: metadata is malformed.
        """
        unknown = coerce_metadata(obj, "", self._types, drops=drops) if "metadata" in obj else []
        unknown += self.prune(obj, keep_nulls=keep_nulls)
        if self._has_embedded:
            resources = [*embedded_resources(obj, self.schema)]
            paths = [
                path
                for resource_path, resource in resources
                for path in coerce_resource(resource, resource_path, self._types, drops=drops)
            ]
            unknown += sorted(paths)
        return unknown

    def prune(self, obj: Obj, *, keep_nulls: bool = False) -> list[str]:
        """Remove fields that the schema does not know, and nulls that are not valid and get no default.

        Fields within the metadata of objects stay.

        Returns:
            The paths of the unknown fields, sorted.
        """
        if self._is_clean(obj):
            return []
        unknown = prune(obj, self.schema)
        if not keep_nulls:
            drop_nulls(obj, self.schema)
        return unknown

    def default(self, obj: Obj) -> None:
        """Fill in the defaults of absent fields, and of nulls that are not valid."""
        if self._defaulter is not None:
            self._defaulter(obj)

    def validate(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Return the errors of an object's values.

        Args:
            obj: the object.
            old: the object that it replaces: errors in what is unchanged are ignored.
        """
        if self._is_good(obj):
            return []
        pair = None if old is None else CorrelatedValue(self.schema, obj, old)
        return validate_fully(self.schema, obj, minor=self._minor, pair=pair).errors("")

    def fits_types(self, obj: Obj) -> bool:
        """Return whether each value of an object is of the type that the schema says."""
        if self._is_good(obj):
            return True
        problems = validate_fully(self.schema, obj, minor=self._minor).errors("")
        return not any(problem.reason == "FieldValueTypeInvalid" for problem in problems)

    def validate_status(self, obj: Obj, old: Obj) -> list[FieldError]:
        """Return the errors of an object's status, in an update that leaves the rest unchanged.

        Messages name fields from the status on, as upstream's do since 1.28: "count in body should be ...".
        """
        schema = properties(self.schema).get("status")
        if schema is None or "status" not in obj or self._is_good_status(obj["status"]):
            return []
        pair = CorrelatedValue(schema, obj["status"], old.get("status"))
        return validate_fully(schema, obj["status"], minor=self._minor, pair=pair).errors("status")

    def list_errors(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Return the errors of repeated items in lists that are sets or maps.

        Args:
            obj: the object.
            old: the object that it replaces: if it has repeated items too, no errors are returned.
        """
        if self._has_unique_items is None or self._has_unique_items(obj):
            return []
        errors = [*list_errors(obj, self.schema)]
        return [] if errors and old is not None and any(list_errors(old, self.schema)) else errors

    def embedded(self, obj: Obj) -> list[tuple[str, Obj]]:
        """Return the embedded resources of an object with their paths, for further validation."""
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
