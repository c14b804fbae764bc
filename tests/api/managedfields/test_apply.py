"""An object and its owners after applies and updates: the cases of structured-merge-diff's merge tests."""

from typing import Any

import pytest
import yaml
from apply_history import History

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.typed_validation import TypedValueError
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.schema import load_definitions
from apiserver.api.schema.go_types import load_go_types

SPEC = """
type: object
properties:
  numeric: {type: integer}
  string: {type: string}
  bool: {type: boolean}
  plain: {type: array, items: {type: string}}
  set: {type: array, items: {type: integer}, x-kubernetes-list-type: set}
  names: {type: array, items: {type: string}, x-kubernetes-list-type: set}
  map: {type: object, additionalProperties: {type: string}}
  free: {type: object, x-kubernetes-preserve-unknown-fields: true}
  atom: {type: object, x-kubernetes-map-type: atomic, properties: {x: {type: string}, y: {type: string}}}
  struct:
    type: object
    properties:
      name: {type: string}
      value: {type: integer}
      numeric: {type: integer}
      string: {type: string}
      inner: {type: object, properties: {name: {type: string}}}
  list:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      properties:
        name: {type: string}
        value1: {type: integer}
        value2: {type: integer}
        set: {type: array, items: {type: string}, x-kubernetes-list-type: set}
        map: {type: object, additionalProperties: {type: string}}
  mapOfLists:
    type: object
    additionalProperties: {type: array, items: {type: string}, x-kubernetes-list-type: set}
  mapOfMaps: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}
  ports:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port, protocol]
    items:
      type: object
      properties: {port: {type: integer}, protocol: {type: string, default: TCP}, name: {type: string}}
"""


@pytest.fixture(scope="module")
def fields() -> FieldSchema:
    return FieldSchema(load_definitions("1.36"), load_go_types())


def kind_of(fields: FieldSchema, spec: str) -> Struct:
    return fields.custom({"type": "object", "properties": {"spec": yaml.safe_load(spec)}})


@pytest.fixture
def history(fields: FieldSchema) -> History:
    return History(kind_of(fields, SPEC))


Step = tuple[str, str, str] | tuple[str, str, str, list[str]]

