"""Unknown fields are taken out of objects, and nulls that mean nothing.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema: pruning/algorithm.go and defaulting/prunenulls.go.
Most objects have neither: `clean_check` makes a quick look of a schema, and only what that finds wanting is walked.
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
    """Take out of an object what its schema does not know, in place.

    Args:
        obj: a whole object: its apiVersion, kind and metadata are known.
        schema: a structural schema.

    Returns:
        The paths of what was unknown, sorted.
    """
    found: list[str] = []
    _prune(obj, schema | {EMBEDDED: True}, "", found)
    return sorted(found)


def prune_value(value: Any, schema: Obj) -> list[str]:
    """The same with a value that is no whole object, such as a default, which is one where its schema says so."""
    found: list[str] = []
    _prune(value, schema, "", found)
    return sorted(found)


def _prune(value: Any, schema: Obj | None, path: str, found: list[str]) -> None:
    if schema is None:
        _prune_all(value, path, found)
    elif schema.get(PRESERVE):
        _prune_named(value, schema, path, found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _prune(each, items(schema), at(path, index), found)
    elif isinstance(value, dict):
        _prune_fields(value, schema, path, found)


def _prune_fields(value: Obj, schema: Obj, path: str, found: list[str]) -> None:
    named, has_more = properties(schema), has_values(schema)
    of_object = META if schema.get(EMBEDDED) else frozenset()
    for key in [*value]:
        if key in of_object:
            continue
        if key in named or has_more:
            _prune(value[key], at_key(schema, key), child(path, key), found)
        else:
            found.append(child(path, key))
            del value[key]


def _prune_all(value: Any, path: str, found: list[str]) -> None:
    """Empty a value of which nothing is known; its lists keep their lengths. However deep, it needs no stack."""
    waiting = [(value, path)]
    while waiting:
        each, place = waiting.pop()
        if isinstance(each, dict):
            found += [child(place, key) for key in each]
            each.clear()
        elif isinstance(each, list):
            waiting += [(item, at(place, index)) for index, item in enumerate(each)]


def _prune_named(value: Any, schema: Obj | None, path: str, found: list[str]) -> None:
    """Keep what is unknown here, but not in what is known."""
    if schema is None:
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            _prune_named(each, items(schema), at(path, index), found)
    elif isinstance(value, dict):
        named, has_more = properties(schema), has_values(schema)
        of_object = META if schema.get(EMBEDDED) else frozenset()
        for key, each in value.items():
            if key not in of_object and (key in named or has_more):
                _prune(each, at_key(schema, key), child(path, key), found)


def drop_nulls(value: Any, schema: Obj | None) -> None:
    """Take out the nulls of fields that may not be null and have no default, in place: they are as good as absent."""
    if schema is None:
        return
    if isinstance(value, list):
        for each in value:
            drop_nulls(each, items(schema))
    elif isinstance(value, dict):
        for key in [*value]:
            known = at_key(schema, key)
            if value[key] is None and known is not None and _is_idle_null(known):
                del value[key]
            else:
                drop_nulls(value[key], known)


def _is_idle_null(schema: Obj) -> bool:
    return not takes_null(schema) and default_of(schema) is None


def clean_check(schema: Obj) -> IsClean:
    """A quick look whether `prune` and `drop_nulls` would leave whole objects as they are."""
    return _clean(schema | {EMBEDDED: True})


def _clean(schema: Obj | None) -> IsClean:
    if schema is None:
        return _is_hollow
    known = dict(_known_fields(schema))
    others = _clean_field(values(schema)) if has_values(schema) else _is_anything if schema.get(PRESERVE) else None
    return _clean_value(known, others, _clean_item(schema))


def _known_fields(schema: Obj) -> Iterator[tuple[str, IsClean]]:
    for name, each in properties(schema).items():
        yield name, _clean_field(each)
    for name in META if schema.get(EMBEDDED) else ():
        yield name, _clean_meta(at_key(schema, name))


def _clean_meta(schema: Obj | None) -> IsClean:
    """The look at what is not pruned, but is not to have idle nulls where something is said of it."""
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
    """The look at what is neither a scalar nor absent; a null is one that stays, or is replaced by a default."""
    check = _clean(schema)
    if schema is None or not _is_idle_null(schema):
        return check
    return lambda value: value is not None and check(value)


def _clean_item(schema: Obj) -> IsClean:
    of_items = items(schema)
    if not schema.get(PRESERVE):
        return _clean(of_items)
    return _is_anything if of_items is None else _clean({**of_items, PRESERVE: True})


def _clean_value(known: Mapping[str, IsClean], others: IsClean | None, item: IsClean) -> IsClean:
    def check(value: Any) -> bool:
        kind = value.__class__
        if kind is dict:
            for key, each in value.items():
                inner = each.__class__
                if inner is dict or inner is list or each is None:
                    if (look := known.get(key, others)) is None or not look(each):
                        return False
                elif key not in known and others is None:
                    return False
        elif kind is list:
            for each in value:
                inner = each.__class__
                if (inner is dict or inner is list) and not item(each):
                    return False
        return True

    return check


def _is_anything(_value: Any) -> bool:
    return True


def _is_hollow(value: Any) -> bool:
    """Is there nothing in it that had to be taken out, were nothing known of it?"""
    return not _has_fields(value)


def _has_fields(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and each:
            return True
        if isinstance(each, list):
            waiting += each
    return False
