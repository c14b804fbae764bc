"""Uniqueness of the items of lists that are sets, or maps with keys.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go. `unique_check` compiles a
schema to a quick check; only values that it refuses are walked.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, at, child, items, properties, values
from apiserver.apiextensions.structural.equality import in_order, key_of

_NO_OBJECT = "must be an object for an array of list-type map"
_ABSENT = object()
"""Stands for a key that an item lacks."""


def list_errors(obj: Any, schema: Obj | None, path: str = "") -> Iterator[FieldError]:
    """Yield an error for each item that occurs repeatedly in a set or map list; the second occurrence is reported.

    Args:
        obj: an object, or a value in one.
        schema: a structural schema of it.
        path: the path of the value.
    """
    if schema is None:
        return
    if isinstance(obj, list):
        yield from _list_errors(obj, schema, path)
    elif isinstance(obj, dict):
        of_values = values(schema)
        for key, inner in obj.items() if of_values is not None else ():
            yield from list_errors(inner, of_values, at(path, key))
        for key, inner in obj.items():
            yield from list_errors(inner, properties(schema).get(key), child(path, key))


def _list_errors(listed: list[Any], schema: Obj, path: str) -> Iterator[FieldError]:
    match schema.get(LIST_TYPE):
        case "set":
            for index in _second_ones(map(key_of, listed)):
                yield field.duplicate(at(path, index), in_order(listed[index]))
        case "map":
            yield from _map_errors(listed, schema.get(LIST_KEYS) or [], path)
    for index, item in enumerate(listed):
        yield from list_errors(item, items(schema), at(path, index))


def _map_errors(listed: list[Any], keys: list[str], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(listed):
        if item is not None and not isinstance(item, dict):
            yield field.invalid(at(path, index), in_order(item), _NO_OBJECT)
            return
    item_keys = [{key: item[key] for key in sorted(keys) if key in item} if item else {} for item in listed]
    for index in _second_ones(map(key_of, item_keys)):
        yield field.duplicate(at(path, index), in_order(item_keys[index]))


def _second_ones(keys: Iterable[Any]) -> Iterator[int]:
    """Yield the indexes of the second occurrences of keys."""
    seen: dict[Any, int] = {}
    for index, key in enumerate(keys):
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            yield index


HasUniqueItems = Callable[[Any], bool]


def unique_check(schema: Obj | None) -> HasUniqueItems | None:
    """Return a check that is True only if `list_errors` is empty; None if it is always empty."""
    if schema is None:
        return None
    of_items, others = unique_check(items(schema)), unique_check(values(schema))
    own = _own_check(schema)
    fields = {
        name: inner_check
        for name, field_schema in properties(schema).items()
        if (inner_check := unique_check(field_schema))
    }
    if not (of_items or own or fields or others):
        return None

    def check(value: Any) -> bool:
        if isinstance(value, dict):
            named = all(inner_check(value[name]) for name, inner_check in fields.items() if name in value)
            return named and (others is None or all(map(others, value.values())))
        if isinstance(value, list):
            return (own is None or own(value)) and (of_items is None or all(map(of_items, value)))
        return True

    return check


def _own_check(schema: Obj) -> HasUniqueItems | None:
    """Return the check of the items of one list; None if they may repeat."""
    keys = schema.get(LIST_KEYS) or []
    match schema.get(LIST_TYPE):
        case "set":
            return _are_unlike
        case "map":
            return lambda listed: (
                _are_keyed(listed) and _are_unlike(tuple([item.get(key, _ABSENT) for key in keys]) for item in listed)
            )
    return None


def _are_keyed(listed: list[Any]) -> bool:
    return all(item.__class__ is dict for item in listed)


def _are_unlike(keys: Iterable[Any]) -> bool:
    """Return True if all keys differ for Python, where 1 == True; False also if they cannot be hashed."""
    seen = [*keys]
    try:
        return len(set(seen)) == len(seen)
    except TypeError:
        return False
