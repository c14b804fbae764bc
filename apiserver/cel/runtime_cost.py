"""Costs at run time, counted as upstream counts them (cel-go's interpreter/runtimecost.go, Kubernetes' cost.go).

A call that is not listed costs 1. A string is counted a tenth of its characters, a pattern a quarter of its.
Upstream leaves some work out, and a request that takes too long is cancelled there. Here large values cost what it
takes to handle them, so that a budget bounds the time: half a unit for each part that may be compared or printed, and
one for 32 characters or items that are copied.
"""

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any

from apiserver.cel.limits import MOST_IN_RANGE
from apiserver.cel.patterns import searcher
from apiserver.cel.signatures import Overload
from apiserver.cel.values import Entries, Items, Optional, is_list, items_of, size, weight

_STRING = 0.1
_PATTERN = 0.25
_MAKE_LIST, _MAKE_MAP = 10, 30
MAKE_LIST, MAKE_MAP = _MAKE_LIST, _MAKE_MAP
"""Of a list or map literal that is no constant."""

OF_ERRORS = 1
"""Of a call with an argument that cannot be evaluated, which upstream charges for too."""

_LARGE = 1024
"""What is smaller costs what upstream charges."""

_LARGE_PATTERN = 64
_READ_CHARACTER, _READ_PART = 20, 4

_PRINTED = 4
"""How much longer it takes to print a part than to compare it."""

_KINDS = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUN_TIME = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}

Cost = Callable[..., int]


def read(value: Any, factor: float = 1) -> int:
    """Reading a value once, or several times."""
    return ceil(size(value) * factor * _STRING)


def equality(one: Any, two: Any) -> int:
    """Comparing two values: as far as the shorter goes."""
    known = ceil(min(size(one), size(two)) * _STRING)
    if not _has_parts(one) or not _has_parts(two):
        return known
    return max(known, _visiting(min(weight(one), weight(two))) * max(_effort(one), _effort(two)))


def membership(values: Any) -> int:
    """Comparing a value with each of a list."""
    return max(size(values), _visiting(weight(values)))


def _visiting(parts: int) -> int:
    return parts // 2 if parts > _LARGE else 0


def _has_parts(value: Any) -> bool:
    return is_list(value) or isinstance(value, Entries | Optional)


def _effort(value: Any) -> int:
    return value.effort if isinstance(value, Items) else 1


