"""Ratcheting: errors in the parts of an object that an update leaves unchanged are ignored (KEP-4008).

The rules are those of apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go and of
k8s.io/apiserver/pkg/cel/common/equality.go.
"""

from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, at_key, items
from apiserver.apiextensions.structural.equality import same


class CorrelatedValue:
    """A value and the value that it replaces.

    Args:
        schema: the schema of both.
        new: the new value.
        old: the old value.
    """

    def __init__(self, schema: Obj, new: Any, old: Any) -> None:
        self._schema = schema
        self._new = new
        self._old = old
        self._by_key: dict[Any, Any] | None = None

    def key(self, key: str) -> "CorrelatedValue | None":
        """Return the pair of a field or a map's value; None if it is not in both, or the schema does not declare it."""
        new, old, field_schema = self._new, self._old, at_key(self._schema, key)
        if (
            field_schema is None
            or not isinstance(new, dict)
            or not isinstance(old, dict)
            or key not in new
            or key not in old
        ):
            return None
        return CorrelatedValue(field_schema, new[key], old[key])

    def index(self, index: int) -> "CorrelatedValue | None":
        """Return the pair of an item; None if the old list has no item with its keys, or items have no keys."""
        of_items = items(self._schema)
        if of_items is None or not self._has_keys or not isinstance(self._new, list):
            return None
        if self._by_key is None:
            old_items = self._old if isinstance(self._old, list) else []
            # reversed: of several items with the same key, the first one comes last and wins
            keyed = [(self._key_of(item), item) for item in reversed(old_items)]
            self._by_key = {key: item for key, item in keyed if key is not None}
        new = self._new[index]
        old = self._by_key.get(self._key_of(new))
        return None if old is None else CorrelatedValue(of_items, new, old)

    @property
    def _has_keys(self) -> bool:
        return self._schema.get(LIST_TYPE) == "map" and bool(self._schema.get(LIST_KEYS))

    def _key_of(self, item: Any) -> Any:
        """Return the keys of an item; None if it lacks one, or has one that is not a scalar."""
        if not isinstance(item, dict):
            return None
        keys = [item.get(key) for key in self._schema[LIST_KEYS]]
        if any(value is None or isinstance(value, dict | list) for value in keys):
            return None
        return tuple([(type(value), value) for value in keys])

    def is_unchanged(self) -> bool:
        """Return True if both are equal; lists with keys in any order. Objects with an undeclared field never are."""
        new, old = self._new, self._old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all((inner := self.key(key)) and inner.is_unchanged() for key in new)
        if isinstance(new, list) and isinstance(old, list) and self._has_keys:
            pairs = (self.index(index) for index in range(len(new)))
            return len(new) == len(old) and all(inner and inner.is_unchanged() for inner in pairs)
        return same(new, old)
