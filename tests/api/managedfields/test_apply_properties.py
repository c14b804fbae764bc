"""Properties of all applies, whatever their history: idempotence, order, owners, and the text of field sets."""

from typing import Any

import orjson
import pytest
import yaml
from apply_history import History
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.field_paths import paths
from apiserver.api.managedfields.field_sets import parse
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.schema import load_definitions
from apiserver.api.schema.go_types import load_go_types

SPEC = """
type: object
properties:
  a: {type: integer}
  b: {type: integer}
  map: {type: object, additionalProperties: {type: integer}}
  set: {type: array, items: {type: string}, x-kubernetes-list-type: set}
  plain: {type: array, items: {type: string}}
  list:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [k]
    items: {type: object, properties: {k: {type: string}, v: {type: integer}, w: {type: integer}}}
"""
KIND: Struct = FieldSchema(load_definitions("1.36"), load_go_types()).custom(
    {"type": "object", "properties": {"spec": yaml.safe_load(SPEC)}}
)
NUMBERS, NAMES = st.integers(0, 2), st.sampled_from("xyz")
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "a": NUMBERS,
        "b": NUMBERS,
        "map": st.dictionaries(NAMES, NUMBERS, min_size=1),
        "set": st.lists(NAMES, min_size=1, unique=True),
        "plain": st.lists(NAMES, min_size=1, max_size=2),
        "list": st.lists(
            st.fixed_dictionaries({"k": NAMES}, optional={"v": NUMBERS, "w": NUMBERS}),
            min_size=1,
            unique_by=lambda item: item["k"],
        ),
    },
).filter(bool)
"""Specs with a field: a spec that loses all of its fields is null, until it is applied again as {}, as upstream."""
STEPS = st.lists(
    st.tuples(st.sampled_from(("apply", "force", "update")), st.sampled_from(("one", "two", "three")), SPECS),
    max_size=6,
)
HISTORIES = settings(max_examples=100, deadline=None)


def leaves(spec: Any) -> dict[str, Any]:
    """The leaves of a spec by path: what it says, apart from the order of lists."""
    values = {f".{key}": spec[key] for key in ("a", "b", "plain") if key in spec}
    values |= {f".map.{key}": value for key, value in spec.get("map", {}).items()}
    values |= {f'.set[="{item}"]': True for item in spec.get("set") or ()}
    for item in spec.get("list") or ():
        values |= {f'.list[k="{item["k"]}"].{key}': value for key, value in item.items()}
    return values


def played(steps: Any) -> History:
    history = History(KIND)
    for what, manager, spec in steps:
        play(history, what, manager, spec)
    return history


def play(history: History, what: str, manager: str, spec: Any) -> list[str]:
    if what == "update":
        history.update(manager, spec)
        return []
    return history.apply(manager, spec, force=what == "force")


def owned_leaves(history: History) -> dict[str, set[str]]:
    """Path of a leaf → the managers that own it."""
    owners: dict[str, set[str]] = {}
    for entry in history.entries:
        for path in paths(entry["fieldsV1"]):
            owners.setdefault(path.removeprefix(".spec"), set()).add(f"{entry['manager']}/{entry['operation']}")
    return owners


@HISTORIES
@given(STEPS, SPECS)
def test_an_apply_is_idempotent(steps: Any, spec: Any) -> None:
    history = played(steps)
    history.apply("one", spec, force=True)
    before = (history.spec, history.entries)
    assert history.apply("one", spec) == []
    assert (history.spec, history.entries) == before


@HISTORIES
@given(SPECS, SPECS)
def test_applies_without_conflicts_give_the_same_in_either_order(one: Any, two: Any) -> None:
    first, second = History(KIND), History(KIND)
    first.apply("one", one)
    second.apply("two", two)
    if first.apply("two", two) or second.apply("one", one):
        return
    assert leaves(first.spec or {}) == leaves(second.spec or {})
    assert first.owners == second.owners


