"""Objects as expressions see them: their JSON, read by their schema, each part when it is first used.

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
    EvaluationError,
    Lister,
    Mapper,
    all_equal,
    common_type,
    equals,
    is_list,
    no_such_overload,
    weight,
)


def _weight_of(data: Any) -> int:
    """Return the `weight` of the value that JSON represents."""
    total, pending = 0, [data]
    while pending:
        part = pending.pop()
        total += 1
        if type(part) is str:
            total += len(part) // 64
        elif type(part) is list:
            pending += part
        elif type(part) is dict:
            pending += part.values()
            total += len(part)
    return total


class Readers:
    """The readers of a schema's nodes, each created when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Obj, Read]] = {}

    def reader_of(self, schema: Obj) -> Read:
        """Return the reader of a node."""
        cached = self._known.get(id(schema))
        if cached is None:  # the schema is kept, so that its id cannot be reused
            cached = self._known[id(schema)] = schema, _nullable(schema, self._reader(schema))
        return cached[1]

    def root_reader(self, schema: Obj) -> Read:
        """Return the reader of a resource, whose metadata is always declared."""
        return self.reader_of(with_metadata(schema))

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
        full_schema = with_metadata(schema) if schema.get(EMBEDDED) else schema
        fields = properties(full_schema)
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
            return make(value, self.reader_of(inner), keys)

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
    """A value without a schema; it can only be compared."""

    type_name = "unknown"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and same(self.value, other.value)

    def __hash__(self) -> int:
        return 0


class StoredMap(Mapper):
    """An object with fields, or a map."""

    __slots__ = ("_fields", "_inner", "_is_object", "_keys", "_readers", "_values_read", "_weight", "data")

    def __init__(
        self, data: Obj, readers: Readers, *, fields: Mapping[str, Obj], inner: Obj | None, is_object: bool
    ) -> None:
        self.data = data
        self._readers = readers
        self._fields = fields
        self._inner = inner
        self._is_object = is_object
        self._values_read: dict[str, Any] = {}
        self._keys: list[Any] | None = None
        self._weight = 0

    def __len__(self) -> int:
        return len(self.data)

    def key_list(self) -> list[Any]:
        """Return the keys that have a schema, as expressions spell them."""
        if self._keys is None:
            keys = [key for key in self.data if self._schema(key) is not None]
            self._keys = [escape(key) or key for key in keys] if self._is_object else keys
        return self._keys

    def weight(self) -> int:
        """Return the number of parts, including all nested ones."""
        self._weight = self._weight or _weight_of(self.data)
        return self._weight

    def find(self, key: Any) -> Any:
        """Return the value of a key, read once; MISSING if it is absent, or a field that is null."""
        if type(key) is not str:
            raise no_such_overload()
        if key not in self._values_read:
            self._values_read[key] = self._read(key)
        return self._values_read[key]

    def _read(self, key: str) -> Any:
        name = unescape(key) if self._is_object else key
        if name is None:
            return MISSING
        value = self.data.get(name, MISSING)
        if value is MISSING or (value is None and self._is_object):
            return MISSING
        schema = self._schema(name)
        return MISSING if schema is None else self._readers.reader_of(schema)(value)

    def _schema(self, key: str) -> Obj | None:
        return self._fields.get(key) if self._inner is None else self._inner

    def equals(self, other: Any) -> bool:
        """Return True if another map has equal values for all keys; values without a schema are compared as JSON."""
        if not isinstance(other, Mapper):
            raise no_such_overload()
        return len(self) == len(other) and all(self._is_same(key, other) for key in self.data)

    def _is_same(self, key: str, other: Mapper) -> bool:
        if self._schema(key) is None:
            if not isinstance(other, StoredMap):
                raise no_such_overload()
            return key not in other.data or same(self.data[key], other.data[key])
        own_value, other_value = self.find(key), other.find(key)
        if own_value is MISSING or other_value is MISSING:
            return own_value is other_value
        return equals(own_value, other_value)


