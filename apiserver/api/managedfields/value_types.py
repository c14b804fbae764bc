"""The types of values that managedFields distinguishes, and how each is compared (structured-merge-diff, typed).

Each type can return the fields of a new value, and the differences between two unequal values.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import orjson

from apiserver.api.managedfields.field_sets import MEMBER, SELF, FieldSet, in_order, with_self
from apiserver.api.meta import Obj

T = TypeVar("T")
_Added = Callable[[Any], FieldSet | None]
_Part = tuple[str, _Added | None, FieldSet | None]
"""The label of a field, the function that returns its value's set (None: always a leaf), and the set of a null."""

_ZEROES = ("", 0, False)
_MAX_CACHED, _MAX_CACHED_ENTRIES = 256, 16


class Changes:
    """The changes of a write below one point of an object.

    Attributes:
        changed: the fields that were added or have another value; the tries below them are in order.
        removed: the removed fields.
    """

    __slots__ = ("changed", "removed")

    def __init__(self) -> None:
        self.changed: FieldSet = {}
        self.removed: FieldSet = {}

    def add_below(self, label: str, below: "Changes") -> None:
        """Add the changes found below a label."""
        if below.changed:
            self.changed[label] = in_order(below.changed)
        if below.removed:
            self.removed[label] = below.removed


class Leaf:
    """A value that is owned as a whole: a scalar, an atomic list, an atomic map.

    Attributes:
        is_leaf: whether every value is owned as a whole; False for the types that may divide a value.
        takes_any: whether a value of any type is valid.
    """

    is_leaf: ClassVar[bool] = True
    takes_any: ClassVar[bool] = False

    def container(self, _value: Any) -> "Container | None":
        """Return the type that divides a value into fields, entries or items; None if the value is a leaf."""
        return None

    def fits(self, _value: Any) -> bool:
        """Return whether a value is of this type, or null (typed.AsTyped)."""
        return True

    def applied_set(self, _value: Any) -> FieldSet | None:
        """Return what of a value belongs to its applier, None if nothing does (typed.ToFieldSet).

        Leaves, null, empty objects, items of lists and entries of maps do; other objects and lists only by their parts.
        """
        return MEMBER

    def field_set(self, _value: Any) -> FieldSet:
        """Return the set of a new value."""
        return MEMBER

    def compare(self, label: str, _old: Any, _new: Any, changes: Changes) -> None:
        """Add the differences between two unequal values at `label` to the changes."""
        changes.changed[label] = MEMBER


LEAF = Leaf()
"""A leaf with any value."""


class Scalar(Leaf):
    """A text, a number, a boolean, or any of them.

    Attributes:
        classes: the Python types of its values.
    """

    def __init__(self, *classes: type) -> None:
        self.classes = frozenset((*classes, type(None)))

    def fits(self, value: Any) -> bool:
        """Return whether a value is of this type, or null."""
        return value.__class__ in self.classes


STRING, NUMERIC, BOOLEAN, UNTYPED = Scalar(str), Scalar(int, float), Scalar(bool), Scalar(str, int, float, bool)


class AtomicList(Leaf):
    """A list that is owned as a whole.

    Attributes:
        items: the type of its items, for validation alone.
    """

    def __init__(self, items: Leaf) -> None:
        self.items = items

    def fits(self, value: Any) -> bool:
        """Return whether a value is such a list, or null."""
        return value is None or (value.__class__ is list and all(map(self.items.fits, value)))


