"""Warnings for the writer of a definition that is accepted but has parts without the effect that they seem to have.

The messages are those of apiextensions-apiserver's pkg/registry/customresourcedefinition/strategy.go.
"""

from apiserver.api.formats import format_of
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_TYPE
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of

_NO_SET = (
    'x-kubernetes-list-type: set for items of type "%s" is not supported by server-side apply or CEL validation rules'
)

FORMATS_SINCE, SETS_SINCE = 34, 37
"""The releases that began to warn of unknown formats, and of sets whose items are not scalars."""


def definition_warnings(new: Obj, old: Obj | None, minor: int) -> tuple[str, ...]:
    """Return the warnings for a new definition, or those that an update adds.

    Args:
        new: the definition.
        old: the definition before an update, None for a new one; warnings that it had are not repeated.
        minor: the minor release, such as 34: it decides which formats are known.
    """
    old_warnings = {*_warnings(old, minor)} if old is not None else set()
    return tuple(warning for warning in dict.fromkeys(_warnings(new, minor)) if warning not in old_warnings)


def _warnings(definition: Obj, minor: int) -> list[str]:
    subschemas = [subschema for schema in schemas_of(definition.get("spec") or {}) for subschema in each_schema(schema)]
    return [
        *(_formats(subschemas, minor) if minor >= FORMATS_SINCE else ()),
        *(_sets(subschemas) if minor >= SETS_SINCE else ()),
    ]


def _formats(subschemas: list[Obj], minor: int) -> list[str]:
    """Return a warning for each format that is not validated."""
    formatted = (subschema for subschema in subschemas if subschema.get("format"))
    return [
        f'unrecognized format "{subschema["format"]}"' for subschema in formatted if not format_of(subschema, minor)
    ]


def _sets(subschemas: list[Obj]) -> list[str]:
    """Return a warning for each kind of set items that are not scalars, as only validation treats them as sets."""
    sets = (
        subschema
        for subschema in subschemas
        if subschema.get(LIST_TYPE) == "set" and isinstance(subschema.get("items"), dict)
    )
    kinds = {subschema["items"].get("type") for subschema in sets}
    return [_NO_SET % kind for kind in ("array", "object") if kind in kinds]
