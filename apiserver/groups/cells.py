"""Fields of a wire object as a typed server decodes them: an absent, null or mistyped field has the zero value."""

from typing import Any

from apiserver.api.meta import Obj

Cells = list[Any]
"""One row's cells, in the order of its columns; the ones that change with the time are `cell_format.AgeCell`."""

NONE = "<none>"

UNSET = "<unset>"

UNKNOWN = "<unknown>"


def mapping(obj: Obj, key: str) -> Obj:
    """Return the mapping at a key, or an empty one."""
    value = obj.get(key)
    return value if isinstance(value, dict) else {}


def mappings(obj: Obj, key: str) -> list[Obj]:
    """Return the mappings in the list at a key, or an empty list."""
    value = obj.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(obj: Obj, key: str, absent: str = "") -> str:
    """Return the string at a key, or `absent` if there is none (an empty string is returned as it is)."""
    value = obj.get(key)
    return value if isinstance(value, str) else absent


def texts(obj: Obj, key: str) -> list[str]:
    """Return the strings in the list at a key, or an empty list."""
    value = obj.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def number_of(obj: Obj, key: str) -> int:
    """Return the integer at a key, or 0."""
    value = obj.get(key)
    return value if type(value) is int else 0


def flag(obj: Obj, key: str, *, absent: bool = False) -> bool:
    """Return the boolean at a key, or `absent`."""
    value = obj.get(key)
    return value if isinstance(value, bool) else absent


def count(obj: Obj, key: str) -> int:
    """Return the number of items in the list or mapping at a key, or 0."""
    value = obj.get(key)
    return len(value) if isinstance(value, list | dict) else 0


def quantity_text(obj: Obj, key: str) -> str:
    """Return the quantity at a key as it is written, or "0", the zero quantity, if absent."""
    value = obj.get(key)
    return "0" if value is None else str(value)


def condition_of(obj: Obj, condition_type: str) -> Obj | None:
    """Return the object's first condition of a type, or None."""
    for condition in mappings(obj, "conditions"):
        if condition.get("type") == condition_type:
            return condition
    return None


def has_condition(obj: Obj, condition_type: str) -> bool:
    """Return whether the object's first condition of a type is true."""
    condition = condition_of(obj, condition_type)
    return condition is not None and condition.get("status") == "True"


def is_deleted(obj: Obj) -> bool:
    """Return whether the object is being deleted: it waits for its finalizers or its grace period."""
    return mapping(obj, "metadata").get("deletionTimestamp") is not None


def first_items(items: list[str], *, most: int = 3) -> str:
    """Return the first items and the number of items left out: "a,b,c + 2 more..."."""
    text = ",".join(items[:most])
    return f"{text} + {len(items) - most} more..." if len(items) > most else text