class AtomicMap(Leaf):
    """A map or struct that is owned as a whole.

    Attributes:
        divided: the type that it would have if it were not atomic, for validation alone.
    """

    def __init__(self, divided: Leaf) -> None:
        self.divided = divided

    def fits(self, value: Any) -> bool:
        """Return whether a value is such a map or struct, or null."""
        return self.divided.fits(value)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct.

    Attributes:
        label: its path element, "" for fields without owner.
        kind: the type of its values.
        always_present: whether the empty value of its Go type already has it.
    """

    label: str
    kind: Leaf = LEAF
    always_present: bool = False

    def created_field_set(self, value: Any) -> FieldSet | None:
        """Return the set of a value in comparison with the empty object, or None if that has the same value."""
        if isinstance(self.kind, Struct):
            return self.kind.created_field_set(value) or None
        if self.kind.is_leaf:
            return None if value in _ZEROES else MEMBER
        return {label: trie for label, trie in self.kind.field_set(value).items() if label != SELF}


class Fields(dict[str, Field]):
    """The fields of a struct by key, each compiled on first use (`__missing__`)."""

    def declares(self, key: str) -> bool:
        """Return whether the schema names a field."""
        return key in self

    def allows(self, key: str) -> bool:
        """Return whether a field may be sent: the schema names it, or allows others."""
        return self.declares(key)


class _FieldSetTemplate:
    """The set of all structs with the same keys: a template, and the parts that depend on values."""

    def __init__(self, own: FieldSet, parts: Mapping[str, _Part]) -> None:
        labels = sorted(label for label, _, _ in parts.values())
        self._template = own | dict.fromkeys(labels, MEMBER) if labels else MEMBER
        self._parts = [(key, label, added, null) for key, (label, added, null) in parts.items() if added]

    def fill(self, value: Obj) -> FieldSet:
        """Return the set of one of the structs."""
        if not self._parts:
            return self._template
        fields = self._template.copy()
        for key, label, added, null in self._parts:
            item = value[key]
            below = null if item is None else added(item)
            if below is None:
                del fields[label]
            else:
                fields[label] = below
        return fields


class Struct(Leaf):
    """An object with known fields, each compiled on first use."""

    is_leaf: ClassVar[bool] = False

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._added: dict[tuple[Any, ...], _FieldSetTemplate] = {}
        self._created: dict[tuple[Any, ...], _FieldSetTemplate] = {}
        self._applied: dict[tuple[Any, ...], _AppliedTemplate | None] = {}

    def container(self, value: Any) -> "Container | None":
        """Return this type for an object, and for null, which counts as an empty one."""
        return self if value is None or value.__class__ is dict else None

    def field(self, key: str) -> Field:
        """Return a field, with or without an owner."""
        return self._fields[key]

    def item(self, key: str) -> Leaf:
        """Return the type of a field's values."""
        return self._fields[key].kind

    def declares(self, key: str) -> bool:
        """Return whether the schema names a field; others are entries of a map."""
        return self._fields.declares(key)

    def allows(self, key: str) -> bool:
        """Return whether a field may be sent: the schema names it, or allows others."""
        return self._fields.allows(key)

    def fits(self, value: Any) -> bool:
        """Return whether a value is such an object, or null."""
        if value.__class__ is not dict:
            return value is None
        plan = self._applied_template(value)
        return plan is not None and plan.fits(value)

    def applied_set(self, value: Any) -> FieldSet | None:
        """Return what of an object belongs to its applier."""
        if not value or value.__class__ is not dict:
            return MEMBER
        plan = self._applied_template(value)
        return (_AppliedTemplate(self, value) if plan is None else plan).fill(value)

    def _applied_template(self, value: Obj) -> "_AppliedTemplate | None":
        """Return the plan for objects with these keys, None if one of the keys may not be sent."""
        keys = tuple(value)
        if keys in self._applied:
            return self._applied[keys]
        plan = _AppliedTemplate(self, keys) if all(map(self.allows, keys)) else None
        return _remember(self._applied, keys, plan)

    def field_set(self, value: Obj) -> FieldSet:
        """Return the set of a new struct: the struct itself and its fields."""
        keys = tuple(value)
        plan = self._added.get(keys)
        if plan is None:
            parts = {key: _part(field) for key in keys if (field := self._fields[key]).label}
            plan = _remember(self._added, keys, _FieldSetTemplate({SELF: MEMBER}, parts))
        return plan.fill(value)

    def created_field_set(self, value: Obj) -> FieldSet:
        """Return the set of an object in comparison with the empty one of its Go type.

        The empty object already has all structs that are not pointers, so only their fields are owned, not themselves.
        """
        keys = tuple(value)
        plan = self._created.get(keys)
        if plan is None:
            fields = {key: field for key in keys if (field := self._fields[key]).label}
            parts = {
                key: (f.label, f.created_field_set, None) if f.always_present else _part(f) for key, f in fields.items()
            }
            plan = _remember(self._created, keys, _FieldSetTemplate({}, parts))
        return plan.fill(value)

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences, field by field."""
        changes.add_below(label, self.changes(old, new))

    def changes(self, old: Obj, new: Obj) -> Changes:
        """Return the differences between two objects."""
        changes = Changes()
        for key, value in new.items():
            before = old.get(key)
            if before == value:
                continue
            field = self._fields[key]
            if not field.label:
                continue
            if value is None:
                if field.always_present and field.kind.is_leaf:  # here null is a value, and no removal
                    changes.changed[field.label] = MEMBER
            elif before is not None:
                field.kind.compare(field.label, before, value, changes)
            elif (
                added := field.created_field_set(value) if field.always_present else field.kind.field_set(value)
            ) is not None:
                changes.changed[field.label] = added
        changed_labels = {"", *changes.changed}
        for key, value in old.items():
            if value is not None and new.get(key) is None and (field := self._fields[key]).label not in changed_labels:
                removed = field.created_field_set(value) if field.always_present else field.kind.field_set(value)
                if removed is not None:
                    changes.removed[field.label] = removed
        return changes


class _AppliedTemplate:
    """The set of all applied structs with the same keys: a template, and the parts that depend on values."""

    def __init__(self, struct: Struct, keys: Iterable[str]) -> None:
        ordered = sorted(keys)
        kinds = [(key, struct.item(key)) for key in ordered]
        self._template: FieldSet = {f"f:{key}": MEMBER for key in ordered}
        self._parts = [(key, f"f:{key}", kind, struct.declares(key)) for key, kind in kinds if not kind.is_leaf]
        self._scalars = [(key, kind.classes) for key, kind in kinds if isinstance(kind, Scalar)]
        self._checks = [(key, kind.fits) for key, kind in kinds if kind is not LEAF and not isinstance(kind, Scalar)]
        self._known_classes: set[tuple[type, ...]] = set()

    def fits(self, value: Obj) -> bool:
        """Return whether the values of a struct, whose keys are in the order of this plan, are of their types."""
        classes = tuple(map(type, value.values()))
        if classes not in self._known_classes:
            if any(value[key].__class__ not in expected for key, expected in self._scalars):
                return False
            if len(self._known_classes) < _MAX_CACHED:
                self._known_classes.add(classes)
        for key, fits in self._checks:  # noqa: SIM110 - a loop is twice as fast as all()
            if not fits(value[key]):
                return False
        return True

    def fill(self, value: Obj) -> FieldSet | None:
        """Return what of a struct belongs to its applier."""
        if not self._parts:
            return self._template
        fields = self._template.copy()
        for key, label, kind, is_declared in self._parts:
            below = kind.applied_set(value[key])
            if not is_declared:
                fields[label] = with_self(below or MEMBER)
            elif below is None:
                del fields[label]
            else:
                fields[label] = below
        return fields or None


def _part(field: Field) -> _Part:
    return field.label, None if field.kind.is_leaf else field.kind.field_set, MEMBER


def _remember(cache: dict[tuple[Any, ...], T], keys: tuple[Any, ...], value: T) -> T:
    """Cache a value by keys; objects have few sets of keys, and a client that sends very many empties the cache."""
    if len(cache) >= _MAX_CACHED:
        cache.clear()
    cache[keys] = value
    return value


class MapType(Leaf):
    """A map whose entries are owned separately."""

    is_leaf: ClassVar[bool] = False

    def __init__(self, items: Leaf) -> None:
        self._items = items
        self._known: dict[tuple[Any, ...], FieldSet] = {}

    def container(self, value: Any) -> "Container | None":
        """Return this type for a map, and for null, which counts as an empty one."""
        return self if value is None or value.__class__ is dict else None

    def item(self, _key: str) -> Leaf:
        """Return the type of the values."""
        return self._items

    def declares(self, _key: str) -> bool:
        """Return False: a map's entries have no names in its schema."""
        return False

    def allows(self, _key: str) -> bool:
        """Return True: a map may have any entry."""
        return True

    def fits(self, value: Any) -> bool:
        """Return whether a value is such a map, or null."""
        if value.__class__ is not dict:
            return value is None
        items = self._items
        if isinstance(items, Scalar):
            return items.classes.issuperset(map(type, value.values()))
        return all(map(items.fits, value.values()))

    def applied_set(self, value: Any) -> FieldSet | None:
        """Return what of a map belongs to its applier: its entries, or if there are none, the map itself."""
        if not value or value.__class__ is not dict:
            return MEMBER
        items = self._items
        if items.is_leaf:
            return {f"f:{key}": MEMBER for key in sorted(value)}
        return {f"f:{key}": with_self(items.applied_set(value[key]) or MEMBER) for key in sorted(value)}

    def field_set(self, value: Obj) -> FieldSet:
        """Return the set of a new map: the map itself and its entries."""
        if not value:
            return MEMBER
        if not self._items.is_leaf:
            return {SELF: MEMBER} | {f"f:{key}": self._items.field_set(value[key]) for key in sorted(value)}
        keys = tuple(value)
        if (known := self._known.get(keys)) is not None:
            return known
        fields = {SELF: MEMBER} | {f"f:{key}": MEMBER for key in sorted(value)}
        return _remember(self._known, keys, fields) if len(keys) <= _MAX_CACHED_ENTRIES else fields

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences, entry by entry."""
        entry_changes = Changes()
        for key, value in new.items():
            if key not in old:
                entry_changes.changed[f"f:{key}"] = self._items.field_set(value)
            elif old[key] != value:
                self._items.compare(f"f:{key}", old[key], value, entry_changes)
        entry_changes.removed = {
            f"f:{key}": self._items.field_set(value) for key, value in old.items() if key not in new
        }
        changes.add_below(label, entry_changes)


class ListType(Leaf):
    """A list whose items are owned separately: a set of scalars, or a map by some keys of its items."""

    is_leaf: ClassVar[bool] = False

    def __init__(self, items: Leaf, keys: Iterable[str], defaults: Mapping[str, Any] | None = None) -> None:
        """Make the type of lists.

        Args:
            items: the type of the items.
            keys: the names of the fields that tell items apart; none for a set.
            defaults: the values that absent keys count as.
        """
        self.items = self._items = items
        self.keys = tuple(keys)
        self.defaults = defaults or {}
        self._keys = sorted(self.keys)
        self._key = self._keys[0] if len(self._keys) == 1 else ""
        self._labels: dict[tuple[Any, ...], str] = {}

    def container(self, value: Any) -> "Container | None":
        """Return this type for a list, and for null, which counts as an empty one."""
        return self if value is None or value.__class__ is list else None

    def _labelled(self, values: Iterable[Any]) -> dict[str, list[Any]]:
        """Return the items by label; several items may have the same label."""
        items: dict[str, list[Any]] = {}
        for value in values:
            items.setdefault(self.label(value), []).append(value)
        return items

    def label(self, value: Any) -> str:
        """Return the path element of an item."""
        if not (self._keys and isinstance(value, dict)):
            return f"v:{orjson.dumps(value).decode()}"
        key = self._key
        key_values = (value.get(key),) if key else tuple([value.get(key) for key in self._keys])
        try:
            return self._labels[key_values]
        except (KeyError, TypeError):  # TypeError: a custom resource's key that is a list or an object
            return self._new_label(key_values)

    def _new_label(self, key_values: tuple[Any, ...]) -> str:
        present, cacheable = {}, True
        for key, value in zip(self._keys, key_values, strict=True):
            key_value = self.defaults.get(key) if value is None else value
            if key_value is not None:
                present[key] = key_value
                cacheable = cacheable and isinstance(key_value, str | int)
        label = f"k:{orjson.dumps(present).decode()}"
        return _remember(self._labels, key_values, label) if cacheable else label

    def _added(self, values: list[Any]) -> FieldSet:
        return self._items.field_set(values[0]) if len(values) == 1 else MEMBER  # equal labels are owned as one

    def fits(self, value: Any) -> bool:
        """Return whether a value is such a list, whose items can be told apart, or null."""
        if value.__class__ is not list:
            return value is None
        for item in value:
            if not self._is_labelled(item) or not self._items.fits(item):
                return False
        return len(value) < 2 or len(set(map(self.label, value))) == len(value)

    def _is_labelled(self, item: Any) -> bool:
        """Return whether an item has a key, or is a scalar in a set (listItemToPathElement)."""
        if not self.keys:
            return item is not None and item.__class__ not in (dict, list)
        if item.__class__ is not dict:
            return False
        return self._key in item or any(key in item or self.defaults.get(key) is not None for key in self.keys)

    def applied_set(self, value: Any) -> FieldSet | None:
        """Return what of a list belongs to its applier: its items; those with the same label are owned as one."""
        if value.__class__ is not list:
            return MEMBER
        items = self._items
        fields: FieldSet = {}
        for item in value:
            label = self.label(item)
            is_whole = items.is_leaf or label in fields
            fields[label] = MEMBER if is_whole else with_self(items.applied_set(item) or MEMBER)
        return dict(sorted(fields.items())) if len(fields) > 1 else fields or None

    def field_set(self, value: Any) -> FieldSet:
        """Return the set of a new list: the list itself and its items."""
        if not value:
            return MEMBER
        fields: FieldSet = {SELF: MEMBER}
        for item in value:
            fields[self.label(item)] = self._items.field_set(item)
        if len(fields) <= len(value):
            fields |= {label: self._added(items) for label, items in self._labelled(value).items()}
        return fields if len(value) == 1 else dict(sorted(fields.items()))

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences, item by item in any order; items with the same label count as one."""
        before = {self.label(value): value for value in old}
        after = {self.label(value): value for value in new}
        if len(before) < len(old) or len(after) < len(new):  # never so in a valid list
            self._compare_doubles(label, old, new, changes)
            return
        item_changes, items = Changes(), self._items
        for item, value in after.items():
            if item not in before:
                item_changes.changed[item] = items.field_set(value)
            elif before[item] != value:
                items.compare(item, before[item], value, item_changes)
        item_changes.removed |= {item: items.field_set(value) for item, value in before.items() if item not in after}
        changes.add_below(label, item_changes)

    def _compare_doubles(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        before, after, item_changes = self._labelled(old), self._labelled(new), Changes()
        for item, values in after.items():
            if item not in before:
                item_changes.changed[item] = self._added(values)
            elif before[item] != values:
                self._compare_item(item, before[item], values, item_changes)
        item_changes.removed = item_changes.removed | {
            item: self._added(values) for item, values in before.items() if item not in after
        }
        changes.add_below(label, item_changes)

    def _compare_item(self, item: str, old: list[Any], new: list[Any], changes: Changes) -> None:
        if len(old) == len(new) == 1:
            self._items.compare(item, old[0], new[0], changes)
            return
        changes.changed[item] = self._added(new)
        if len(old) == 1 or len(new) == 1:
            changes.removed[item] = self._added(old)


class DeducedType(Leaf):
    """A value without a schema: objects are owned field by field, other values as a whole."""

    is_leaf: ClassVar[bool] = False
    takes_any: ClassVar[bool] = True

    def container(self, value: Any) -> "Container | None":
        """Return the type of maps for an object or null."""
        return _DEDUCED_MAP if value is None or value.__class__ is dict else None

    def applied_set(self, value: Any) -> FieldSet | None:
        """Return what of an object belongs to its applier like that of a map, and anything else as a whole."""
        return _DEDUCED_MAP.applied_set(value) if value.__class__ is dict else MEMBER

    def field_set(self, value: Any) -> FieldSet:
        """Return the set of an object like that of a map, and of anything else like that of a leaf."""
        return _DEDUCED_MAP.field_set(value) if isinstance(value, dict) else MEMBER

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences, entry by entry if both values are objects."""
        compare_containers(self, label, old, new, changes)


def compare_containers(kind: Leaf, label: str, old: Any, new: Any, changes: Changes) -> None:
    """Add the differences between two unequal values, whether containers, leaves or null.

    Values of unlike types are changed as wholes; the fields of the old one are removed (typed/compare.go).
    """
    before, after = kind.container(old), kind.container(new)
    if before is not None and before is after:
        if not old and not new:  # an empty container and null
            changes.changed[label] = MEMBER
        else:
            empty: Any = [] if isinstance(before, ListType) else {}
            before.compare(label, old or empty, new or empty, changes)
        return
    changes.changed[label] = after.field_set(new) if after and new else MEMBER
    if before and old:
        changes.removed[label] = {name: trie for name, trie in before.field_set(old).items() if name != SELF}


DEDUCED = DeducedType()
_DEDUCED_MAP = MapType(DEDUCED)

Container = Struct | MapType | ListType
"""The types that divide a value."""