@HISTORIES
@given(STEPS, SPECS, st.sampled_from(("apply", "force")))
def test_no_apply_loses_a_field_that_another_manager_owns(steps: Any, spec: Any, what: str) -> None:
    """An item of a list that its last owner gives up goes with all its fields, also those of others, as upstream."""
    history = played(steps)
    before, owners = leaves(history.spec or {}), owned_leaves(history)
    refused = play(history, what, "one", spec)
    after, applied = leaves(history.spec or {}), leaves(spec)
    if refused:
        assert after == before
        return
    for path, value in before.items():
        others = owners.get(path, set()) - {"one/Apply"}
        item = path.partition("].")[0] + "]"
        kept = (
            "]." not in path
            or owners.get(item, set()) - {"one/Apply"}
            or any(each.startswith(item) for each in applied)
        )
        if others and kept and path not in applied:
            assert after[path] == value, path
    assert all(after[path] == value for path, value in applied.items())


class Model:
    """Owners as a set per manager: what each apply and update makes of the leaves of a spec and of their owners."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.owners: dict[str, set[str]] = {}

    def update(self, manager: str, spec: Any) -> None:
        new = leaves(spec)
        for path in self.values.keys() | new.keys():
            if path not in new:
                self.disown(path)
            elif self.values.get(path) != new[path] or path not in self.values:
                self.disown(path)
                self.owners.setdefault(f"{manager}/Update", set()).add(path)
        self.values = new

    def apply(self, manager: str, spec: Any, *, forced: bool) -> bool:
        new, me = leaves(spec), f"{manager}/Apply"
        changed = {path for path, value in new.items() if self.values.get(path) != value or path not in self.values}
        taken = any(changed & owned for owner, owned in self.owners.items() if owner != me)
        if taken and not forced:
            return False
        for path in changed:
            self.disown(path)
        left = self.owners.get(me, set()) - new.keys()
        self.owners[me] = set(new)
        self.values |= new
        for path in left:
            if not any(path in owned for owned in self.owners.values()):
                self.values.pop(path, None)
        return True

    def disown(self, path: str) -> None:
        for owned in self.owners.values():
            owned.discard(path)


FLAT = st.fixed_dictionaries(
    {"map": st.dictionaries(NAMES, NUMBERS, min_size=1)}, optional={"a": NUMBERS, "b": NUMBERS}
)
FLAT_STEPS = st.lists(
    st.tuples(st.sampled_from(("apply", "force", "update")), st.sampled_from(("one", "two", "three")), FLAT),
    max_size=8,
)


@HISTORIES
@given(FLAT_STEPS)
def test_owners_are_those_of_a_set_per_manager(steps: Any) -> None:
    history, model = History(KIND), Model()
    for what, manager, spec in steps:
        refused = play(history, what, manager, spec)
        if what == "update":
            model.update(manager, spec)
        else:
            assert model.apply(manager, spec, forced=what == "force") == (not refused)
    assert leaves(history.spec or {}) == model.values
    known = {path: owners for path, owners in owned_leaves(history).items() if path not in ("", ".map")}
    expected: dict[str, set[str]] = {}
    for owner, owned_paths in model.owners.items():
        for path in owned_paths:
            expected.setdefault(path, set()).add(owner)
    assert known == expected


@HISTORIES
@given(STEPS)
def test_field_sets_are_read_as_they_are_written(steps: Any) -> None:
    for entry in played(steps).entries:
        assert parse(orjson.loads(orjson.dumps(entry["fieldsV1"]))) == entry["fieldsV1"]


@pytest.mark.parametrize("value", [0, 1.5, True, "x", None, [], {}, [1], {"x": 1}])
@pytest.mark.parametrize("name", ["a", "map", "set", "plain", "list"])
def test_any_value_is_applied_or_refused(name: str, value: Any) -> None:
    history = History(KIND)
    try:
        history.apply("one", {name: value})
    except ValueError as error:
        assert str(error).startswith(f".spec.{name}")  # noqa: PT017 - most values are of the wrong type
