"""Stored values as expressions see them: the data of an object, read by its schema, each part when it is asked for.

Source: k8s.io/apiserver/pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Self

from apiserver.api.go_values import go_type
from apiserver.api.meta import Obj
from apiserver.api.rules.declared import with_metadata
from apiserver.api.rules.escaping import escape, unescape
from apiserver.api.rules.functions.durations import parse_duration, parse_timestamp
from apiserver.api.rules.language.values import (
    MISSING,
    Duration,
    Entries,
    EvaluationError,
    Items,
    Timestamp,
    equals,
    is_list,
    no_such_overload,
)
from apiserver.api.structural.words import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    PRESERVE,
    items,
    properties,
    takes_null,
    values,
)

Read = Callable[[Any], Any]
"""Makes a value of an expression from JSON; raises EvaluationError where it is not what its schema says."""

_COUNTED = re.compile(r"(\d{1,18})\s*([A-Za-zµ]+)", re.ASCII)
_LONG_UNITS = {  # the names of a unit, of which the last may be the beginning of one, and its nanoseconds
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 10**3,
    ("ms", "milli"): 10**6,
    ("s", "sec"): 10**9,
    ("m", "min"): 60 * 10**9,
    ("h", "hr", "hour"): 3600 * 10**9,
    ("d", "day"): 86400 * 10**9,
    ("w", "wk", "week"): 604800 * 10**9,
}


def deep_equal(one: Any, two: Any) -> bool:
    """Whether two values of JSON are the same; unlike Python, 1 is neither 1.0 nor true. They may be nested deeply."""
    waiting = [(one, two)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if type(left) is dict:
            if left.keys() != right.keys():
                return False
            waiting += [(left[key], right[key]) for key in left]
        elif type(left) is list:
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


class Readers:
    """The readers of a schema's nodes, each made when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, Read]] = {}

    def of(self, schema: Obj) -> Read:
        """The reader of a node."""
        known = self._known.get(id(schema))
        if known is None:  # the schema is kept, so that no other can get its id
            known = self._known[id(schema)] = schema, _nullable(schema, self._reader(schema))
        return known[1]

    def of_root(self, schema: Obj) -> Read:
        """The reader of a resource, of which the metadata is known."""
        return self.of(with_metadata(schema))

    def _reader(self, schema: Obj) -> Read:
        if schema.get(INT_OR_STRING):
            return _int_or_string
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return _STRINGS.get(schema.get("format") or "", _string)
        if kind in _SCALARS:
            return _SCALARS[kind]
        return Unknown if schema.get(PRESERVE) else _unreadable(kind or "")

    def _object(self, schema: Obj) -> Read:
        known = with_metadata(schema) if schema.get(EMBEDDED) else schema
        fields = properties(known)
        inner = values(schema) if not fields else None
        is_object = bool(fields) or bool(schema.get(EMBEDDED))

        def read(value: Any) -> StoredMap:
            if type(value) is not dict:
                raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
            return StoredMap(value, self, fields=fields, inner=inner, is_object=is_object)

        return read

    def _array(self, schema: Obj) -> Read:
        inner = items(schema)
        if inner is None:
            return _no_items
        make = {"set": StoredSet, "map": StoredMapList}.get(schema.get(LIST_TYPE) or "", StoredList)
        keys = tuple(escape(key) or key for key in schema.get(LIST_KEYS) or ())

        def read(value: Any) -> StoredList:
            if type(value) is not list:
                raise EvaluationError("invalid data, expected an array for the provided schema with type=array")
            return make(value, self.of(inner), keys)

        return read


def _nullable(schema: Obj, read: Read) -> Read:
    if takes_null(schema):
        return lambda value: None if value is None else read(value)

    def read_value(value: Any) -> Any:
        if value is None:
            raise EvaluationError("invalid data, got null for schema with nullable=false")
        return read(value)

    return read_value


class Unknown:
    """A value without a schema; it can be compared, and nothing else."""

    type_name = "unknown"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and deep_equal(self.value, other.value)

    def __hash__(self) -> int:
        return 0


class StoredMap(Entries):
    """An object with fields, or a map."""

    __slots__ = ("_fields", "_inner", "_is_object", "_readers", "data")

    def __init__(
        self, data: Obj, readers: Readers, *, fields: Mapping[str, Obj], inner: Obj | None, is_object: bool
    ) -> None:
        self.data = data
        self._readers = readers
        self._fields = fields
        self._inner = inner
        self._is_object = is_object

    def __len__(self) -> int:
        return len(self.data)

    def key_list(self) -> list[Any]:
        """The keys of which a schema is known, as expressions spell them."""
        known = [key for key in self.data if self._schema(key) is not None]
        return [escape(key) or key for key in known] if self._is_object else known

    def find(self, key: Any) -> Any:
        """The value of a key; a field that is null is missing."""
        if type(key) is not str:
            raise no_such_overload()
        name = unescape(key) if self._is_object else key
        if name is None:
            return MISSING
        value = self.data.get(name, MISSING)
        if value is MISSING or (value is None and self._is_object):
            return MISSING
        schema = self._schema(name)
        return MISSING if schema is None else self._readers.of(schema)(value)

    def _schema(self, key: str) -> Obj | None:
        return self._fields.get(key) if self._inner is None else self._inner

    def equals(self, other: Any) -> bool:
        """Whether another has equal values for all keys; what has no schema is compared as JSON."""
        if not isinstance(other, Entries):
            raise no_such_overload()
        return len(self) == len(other) and all(self._is_same(key, other) for key in self.data)

    def _is_same(self, key: str, other: Entries) -> bool:
        if self._schema(key) is None:
            if not isinstance(other, StoredMap):
                raise no_such_overload()
            return key not in other.data or deep_equal(self.data[key], other.data[key])
        mine, theirs = self.find(key), other.find(key)
        if mine is MISSING or theirs is MISSING:
            return mine is theirs
        return equals(mine, theirs)


