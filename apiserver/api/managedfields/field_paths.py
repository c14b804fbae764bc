"""The members of a set as paths, in upstream's order and words (structured-merge-diff, fieldpath)."""

from collections.abc import Iterator
from typing import Any

import orjson

from apiserver.api.golang.strings import quoted
from apiserver.api.golang.values import go_text
from apiserver.api.managedfields.field_sets import SELF, FieldSet, has_members_below, is_member


def paths(fields: FieldSet) -> Iterator[str]:
    """Yield the members' paths: those of one level before those below them (Set.Iterate).

    {"f:b": {"f:c": {}}, "f:a": {}, "f:l": {'k:{"name":"x"}': {}}} → .a .b.c .l[name="x"]
    """
    return _paths(fields, "")


def _paths(fields: FieldSet, prefix: str) -> Iterator[str]:
    labels = sorted((label for label in fields if label != SELF), key=_rank)
    for label in labels:
        if is_member(fields[label]):
            yield prefix + element_text(label)
    for label in labels:
        if has_members_below(fields[label]):
            yield from _paths(fields[label], prefix + element_text(label))


def element_text(label: str) -> str:
    """Return a path element as messages have it (PathElement.String).

    f:spec → .spec    k:{"port":80,"proto":"TCP"} → [port=80,proto="TCP"]    v:"a" → [="a"]    i:0 → [0]
    """
    value = label[2:]
    match label[0]:
        case "f":
            return f".{value}"
        case "k":
            keys: dict[str, Any] = orjson.loads(value)
            return f"[{','.join([f'{key}={_value_text(each)}' for key, each in keys.items()])}]"
        case "v":
            return f"[={_value_text(orjson.loads(value))}]"
    return f"[{value}]"


def _value_text(value: Any) -> str:
    """Return a key's value as messages have it (value.ToString)."""
    match value:
        case str():
            return quoted(value)
        case None:
            return "null"
        case list():
            return f"[{','.join(map(_value_text, value))}]"
        case dict():
            return "".join([f"{key}={_value_text(each)}" for key, each in value.items()])
    return go_text(value)


_KINDS = "fkvi"


def _rank(label: str) -> tuple[int, Any]:
    """Return the rank of a path element among others (PathElement.Compare)."""
    kind, value = _KINDS.find(label[0]), label[2:]
    match label[0]:
        case "k":
            keys: dict[str, Any] = orjson.loads(value)
            return kind, [(key, _value_rank(each)) for key, each in keys.items()]
        case "v":
            return kind, _value_rank(orjson.loads(value))
        case "i":
            return kind, int(value)
    return kind, value


def _value_rank(value: Any) -> tuple[int, Any]:
    """Return the rank of a key's value: numbers come before texts, these before booleans (value.Compare)."""
    match value:
        case bool():
            return 2, value
        case int() | float():
            return 0, value
        case str():
            return 1, value
    return 3, orjson.dumps(value)
