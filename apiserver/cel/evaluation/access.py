"""Access to fields of objects, values of maps and items of lists, also through optionals (attributes.go)."""

from typing import Any

from apiserver.cel.values import (
    MISSING,
    NONE,
    EvaluationError,
    Mapper,
    Optional,
    Uint,
    equals,
    format_value,
    is_list,
    items_of,
    no_such_overload,
    type_name,
)


def _find(value: Any, key: Any) -> Any:
    """Return the part of a value, or MISSING.

    Raises:
        EvaluationError: the value cannot have such keys.
    """
    if isinstance(value, Mapper):
        return value.find(key)
    if is_list(value):
        index = _index(key)
        return items_of(value)[index] if 0 <= index < len(value) else MISSING
    return MISSING


def _index(key: Any) -> int:
    """Return the key as an index of a list."""
    if type(key) is int or type(key) is Uint:
        return int(key)
    if type(key) is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {format_value(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def part(value: Any, key: Any) -> Any:
    """Return `value[key]` or `value.key`; an optional for an optional value.

    Raises:
        EvaluationError: there is no such part.
    """
    if type(value) is Optional:
        return optional_part(value, key)
    inner = _find(value, key)
    if inner is not MISSING:
        return inner
    if is_list(value):
        raise EvaluationError(f"index out of bounds: {format_value(key)}")
    raise EvaluationError(f"no such key: {format_value(key)}")


def optional_part(value: Any, key: Any) -> Optional:
    """Return `value[?key]` or `value.?key`."""
    if type(value) is Optional:
        if value is NONE:
            return NONE
        value = value.value
    inner = _find(value, key)
    return NONE if inner is MISSING else Optional(inner)


def has(value: Any, field: str) -> bool:
    """Return `has(value.field)`."""
    if type(value) is Optional:
        value = value.value
    return _find(value, field) is not MISSING


def contains(value: Any, container: Any) -> bool:
    """Return `value in container`.

    Raises:
        EvaluationError: it is not a container, or an item cannot be compared and no other is equal.
    """
    if isinstance(container, Mapper):
        return container.find(value) is not MISSING
    if not is_list(container):
        raise no_such_overload()
    error: EvaluationError | None = None
    for item in items_of(container):
        try:
            if equals(item, value):
                return True
        except EvaluationError as raised:
            error = error or raised
    if error:
        raise error
    return False