class StoredList(Items):
    """A list whose items have an order."""

    __slots__ = ("_data", "_keys", "_made", "_read")

    def __init__(self, data: list[Any], read: Read | None, keys: tuple[str, ...]) -> None:
        self._data = data
        self._read = read
        self._keys = keys
        self._made = data if read is None else None

    def __len__(self) -> int:
        return len(self._data)

    def items(self) -> list[Any]:
        """The items, made once."""
        if self._made is None:
            assert self._read is not None
            self._made = [self._read(value) for value in self._data]
        return self._made

    def equals(self, others: list[Any]) -> bool:
        """Whether another has equal items in the same order."""
        return len(self) == len(others) and all(map(equals, self.items(), others))

    def plus(self, others: list[Any]) -> Any:
        """The items of both."""
        return self.items() + others

    def _like(self, items: list[Any]) -> Self:
        """A list of the same kind, of items that are made already."""
        return type(self)(items, None, self._keys)


class StoredSet(StoredList):
    """A list with x-kubernetes-list-type set: the order means nothing, and what it has is not added again."""

    __slots__ = ()

    def equals(self, others: list[Any]) -> bool:
        """Whether another has the same items."""
        if len(self) != len(others):
            return False
        return frozenset(map(_set_key, self.items())) == frozenset(map(_set_key, others))

    def plus(self, others: list[Any]) -> Any:
        """The items of both, each once."""
        joined = {_set_key(item): item for item in self.items()}
        for other in others:
            joined.setdefault(_set_key(other), other)
        return self._like(list(joined.values()))


def _set_key(value: Any) -> Any:
    """What tells items of a set apart: 1 is neither 1.0 nor true."""
    if is_list(value) or isinstance(value, Entries):
        raise EvaluationError("listSet operations are only supported on lists of scalar values")
    return type(value).__name__, value


class StoredMapList(StoredList):
    """A list with x-kubernetes-list-type map: its items are told apart by keys, and the order means nothing."""

    __slots__ = ()

    def equals(self, others: list[Any]) -> bool:
        """Whether another has equal items under the same keys."""
        if len(self) != len(others):
            return False
        mine = {self._key(item): item for item in self.items()}
        seen = set()
        for other in others:
            key = self._key(other)
            if key not in mine or not equals(mine[key], other):
                return False
            seen.add(key)
        return len(seen) == len(mine)

    def plus(self, others: list[Any]) -> Any:
        """The items of both; those of the other stand for those that have the same key."""
        joined = {self._key(item): item for item in self.items()}
        return self._like(list((joined | {self._key(other): other for other in others}).values()))

    def _key(self, item: Any) -> Any:
        if not isinstance(item, Entries):
            raise no_such_overload()
        found = (item.find(key) for key in self._keys)
        return tuple((type(value).__name__, value if _is_scalar(value) else None) for value in found)


def _is_scalar(value: Any) -> bool:
    return type(value) in (str, int, float, bool)


def _int_or_string(value: Any) -> Any:
    if type(value) in (int, str):
        return value
    raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")


def _no_items(_value: Any) -> Any:
    raise EvaluationError("invalid array type, expected Items with a non-empty Schema")


def _unreadable(kind: str) -> Read:
    def read(_value: Any) -> Any:
        raise EvaluationError(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with "
            f"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {kind}"
        )

    return read


def _string(value: Any) -> str:
    if type(value) is not str:
        raise EvaluationError(f"invalid data, expected string, got {go_type(value)}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise EvaluationError(f"invalid data, expected float, got {go_type(value)}")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise EvaluationError(f"invalid data, expected int, got {go_type(value)}")
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise EvaluationError(f"invalid data, expected bool, got {go_type(value)}")
    return value


def _duration(value: Any) -> Duration:
    """A duration of Go's, or numbers with longer units, such as "3 days" (strfmt.ParseDuration)."""
    text = _string(value)
    found = parse_duration(text)
    if found is not None:
        return found
    parts = [(int(number), _unit(unit.lower())) for number, unit in _COUNTED.findall(text)]
    if not any(nanos for _, nanos in parts):
        raise EvaluationError(f'Invalid duration {text}: unable to parse "{text}" as duration')
    return Duration(sum(number * nanos for number, nanos in parts))


def _unit(name: str) -> int:
    return next((nanos for names, nanos in _LONG_UNITS.items() if name in names or name.startswith(names[-1])), 0)


def _date(value: Any) -> Timestamp:
    return _moment(value, "date", "T00:00:00Z")


def _date_time(value: Any) -> Timestamp:
    return _moment(value, "date-time", "")


def _moment(value: Any, form: str, rest: str) -> Timestamp:
    text = _string(value)
    moment = parse_timestamp(f"{text}{rest}" if rest else text.upper())
    if moment is None:
        raise EvaluationError(f"Invalid {form} formatted string {text}: unable to parse it")
    return moment


def _bytes(value: Any) -> bytes:
    text = _string(value)
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"Invalid byte formatted string {text}: {error}") from None


_STRINGS: dict[str, Read] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}
_SCALARS: dict[str, Read] = {"number": _number, "integer": _integer, "boolean": _boolean}
