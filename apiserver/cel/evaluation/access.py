"""Access to parts: fields of objects, values of maps, items of lists; of what may be missing, too (attributes.go)."""

from typing import Any

from apiserver.cel.values import (
    MISSING,
    NONE,
    Entries,
    EvaluationError,
    Optional,
    Uint,
    equals,
    is_list,
    items_of,
    no_such_overload,
    shown,
    type_name,
)


def _found(value: Any, key: Any) -> Any:
    """The part of a value, or MISSING.

    Raises:
        EvaluationError: the value has no parts by such keys.
    """
    if isinstance(value, Entries):
        return value.find(key)
    if is_list(value):
        place = _place(key)
        return items_of(value)[place] if 0 <= place < len(value) else MISSING
    return MISSING


def _place(key: Any) -> int:
    """The key as a place in a list."""
    if type(key) is int or type(key) is Uint:
        return int(key)
    if type(key) is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {shown(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def part(value: Any, key: Any) -> Any:
    """`value[key]` and `value.key`; of an optional, an optional.

    Raises:
        EvaluationError: there is no such part.
    """
    if type(value) is Optional:
        return optional_part(value, key)
    found = _found(value, key)
    if found is not MISSING:
        return found
    if is_list(value):
        raise EvaluationError(f"index out of bounds: {shown(key)}")
    raise EvaluationError(f"no such key: {shown(key)}")


def optional_part(value: Any, key: Any) -> Optional:
    """`value[?key]` and `value.?key`."""
    if type(value) is Optional:
        if value is NONE:
            return NONE
        value = value.value
    found = _found(value, key)
    return NONE if found is MISSING else Optional(found)


def has(value: Any, field: str) -> bool:
    """`has(value.field)`."""
    if type(value) is Optional:
        value = value.value
    return _found(value, field) is not MISSING


def contains(value: Any, container: Any) -> bool:
    """`value in container`.

    Raises:
        EvaluationError: it is no container, or an item of it cannot be compared and no other is equal.
    """
    if isinstance(container, Entries):
        return container.find(value) is not MISSING
    if not is_list(container):
        raise no_such_overload()
    error: EvaluationError | None = None
    for item in items_of(container):
        try:
            if equals(item, value):
                return True
        except EvaluationError as found:
            error = error or found
    if error:
        raise error
    return False
