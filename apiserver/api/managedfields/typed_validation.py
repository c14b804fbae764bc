"""Validation of an applied configuration by the types of its values (structured-merge-diff, typed/validate.go).

An error is the path of a value and why it does not fit its type, in upstream's words: Go's `%v`, `%T` and `%#v`.
"""

from collections.abc import Iterator
from typing import Any

from apiserver.api.golang.strings import quoted
from apiserver.api.golang.values import go_text, go_type
from apiserver.api.managedfields.field_paths import element_text
from apiserver.api.managedfields.value_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    AtomicList,
    AtomicMap,
    Leaf,
    ListType,
    MapType,
    Scalar,
    Struct,
)


class TypedValueError(ValueError):
    """A value that does not fit its type; the message is upstream's."""


def check_types(kind: Leaf, value: Any, *, allow_duplicates: bool = False) -> None:
    """Check a whole object (typed.AsTyped).

    Args:
        kind: its type.
        value: the object.
        allow_duplicates: accept several items with the same key in a list, as old objects may have them.

    Raises:
        TypedValueError: a value has another type than its schema says, is not declared there, or a key comes twice.
    """
    if kind.fits(value):
        return
    errors = [
        error
        for error in _errors(kind, value, "")
        if not (allow_duplicates and ": duplicate entries for key " in error)
    ]
    if errors:
        raise TypedValueError(errors[0] if len(errors) == 1 else "\n  ".join(("errors:", *errors)))


def _errors(kind: Leaf, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(kind, Scalar):
        if why := _scalar_error(kind, value):
            yield f"{path}: {why}"
    elif isinstance(kind, AtomicList):
        if value.__class__ is not list:
            yield f"{path}: expected list, got &{{{go_text(value)}}}"
            return
        for i, item in enumerate(value):
            yield from _errors(kind.items, item, f"{path}[{i}]")
    elif isinstance(kind, AtomicMap):
        yield from _errors(kind.divided, value, path)
    elif not kind.is_leaf:
        yield from _container_errors(kind, value, path)


def _container_errors(kind: Leaf, value: Any, path: str) -> Iterator[str]:
    container = kind.container(value)
    if container is None:
        if expected := kind.container(None):
            name = "list" if isinstance(expected, ListType) else "map"
            if not kind.takes_any:
                yield f"{path}: expected {name}, got &{{{go_text(value)}}}"
    elif isinstance(container, ListType):
        yield from _item_errors(container, value, path)
    else:
        yield from _field_errors(container, value, path)


def _field_errors(container: Struct | MapType, value: dict[str, Any], path: str) -> Iterator[str]:
    for key, item in value.items():
        if not container.allows(key):
            yield f"{path}.{key}: field not declared in schema"
            return
        yield from _errors(container.item(key), item, f"{path}.{key}")


def _item_errors(container: ListType, value: list[Any], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(value):
        if why := _key_error(container, item):
            yield f"{path}: element {i}: {why}"
            return
        label = container.label(item)
        if label in seen:
            yield f"{path}: duplicate entries for key {element_text(label)}"
        seen.add(label)
        yield from _errors(container.items, item, path + element_text(label))


def _key_error(container: ListType, item: Any) -> str:
    """Return why an item cannot be told from others, "" if it can (listItemToPathElement)."""
    if not container.keys:
        return _set_item_error(item)
    if item is None:
        return "associative list with keys may not have a null element"
    if item.__class__ is not dict:
        return "associative list with keys may not have non-map elements"
    if any(key in item or container.defaults.get(key) is not None for key in container.keys):
        return ""
    names = " ".join(map(quoted, container.keys))
    return (
        f"associative list with keys has an element that omits all key fields [{names}] "
        "(and doesn't have default values for any key fields)"
    )


def _set_item_error(item: Any) -> str:
    if item is None:
        return "associative list without keys has an element that's an explicit null"
    if item.__class__ is dict:
        return "associative list without keys has an element that's a map type"
    return "not supported: associative list with lists as elements" if item.__class__ is list else ""


def _scalar_error(kind: Scalar, value: Any) -> str:
    """Return why a value is not of a scalar type, "" if it is (validateScalar)."""
    if kind.fits(value):
        return ""
    if kind is NUMERIC:
        return f"expected numeric (int or float), got {go_type(value)}"
    if kind is STRING:
        return f"expected string, got &value.valueUnstructured{{Value:{_syntax(value)}}}"
    return f"expected {'boolean' if kind is BOOLEAN else 'any scalar'}, got &{{{go_text(value)}}}"


def _syntax(value: Any) -> str:
    """Return a value in Go's syntax, as %#v prints it."""
    match value:
        case str():
            return quoted(value)
        case dict():
            fields = ", ".join(f"{quoted(key)}:{_syntax(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{fields}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
        case None:
            return "interface {}(nil)"
    return go_text(value)
