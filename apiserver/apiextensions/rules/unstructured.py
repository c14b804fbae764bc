"""Stored values as expressions see them: the data of an object, read by its schema, each part when it is asked for.

Source: k8s.io/apiserver/pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import (
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
from apiserver.apiextensions.rules.escaping import escape, unescape
from apiserver.apiextensions.rules.scalars import (
    BY_FORMAT,
    BY_TYPE,
    Read,
    read_int_or_string,
    read_no_items,
    read_string,
    unreadable,
)
from apiserver.apiextensions.rules.schema_types import with_metadata
from apiserver.apiextensions.structural.equality import same
from apiserver.cel.values import (
    MISSING,
    Entries,
    EvaluationError,
    Items,
    all_equal,
    equals,
    is_list,
    no_such_overload,
    one_type,
    weight,
)


def _weight_of(data: Any) -> int:
    """What `weight` is of the value that JSON says."""
    total, waiting = 0, [data]
    while waiting:
        part = waiting.pop()
        total += 1
        if type(part) is str:
            total += len(part) // 64
        elif type(part) is list:
            waiting += part
        elif type(part) is dict:
            waiting += part.values()
            total += len(part)
    return total


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
            return read_int_or_string
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return BY_FORMAT.get(schema.get("format") or "", read_string)
        if kind in BY_TYPE:
            return BY_TYPE[kind]
        return Unknown if schema.get(PRESERVE) else unreadable(kind or "")

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
            return read_no_items
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
        return isinstance(other, Unknown) and same(self.value, other.value)

    def __hash__(self) -> int:
        return 0


class StoredMap(Entries):
    """An object with fields, or a map."""

    __slots__ = ("_fields", "_found", "_inner", "_is_object", "_keys", "_readers", "_weight", "data")

    def __init__(
        self, data: Obj, readers: Readers, *, fields: Mapping[str, Obj], inner: Obj | None, is_object: bool
    ) -> None:
        self.data = data
        self._readers = readers
        self._fields = fields
        self._inner = inner
        self._is_object = is_object
        self._found: dict[str, Any] = {}
        self._keys: list[Any] | None = None
        self._weight = 0

    def __len__(self) -> int:
        return len(self.data)

    def key_list(self) -> list[Any]:
        """The keys of which a schema is known, as expressions spell them."""
        if self._keys is None:
            known = [key for key in self.data if self._schema(key) is not None]
            self._keys = [escape(key) or key for key in known] if self._is_object else known
        return self._keys

    def weight(self) -> int:
        """How many parts it has, all within them included."""
        self._weight = self._weight or _weight_of(self.data)
        return self._weight

    def find(self, key: Any) -> Any:
        """The value of a key, read once; a field that is null is missing."""
        if type(key) is not str:
            raise no_such_overload()
        if key not in self._found:
            self._found[key] = self._read(key)
        return self._found[key]

    def _read(self, key: str) -> Any:
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
            return key not in other.data or same(self.data[key], other.data[key])
        mine, theirs = self.find(key), other.find(key)
        if mine is MISSING or theirs is MISSING:
            return mine is theirs
        return equals(mine, theirs)


class StoredList(Items):
    """A list whose items have an order."""

    __slots__ = ("_data", "_keys", "_made", "_read", "_weight")

    def __init__(self, data: list[Any], read: Read | None, keys: tuple[str, ...]) -> None:
        self._data = data
        self._read = read
        self._keys = keys
        self._made = data if read is None else None
        self._weight = 0

    def __len__(self) -> int:
        return len(self._data)

    def items(self) -> list[Any]:
        """The items, made once."""
        if self._made is None:
            assert self._read is not None
            self._made = [self._read(value) for value in self._data]
        return self._made

    def weight(self) -> int:
        """How many parts it has, all within them included."""
        if not self._weight:
            self._weight = weight(self._data) if self._read is None else _weight_of(self._data)
        return self._weight

    def equals(self, others: list[Any]) -> bool:
        """Whether another has equal items in the same order."""
        return all_equal(self.items(), others)

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
        items = self.items()
        if (kind := one_type(items)) in _SET_TYPES and kind is one_type(others):
            return frozenset(items) == frozenset(others)
        return frozenset(map(_set_key, items)) == frozenset(map(_set_key, others))

    def plus(self, others: list[Any]) -> Any:
        """The items of both, each once."""
        both = self.items() + others
        if one_type(both) in _SET_TYPES:
            return self._like(list(dict.fromkeys(both)))
        joined: dict[Any, Any] = {}
        for item in both:
            joined.setdefault(_set_key(item), item)
        return self._like(list(joined.values()))


_SET_TYPES = frozenset((bool, int, str))
"""What Python tells apart as sets do, as long as all are of the type."""


def _set_key(value: Any) -> Any:
    """What tells items of a set apart: 1 is neither 1.0 nor true."""
    if is_list(value) or isinstance(value, Entries):
        raise EvaluationError("listSet operations are only supported on lists of scalar values")
    return type(value).__name__, value


class StoredMapList(StoredList):
    """A list with x-kubernetes-list-type map: its items are told apart by keys, and the order means nothing."""

    __slots__ = ("_by_key",)

    effort = 4

    def __init__(self, data: list[Any], read: Read | None, keys: tuple[str, ...]) -> None:
        super().__init__(data, read, keys)
        self._by_key: dict[Any, Any] | None = None

    def by_key(self) -> dict[Any, Any]:
        """The items by their keys."""
        if self._by_key is None:
            self._by_key = {self._key(item): item for item in self.items()}
        return self._by_key

    def equals(self, others: list[Any]) -> bool:
        """Whether another has equal items under the same keys."""
        if len(self) != len(others):
            return False
        mine = self.by_key()
        seen = set()
        for other in others:
            key = self._key(other)
            if key not in mine or not equals(mine[key], other):
                return False
            seen.add(key)
        return len(seen) == len(mine)

    def plus(self, others: list[Any]) -> Any:
        """The items of both; those of the other stand for those that have the same key."""
        joined = self.by_key() | {self._key(other): other for other in others}
        return self._like(list(joined.values()))

    def _key(self, item: Any) -> Any:
        if not isinstance(item, Entries):
            raise no_such_overload()
        return tuple([_identity(item.find(key)) for key in self._keys])


def _identity(value: Any) -> Any:
    """What tells the values of a key apart; those that are no scalars are not."""
    kind = type(value)
    return kind, value if kind in _SCALARS else None


_SCALARS = frozenset((str, int, float, bool))
