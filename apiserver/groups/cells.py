"""Fields of a wire object as a typed server would decode them: what is absent, null or odd is the zero value."""

from typing import Any

from apiserver.api.meta import Obj

Cells = list[Any]
"""One row's cells, in the order of its columns; the ones that change with the time are `format.Since`."""

NONE = "<none>"

UNSET = "<unset>"

UNKNOWN = "<unknown>"


def mapping(obj: Obj, key: str) -> Obj:
    """The mapping at a key, else an empty one."""
    found = obj.get(key)
    return found if isinstance(found, dict) else {}


def mappings(obj: Obj, key: str) -> list[Obj]:
    """The mappings in the list at a key, else an empty list."""
    found = obj.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def text_of(obj: Obj, key: str, absent: str = "") -> str:
    """The string at a key; `absent` stands for a missing one (but not for an empty one: write `or` for that)."""
    found = obj.get(key)
    return found if isinstance(found, str) else absent


def texts(obj: Obj, key: str) -> list[str]:
    """The strings in the list at a key, else an empty list."""
    found = obj.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def number_of(obj: Obj, key: str) -> int:
    """The integer at a key, else 0."""
    found = obj.get(key)
    return found if type(found) is int else 0


def flag(obj: Obj, key: str, *, absent: bool = False) -> bool:
    """The boolean at a key, else `absent`."""
    found = obj.get(key)
    return found if isinstance(found, bool) else absent


def count(obj: Obj, key: str) -> int:
    """How many items the list or mapping at a key has."""
    found = obj.get(key)
    return len(found) if isinstance(found, list | dict) else 0


def quantity_text(obj: Obj, key: str) -> str:
    """The quantity at a key as it is written; "0", the zero quantity, where absent."""
    found = obj.get(key)
    return "0" if found is None else str(found)


def condition_of(obj: Obj, condition_type: str) -> Obj | None:
    """The first of the object's conditions of that type, None where there is none."""
    for condition in mappings(obj, "conditions"):
        if condition.get("type") == condition_type:
            return condition
    return None


def has_condition(obj: Obj, condition_type: str) -> bool:
    """Whether the first of the object's conditions of that type is true."""
    condition = condition_of(obj, condition_type)
    return condition is not None and condition.get("status") == "True"


def is_deleted(obj: Obj) -> bool:
    """Whether the object waits for its finalizers or its grace period."""
    return mapping(obj, "metadata").get("deletionTimestamp") is not None


def shown(items: list[str], *, most: int = 3) -> str:
    """The first items, and how many are left out: "a,b,c + 2 more..."."""
    listed = ",".join(items[:most])
    return f"{listed} + {len(items) - most} more..." if len(items) > most else listed
