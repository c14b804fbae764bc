"""What an update leaves as it was: wrong values there are let through (KEP-4008).

The rules are those of apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go and of
k8s.io/apiserver/pkg/cel/common/equality.go.
"""

from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, at_key, items
from apiserver.apiextensions.structural.equality import same


class Pair:
    """A value and the one that was in its place before.

    Args:
        schema: what is said of both.
        new: the value.
        old: the one before.
    """

    def __init__(self, schema: Obj, new: Any, old: Any) -> None:
        self._schema = schema
        self._new = new
        self._old = old
        self._by_key: dict[Any, Any] | None = None

    def key(self, key: str) -> "Pair | None":
        """A field or a map's value; None where it was not there, or nothing is said of it."""
        new, old, known = self._new, self._old, at_key(self._schema, key)
        if known is None or not isinstance(new, dict) or not isinstance(old, dict) or key not in new or key not in old:
            return None
        return Pair(known, new[key], old[key])

    def index(self, index: int) -> "Pair | None":
        """An item; None where there was none with its keys, or items have no keys."""
        of_items = items(self._schema)
        if of_items is None or not self._has_keys or not isinstance(self._new, list):
            return None
        if self._by_key is None:
            before = self._old if isinstance(self._old, list) else []
            keyed = [(self._key_of(item), item) for item in reversed(before)]  # the first of a key is the last here
            self._by_key = {key: item for key, item in keyed if key is not None}
        new = self._new[index]
        old = self._by_key.get(self._key_of(new))
        return None if old is None else Pair(of_items, new, old)

    @property
    def _has_keys(self) -> bool:
        return self._schema.get(LIST_TYPE) == "map" and bool(self._schema.get(LIST_KEYS))

    def _key_of(self, item: Any) -> Any:
        """The keys of an item; None of what lacks one, or has one that is no scalar."""
        if not isinstance(item, dict):
            return None
        found = [item.get(key) for key in self._schema[LIST_KEYS]]
        if any(value is None or isinstance(value, dict | list) for value in found):
            return None
        return tuple([(type(value), value) for value in found])

    def is_unchanged(self) -> bool:
        """Are both the same? Lists with keys in any order; but nothing with a field of which nothing is said."""
        new, old = self._new, self._old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all((below := self.key(key)) and below.is_unchanged() for key in new)
        if isinstance(new, list) and isinstance(old, list) and self._has_keys:
            pairs = (self.index(index) for index in range(len(new)))
            return len(new) == len(old) and all(below and below.is_unchanged() for below in pairs)
        return same(new, old)