CASES: dict[str, tuple[list[Step], str, dict[str, list[str]]]] = {
    "leaf: applied twice": (
        [("apply", "a", "{numeric: 1, string: x}"), ("apply", "a", "{numeric: 2, string: x, bool: false}")],
        "{numeric: 2, string: x, bool: false}",
        {"a": [".bool", ".numeric", ".string"]},
    ),
    "leaf: an update takes over": (
        [
            ("apply", "a", "{numeric: 1, string: x}"),
            ("update", "c", "{numeric: 1, string: y, bool: true}"),
            ("apply", "a", "{numeric: 2, string: x}", ["c .string"]),
            ("force", "a", "{numeric: 2, string: x}"),
        ],
        "{numeric: 2, string: x, bool: true}",
        {"a": [".numeric", ".string"], "c": [".bool"]},
    ),
    "leaf: given up": (
        [("apply", "a", "{numeric: 1, string: x, bool: false}"), ("apply", "a", "{string: x}")],
        "{string: x}",
        {"a": [".string"]},
    ),
    "leaf: what an update wrote is not pruned": (
        [("update", "c", "{string: x}"), ("apply", "a", "{string: x}"), ("apply", "a", "{}")],
        "{string: x}",
        {"a": ["."], "c": [".", ".string"]},
    ),
    "list: atomic": (
        [
            ("apply", "a", "{plain: [a, b]}"),
            ("apply", "b", "{plain: [a, b, c]}", ["a .plain"]),
            ("force", "b", "{plain: [c]}"),
        ],
        "{plain: [c]}",
        {"b": [".plain"]},
    ),
    "set: applied twice": (
        [("apply", "a", "{names: [a, c]}"), ("apply", "a", "{names: [a, b, c, d]}")],
        "{names: [a, b, c, d]}",
        {"a": ['.names[="a"]', '.names[="b"]', '.names[="c"]', '.names[="d"]']},
    ),
    "set: updated between": (
        [
            ("apply", "a", "{names: [a, c]}"),
            ("update", "c", "{names: [a, b, c, d]}"),
            ("apply", "a", "{names: [a, aprime, c, cprime]}"),
        ],
        "{names: [a, b, aprime, c, d, cprime]}",
        {
            "a": ['.names[="a"]', '.names[="aprime"]', '.names[="c"]', '.names[="cprime"]'],
            "c": ['.names[="b"]', '.names[="d"]'],
        },
    ),
    "set: reordered": (
        [("apply", "a", "{names: [a, b, c, d]}"), ("apply", "a", "{names: [a, d, c, b]}")],
        "{names: [a, d, c, b]}",
        {"a": ['.names[="a"]', '.names[="b"]', '.names[="c"]', '.names[="d"]']},
    ),
    "set: reordered with items of others": (
        [
            ("apply", "a", "{names: [a, b, c, d]}"),
            ("update", "c", "{names: [a, b, c, d, e]}"),
            ("apply", "a", "{names: [a, d, c, b]}"),
        ],
        "{names: [a, d, e, c, b]}",
        {"a": ['.names[="a"]', '.names[="b"]', '.names[="c"]', '.names[="d"]'], "c": ['.names[="e"]']},
    ),
    "set: one of two appliers leaves an item": (
        [
            ("apply", "a", "{names: [a, b, c]}"),
            ("apply", "b", "{names: [c, d]}"),
            ("apply", "a", "{names: [a]}"),
        ],
        "{names: [a, c, d]}",
        {"a": ['.names[="a"]'], "b": ['.names[="c"]', '.names[="d"]']},
    ),
    "map: the same value is shared": (
        [("apply", "a", "{list: [{name: a, value1: 0}]}"), ("apply", "b", "{list: [{name: a, value1: 0}]}")],
        "{list: [{name: a, value1: 0}]}",
        {
            "a": ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].value1'],
            "b": ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].value1'],
        },
    ),
    "map: another value conflicts": (
        [
            ("apply", "a", "{list: [{name: a, value1: 0}]}"),
            ("apply", "b", "{list: [{name: a, value1: 1}]}", ['a .list[name="a"].value1']),
        ],
        "{list: [{name: a, value1: 0}]}",
        {"a": ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].value1']},
    ),
    "map: one item goes, a shared one stays": (
        [
            ("apply", "a", "{list: [{name: a}, {name: b}, {name: c, set: [x]}]}"),
            ("apply", "b", "{list: [{name: c, set: [d]}]}"),
            ("apply", "a", "{list: [{name: a}]}"),
        ],
        "{list: [{name: a}, {name: c, set: [d]}]}",
        {
            "a": ['.list[name="a"]', '.list[name="a"].name'],
            "b": ['.list[name="c"]', '.list[name="c"].name', '.list[name="c"].set[="d"]'],
        },
    ),
    "map: an item goes with what an update added to it": (
        [
            ("apply", "a", "{list: [{name: a}, {name: b, set: [c]}]}"),
            ("apply", "b", "{list: [{name: a, set: [b]}]}"),
            ("update", "c", "{list: [{name: a, set: [b]}, {name: b, set: [c, d]}]}"),
            ("apply", "a", "{list: [{name: a}]}"),
        ],
        "{list: [{name: a, set: [b]}]}",
        {
            "a": ['.list[name="a"]', '.list[name="a"].name'],
            "b": ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].set[="b"]'],
        },
    ),
    "map: what an update added to a shared item stays": (
        [
            ("apply", "a", "{list: [{name: a}, {name: b, set: [c]}]}"),
            ("apply", "b", "{list: [{name: b, set: [d]}]}"),
            ("update", "c", "{list: [{name: a}, {name: b, set: [c, d, e]}]}"),
            ("apply", "a", "{list: [{name: a}]}"),
        ],
        "{list: [{name: a}, {name: b, set: [d, e]}]}",
        {
            "a": ['.list[name="a"]', '.list[name="a"].name'],
            "b": ['.list[name="b"]', '.list[name="b"].name', '.list[name="b"].set[="d"]'],
            "c": ['.list[name="b"].set[="e"]'],
        },
    ),
    "struct: all given up": (
        [("apply", "a", "{struct: {name: a, value: 1}}"), ("apply", "a", "")],
        "",
        {},
    ),
    "struct: emptied": (
        [("apply", "a", "{struct: {name: a}}"), ("apply", "a", "{struct: }")],
        "{struct: }",
        {"a": [".struct"]},
    ),
    "struct: given up where an update owns a field": (
        [
            ("apply", "a", "{struct: {name: a}}"),
            ("update", "c", "{struct: {name: a, value: 1}}"),
            ("apply", "a", ""),
        ],
        "{struct: {value: 1}}",
        {"c": [".struct.value"]},
    ),
    "struct: emptied where an update owns a field": (
        [
            ("apply", "a", "{struct: {name: a}}"),
            ("update", "c", "{struct: {name: a, value: 1}}"),
            ("apply", "a", "{struct: {}}"),
        ],
        "{struct: {value: 1}}",
        {"a": [".struct"], "c": [".struct.value"]},
    ),
    "struct: null where an update took over": (
        [
            ("apply", "a", "{struct: {name: a}}"),
            ("update", "c", "{struct: {name: b, value: 1}}"),
            ("apply", "a", "{struct: }"),
        ],
        "{struct: {name: b, value: 1}}",
        {"a": [".struct"], "c": [".struct.name", ".struct.value"]},
    ),
    "struct: a part shared with an applier": (
        [
            ("apply", "a", "{struct: {name: a, inner: {name: b}}}"),
            ("apply", "b", "{struct: {inner: {name: b}}}"),
            ("apply", "a", "{struct: {name: a}}"),
        ],
        "{struct: {name: a, inner: {name: b}}}",
        {"a": [".struct.name"], "b": [".struct.inner.name"]},
    ),
    "map of lists: key and value changed": (
        [("apply", "a", "{mapOfLists: {a: [b, c]}}"), ("apply", "a", "{mapOfLists: {b: [a, c]}}")],
        "{mapOfLists: {b: [a, c]}}",
        {"a": [".mapOfLists.b", '.mapOfLists.b[="a"]', '.mapOfLists.b[="c"]']},
    ),
    "map of maps: key and value changed": (
        [("apply", "a", "{mapOfMaps: {a: {b: x, c: y}}}"), ("apply", "a", "{mapOfMaps: {a: {b: x, c: z}}}")],
        "{mapOfMaps: {a: {b: x, c: z}}}",
        {"a": [".mapOfMaps.a", ".mapOfMaps.a.b", ".mapOfMaps.a.c"]},
    ),
    "unknown fields are owned one by one": (
        [("apply", "a", "{free: {num: 5, rem: {a: 1}}}"), ("apply", "b", "{free: {rem: {b: [2]}}}")],
        "{free: {num: 5, rem: {a: 1, b: [2]}}}",
        {"a": [".free.num", ".free.rem", ".free.rem.a"], "b": [".free.rem", ".free.rem.b"]},
    ),
    "atomic struct": (
        [
            ("apply", "a", "{atom: {x: p}}"),
            ("apply", "b", "{atom: {y: q}}", ["a .atom"]),
            ("force", "b", "{atom: {y: q}}"),
        ],
        "{atom: {y: q}}",
        {"b": [".atom"]},
    ),
    "defaulted key: absent": (
        [("apply", "a", "{ports: [{port: 80}]}")],
        "{ports: [{port: 80}]}",
        {"a": ['.ports[port=80,protocol="TCP"]', '.ports[port=80,protocol="TCP"].port']},
    ),
    "defaulted key: absent and given": (
        [("apply", "a", "{ports: [{port: 80}, {port: 80, protocol: UDP}]}")],
        "{ports: [{port: 80}, {port: 80, protocol: UDP}]}",
        {
            "a": [
                '.ports[port=80,protocol="TCP"]',
                '.ports[port=80,protocol="TCP"].port',
                '.ports[port=80,protocol="UDP"]',
                '.ports[port=80,protocol="UDP"].port',
                '.ports[port=80,protocol="UDP"].protocol',
            ]
        },
    ),
    "defaulted key: a conflict": (
        [
            ("apply", "a", "{ports: [{port: 80, protocol: TCP, name: foo}]}"),
            ("apply", "b", "{ports: [{port: 80, name: bar}]}", ['a .ports[port=80,protocol="TCP"].name']),
        ],
        "{ports: [{port: 80, protocol: TCP, name: foo}]}",
        {
            "a": [
                '.ports[port=80,protocol="TCP"]',
                '.ports[port=80,protocol="TCP"].name',
                '.ports[port=80,protocol="TCP"].port',
                '.ports[port=80,protocol="TCP"].protocol',
            ]
        },
    ),
    "defaulted key: the other one missing": (
        [("apply", "a", "{ports: [{protocol: TCP, name: A}]}")],
        "{ports: [{protocol: TCP, name: A}]}",
        {"a": ['.ports[protocol="TCP"]', '.ports[protocol="TCP"].name', '.ports[protocol="TCP"].protocol']},
    ),
    "duplicates: owned once": (
        [("update", "c", "{set: [1, 1, 3]}")],
        "{set: [1, 1, 3]}",
        {"c": [".", ".set", ".set[=1]", ".set[=3]"]},
    ),
    "duplicates: one is added": (
        [("update", "c", "{set: [1, 3]}"), ("update", "d", "{set: [1, 1, 3]}")],
        "{set: [1, 1, 3]}",
        {"c": [".", ".set", ".set[=3]"], "d": [".set[=1]"]},
    ),
    "duplicates: one is removed": (
        [("update", "c", "{set: [1, 1, 3]}"), ("update", "d", "{set: [1, 3]}")],
        "{set: [1, 3]}",
        {"c": [".", ".set", ".set[=3]"], "d": [".set[=1]"]},
    ),
    "duplicates: an apply removes them by force": (
        [
            ("update", "c", "{set: [1, 1, 3, 4]}"),
            ("apply", "a", "{set: [1]}", ["c .set[=1]"]),
            ("force", "a", "{set: [1]}"),
        ],
        "{set: [1, 3, 4]}",
        {"a": [".set[=1]"], "c": [".", ".set", ".set[=3]", ".set[=4]"]},
    ),
    "duplicates: an apply beside them": (
        [("update", "c", "{set: [1, 1, 3, 4]}"), ("apply", "a", "{set: [5]}")],
        "{set: [1, 1, 3, 4, 5]}",
        {"a": [".set[=5]"], "c": [".", ".set", ".set[=1]", ".set[=3]", ".set[=4]"]},
    ),
    "duplicates: items are owned once": (
        [("update", "c", "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}")],
        "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}",
        {"c": [".", ".list", '.list[name="a"]', '.list[name="b"]', '.list[name="b"].name', '.list[name="b"].value1']},
    ),
    "duplicates: a changed item": (
        [
            ("update", "c", "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}"),
            ("apply", "a", "{list: [{name: a, value1: 2}]}", ['c .list[name="a"]']),
            ("force", "a", "{list: [{name: a, value1: 3}]}"),
        ],
        "{list: [{name: a, value1: 3}, {name: b, value1: 3}]}",
        {
            "a": ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].value1'],
            "c": [".", ".list", '.list[name="b"]', '.list[name="b"].name', '.list[name="b"].value1'],
        },
    ),
    "duplicates: a change of another item": (
        [
            ("update", "c", "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}"),
            ("force", "a", "{list: [{name: b, value1: 4}]}"),
        ],
        "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 4}]}",
        {
            "a": ['.list[name="b"]', '.list[name="b"].name', '.list[name="b"].value1'],
            "c": [".", ".list", '.list[name="a"]', '.list[name="b"]', '.list[name="b"].name'],
        },
    ),
    "duplicates: made by an update, then given up": (
        [
            ("apply", "a", "{list: [{name: a, value1: 1}, {name: b, value1: 3}]}"),
            ("update", "c", "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}"),
            ("apply", "a", "{list: [{name: b, value1: 3}]}"),
        ],
        "{list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]}",
        {"a": ['.list[name="b"]', '.list[name="b"].name', '.list[name="b"].value1'], "c": ['.list[name="a"]']},
    ),
}


