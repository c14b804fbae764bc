"""Functions of lists, sets and optionals: cel-go's extensions, and the lists library of Kubernetes."""

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from apiserver.cel.functions.times import FIRST, checked_duration
from apiserver.cel.limits import MAX_RANGE, check_count
from apiserver.cel.values import (
    NONE,
    Duration,
    EvaluationError,
    Lister,
    MapValue,
    Optional,
    Timestamp,
    Uint,
    compare,
    equals,
    format_value,
    is_int64,
    is_list,
    is_uint64,
    items_of,
    no_such_overload,
)

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUN_TIME = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_ORDERED = (bool, int, Uint, float, str, bytes, Timestamp, Duration)


def add_lists(left: Any, right: Any) -> Any:
    """Return two lists joined; a list that is a set or a map is merged with the other."""
    others = items_of(right)
    check_count(len(left) + len(others))
    return left.plus(others) if isinstance(left, Lister) else left + others


def _is_sorted(values: Any) -> bool:
    items = items_of(values)
    return all(compare(before, after) <= 0 for before, after in pairwise(items))


def _all_of(kind: type, values: Any) -> list[Any]:
    items = items_of(values)
    if any(type(item) is not kind for item in items):
        raise no_such_overload()
    return items


def _sum_of_ints(values: Any) -> int:
    total: int = sum(_all_of(int, values))
    if not is_int64(total):
        raise EvaluationError("integer overflow")
    return total


def _sum_of_uints(values: Any) -> Uint:
    total = sum(_all_of(Uint, values))
    if not is_uint64(total):
        raise EvaluationError("unsigned integer overflow")
    return Uint(total)


def _sum_of_doubles(values: Any) -> float:
    return float(sum(_all_of(float, values), 0.0))


def _sum_of_durations(values: Any) -> Duration:
    return checked_duration(sum(duration.nanos for duration in _all_of(Duration, values)))


def _extreme(name: str, order: int) -> Callable[[Any], Any]:
    def extreme(values: Any) -> Any:
        items = items_of(values)
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(best, item) == order:
                best = item
        return best

    return extreme


def _index_of(values: Any, value: Any) -> int:
    return next((index for index, item in enumerate(items_of(values)) if equals(item, value)), -1)


def _last_index_of(values: Any, value: Any) -> int:
    items = items_of(values)
    return next((index for index in reversed(range(len(items))) if equals(items[index], value)), -1)


def _slice(values: Any, start: int, end: int) -> list[Any]:
    items = items_of(values)
    prefix = f"cannot slice({start}, {end}),"
    if start < 0 or end < 0:
        raise EvaluationError(f"{prefix} negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{prefix} start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"{prefix} list is length {len(items)}")
    return items[start:end]


def _flatten(values: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items_of(values):
        if depth and is_list(item):
            flat += _flatten(item, depth - 1)
            check_count(len(flat))
        else:
            flat.append(item)
    return flat


def _range(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_RANGE:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})")
    return list(range(count))


def _sort_by(values: Any, keys: Any) -> list[Any]:
    items, order = items_of(values), items_of(keys)
    if order and type(order[0]) not in _ORDERED:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(order[0]) for key in order):
        raise EvaluationError("list elements must have the same type")
    ordered = cmp_to_key(compare)
    indexes = sorted(range(len(order)), key=lambda index: ordered(order[index]))
    return [items[index] for index in indexes]


def _distinct(values: Any) -> list[Any]:
    unique: list[Any] = []
    for item in items_of(values):
        if not any(equals(item, other) for other in unique):
            unique.append(item)
    return unique


def _contains_all(values: Any, required: Any) -> bool:
    items = items_of(values)
    return all(any(equals(item, value) for item in items) for value in items_of(required))


def _intersects(left: Any, right: Any) -> bool:
    others = items_of(right)
    return any(equals(item, other) for item in items_of(left) for other in others)


def _of_non_zero(value: Any) -> Optional:
    """Return an optional with the value, or without one if it is null, zero or empty."""
    if value is None or (type(value) in (bool, int, Uint, float) and not value):
        return NONE
    if type(value) in (str, bytes, list, MapValue) and not len(value):
        return NONE
    is_zero = (type(value) is Timestamp and value.nanos == FIRST) or (type(value) is Duration and not value.nanos)
    return NONE if is_zero else Optional(value)


def dereferenced(optional: Optional) -> Any:
    """Return the value of an optional.

    Raises:
        EvaluationError: it has none.
    """
    if type(optional) is not Optional:
        raise no_such_overload()
    if optional is NONE:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _has_value(optional: Any) -> bool:
    if type(optional) is not Optional:
        raise no_such_overload()
    return optional is not NONE


def _unwrapped(values: Any) -> list[Any]:
    items = items_of(values)
    for item in items:
        if type(item) is not Optional:
            raise EvaluationError(f"value {format_value(item)} is not optional")
    return [item.value for item in items if item is not NONE]


def _ends(index: int) -> Callable[[Any], Optional]:
    return lambda values: Optional(items_of(values)[index]) if len(values) else NONE


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add_list": add_lists,
    **{f"list_{kind}_is_sorted_bool": _is_sorted for kind in _COMPARABLE},
    "list_int_sum_int": _sum_of_ints,
    "list_uint_sum_uint": _sum_of_uints,
    "list_double_sum_double": _sum_of_doubles,
    "list_duration_sum_duration": _sum_of_durations,
    **{f"list_{kind}_max_{kind}": _extreme("max", -1) for kind in _COMPARABLE},
    **{f"list_{kind}_min_{kind}": _extreme("min", 1) for kind in _COMPARABLE},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": lambda values: items_of(values)[::-1],
    "list_distinct": _distinct,
    **{f"list_{_RUN_TIME.get(k, k)}_sort": lambda values: _sort_by(values, values) for k in _COMPARABLE},
    **{f"list_{_RUN_TIME.get(k, k)}_sortByAssociatedKeys": _sort_by for k in _COMPARABLE},
    "list_sets_contains_list": _contains_all,
    "list_sets_equivalent_list": lambda one, two: _contains_all(one, two) and _contains_all(two, one),
    "list_sets_intersects_list": _intersects,
    "optional_of": Optional,
    "optional_ofNonZeroValue": _of_non_zero,
    "optional_none": lambda: NONE,
    "optional_unwrap": _unwrapped,
    "optional_unwrapOpt": _unwrapped,
    "optional_value": dereferenced,
    "optional_hasValue": _has_value,
    "list_first": _ends(0),
    "list_last": _ends(-1),
}
