"""Field sets as sets of paths, and what the schema makes of objects."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.field_sets import (
    MEMBER,
    difference,
    in_order,
    intersection,
    matching,
    parse,
    union,
    without,
)
from apiserver.api.managedfields.value_types import Changes
from apiserver.api.meta import Obj
from apiserver.api.schema import load_definitions
from apiserver.api.schema.go_types import load_go_types

LABELS = ["f:a", "f:b", 'k:{"name":"x"}']
TRIES: st.SearchStrategy[Obj] = st.recursive(
    st.just({}),
    lambda inner: st.builds(
        lambda below, own: {".": {}, **below} if own and below else below,
        st.dictionaries(st.sampled_from(LABELS), inner, max_size=3),
        st.booleans(),
    ),
    max_leaves=8,
)
SETS = st.dictionaries(st.sampled_from(LABELS), TRIES, max_size=3)


def paths(fields, prefix=()):
    """The members as paths."""
    leaf_paths = set()
    for label, below in fields.items():
        if label == ".":
            leaf_paths.add(prefix)
        else:
            leaf_paths |= paths(below, (*prefix, label)) if below else {(*prefix, label)}
    return leaf_paths


@given(SETS, SETS)
def test_the_union_has_the_members_of_both(left, right):
    assert paths(union(left, right)) == paths(left) | paths(right)


@given(SETS, SETS)
def test_the_difference_has_the_members_of_the_first_alone(left, right):
    assert paths(difference(left, right)) == paths(left) - paths(right)


@given(SETS, SETS)
def test_the_intersection_has_the_members_that_both_have(left, right):
    assert paths(intersection(left, right)) == paths(left) & paths(right)


@pytest.mark.parametrize(
    ("fields", "pattern", "kept"),
    [
        ({"f:a": {}, "f:b": {}}, {}, {"f:a": {}, "f:b": {}}),
        ({"f:a": {}, "f:b": {}}, {"f:a": {}}, {"f:a": {}}),
        ({"f:a": {".": {}, "f:b": {}, "f:c": {}}}, {"f:a": {"f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"f:a": {"k:1": {".": {}, "f:b": {"f:x": {}}, "f:c": {}}}}, {"f:a": {"*": {"f:b": {}}}},
         {"f:a": {"k:1": {".": {}, "f:b": {"f:x": {}}}}}),
        ({"f:a": {"f:c": {}}}, {"f:a": {"f:b": {}}}, {}),
    ],
)  # fmt: skip
def test_members_on_the_paths_of_a_pattern_stay(fields, pattern, kept):
    assert matching(fields, pattern) == kept


PLAIN: st.SearchStrategy[Obj] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(st.sampled_from(LABELS), inner, max_size=3), max_leaves=6
)


@given(SETS, st.dictionaries(st.sampled_from(LABELS), PLAIN, max_size=3))
def test_what_is_excluded_goes_with_all_below_it(fields, excluded):
    gone = paths(excluded)
    kept = {path for path in paths(fields) if not any(path[: len(leaf)] == leaf for leaf in gone)}
    assert paths(without(fields, excluded)) == kept


def test_a_set_is_written_in_order():
    fields: Obj = {"v:1": {}, "f:b": {".": {}, "f:x": {}}, "f:a": {}, 'k:{"a":1}': {}}
    assert list(in_order(fields)) == ["f:a", "f:b", 'k:{"a":1}', "v:1"]
    assert in_order(fields) == fields


def sorted_throughout(fields):
    """The JSON of a set in order, whatever its order."""
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("fields", [{"a": {}}, {"f": {}}, {"k:{": {}}, {"i:x": {}}, [], {"f:a": []}])
def test_what_is_no_set_is_refused(fields):
    with pytest.raises(ValueError, match=r"."):
        parse(fields)


def test_path_elements_of_unknown_types_are_left_out():
    assert parse({"x:a": {}, "f:b": {".": {}, "v:1": {}}}) == {"f:b": {".": {}, "v:1": {}}}


@pytest.fixture(scope="module")
def schema():
    return FieldSchema(load_definitions("1.37"), load_go_types())


POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "n",
        "generateName": "a-",
        "labels": {"x": "1"},
        "finalizers": ["f.io/a"],
        "ownerReferences": [{"uid": "u", "name": "o"}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "command": ["sh"],
                "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                "resources": {},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "t"}],
        "securityContext": {},
        "hostNetwork": False,
    },
}


def test_the_fields_of_a_pod_are_what_upstream_says(schema):
    assert schema.root("io.k8s.api.core.v1.Pod").created_field_set(POD) == {
        "f:metadata": {
            "f:finalizers": {".": {}, 'v:"f.io/a"': {}},
            "f:generateName": {},
            "f:labels": {".": {}, "f:x": {}},
            "f:ownerReferences": {".": {}, 'k:{"uid":"u"}': {}},
        },
        "f:spec": {
            "f:containers": {
                'k:{"name":"c"}': {
                    ".": {},
                    "f:command": {},
                    "f:env": {
                        ".": {},
                        'k:{"name":"E"}': {".": {}, "f:name": {}, "f:valueFrom": {".": {}, "f:fieldRef": {}}},
                    },
                    "f:image": {},
                    "f:name": {},
                    "f:ports": {
                        ".": {},
                        'k:{"containerPort":53,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
                        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                    },
                    "f:resources": {},
                }
            },
            "f:hostNetwork": {},
            "f:nodeSelector": {},
            "f:securityContext": {},
            "f:tolerations": {},
        },
    }


def test_parts_that_the_go_type_always_has_are_not_owned_themselves(schema):
    deployment = {
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"metadata": {"name": "kept", "labels": {"a": "b"}}, "spec": {"containers": []}},
        },
        "status": {},
    }
    assert schema.root("io.k8s.api.apps.v1.Deployment").created_field_set(deployment) == {
        "f:spec": {
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:name": {}},
                "f:spec": {"f:containers": {}},
            },
        }
    }


def test_a_value_that_is_zero_in_the_empty_object_is_nobodys(schema):
    assert schema.root("io.k8s.api.scheduling.v1.PriorityClass").created_field_set(
        {"value": 0, "globalDefault": False}
    ) == {"f:globalDefault": {}}
    assert schema.root("io.k8s.api.scheduling.v1.PriorityClass").created_field_set({"value": 5}) == {"f:value": {}}


def test_sets_of_created_objects_are_in_order_whatever_the_order_of_keys(schema):
    root = schema.root("io.k8s.api.core.v1.Pod")
    backwards = {key: POD[key] for key in reversed(POD)} | {"spec": dict(reversed(POD["spec"].items()))}
    fields = root.created_field_set(backwards)
    assert orjson.dumps(fields) == sorted_throughout(fields) == orjson.dumps(root.created_field_set(POD))


CONDITIONS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from("zab")}, optional={"status": st.sampled_from("TF")}), max_size=4
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.fixed_dictionaries(
            {},
            optional={
                "podIPs": st.lists(st.fixed_dictionaries({"ip": st.sampled_from("21")}), max_size=3),
                "phase": st.sampled_from(["Pending", "Running"]),
                "conditions": CONDITIONS,
            },
        ),
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": st.dictionaries(st.sampled_from("ba"), st.sampled_from("xy"))}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": st.lists(st.fixed_dictionaries({"name": st.sampled_from("dc")}), max_size=2),
                "securityContext": st.dictionaries(st.sampled_from(["runAsUser", "fsGroup"]), st.integers(0, 1)),
            },
        ),
    },
)


@given(PARTS, PARTS)
def test_what_changed_is_in_order_below_its_first_labels(schema, old, new):
    changes = schema.root("io.k8s.api.core.v1.Pod").changes(old, new)
    assert orjson.dumps(in_order(changes.changed)) == sorted_throughout(changes.changed)


@given(CONDITIONS, CONDITIONS)
def test_lists_are_compared_alike_whether_or_not_items_are_looked_for_that_are_there_twice(schema, old, new):
    conditions = schema.root("io.k8s.api.core.v1.Pod")._fields["status"].kind._fields["conditions"].kind
    quick, slow = Changes(), Changes()
    conditions.compare("f:conditions", old, new, quick)
    conditions._compare_doubles("f:conditions", old, new, slow)
    assert (quick.changed, quick.removed) == (slow.changed, slow.removed)


def changed(schema, old, new):
    changes = schema.root("io.k8s.api.core.v1.Pod").changes({"spec": old}, {"spec": new})
    return changes.changed.get("f:spec", {}), changes.removed.get("f:spec", {})


@pytest.mark.parametrize(
    ("old", "new", "differs", "gone"),
    [
        ({"nodeName": "a"}, {"nodeName": "b"}, {"f:nodeName": {}}, {}),
        ({}, {"nodeName": "b"}, {"f:nodeName": {}}, {}),
        ({"nodeName": "a"}, {}, {}, {"f:nodeName": {}}),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"b": "1"}}, {"f:nodeSelector": {}}, {}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": []}, {"f:tolerations": {}}, {}),
        (
            {"volumes": [{"name": "a", "emptyDir": {}}]},
            {"volumes": [{"name": "b", "emptyDir": {}}]},
            {"f:volumes": {'k:{"name":"b"}': {".": {}, "f:emptyDir": {}, "f:name": {}}}},
            {"f:volumes": {'k:{"name":"a"}': {".": {}, "f:emptyDir": {}, "f:name": {}}}},
        ),
        ({"volumes": [{"name": "a"}, {"name": "b"}]}, {"volumes": [{"name": "b"}, {"name": "a"}]}, {}, {}),
        (
            {"volumes": [{"name": "a"}]},
            {},
            {},
            {"f:volumes": {".": {}, 'k:{"name":"a"}': {".": {}, "f:name": {}}}},
        ),
        ({"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "2"}}, {"f:overhead": {"f:cpu": {}}}, {}),
        ({"overhead": {"cpu": "1"}}, {"overhead": {}}, {}, {"f:overhead": {"f:cpu": {}}}),
        ({"overhead": {}}, {"overhead": {"cpu": "1"}}, {"f:overhead": {"f:cpu": {}}}, {}),
        (
            {"volumes": [{"name": "a"}]},
            {"volumes": [{"name": "a"}, {"name": "a", "emptyDir": {}}]},
            {"f:volumes": {'k:{"name":"a"}': {}}},
            {"f:volumes": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
        ),
        (
            {"volumes": [{"name": "a"}, {"name": "a"}]},
            {"volumes": [{"name": "a"}, {"name": "a", "emptyDir": {}}]},
            {"f:volumes": {'k:{"name":"a"}': {}}},
            {},
        ),
    ],
)
def test_an_update_changes_and_removes_fields(schema, old, new, differs, gone):
    assert changed(schema, old, new) == (differs, gone)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"f:a": {"f:b": {}}}),
        ({"a": [1]}, {"a": [2]}, {"f:a": {}}),
        ({}, {"a": {"b": [1], "c": {}}}, {"f:a": {".": {}, "f:b": {}, "f:c": {}}}),
    ],
)
def test_fields_without_a_schema_are_deduced(old, new, differs):
    schema = FieldSchema({"example.Thing": {"properties": {"spec": {"type": "object"}}}}, {})
    changes = schema.root("example.Thing").changes({"spec": old}, {"spec": new})
    assert changes.changed["f:spec"] == differs


def test_the_shared_empty_set_stays_empty(schema):
    schema.root("io.k8s.api.core.v1.Pod").created_field_set(POD)
    assert MEMBER == {}
