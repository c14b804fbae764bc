"""The kinds of values that managedFields tells apart, and how each is compared (structured-merge-diff, typed).

Every kind can say the fields of a value that was not there before, and what differs between two unequal values.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from apiserver.api.managedfields.field_sets import MEMBER, SELF, FieldSet, in_order
from apiserver.api.meta import Obj

T = TypeVar("T")
_Added = Callable[[Any], FieldSet | None]
_Part = tuple[str, _Added | None, FieldSet | None]
"""The label of a field, what says the set of its value (None: every value is a leaf), and the set of a null."""

_ZEROES = ("", 0, False)
_KNOWN, _KNOWN_ENTRIES = 256, 16
_KEY_DEFAULTS = {"protocol": "TCP"}
"""Keys of list items that count as given where they are absent."""


class Changes:
    """What a write did below one point of an object.

    Attributes:
        changed: the fields that were added or have another value; what is below each is in order.
        removed: the fields that are gone.
    """

    __slots__ = ("changed", "removed")

    def __init__(self) -> None:
        self.changed: FieldSet = {}
        self.removed: FieldSet = {}

    def under(self, label: str, below: "Changes") -> None:
        """Take in what was found below a label."""
        if below.changed:
            self.changed[label] = in_order(below.changed)
        if below.removed:
            self.removed[label] = below.removed


class Leaf:
    """A value that is owned as a whole: a scalar, an atomic list, an atomic map."""

    def added(self, _value: Any) -> FieldSet:
        """The set of a value that was not there before."""
        return MEMBER

    def compare(self, label: str, _old: Any, _new: Any, changes: Changes) -> None:
        """Note what differs between two unequal values below `label`."""
        changes.changed[label] = MEMBER


LEAF = Leaf()


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct.

    Attributes:
        label: its path element, "" for what nobody owns.
        kind: what its values are.
        given: whether the empty object that its Go type is has it already.
    """

    label: str
    kind: Leaf = LEAF
    given: bool = False

    def created(self, value: Any) -> FieldSet | None:
        """The set of a value that is compared with the empty object; None where that has the same."""
        if isinstance(self.kind, Struct):
            return self.kind.created(value) or None
        if self.kind is LEAF:
            return None if value in _ZEROES else MEMBER
        return {label: below for label, below in self.kind.added(value).items() if label != SELF}


class _Plan:
    """The set of all structs that have the same keys: a template, and the parts that depend on values."""

    def __init__(self, own: FieldSet, parts: Mapping[str, _Part]) -> None:
        labels = sorted(label for label, _, _ in parts.values())
        self._template = own | dict.fromkeys(labels, MEMBER) if labels else MEMBER
        self._parts = [(key, label, added, null) for key, (label, added, null) in parts.items() if added]

    def fill(self, value: Obj) -> FieldSet:
        """The set of one of the structs."""
        if not self._parts:
            return self._template
        found = self._template.copy()
        for key, label, added, null in self._parts:
            inner = value[key]
            below = null if inner is None else added(inner)
            if below is None:
                del found[label]
            else:
                found[label] = below
        return found


class Struct(Leaf):
    """An object with known fields, each compiled when it is first met."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._added: dict[tuple[Any, ...], _Plan] = {}
        self._created: dict[tuple[Any, ...], _Plan] = {}

    def added(self, value: Obj) -> FieldSet:
        """The struct itself and the fields that it has."""
        keys = tuple(value)
        plan = self._added.get(keys)
        if plan is None:
            parts = {key: _part(field) for key in keys if (field := self._fields[key]).label}
            plan = _remember(self._added, keys, _Plan({SELF: MEMBER}, parts))
        return plan.fill(value)

    def created(self, value: Obj) -> FieldSet:
        """The set of an object that is compared with the empty one that its Go type is.

        Structs that are no pointers are there in the empty object, so their fields are owned and they are not.
        """
        keys = tuple(value)
        plan = self._created.get(keys)
        if plan is None:
            fields = {key: field for key in keys if (field := self._fields[key]).label}
            parts = {key: (f.label, f.created, None) if f.given else _part(f) for key, f in fields.items()}
            plan = _remember(self._created, keys, _Plan({}, parts))
        return plan.fill(value)

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Field by field."""
        changes.under(label, self.changes(old, new))

    def changes(self, old: Obj, new: Obj) -> Changes:
        """What differs between two objects."""
        found = Changes()
        for key, value in new.items():
            before = old.get(key)
            if before == value:
                continue
            field = self._fields[key]
            if not field.label:
                continue
            if value is None:
                if field.given and field.kind is LEAF:  # null is what it is now, not that it is gone
                    found.changed[field.label] = MEMBER
            elif before is not None:
                field.kind.compare(field.label, before, value, found)
            elif (added := field.created(value) if field.given else field.kind.added(value)) is not None:
                found.changed[field.label] = added
        kept = {"", *found.changed}
        for key, value in old.items():
            if value is not None and new.get(key) is None and (field := self._fields[key]).label not in kept:
                removed = field.created(value) if field.given else field.kind.added(value)
                if removed is not None:
                    found.removed[field.label] = removed
        return found


def _part(field: Field) -> _Part:
    return field.label, None if field.kind is LEAF else field.kind.added, MEMBER


