"""Removes unknown fields from objects, and nulls without meaning.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema: pruning/algorithm.go and defaulting/prunenulls.go.
Most objects have neither: `clean_check` compiles a schema to a quick check; only values that it refuses are walked.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import (
    EMBEDDED,
    META,
    PRESERVE,
    at,
    at_key,
    child,
    default_of,
    has_values,
    items,
    properties,
    takes_null,
    values,
)

IsClean = Callable[[Any], bool]


def prune(obj: Obj, schema: Obj) -> list[str]:
    """Remove the fields of an object that its schema does not know, in place.

    Args:
        obj: a whole object: its apiVersion, kind and metadata are known.
        schema: a structural schema.

    Returns:
        The sorted paths of the removed fields.
    """
    unknown: list[str] = []
    _prune(obj, schema | {EMBEDDED: True}, "", unknown)
    return sorted(unknown)


def prune_value(value: Any, schema: Obj) -> list[str]:
    """Prune a value such as a default, which is a whole object only if its schema says so; see `prune`."""
    unknown: list[str] = []
    _prune(value, schema, "", unknown)
    return sorted(unknown)


def _prune(value: Any, schema: Obj | None, path: str, unknown: list[str]) -> None:
    if schema is None:
        _prune_all(value, path, unknown)
    elif schema.get(PRESERVE):
        _prune_named(value, schema, path, unknown)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _prune(item, items(schema), at(path, index), unknown)
    elif isinstance(value, dict):
        _prune_fields(value, schema, path, unknown)


def _prune_fields(value: Obj, schema: Obj, path: str, unknown: list[str]) -> None:
    named, has_more = properties(schema), has_values(schema)
    of_object = META if schema.get(EMBEDDED) else frozenset()
    for key in [*value]:
        if key in of_object:
            continue
        if key in named or has_more:
            _prune(value[key], at_key(schema, key), child(path, key), unknown)
        else:
            unknown.append(child(path, key))
            del value[key]


def _prune_all(value: Any, path: str, unknown: list[str]) -> None:
    """Remove all fields from a value without a schema; its lists keep their lengths. There is no recursion limit."""
    pending = [(value, path)]
    while pending:
        current, current_path = pending.pop()
        if isinstance(current, dict):
            unknown += [child(current_path, key) for key in current]
            current.clear()
        elif isinstance(current, list):
            pending += [(item, at(current_path, index)) for index, item in enumerate(current)]


def _prune_named(value: Any, schema: Obj | None, path: str, unknown: list[str]) -> None:
    """Keep the unknown fields here, but prune the values of known ones."""
    if schema is None:
        return
    if isinstance(value, list):
        for index, inner in enumerate(value):
            _prune_named(inner, items(schema), at(path, index), unknown)
    elif isinstance(value, dict):
        named, has_more = properties(schema), has_values(schema)
        of_object = META if schema.get(EMBEDDED) else frozenset()
        for key, inner in value.items():
            if key not in of_object and (key in named or has_more):
                _prune(inner, at_key(schema, key), child(path, key), unknown)


def drop_nulls(value: Any, schema: Obj | None) -> None:
    """Remove the nulls of fields that may not be null and have no default, in place: they count as absent."""
    if schema is None:
        return
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, items(schema))
    elif isinstance(value, dict):
        for key in [*value]:
            field_schema = at_key(schema, key)
            if value[key] is None and field_schema is not None and _is_idle_null(field_schema):
                del value[key]
            else:
                drop_nulls(value[key], field_schema)


def _is_idle_null(schema: Obj) -> bool:
    return not takes_null(schema) and default_of(schema) is None


def clean_check(schema: Obj) -> IsClean:
    """Return a check that is True only if `prune` and `drop_nulls` would leave a whole object as it is."""
    return _clean(schema | {EMBEDDED: True})


def _clean(schema: Obj | None) -> IsClean:
    if schema is None:
        return _is_hollow
    field_checks = dict(_known_fields(schema))
    others = _clean_field(values(schema)) if has_values(schema) else _is_anything if schema.get(PRESERVE) else None
    return _clean_value(field_checks, others, _clean_item(schema))


def _known_fields(schema: Obj) -> Iterator[tuple[str, IsClean]]:
    for name, field_schema in properties(schema).items():
        yield name, _clean_field(field_schema)
    for name in META if schema.get(EMBEDDED) else ():
        yield name, _clean_meta(at_key(schema, name))


def _clean_meta(schema: Obj | None) -> IsClean:
    """Return the check of a field that is not pruned, but may not have idle nulls if the schema declares it."""
    if schema is None:
        return _is_anything
    if properties(schema) or has_values(schema):
        return lambda value: not _has_null(value)
    return lambda value: value is not None or not _is_idle_null(schema)


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None


def _clean_field(schema: Obj | None) -> IsClean:
    """Return the check of a value that is an object, a list or null; a null must be valid, or have a default."""
    check = _clean(schema)
    if schema is None or not _is_idle_null(schema):
        return check
    return lambda value: value is not None and check(value)


def _clean_item(schema: Obj) -> IsClean:
    of_items = items(schema)
    if not schema.get(PRESERVE):
        return _clean(of_items)
    return _is_anything if of_items is None else _clean({**of_items, PRESERVE: True})


def _clean_value(field_checks: Mapping[str, IsClean], others: IsClean | None, item: IsClean) -> IsClean:
    def check(value: Any) -> bool:
        kind = value.__class__
        if kind is dict:
            for key, inner in value.items():
                kind_of_inner = inner.__class__
                if kind_of_inner is dict or kind_of_inner is list or inner is None:
                    if (inner_check := field_checks.get(key, others)) is None or not inner_check(inner):
                        return False
                elif key not in field_checks and others is None:
                    return False
        elif kind is list:
            for inner in value:
                kind_of_inner = inner.__class__
                if (kind_of_inner is dict or kind_of_inner is list) and not item(inner):
                    return False
        return True

    return check


def _is_anything(_value: Any) -> bool:
    return True


def _is_hollow(value: Any) -> bool:
    """Return True if there is no field to remove from a value without a schema."""
    return not _has_fields(value)


def _has_fields(value: Any) -> bool:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, dict) and current:
            return True
        if isinstance(current, list):
            pending += current
    return False