def _handling(*values: Any) -> int:
    """Copying or reading values once."""
    length = sum(len(value) for value in values if type(value) in (str, bytes, list) or isinstance(value, Items))
    return max(1, length // 32 if length > _LARGE else 0)


def _joining(one: Any, two: Any) -> int:
    return max(1, _visiting(len(one) + len(two)) * _effort(one))


def _format(text: Any, values: Any) -> int:
    return max(read(text), _visiting(weight(values)) * _PRINTED)


def _formatted(text: str) -> int:
    """Writing a text, of which each character may have to be quoted."""
    return max(1, len(text) // 5 if len(text) > _LARGE else 0)


def _flattened(values: list[Any]) -> int:
    return max(1, _visiting(len(values)))


def _traversed(value: Any) -> int:
    return max(_traversal(value), _visiting(weight(value)))


def _traversal(value: Any) -> int:
    """Visiting all there is in a value, as upstream counts it: short texts cost nothing."""
    if type(value) in (str, bytes):
        return int(len(value) * _STRING)
    if is_list(value):
        return sum(map(_traversal, items_of(value)))
    if isinstance(value, Entries):
        return sum(_traversal(key) + _traversal(value.find(key)) for key in value.key_list())
    return 1


def pattern(text: Any, regex: Any) -> int:
    """Searching a text for a pattern."""
    known = ceil((1 + size(text)) * _STRING) * ceil(size(regex) * _PATTERN)
    return known if type(text) is not str or type(regex) is not str else max(known, _reading(text, regex))


def _reading(text: str, regex: str) -> int:
    """What reading a pattern takes, where that is much: of a new one, and by RE2, which reads it for each text."""
    known = searcher.cache_info().misses
    try:
        found = searcher(regex)
    except ValueError:  # as the search will tell
        return _READ_CHARACTER * len(regex)
    by_re2 = len(text) > found.longest and found.weight > _LARGE_PATTERN
    if searcher.cache_info().misses == known:
        return _READ_PART * found.weight * by_re2
    return _READ_CHARACTER * len(regex) + 4 * _READ_PART * found.weight


def _all_matches(text: Any, regex: Any, _count: int = -1) -> int:
    """Searching a text for all matches, which may be as many as it has characters."""
    return max(pattern(text, regex), size(text) // 2 if size(text) > _LARGE else 0)


def _first(cost: Cost) -> Cost:
    return lambda *args: cost(args[0])


def _contains_ip(network: Any, other: Any, *, text: bool) -> int:
    return read(network, 2) + (read(other) if text else 0)


def _contains_cidr(network: Any, other: Any, *, text: bool) -> int:
    return read(network, 2) + read(network) + 1 + (read(other) if text else 0)


def _self_comparison(values: Any) -> int:
    """Comparing each item of a list with each."""
    count = len(values)
    kind = type(items_of(values)[0]) if count else None
    known = int(count * count * (2 + _STRING if kind in (str, bytes) else 2)) + 1 + _MAKE_LIST
    return max(known, _visiting(count * weight(values)))


def _flatten(values: Any, depth: int = 1) -> int:
    return max(0, int(size(values) * depth)) + 1 + _MAKE_LIST


def _sets(factor: int) -> Cost:
    def cost(one: Any, two: Any) -> int:
        known = 1 + size(one) * size(two) * factor
        return max(known, _visiting(min(len(one) * weight(two), len(two) * weight(one))))

    return cost


_READ_FIRST = (
    *("string_to_bytes", "bytes_to_string", "strings_quote"),
    *("string_to_url", "string_lower_ascii", "string_upper_ascii", "string_substring_int", "string_substring_int_int"),
    *("string_trim", "string_to_cidr", "is_ip", "is_cidr", "string_to_ip", "string_to_quantity", "is_quantity_string"),
    *("string_to_semver", "string_bool_to_semver", "is_semver_string", "is_semver_string_bool"),
)
_READ_TWICE = (
    *("string_replace_string_string", "string_replace_string_string_int", "string_split_string"),
    *("string_split_string_int", "ip_is_canonical"),
)
_TRAVERSED = (
    *(f"list_{kind}_{name}" for kind in _KINDS for name in ("is_sorted_bool", f"sum_{kind}", f"max_{kind}")),
    *(f"list_{kind}_min_{kind}" for kind in _KINDS),
    *("list_a_index_of_int", "list_a_last_index_of_int", "string_index_of_string", "string_index_of_string_int"),
    *("string_last_index_of_string", "string_last_index_of_string_int"),
)
_COMPARED = tuple(
    f"{name}_{kind}" for name in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")
)

COSTS: dict[str, Cost] = {
    **dict.fromkeys(_READ_FIRST, _first(read)),
    **dict.fromkeys(_READ_TWICE, _first(partial(read, factor=2))),
    **dict.fromkeys(_TRAVERSED, _first(_traversed)),
    **dict.fromkeys((*_COMPARED, "equals", "not_equals"), equality),
    **dict.fromkeys(("add_string", "add_bytes"), lambda one, two: ceil((size(one) + size(two)) * _STRING)),
    **dict.fromkeys(("matches", "matches_string", "string_find_string"), pattern),
    **dict.fromkeys(("string_find_all_string", "string_find_all_string_int"), _all_matches),
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda _text, part: read(part)),
    "contains_string": lambda text, part: read(text) * read(part),
    "add_list": _joining,
    "string_format": _format,
    "cidr_contains_ip_string": partial(_contains_ip, text=True),
    "cidr_contains_ip_ip": partial(_contains_ip, text=False),
    "cidr_contains_cidr_string": partial(_contains_cidr, text=True),
    "cidr_contains_cidr": partial(_contains_cidr, text=False),
    "format-validate": lambda named, text: ceil((1 + size(text)) * _STRING) * ceil(named.pattern_size * _PATTERN),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": lambda _values, start, end: max(0, end - start) + 1 + _MAKE_LIST,
    "lists_range": lambda count: (count if 0 <= count <= MOST_IN_RANGE else 1) + 1 + _MAKE_LIST,
    "list_reverse": lambda values: size(values) + 1 + _MAKE_LIST,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _self_comparison,
    **{f"list_{_RUN_TIME.get(kind, kind)}_sort": _self_comparison for kind in _KINDS},
    **{
        f"list_{_RUN_TIME.get(kind, kind)}_sortByAssociatedKeys": lambda _values, keys: _self_comparison(keys)
        for kind in _KINDS
    },
}
"""Overload → its cost, told from its arguments before it is called."""

RESULT_COSTS: dict[str, Cost] = {
    **dict.fromkeys(("list_join", "list_join_string"), partial(read, factor=2)),
    **dict.fromkeys(("string_replace_string_string", "string_replace_string_string_int"), _handling),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flattened),
    "string_format": _formatted,
}
"""Overload → its cost, or what it costs beside that, told from its result."""

_INSTANT = frozenset(
    (
        *(
            "size_bytes",
            "size_list",
            "size_string",
            "bytes_size",
            "list_size",
            "string_size",
            "list_first",
            "list_last",
        ),
        *("string_char_at_int", "to_dyn", "type"),
    )
)
"""What does not look into its arguments."""


def cost_of(overload: Overload) -> Cost | None:
    """What a call costs, told from its arguments before it is called; None where it is 1."""
    if overload.id in COSTS or overload.id in _INSTANT:
        return COSTS.get(overload.id)
    return _handling if any(kind.kind in ("string", "bytes", "list") for kind in overload.args) else None
