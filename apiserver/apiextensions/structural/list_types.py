"""Lists that are sets, or maps by some keys of their items, have no item twice.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go. `unique_check` makes a
quick look of a schema; only what that finds wanting is walked.
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
    """The items that stand more than once in lists that are sets or maps; of each, the second is told.

    Args:
        obj: an object, or a value in one.
        schema: a structural schema of it.
        path: where the value stands.
    """
    if schema is None:
        return
    if isinstance(obj, list):
        yield from _list_errors(obj, schema, path)
    elif isinstance(obj, dict):
        of_values = values(schema)
        for key, each in obj.items() if of_values is not None else ():
            yield from list_errors(each, of_values, at(path, key))
        for key, each in obj.items():
            yield from list_errors(each, properties(schema).get(key), child(path, key))


def _list_errors(listed: list[Any], schema: Obj, path: str) -> Iterator[FieldError]:
    match schema.get(LIST_TYPE):
        case "set":
            for index in _second_ones(map(key_of, listed)):
                yield field.duplicate(at(path, index), in_order(listed[index]))
        case "map":
            yield from _map_errors(listed, schema.get(LIST_KEYS) or [], path)
    for index, each in enumerate(listed):
        yield from list_errors(each, items(schema), at(path, index))


def _map_errors(listed: list[Any], keys: list[str], path: str) -> Iterator[FieldError]:
    for index, each in enumerate(listed):
        if each is not None and not isinstance(each, dict):
            yield field.invalid(at(path, index), in_order(each), _NO_OBJECT)
            return
    found = [{key: each[key] for key in sorted(keys) if key in each} if each else {} for each in listed]
    for index in _second_ones(map(key_of, found)):
        yield field.duplicate(at(path, index), in_order(found[index]))


def _second_ones(keys: Iterable[Any]) -> Iterator[int]:
    """Where keys are that have stood exactly once before."""
    seen: dict[Any, int] = {}
    for index, key in enumerate(keys):
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            yield index


HasUniqueItems = Callable[[Any], bool]


def unique_check(schema: Obj | None) -> HasUniqueItems | None:
    """A quick look whether `list_errors` would tell nothing; None where it never tells anything."""
    if schema is None:
        return None
    of_items, others = unique_check(items(schema)), unique_check(values(schema))
    own = _own_check(schema)
    fields = {name: look for name, each in properties(schema).items() if (look := unique_check(each))}
    if not (of_items or own or fields or others):
        return None

    def check(value: Any) -> bool:
        if isinstance(value, dict):
            named = all(look(value[name]) for name, look in fields.items() if name in value)
            return named and (others is None or all(map(others, value.values())))
        if isinstance(value, list):
            return (own is None or own(value)) and (of_items is None or all(map(of_items, value)))
        return True

    return check


def _own_check(schema: Obj) -> HasUniqueItems | None:
    """The look at the items of one list."""
    keys = schema.get(LIST_KEYS) or []
    match schema.get(LIST_TYPE):
        case "set":
            return _are_unlike
        case "map":
            return lambda listed: (
                _are_keyed(listed) and _are_unlike(tuple([each.get(key, _ABSENT) for key in keys]) for each in listed)
            )
    return None


def _are_keyed(listed: list[Any]) -> bool:
    return all(each.__class__ is dict for each in listed)


def _are_unlike(keys: Iterable[Any]) -> bool:
    """Are all different even for Python, to which 1 is true? What cannot be put into a set the walk compares."""
    seen = [*keys]
    try:
        return len(set(seen)) == len(seen)
    except TypeError:
        return False
