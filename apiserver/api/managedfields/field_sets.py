"""Sets of an object's fields, as managedFields has them (sigs.k8s.io/structured-merge-diff, fieldpath).

A set is a trie in the wire format of FieldsV1: "f:name" for a field, 'k:{"name":"x"}' for an item of a list of type
map, 'v:"x"' for an item of a list of type set. A key with an empty trie below it is a member; a member that has
members below it has "." among them. Tries are never changed, so they may share parts.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from apiserver.api.meta import Obj

FieldSet = Obj
"""A trie in the format of FieldsV1."""

MEMBER: FieldSet = {}
"""The trie below a member that has no members below it. It is shared: never change it."""

SELF = "."


class EncodedFieldSet(NamedTuple):
    """A set that many objects have, and its JSON for those that only write it. Both are shared: never change them."""

    fields: FieldSet
    json: orjson.Fragment

    @classmethod
    def of(cls, fields: FieldSet) -> "EncodedFieldSet":
        """Return a set with its JSON."""
        return cls(fields, orjson.Fragment(orjson.dumps(fields)))


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of both sets, in order if both sets are."""
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
    """Return the members of the first set that are not in the second."""
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
    """Return the trie that remains below a key, or None if the key is no longer in the set."""
    is_member = (not left or SELF in left) and not (not right or SELF in right)
    rest = difference(left, right)
    if SELF in rest:
        rest = {key: trie for key, trie in rest.items() if key != SELF}
    if not rest:
        return MEMBER if is_member else None
    return {SELF: MEMBER, **rest} if is_member else rest


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of the first set that are in the second as well, in the order of the first."""
    both: FieldSet = {}
    for key in left.keys() & right.keys() if len(left) > len(right) else [key for key in left if key in right]:
        left_below, right_below = left[key], right[key]
        if key == SELF:
            both[SELF] = MEMBER
            continue
        below = {name: trie for name, trie in intersection(left_below, right_below).items() if name != SELF}
        if is_member(left_below) and is_member(right_below):
            both[key] = {SELF: MEMBER, **below} if below else MEMBER
        elif below:
            both[key] = below
    return both


def is_member(below: FieldSet) -> bool:
    """Return whether a key with this trie below it is a member itself."""
    return not below or SELF in below


def has_members_below(below: FieldSet) -> bool:
    """Return whether this trie has members other than its key."""
    return len(below) > 1 or (bool(below) and SELF not in below)


def with_self(below: FieldSet) -> FieldSet:
    """Return the trie of a key that is a member itself, given the members below it."""
    return {SELF: MEMBER, **below} if below and SELF not in below else below


def without(fields: FieldSet, excluded: FieldSet) -> FieldSet:
    """Return the set without the leaves of another trie and everything below them."""
    if excluded.keys().isdisjoint(fields):
        return fields
    kept = {}
    for key, below in fields.items():
        if key not in excluded or (excluded[key] and not below):
            kept[key] = below
        elif excluded[key] and (rest := without(below, excluded[key])):
            kept[key] = MEMBER if rest.keys() == {SELF} else rest
    return kept


ANY = "*"
"""The label of any path element in a pattern."""


def matching(fields: FieldSet, pattern: FieldSet) -> FieldSet:
    """Return the members on the paths of a pattern and below their ends (Set.FilterIncludeMatches).

    {"f:a": {"k:x": {".": {}, "f:b": {}, "f:c": {}}}, "f:d": {}} by {"f:a": {"*": {"f:b": {}}}}
    → {"f:a": {"k:x": {".": {}, "f:b": {}}}}
    """
    if not pattern:
        return fields
    kept: FieldSet = {}
    for label, below in fields.items():
        inner_pattern = pattern.get(label, pattern.get(ANY))
        if inner_pattern is None or label == SELF:
            continue
        inner = matching(below, inner_pattern)
        if is_member(below):
            kept[label] = with_self(inner)
        elif inner:
            kept[label] = inner
    return kept


class FieldFilter(NamedTuple):
    """The fields that a write can set: all but the excluded ones, and if there is a pattern, those on its paths alone.

    Attributes:
        excluded: the fields that go with all below them.
        pattern: the paths of the fields that stay; empty for any.
    """

    excluded: FieldSet = MEMBER
    pattern: FieldSet = MEMBER

    def __call__(self, fields: FieldSet) -> FieldSet:
        """Return the members of a set that the write can set."""
        return matching(without(fields, self.excluded), self.pattern)


ALL_FIELDS = FieldFilter()


def in_order(fields: FieldSet) -> FieldSet:
    """Return the set in upstream's order, if the tries below its keys are in order already."""
    return dict(sorted(fields.items())) if len(fields) > 1 else fields


def parse(fields: Any) -> FieldSet:
    """Return the set that a client sent as FieldsV1; like upstream, path elements of unknown types are left out.

    Raises:
        ValueError: the value is not a trie, or a path element is malformed.
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
