"""Operations on values by their types: validation, the set of an applied configuration, merge and removal.

Each function is one of structured-merge-diff's walkers (typed/validate.go, tofieldset.go, merge.go, remove.go).

    live                      {"replicas": 1, "ports": [{"port": 80}]}
    applied configuration     {"replicas": 3, "ports": [{"port": 443}]}
    merged                    {"replicas": 3, "ports": [{"port": 80}, {"port": 443}]}
    set of the configuration  {"f:ports": {'k:{"port":443}': {".": {}, "f:port": {}}}, "f:replicas": {}}
"""

from collections.abc import Sequence
from typing import Any

from apiserver.api.managedfields.field_sets import (
    MEMBER,
    SELF,
    FieldSet,
    has_members_below,
    is_member,
    with_self,
)
from apiserver.api.managedfields.value_types import LEAF, AtomicList, AtomicMap, Leaf, ListType, MapType, Struct
from apiserver.api.meta import Obj

_MISSING: Any = object()


def to_field_set(kind: Leaf, value: Any) -> FieldSet:
    """Return the set of the fields that an object names (typed.ToFieldSet)."""
    return kind.applied_set(value) or MEMBER


def strip(kind: Struct, fields: FieldSet) -> FieldSet:
    """Return the set of a whole object without the fields that never have an owner (stripMetaManager)."""
    stripped = {label: below for label, below in fields.items() if kind.field(label[2:]).label}
    meta = kind.item("metadata")
    if "f:metadata" in stripped and isinstance(meta, Struct):
        below = {label: trie for label, trie in stripped["f:metadata"].items() if meta.field(label[2:]).label}
        below.pop(SELF, None)
        if below:
            stripped["f:metadata"] = below
        else:
            del stripped["f:metadata"]
    return stripped


def merge(kind: Leaf, live: Any, config: Any) -> Any:
    """Return the live value with what a configuration says; parts without changes are the live ones (typed.Merge)."""
    container = None if kind.is_leaf else kind.container(config)
    if container is None or not live or kind.container(live) is not container:
        return config
    if not config:  # null and empty containers remove nothing
        return live
    if isinstance(container, ListType):
        return _merge_lists(container, live, config)
    merged: Obj | None = None
    for key, value in config.items():
        before = live.get(key, _MISSING)
        if before == value and before.__class__ is value.__class__:
            continue
        after = value if before is _MISSING else merge(container.item(key), before, value)
        if after is not before:
            merged = live.copy() if merged is None else merged
            merged[key] = after
    return live if merged is None else merged


def _merge_lists(container: ListType, live: list[Any], config: list[Any]) -> list[Any]:
    """Return the items of both lists (mergingWalker.visitListItems).

    Those of the configuration keep their order; items of the live list alone stay where they are among the others.

        live a b c, configuration c a d → b c a d
    """
    live_labels, labels = [container.label(item) for item in live], [container.label(item) for item in config]
    before = _by_label(live_labels, live)
    after = dict(zip(labels, config, strict=True))
    shared = iter([label for label in labels if label in before])
    next_shared, taken, merged = next(shared, None), set[str](), []
    i = j = 0
    while i < len(live) or j < len(config):
        if i < len(live) and (j == len(config) or live_labels[i] != labels[j]):
            label = live_labels[i]
            if label not in after:
                merged.append(live[i])
                i += 1
                continue
            if j < len(config) and next_shared not in (None, label):  # another shared item comes first
                i += 1
                continue
            i += label in taken
        elif i < len(live):
            i += 1
        if j < len(config):
            label = labels[j]
            taken.add(label)
            live_item, item = before.get(label), after[label]
            merged.append(live_item if live_item == item else merge(container.items, live_item, item))
            j += 1
            if label == next_shared:
                next_shared = next(shared, None)
    return live if _are_identical(live, merged) else merged


def _by_label(labels: Sequence[str], items: list[Any]) -> dict[str, Any]:
    """Return the items by label; what has the same label as another is null, so that nothing is merged with it."""
    by_label: dict[str, Any] = {}
    for label, item in zip(labels, items, strict=True):
        by_label[label] = None if label in by_label else item
    return by_label


def _are_identical(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(map(lambda a, b: a is b, left, right))


def remove(kind: Leaf, value: Any, removed: FieldSet) -> Any:
    """Return a value without the members of a set, and what is below them (typed.RemoveItems).

    A container that loses all of its parts becomes null.
    """
    container = kind.container(value)
    if container is None:
        return None if value.__class__ in (dict, list) else value
    if not value:
        return None
    if isinstance(container, ListType):
        return _remove_items(container, value, removed) or None
    kept: Obj = {}
    for key, item in value.items():
        below = removed.get(f"f:{key}")
        if below is None:
            kept[key] = item
        elif not is_member(below):
            kept[key] = remove(container.item(key), item, below)
    return kept or None


def _remove_items(container: ListType, value: list[Any], removed: FieldSet) -> list[Any]:
    kept = []
    for item in value:
        below = removed.get(container.label(item))
        if below is None:
            kept.append(item)
        elif not is_member(below):
            kept.append(remove(container.items, item, below))
    return kept


def with_named_fields(kind: Leaf, fields: FieldSet) -> FieldSet:
    """Return the set with the named fields above its members as members too (Set.EnsureNamedFieldsAreMembers).

    Items of lists and entries of maps are members only if they are so by themselves.
    """
    struct = kind.container(None)
    if struct is None or isinstance(struct, ListType):
        return _with_named_fields_below(struct, fields)
    named: FieldSet = {}
    for label, below in fields.items():
        if not has_members_below(below):
            named[label] = below
            continue
        key = label[2:]
        inner = with_named_fields(struct.item(key), below)
        named[label] = with_self(inner) if label[0] == "f" and struct.declares(key) else inner
    return named


def _with_named_fields_below(container: ListType | None, fields: FieldSet) -> FieldSet:
    if container is None or container.items.is_leaf:
        return fields
    return {
        label: with_named_fields(container.items, below) if label[0] == "k" and has_members_below(below) else below
        for label, below in fields.items()
    }


def reconcile(kind: Leaf, fields: FieldSet) -> FieldSet:
    """Return a set as the present schema has it: what has become atomic since is owned as a whole.

    Sets without such fields are returned as they are (typed/reconcile_schema.go).
    """
    if isinstance(kind, AtomicList | AtomicMap):
        return MEMBER if has_members_below(fields) else fields
    container = None if kind.is_leaf or kind.takes_any else kind.container(None)
    if container is None:
        return fields
    changed: FieldSet = {}
    for label, below in fields.items():
        if label == SELF or not has_members_below(below):
            continue
        reconciled = reconcile(_kind_at(container, label), below)
        if reconciled is not below:
            changed[label] = reconciled
    return fields | changed if changed else fields


def _kind_at(container: Struct | MapType | ListType, label: str) -> Leaf:
    """Return the type of the values at a path element; any for one that the schema does not know."""
    if isinstance(container, ListType):
        return container.items
    return container.item(label[2:]) if label[0] == "f" and container.allows(label[2:]) else LEAF
