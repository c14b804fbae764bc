"""Cost estimates of calls: the most that a call can cost, and the size of its result (Kubernetes' library/cost.go).

A function that is not listed costs 1, in addition to its arguments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from apiserver.cel.sizes import MAX_COST, ONE, UNKNOWN, Size, scaled, times
from apiserver.cel.types import CelType

_PATTERN = 0.25
_MAKE_LIST = 10
_MAX_FORMAT_LENGTH, _MAX_NAME_PATTERN_LENGTH = 64, 128
_ADDRESS = Size(4, 16)


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or the target of a call.

    Attributes:
        size: its possible size.
        item: the possible size of its items if it is a list of strings or bytes; None otherwise.
        literal: its value if it is an integer literal.
    """

    type: CelType
    size: Size
    item: Size | None
    literal: int | None


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The most that a call can cost without its arguments, and the possible size of its result."""

    cost: int
    size: Size | None = None


Estimator = Callable[[Sequence[Operand]], CallEstimate]


def _pattern(text: Size, regex: Size) -> int:
    return times((text + ONE).read(), scaled(regex.max, _PATTERN))


def _read(factor: float = 1) -> Estimator:
    return lambda args: CallEstimate(args[0].size.read(factor))


def _transformed(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(args[0].size.read(), args[0].size)


def _traversed(args: Sequence[Operand]) -> CallEstimate:
    """Return the cost of visiting each item of a list, or of reading a string."""
    first = args[0]
    if first.type.kind != "list":
        return CallEstimate(first.size.read())
    item = 1 + (first.item.read() if first.item is not None else 0)
    return CallEstimate(times(first.size.max, item))


def _replace(args: Sequence[Operand]) -> CallEstimate:
    text, old, new = (arg.size for arg in args[:3])
    least_count = least_kept = most_count = most_kept = 0
    if old.min == 0:
        most_count, most_kept = min(text.max + 1, MAX_COST), text.max
    elif new.max <= old.min:
        most_kept = text.max
    else:
        most_count = ceil(text.max / old.min)
    if old.max == 0:
        least_count, least_kept = min(text.min + 1, MAX_COST), text.min
    elif old.max <= new.min:
        least_kept = text.min
    else:
        least_count = ceil(text.min / old.max)
    return CallEstimate(text.read(2), Size(least_count, most_count) * new + Size(least_kept, most_kept))


def _split(args: Sequence[Operand]) -> CallEstimate:
    limit = args[2].literal if len(args) > 2 else None
    most = args[0].size.max if limit is None else limit % (MAX_COST + 1)
    return CallEstimate(args[0].size.read(2), Size(0, most))


def _join(args: Sequence[Operand]) -> CallEstimate:
    count = args[0].size
    size = count * (args[0].item if args[0].item is not None else UNKNOWN)
    if len(args) > 1:
        size += args[1].size * Size(max(count.min - 1, 0), max(count.max - 1, 0))
    return CallEstimate(size.read(), size)


def _find(args: Sequence[Operand]) -> CallEstimate:
    text, regex = args[0].size, args[1].size
    return CallEstimate(_pattern(text, regex), Size(0, text.max))


def _contains(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(times(args[0].size.read(), args[1].size.read()))


def _contains_ip(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate((_ADDRESS + _ADDRESS).read() + _parse_cost(args[1]))


def _contains_cidr(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate((_ADDRESS + _ADDRESS).read() + _ADDRESS.read() + 1 + _parse_cost(args[1]))


def _parse_cost(operand: Operand) -> int:
    return operand.size.read() if operand.type.kind == "string" else 0


def _validate(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(scaled(args[1].size.read(), _MAX_NAME_PATTERN_LENGTH * _PATTERN))


def _addition_cost(args: Sequence[Operand]) -> CallEstimate:
    size = args[0].size + args[1].size
    return CallEstimate(size.read(), size)


def _compared(args: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(scaled(min(args[0].size.max, args[1].size.max), 0.1))


def _equal(args: Sequence[Operand]) -> CallEstimate:
    kind = args[0].type
    if kind == args[1].type and kind.kind in ("struct", "opaque"):
        if kind.name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
            return CallEstimate(1)
        if kind.name == "kubernetes.NamedFormat":
            return CallEstimate(scaled(_MAX_FORMAT_LENGTH, 0.1))
        if kind.name == "kubernetes.URL":
            return CallEstimate(args[1].size.read() if args[1].size != UNKNOWN else ONE.read())
    return _compared(args)


def _list_cost(size: Size, factor: float = 1) -> CallEstimate:
    return CallEstimate(min(scaled(size.max, factor) + 1 + _MAKE_LIST, MAX_COST), size)


def _slice(args: Sequence[Operand]) -> CallEstimate:
    start = max(args[1].literal or 0, 0)
    end = args[0].size.max if args[2].literal is None else max(args[2].literal, 0)
    count = (end - start) % (MAX_COST + 1)
    return _list_cost(Size(count, count))


def _range(args: Sequence[Operand]) -> CallEstimate:
    count = MAX_COST if args[0].literal is None else max(args[0].literal, 0)
    return _list_cost(Size(count, count))


def _flatten(args: Sequence[Operand]) -> CallEstimate:
    depth = 1 if len(args) < 2 else MAX_COST if args[1].literal is None else max(args[1].literal, 0)
    return _list_cost(args[0].size, depth)


def _self_comparison(args: Sequence[Operand]) -> CallEstimate:
    return _list_cost(args[0].size * args[0].size, 2)


def _sort_cost(index: int, factor: float) -> Estimator:
    return lambda args: _list_cost(args[index].size * args[index].size, factor)


def _sets(factor: int) -> Estimator:
    return lambda args: CallEstimate(min(scaled((args[0].size * args[1].size).max, factor) + 1, MAX_COST))


_BY_FUNCTION: dict[str, Estimator] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversed),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _transformed),
    **dict.fromkeys(("isIP", "cidr", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read()),
    "ip": lambda args: CallEstimate(1) if args[0].type.kind == "opaque" else _read()(args),
    "ip.isCanonical": _read(2),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equal,
}

_BY_OVERLOAD: dict[str, Estimator] = {
    "string_format": _read(),
    "string_to_bytes": lambda args: CallEstimate(args[0].size.read(), Size(args[0].size.min, args[0].size.max * 4)),
    "bytes_to_string": lambda args: CallEstimate(args[0].size.read(), Size(args[0].size.min // 4, args[0].size.max)),
    "strings_quote": lambda args: CallEstimate(
        args[0].size.read(), Size(args[0].size.min + 2, args[0].size.max * 2 + 2)
    ),
    "starts_with_string": lambda args: CallEstimate(args[1].size.read()),
    "ends_with_string": lambda args: CallEstimate(args[1].size.read()),
    "in_list": lambda args: CallEstimate(args[1].size.max),
    "matches_string": lambda args: CallEstimate(_pattern(args[0].size, args[1].size)),
    "contains_string": _contains,
    "add_string": _addition_cost,
    "add_bytes": _addition_cost,
    "add_list": lambda args: CallEstimate(1, args[0].size + args[1].size),
    **{
        f"{name}_{kind}": _compared
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "not_equals": _compared,
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": lambda args: _list_cost(args[0].size),
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _self_comparison,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}


def estimate(function: str, overload: str, args: Sequence[Operand]) -> CallEstimate:
    """Return the most that a call can cost, without its arguments.

    Args:
        function: the function's name.
        overload: the overload's id.
        args: the target, if there is one, and the arguments.
    """
    by_function = _BY_FUNCTION.get(function)
    if by_function is not None:
        return by_function(args)
    if overload.endswith(("_sort", "_sortByAssociatedKeys")):
        factor = 2.1 if "string" in overload or "bytes" in overload else 2
        return _sort_cost(len(args) - 1, factor)(args)
    by_overload = _BY_OVERLOAD.get(overload)
    return by_overload(args) if by_overload else CallEstimate(1)
