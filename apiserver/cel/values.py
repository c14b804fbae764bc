"""Values at run time: equality, order and size of the values that expressions compute with.

null, bool, int, double, string and bytes are Python's own. A list is a Python list or `Lister`, a map is `Mapper`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from apiserver.api.golang.values import go_text

_MIN_INT64, _END, _UNSIGNED_END = -(2**63), 2**63, 2**64


class EvaluationError(Exception):
    """The evaluation failed; `&&`, `||` and the quantifiers may absorb it. The message is upstream's."""


class CostExceededError(Exception):
    """The evaluation exceeded its cost limit; nothing absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    """Return the error of an operation on unsupported types; the checker leaves it only for values typed dyn."""
    return EvaluationError("no such overload")


class Uint(int):
    """An unsigned integer; equal to an int or a double of the same value."""


def is_int64(value: int) -> bool:
    """Return True if a number is an int64 (`in range(...)` would be slow: it compares a Uint with each number)."""
    return _MIN_INT64 <= value < _END


def is_uint64(value: int) -> bool:
    """Return True if a number is a uint64."""
    return 0 <= value < _UNSIGNED_END


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time.

    Attributes:
        nanos: nanoseconds since 1970, in UTC.
        offset: seconds by which its original time zone is ahead of UTC; it only affects the text.
    """

    nanos: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: the result of type()."""

    name: str


class _Missing:
    """Stands for the value of a key that a map lacks, and of an optional without a value."""


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    value: Any = MISSING


NONE = Optional()


class Mapper:
    """A map. Maps that read their values from stored data, or that define equality differently, are subclasses."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def key_list(self) -> list[Any]:
        """Return the keys."""
        raise NotImplementedError

    def find(self, key: Any) -> Any:
        """Return the value of a key, or MISSING.

        Raises:
            EvaluationError: no key of this map has that type, or the value does not fit its schema.
        """
        raise NotImplementedError

    def weight(self) -> int:
        """Return the number of parts, including all nested ones."""
        return 1 + sum(weight(key) + weight(self.find(key)) for key in self.key_list())

    def equals(self, other: Any) -> bool:
        """Return True if a value is equal to this map."""
        if not isinstance(other, Mapper) or len(self) != len(other):
            return False
        for key in self.key_list():
            other_value = other.find(key)
            if other_value is MISSING or not equals(self.find(key), other_value):
                return False
        return True


class Lister:
    """A list that is not a Python list: its items are converted when they are first used.

    Attributes:
        effort: how much longer it takes to compare or to join its items than those of other lists.
    """

    __slots__ = ()

    effort: ClassVar[int] = 1

    def __len__(self) -> int:
        raise NotImplementedError

    def items(self) -> list[Any]:
        """Return all items.

        Raises:
            EvaluationError: an item does not fit its schema.
        """
        raise NotImplementedError

    def weight(self) -> int:
        """Return the number of parts, including all nested ones."""
        raise NotImplementedError

    def equals(self, others: list[Any]) -> bool:
        """Return True if the items of another list make it equal to this one."""
        raise NotImplementedError

    def plus(self, others: list[Any]) -> Any:
        """Return this list joined with other items: a list of the same kind, or a Python list."""
        raise NotImplementedError


class MapValue(Mapper):
    """A map created in an expression. Keys are compared as CEL does: 1, 1u and 1.0 are one key, true is another."""

    __slots__ = ("_entries", "_keys")

    def __init__(self, entries: Iterable[tuple[Any, Any]] = ()) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}
        self._keys: list[Any] | None = None
        for key, value in entries:
            self._entries[_key(key)] = key, value

    def __len__(self) -> int:
        return len(self._entries)

    def key_list(self) -> list[Any]:
        """Return the keys, in the order in which they were given."""
        if self._keys is None:
            self._keys = [key for key, _ in self._entries.values()]
        return self._keys

    def find(self, key: Any) -> Any:
        """Return the value of a key, or MISSING."""
        return self._entries.get(_key(key), (None, MISSING))[1]

    def insert(self, key: Any, value: Any) -> None:
        """Add an entry, while the map is built.

        Raises:
            EvaluationError: the map has that key.
        """
        if _key(key) in self._entries:
            raise EvaluationError(f"insert failed: key {format_value(key)} already exists")
        self._entries[_key(key)] = key, value
        self._keys = None


def _key(key: Any) -> Any:
    if type(key) is bool:
        return ("bool", key)
    if type(key) in (int, Uint, str):
        return key
    if type(key) is float and key.is_integer():
        return int(key)
    return ("no key", id(key))