def play(history: History, steps: list[Any]) -> None:
    for step in steps:
        what, manager, text, *conflicts = step
        if what == "update":
            history.update(manager, text)
        else:
            assert history.apply(manager, text, force=what == "force") == (conflicts[0] if conflicts else []), step


@pytest.mark.parametrize(("steps", "spec", "owners"), CASES.values(), ids=CASES.keys())
def test_what_an_object_is_after_a_history(
    history: History, steps: list[Any], spec: str, owners: dict[str, list[str]]
) -> None:
    play(history, steps)
    assert history.spec == yaml.safe_load(spec)
    assert history.owners == owners


@pytest.mark.parametrize(
    "spec",
    [
        "{ports: [{port: 80}, {port: 80}]}",
        "{ports: [{port: 80}, {port: 80, protocol: TCP}]}",
        "{ports: [{name: x}, {name: y}]}",
        "{set: [1, 1]}",
    ],
)
def test_items_that_cannot_be_told_apart_are_refused(history: History, spec: str) -> None:
    with pytest.raises(TypedValueError, match="duplicate entries for key"):
        history.apply("a", spec)


ATOMIC_STRUCT = SPEC.replace(
    "  struct:\n    type: object", "  struct:\n    type: object\n    x-kubernetes-map-type: atomic"
)
ATOMIC_LIST = SPEC.replace("x-kubernetes-list-type: map\n    x-kubernetes-list-map-keys: [name]", "nullable: false")