class StoredList(Lister):
    """A list whose items have an order."""

    __slots__ = ("_converted", "_data", "_keys", "_read", "_weight")

    def __init__(self, data: list[Any], read: Read | None, keys: tuple[str, ...]) -> None:
        self._data = data
        self._read = read
        self._keys = keys
        self._converted = data if read is None else None
        self._weight = 0

    def __len__(self) -> int:
        return len(self._data)

    def items(self) -> list[Any]:
        """Return the items, converted once."""
        if self._converted is None:
            assert self._read is not None
            self._converted = [self._read(value) for value in self._data]
        return self._converted

    def weight(self) -> int:
        """Return the number of parts, including all nested ones."""
        if not self._weight:
            self._weight = weight(self._data) if self._read is None else _weight_of(self._data)
        return self._weight

    def equals(self, others: list[Any]) -> bool:
        """Return True if another list has equal items in the same order."""
        return all_equal(self.items(), others)

    def plus(self, others: list[Any]) -> Any:
        """Return the items of both lists."""
        return self.items() + others

    def _like(self, items: list[Any]) -> Self:
        """Return a list of the same kind with items that are already converted."""
        return type(self)(items, None, self._keys)


class StoredSet(StoredList):
    """A list with x-kubernetes-list-type set: its order is irrelevant, and items that it has are not added again."""

    __slots__ = ()

    def equals(self, others: list[Any]) -> bool:
        """Return True if another list has the same items."""
        if len(self) != len(others):
            return False
        items = self.items()
        if (kind := common_type(items)) in _SET_TYPES and kind is common_type(others):
            return frozenset(items) == frozenset(others)
        return frozenset(map(_set_key, items)) == frozenset(map(_set_key, others))

    def plus(self, others: list[Any]) -> Any:
        """Return the items of both lists, each once."""
        both = self.items() + others
        if common_type(both) in _SET_TYPES:
            return self._like(list(dict.fromkeys(both)))
        joined: dict[Any, Any] = {}
        for item in both:
            joined.setdefault(_set_key(item), item)
        return self._like(list(joined.values()))


_SET_TYPES = frozenset((bool, int, str))
"""Types whose values Python's sets distinguish as CEL does, as long as all items have the same type."""


def _set_key(value: Any) -> Any:
    """Return a key that identifies an item of a set: 1 is neither 1.0 nor true."""
    if is_list(value) or isinstance(value, Mapper):
        raise EvaluationError("listSet operations are only supported on lists of scalar values")
    return type(value).__name__, value


class StoredMapList(StoredList):
    """A list with x-kubernetes-list-type map: keys identify its items, and its order is irrelevant."""

    __slots__ = ("_by_key",)

    effort = 4

    def __init__(self, data: list[Any], read: Read | None, keys: tuple[str, ...]) -> None:
        super().__init__(data, read, keys)
        self._by_key: dict[Any, Any] | None = None

    def by_key(self) -> dict[Any, Any]:
        """Return the items by their keys."""
        if self._by_key is None:
            self._by_key = {self._key(item): item for item in self.items()}
        return self._by_key

    def equals(self, others: list[Any]) -> bool:
        """Return True if another list has equal items with the same keys."""
        if len(self) != len(others):
            return False
        own_items = self.by_key()
        seen = set()
        for other in others:
            key = self._key(other)
            if key not in own_items or not equals(own_items[key], other):
                return False
            seen.add(key)
        return len(seen) == len(own_items)

    def plus(self, others: list[Any]) -> Any:
        """Return the items of both lists; those of the other replace those with the same keys."""
        joined = self.by_key() | {self._key(other): other for other in others}
        return self._like(list(joined.values()))

    def _key(self, item: Any) -> Any:
        if not isinstance(item, Mapper):
            raise no_such_overload()
        return tuple([_identity(item.find(key)) for key in self._keys])


def _identity(value: Any) -> Any:
    """Return a value that identifies an item's key; values that are not scalars are all alike."""
    kind = type(value)
    return kind, value if kind in _SCALARS else None


_SCALARS = frozenset((str, int, float, bool))