def is_list(value: Any) -> bool:
    """Return True if a value is a list."""
    return type(value) is list or isinstance(value, Lister)


def items_of(value: Any) -> list[Any]:
    """Return the items of a list."""
    if type(value) is list:
        return value
    if isinstance(value, Lister):
        return value.items()
    raise no_such_overload()


def equals(left: Any, right: Any) -> bool:
    """Return True if two values are equal: numbers by value, whatever their types; maps and lists item by item.

    Raises:
        EvaluationError: a value of one of the API's own types is compared with a value of another type.
    """
    if left is None or right is None:
        return left is right
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        return bool(left == right) if kind is not float and other is not float else float(left) == float(right)
    if is_list(left):
        return _lists_equal(left, right)
    if isinstance(left, Mapper):
        return left.equals(right)
    if kind is Optional:
        return _optionals_equal(left, right)
    if kind not in _PLAIN and kind is not other:
        raise no_such_overload()
    return kind is other and bool(left == right)


_NUMBERS = frozenset((int, Uint, float))
_PLAIN = frozenset((bool, int, Uint, float, str, bytes, Timestamp, Duration, TypeValue))
"""The types whose values are simply unequal to values of other types."""


def _lists_equal(left: Any, right: Any) -> bool:
    if not is_list(right):
        if type(left) is list:
            return False
        raise no_such_overload()
    others = items_of(right)
    return left.equals(others) if isinstance(left, Lister) else all_equal(left, others)


def all_equal(items: list[Any], others: list[Any]) -> bool:
    """Return True if lists have equal items in the same order; long lists of one type are compared by Python."""
    if len(items) != len(others):
        return False
    if len(items) > _FEW and (kind := common_type(items)) in _EXACT and kind is common_type(others):
        return items == others
    return all(map(equals, items, others))


def common_type(items: list[Any]) -> type | None:
    """Return the type that all items have; None if they have several or there are none."""
    kinds = set(map(type, items))
    return kinds.pop() if len(kinds) == 1 else None


_FEW = 16
_EXACT = frozenset((bool, int, str, bytes))
"""The types whose values Python compares as CEL does, with others of the same type."""


def _optionals_equal(left: Optional, right: Any) -> bool:
    if type(right) is not Optional:
        return False
    if left.value is MISSING or right.value is MISSING:
        return left.value is right.value
    return equals(left.value, right.value)


def compare(left: Any, right: Any) -> int:
    """Return the order of two values: -1, 0 or 1.

    Raises:
        EvaluationError: they have no order.
    """
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        if float in (kind, other):
            left, right = float(left), float(right)  # upstream compares with doubles, so large numbers are rounded
        if math.isnan(left) or math.isnan(right):
            raise EvaluationError("NaN values cannot be ordered")
    elif kind is not other or kind not in _ORDERED:
        raise no_such_overload()
    elif kind in (Timestamp, Duration):
        left, right = left.nanos, right.nanos
    return -1 if left < right else int(left > right)


_ORDERED = frozenset((bool, str, bytes, Timestamp, Duration))


def size(value: Any) -> int:
    """Return the size of a value in costs: characters, bytes or items; 1 for any value without a length."""
    kind = type(value)
    if kind is str or kind is bytes or kind is list:
        return len(value)
    if kind is Optional and value.value is not MISSING:
        return size(value.value)
    return len(value) if hasattr(value, "__len__") else 1


def weight(value: Any) -> int:
    """Return the number of parts of a value, including all nested ones; a text is one part per 64 characters."""
    kind = type(value)
    if kind is str or kind is bytes:
        return 1 + len(value) // 64
    if kind is list:
        return 1 + sum(map(weight, value))
    if kind is Optional:
        return 1 if value.value is MISSING else weight(value.value)
    return value.weight() if isinstance(value, Lister | Mapper) else 1


def type_name(value: Any) -> str:
    """Return the name of a value's type at run time."""
    if value is None:
        return "null_type"
    name = _TYPE_NAMES.get(type(value))
    if name is not None:
        return name
    if is_list(value):
        return "list"
    return "map" if isinstance(value, Mapper) else str(value.type_name)


_TYPE_NAMES = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
}


def format_value(value: Any) -> str:
    """Return a value as errors show it (Go's %v)."""
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return go_float(value)
    if value is None:
        return "null"
    return value.name if type(value) is TypeValue else str(value)


def go_float(number: float) -> str:
    """Return a double as Go's %g writes it."""
    if math.isfinite(number):
        return go_text(number)
    return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