@pytest.mark.parametrize(
    ("schema", "first", "second", "conflict"),
    [
        (ATOMIC_STRUCT, "{struct: {numeric: 1}}", "{struct: {string: x}}", "a .struct"),
        (ATOMIC_LIST, "{list: [{name: a}]}", "{list: [{name: b}]}", "a .list"),
    ],
)
def test_what_has_become_atomic_is_owned_as_a_whole(
    fields: FieldSchema, history: History, schema: str, first: str, second: str, conflict: str
) -> None:
    assert history.apply("a", first) == []
    history.kind = kind_of(fields, schema)
    assert history.apply("b", second) == [conflict]
    assert history.apply("b", second, force=True) == []
    assert history.spec == yaml.safe_load(second)
    assert history.owners == {"b": [conflict.removeprefix("a ")]}


def test_releases_without_list_types_merge_by_the_keys_of_patches() -> None:
    kind = FieldSchema(load_definitions("1.25"), load_go_types()).root("io.k8s.api.core.v1.Pod")
    pod = {"spec": {"containers": [{"name": "a", "image": "i"}], "tolerations": [{"key": "k"}]}}
    assert kind.applied_set(pod) == {
        "f:spec": {
            "f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}},
            "f:tolerations": {},
        }
    }


def test_the_data_of_a_controller_revision_are_owned_as_a_whole(fields: FieldSchema) -> None:
    kind = fields.root("io.k8s.api.apps.v1.ControllerRevision")
    assert kind.created_field_set({"data": {"a": {"b": 1}}, "revision": 1}) == {"f:data": {}, "f:revision": {}}
