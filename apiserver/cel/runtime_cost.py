"""Costs at run time, counted as upstream does (cel-go's interpreter/runtimecost.go, Kubernetes' cost.go).

A call that is not listed costs 1. A string costs a tenth of its characters, a pattern a quarter of its characters.
Upstream does not count some work, and cancels a request that takes too long. Here large values cost as much as it takes
to handle them, so that the budget bounds the time: half a unit for each part that may be compared or printed, and one
for 32 characters or items that are copied.
"""

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any

from apiserver.api.golang.regexp import Regexp, compile_regexp, large_program
from apiserver.cel.limits import MAX_RANGE
from apiserver.cel.signatures import Overload
from apiserver.cel.values import Lister, Mapper, Optional, is_list, items_of, size, weight

_STRING = 0.1
_PATTERN = 0.25
_MAKE_LIST, _MAKE_MAP = 10, 30
MAKE_LIST, MAKE_MAP = _MAKE_LIST, _MAKE_MAP
"""The cost of a list or map literal that is not constant."""

OF_ERRORS = 1
"""The cost of a call with an argument that cannot be evaluated, which upstream charges as well."""

_LARGE = 1024
"""The size up to which values cost what upstream charges."""

_READ_CHARACTER, _READ_INSTRUCTION = 20, 4
"""The cost of reading a pattern, by its length and by the instructions that it becomes."""
_STEPS = 90
"""The steps of a search, at most one for each instruction and character, that cost one unit. RE2 takes 200 to 900 in a
microsecond.
"""

_PRINTED = 4
"""The factor by which printing a part takes longer than comparing it."""

_KINDS = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUN_TIME = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}

Cost = Callable[..., int]


def read(value: Any, factor: float = 1) -> int:
    """Return the cost of reading a value once, or `factor` times."""
    return ceil(size(value) * factor * _STRING)


def equality(left: Any, right: Any) -> int:
    """Return the cost of comparing two values, up to the length of the shorter one."""
    upstream_cost = ceil(min(size(left), size(right)) * _STRING)
    if not _has_parts(left) or not _has_parts(right):
        return upstream_cost
    return max(upstream_cost, _visiting(min(weight(left), weight(right))) * max(_effort(left), _effort(right)))


def membership(values: Any) -> int:
    """Return the cost of comparing a value with each item of a list."""
    return max(size(values), _visiting(weight(values)))


def _visiting(parts: int) -> int:
    return parts // 2 if parts > _LARGE else 0


def _has_parts(value: Any) -> bool:
    return is_list(value) or isinstance(value, Mapper | Optional)


def _effort(value: Any) -> int:
    return value.effort if isinstance(value, Lister) else 1


def _handling(*values: Any) -> int:
    """Return the cost of copying or reading values once."""
    length = sum(len(value) for value in values if type(value) in (str, bytes, list) or isinstance(value, Lister))
    return max(1, length // 32 if length > _LARGE else 0)


def _joining(left: Any, right: Any) -> int:
    return max(1, _visiting(len(left) + len(right)) * _effort(left))


def _format(text: Any, values: Any) -> int:
    return max(read(text), _visiting(weight(values)) * _PRINTED)


def _formatted(text: str) -> int:
    """Return the cost of writing a text whose characters may all have to be quoted."""
    return max(1, len(text) // 5 if len(text) > _LARGE else 0)


def _flattened(values: list[Any]) -> int:
    return max(1, _visiting(len(values)))


def _traversed(value: Any) -> int:
    return max(_traversal(value), _visiting(weight(value)))


def _traversal(value: Any) -> int:
    """Return the cost of visiting all parts of a value, as upstream counts it: short texts cost nothing."""
    if type(value) in (str, bytes):
        return int(len(value) * _STRING)
    if is_list(value):
        return sum(map(_traversal, items_of(value)))
    if isinstance(value, Mapper):
        return sum(_traversal(key) + _traversal(value.find(key)) for key in value.key_list())
    return 1


def pattern(text: Any, regex: Any) -> int:
    """Return the cost of searching a text for a pattern."""
    upstream_cost = ceil((1 + size(text)) * _STRING) * ceil(size(regex) * _PATTERN)
    return (
        upstream_cost if type(text) is not str or type(regex) is not str else max(upstream_cost, _reading(text, regex))
    )


def _reading(text: str, regex: str) -> int:
    """Return the cost of reading a pattern, if it is new, and of a search for a large one."""
    misses = compile_regexp.cache_info().misses
    try:
        compiled = compile_regexp(regex)
    except ValueError:  # the search will report it
        return _READ_CHARACTER * len(regex)
    size = compiled.search_size
    search = len(text) * size // _STEPS if size > _LARGE else 0
    if compile_regexp.cache_info().misses != misses:
        return search + _READ_CHARACTER * len(regex) + _READ_INSTRUCTION * compiled.size
    return search + _loading(compiled)


def _loading(regexp: Regexp) -> int:
    """Return the cost of compiling a large pattern again if it was dropped from memory."""
    misses = large_program.cache_info().misses
    regexp.load()
    return 0 if large_program.cache_info().misses == misses else regexp.size // 2


def _all_matches(text: Any, regex: Any, _count: int = -1) -> int:
    """Return the cost of searching a text for all matches; there may be as many as characters."""
    return max(pattern(text, regex), size(text) // 2 if size(text) > _LARGE else 0)


def _first(cost: Cost) -> Cost:
    return lambda *args: cost(args[0])


def _contains_ip(network: Any, other: Any, *, text: bool) -> int:
    return read(network, 2) + (read(other) if text else 0)


def _contains_cidr(network: Any, other: Any, *, text: bool) -> int:
    return read(network, 2) + read(network) + 1 + (read(other) if text else 0)


def _self_comparison(values: Any) -> int:
    """Return the cost of comparing each item of a list with each."""
    count = len(values)
    kind = type(items_of(values)[0]) if count else None
    upstream_cost = int(count * count * (2 + _STRING if kind in (str, bytes) else 2)) + 1 + _MAKE_LIST
    return max(upstream_cost, _visiting(count * weight(values)))


def _flatten(values: Any, depth: int = 1) -> int:
    return max(0, int(size(values) * depth)) + 1 + _MAKE_LIST


def _sets(factor: int) -> Cost:
    def cost(left: Any, right: Any) -> int:
        upstream_cost = 1 + size(left) * size(right) * factor
        return max(upstream_cost, _visiting(min(len(left) * weight(right), len(right) * weight(left))))

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
    "lists_range": lambda count: (count if 0 <= count <= MAX_RANGE else 1) + 1 + _MAKE_LIST,
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
"""Overload id → the cost of a call, computed from the arguments before the call."""

RESULT_COSTS: dict[str, Cost] = {
    **dict.fromkeys(("list_join", "list_join_string"), partial(read, factor=2)),
    **dict.fromkeys(("string_replace_string_string", "string_replace_string_string_int"), _handling),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flattened),
    "string_format": _formatted,
}
"""Overload id → the cost of a call, or the cost beyond that in COSTS, computed from the result."""

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
"""The overloads that do not look into their arguments."""


def cost_of(overload: Overload) -> Cost | None:
    """Return the function for a call's cost, from the arguments before the call; None if the cost is 1."""
    if overload.id in COSTS or overload.id in _INSTANT:
        return COSTS.get(overload.id)
    return _handling if any(kind.kind in ("string", "bytes", "list") for kind in overload.args) else None
