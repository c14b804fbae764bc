"""Correlation: what a part of an object was before an update (k8s.io/apiserver/pkg/cel/common/equality.go, maplist.go).

Fields are the same by their name, items of a list with x-kubernetes-list-type map by their keys; items of other lists
are not told apart.
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
        """The item that had the same keys, None where none had."""
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
    """A part of an object and what it was before."""

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
        """Whether both are the same; items of lists whose order means nothing are compared by their keys."""
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
            return all(_is_unchanged(self.index(place)) for place in range(len(new)))
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(_is_unchanged(self.key(key)) for key in new)
        return same(new, old)

    def key(self, key: str) -> Correlation | None:
        """A field or a map's value with what it was, None where it was not there."""
        if key not in self._children:
            self._children[key] = self._at_key(key)
        return self._children[key]

    def _at_key(self, key: str) -> Correlation | None:
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or key not in new or key not in old:
            return None
        schema = at_key(self.schema, key)
        return None if schema is None else Correlation(new[key], old[key], schema)

    def index(self, place: int) -> Correlation | None:
        """An item of a list with what it was, None where items are not told apart or it was not there."""
        if place not in self._children:
            self._children[place] = self._at_index(place)
        return self._children[place]

    def _at_index(self, place: int) -> Correlation | None:
        schema = items(self.schema)
        if not isinstance(self.new, list) or schema is None:
            return None
        if self._items is None:
            self._items = OldItems(self.schema, self.old)
        old = self._items.get(self.new[place])
        return None if old is None else Correlation(self.new[place], old, schema)


def _is_unchanged(correlation: Correlation | None) -> bool:
    return correlation is not None and correlation.is_unchanged


class Ratchet:
    """Whether errors of a part are let pass, since the part was as wrong before (KEP-4008).

    Attributes:
        current: the part with what it was, None where that is not known.
        parent: the nearest part around it of which it is.
    """

    __slots__ = ("current", "parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None) -> None:
        self.current = current
        self.parent = parent

    @property
    def lets_pass(self) -> bool:
        """Whether the part, or what is known around it, is as it was."""
        return _is_unchanged(self.parent if self.current is None else self.current)

    def key(self, key: str) -> Ratchet:
        """That of a field or a map's value; apiVersion and kind of the object itself never pass."""
        if self.current is None:
            return self
        if self.parent is None and key in ("apiVersion", "kind"):
            return Ratchet(None, None)
        return Ratchet(self.current.key(key), self.current)

    def index(self, place: int) -> Ratchet:
        """That of a list's item."""
        return self if self.current is None else Ratchet(self.current.index(place), self.current)

    @property
    def of_alternative(self) -> Ratchet:
        """That of a schema within allOf, which lets pass only by what is around the part."""
        return Ratchet(None, self.parent)
