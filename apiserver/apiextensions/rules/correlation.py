"""Correlation of an object's parts with their old values (k8s.io/apiserver/pkg/cel/common/equality.go, maplist.go).

Fields are correlated by name, items of a list with x-kubernetes-list-type map by their keys; items of other lists are
not correlated.
"""

from __future__ import annotations

from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, at_key, items
from apiserver.apiextensions.structural.equality import same

_SCALARS = (bool, int, float, str)


class OldItems:
    """The items of a list before an update, by their keys."""

    def __init__(self, schema: Obj, old: Any) -> None:
        is_map = schema.get("type") == "array" and schema.get(LIST_TYPE) == "map"
        self._keys: list[str] = (schema.get(LIST_KEYS) or []) if is_map else []
        self._items: dict[Any, Any] = {}
        for item in old if self._keys and isinstance(old, list) else ():
            key = self._key(item)
            if key is not None:
                self._items.setdefault(key, item)

    def get(self, item: Any) -> Any:
        """Return the old item with the same keys; None if there is none."""
        key = self._key(item) if self._items else None
        return self._items.get(key)

    def _key(self, item: Any) -> tuple[Any, ...] | None:
        if not isinstance(item, dict):
            return None
        values = [item.get(key) for key in self._keys]
        if any(type(value) not in _SCALARS for value in values):
            return None
        return tuple((type(value), value) for value in values)


class Correlation:
    """A part of an object and its old value."""

    __slots__ = ("_children", "_equal", "_items", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Obj) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[Any, Correlation | None] = {}
        self._equal: bool | None = None
        self._items: OldItems | None = None

    @property
    def is_unchanged(self) -> bool:
        """True if both are equal; items of lists with keys are compared regardless of order."""
        if self._equal is None:
            self._equal = self._compared()
        return self._equal

    def _compared(self) -> bool:
        new, old = self.new, self.old
        if new is None or old is None:
            return new is old
        if isinstance(new, list) and isinstance(old, list):
            if len(new) != len(old):
                return False
            if self.schema.get(LIST_TYPE) != "map":
                return same(new, old)
            return all(_is_unchanged(self.index(position)) for position in range(len(new)))
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(_is_unchanged(self.key(key)) for key in new)
        return same(new, old)

    def key(self, key: str) -> Correlation | None:
        """Return a field or a map's value with its old value; None if it did not exist."""
        if key not in self._children:
            self._children[key] = self._at_key(key)
        return self._children[key]

    def _at_key(self, key: str) -> Correlation | None:
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or key not in new or key not in old:
            return None
        schema = at_key(self.schema, key)
        return None if schema is None else Correlation(new[key], old[key], schema)

    def index(self, position: int) -> Correlation | None:
        """Return a list's item with its old value; None if items have no keys or it did not exist."""
        if position not in self._children:
            self._children[position] = self._at_index(position)
        return self._children[position]

    def _at_index(self, position: int) -> Correlation | None:
        schema = items(self.schema)
        if not isinstance(self.new, list) or schema is None:
            return None
        if self._items is None:
            self._items = OldItems(self.schema, self.old)
        old = self._items.get(self.new[position])
        return None if old is None else Correlation(self.new[position], old, schema)


def _is_unchanged(correlation: Correlation | None) -> bool:
    return correlation is not None and correlation.is_unchanged


class Ratchet:
    """Decides whether errors of a part are ignored because the part is unchanged (KEP-4008).

    Attributes:
        current: the part with its old value, None if that is not known.
        parent: the nearest part around it whose old value is known.
    """

    __slots__ = ("current", "parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None) -> None:
        self.current = current
        self.parent = parent

    @property
    def is_unchanged_part(self) -> bool:
        """True if the part, or else the nearest known part around it, is unchanged."""
        return _is_unchanged(self.parent if self.current is None else self.current)

    def key(self, key: str) -> Ratchet:
        """Return the ratchet of a field or a map's value; apiVersion and kind of the object itself never pass."""
        if self.current is None:
            return self
        if self.parent is None and key in ("apiVersion", "kind"):
            return Ratchet(None, None)
        return Ratchet(self.current.key(key), self.current)

    def index(self, position: int) -> Ratchet:
        """Return the ratchet of a list's item."""
        return self if self.current is None else Ratchet(self.current.index(position), self.current)

    @property
    def of_alternative(self) -> Ratchet:
        """The ratchet of a schema within allOf, which passes only if the part around it is unchanged."""
        return Ratchet(None, self.parent)
