"""Sets of an object's fields, as managedFields has them (sigs.k8s.io/structured-merge-diff, fieldpath).

A set is the trie that FieldsV1 is on the wire: "f:name" for a field, 'k:{"name":"x"}' for an item of a list that is a
map, 'v:"x"' for an item of a list that is a set. An empty trie below a key makes the key a member; where a member has
members below it, "." says so. Tries are never changed once they are made, so they may share parts.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from apiserver.api.meta import Obj

FieldSet = Obj
"""A trie as FieldsV1 has it."""

MEMBER: FieldSet = {}
"""What stands below a member that has no members below it. One object for all: never change it."""

SELF = "."


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The members of both sets, in order where both are."""
    if not left or not right:
        return left or right
    merged = left | right
    for key in left.keys() & right.keys():
        if key != SELF:
            merged[key] = _union_below(left[key], right[key])
    return merged if len(merged) == len(left) else dict(sorted(merged.items()))


def _union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    merged = union(left, right)
    return merged if not merged or (left and right) else {SELF: MEMBER, **merged}


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The members of the first set that are not in the second."""
    if left.keys().isdisjoint(right):
        return left
    kept = left.copy()
    for key in left.keys() & right.keys():
        rest = None if key == SELF else _difference_below(left[key], right[key])
        if rest is None:
            del kept[key]
        else:
            kept[key] = rest
    return kept


def _difference_below(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """The rest of a member and what is below it, None where nothing is left."""
    member = (not left or SELF in left) and not (not right or SELF in right)
    rest = difference(left, right)
    if SELF in rest:
        rest = {key: below for key, below in rest.items() if key != SELF}
    if not rest:
        return MEMBER if member else None
    return {SELF: MEMBER, **rest} if member else rest


def without(fields: FieldSet, excluded: FieldSet) -> FieldSet:
    """The set without the leaves of another trie and everything below them."""
    if excluded.keys().isdisjoint(fields):
        return fields
    kept = {}
    for key, below in fields.items():
        if key not in excluded or (excluded[key] and not below):
            kept[key] = below
        elif excluded[key] and (rest := without(below, excluded[key])):
            kept[key] = MEMBER if rest.keys() == {SELF} else rest
    return kept


def in_order(fields: FieldSet) -> FieldSet:
    """The set in the order in which upstream writes it, if what is below each of its keys is so already."""
    return dict(sorted(fields.items())) if len(fields) > 1 else fields


def parse(fields: Any) -> FieldSet:
    """The set that a client sent as FieldsV1; path elements of unknown types are left out, as upstream does.

    Raises:
        ValueError: it is no trie, or a path element cannot be read.
    """
    if not isinstance(fields, dict):
        raise ValueError("fieldsV1 is no object")  # noqa: TRY004 - a value from the wire, not a wrong argument
    return dict(_parsed(fields))


def _parsed(fields: Obj) -> Iterator[tuple[str, FieldSet]]:
    for key, below in fields.items():
        if key == SELF:
            yield key, MEMBER
        elif len(key) < len("f:") or key[1] != ":":
            raise ValueError(f"missing colon: {key}")
        elif key[0] in "fkvi":
            _check(key)
            yield key, parse(below)


def _check(key: str) -> None:
    if key[0] in "kv":
        orjson.loads(key[2:])
    elif key[0] == "i":
        int(key[2:])