def _remember(known: dict[tuple[Any, ...], T], keys: tuple[Any, ...], made: T) -> T:
    """Keep what was made for these keys; objects come in few forms, and who sends many gets no memory for them."""
    if len(known) >= _KNOWN:
        known.clear()
    known[keys] = made
    return made


class Mapped(Leaf):
    """A map whose entries are owned one by one."""

    def __init__(self, items: Leaf) -> None:
        self._items = items
        self._known: dict[tuple[Any, ...], FieldSet] = {}

    def added(self, value: Obj) -> FieldSet:
        """The map itself and its entries."""
        if not value:
            return MEMBER
        if self._items is not LEAF:
            return {SELF: MEMBER} | {f"f:{key}": self._items.added(value[key]) for key in sorted(value)}
        keys = tuple(value)
        if (known := self._known.get(keys)) is not None:
            return known
        found = {SELF: MEMBER} | {f"f:{key}": MEMBER for key in sorted(value)}
        return _remember(self._known, keys, found) if len(keys) <= _KNOWN_ENTRIES else found

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Entry by entry."""
        found = Changes()
        for key, value in new.items():
            if key not in old:
                found.changed[f"f:{key}"] = self._items.added(value)
            elif old[key] != value:
                self._items.compare(f"f:{key}", old[key], value, found)
        found.removed = {f"f:{key}": self._items.added(value) for key, value in old.items() if key not in new}
        changes.under(label, found)


class Items(Leaf):
    """A list whose items are owned one by one: a set of scalars, or a map by some keys of its items."""

    def __init__(self, items: Leaf, keys: Iterable[str]) -> None:
        self._items = items
        self._keys = sorted(keys)
        self._key = self._keys[0] if len(self._keys) == 1 else ""
        self._labels: dict[tuple[Any, ...], str] = {}

    def _labelled(self, values: Iterable[Any]) -> dict[str, list[Any]]:
        """The items by label, where one label may have more than one item."""
        found: dict[str, list[Any]] = {}
        for value in values:
            found.setdefault(self._label(value), []).append(value)
        return found

    def _label(self, value: Any) -> str:
        if not (self._keys and isinstance(value, dict)):
            return f"v:{orjson.dumps(value).decode()}"
        key = self._key
        given = (value.get(key),) if key else tuple([value.get(key) for key in self._keys])
        try:
            return self._labels[given]
        except (KeyError, TypeError):  # TypeError: a custom resource's key that is a list or an object
            return self._new_label(given)

    def _new_label(self, given: tuple[Any, ...]) -> str:
        known, plain = {}, True
        for key, value in zip(self._keys, given, strict=True):
            inner = _KEY_DEFAULTS.get(key) if value is None else value
            if inner is not None:
                known[key] = inner
                plain = plain and isinstance(inner, str | int)
        label = f"k:{orjson.dumps(known).decode()}"
        return _remember(self._labels, given, label) if plain else label

    def _added(self, values: list[Any]) -> FieldSet:
        return self._items.added(values[0]) if len(values) == 1 else MEMBER  # doubles are owned as one

    def added(self, value: Any) -> FieldSet:
        """The list itself and its items."""
        if not value:
            return MEMBER
        found: FieldSet = {SELF: MEMBER}
        for item in value:
            found[self._label(item)] = self._items.added(item)
        if len(found) <= len(value):
            found |= {label: self._added(items) for label, items in self._labelled(value).items()}
        return found if len(value) == 1 else dict(sorted(found.items()))

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Item by item, whatever their order; doubles count as one item."""
        before = {self._label(value): value for value in old}
        after = {self._label(value): value for value in new}
        if len(before) < len(old) or len(after) < len(new):  # no well-formed list is so
            self._compare_doubles(label, old, new, changes)
            return
        found, items = Changes(), self._items
        for item, value in after.items():
            if item not in before:
                found.changed[item] = items.added(value)
            elif before[item] != value:
                items.compare(item, before[item], value, found)
        found.removed |= {item: items.added(value) for item, value in before.items() if item not in after}
        changes.under(label, found)

    def _compare_doubles(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        before, after, found = self._labelled(old), self._labelled(new), Changes()
        for item, values in after.items():
            if item not in before:
                found.changed[item] = self._added(values)
            elif before[item] != values:
                self._compare_item(item, before[item], values, found)
        found.removed = found.removed | {
            item: self._added(values) for item, values in before.items() if item not in after
        }
        changes.under(label, found)

    def _compare_item(self, item: str, old: list[Any], new: list[Any], changes: Changes) -> None:
        if len(old) == len(new) == 1:
            self._items.compare(item, old[0], new[0], changes)
            return
        changes.changed[item] = self._added(new)
        if len(old) == 1 or len(new) == 1:
            changes.removed[item] = self._added(old)


class Deduced(Leaf):
    """A value without a schema: objects are owned field by field, all else as a whole."""

    def added(self, value: Any) -> FieldSet:
        """An object as a map, anything else as a leaf."""
        return _DEDUCED_MAP.added(value) if isinstance(value, dict) else MEMBER

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Entry by entry where both are objects."""
        kind = _DEDUCED_MAP if isinstance(old, dict) and isinstance(new, dict) else LEAF
        kind.compare(label, old, new, changes)


DEDUCED = Deduced()
_DEDUCED_MAP = Mapped(DEDUCED)
