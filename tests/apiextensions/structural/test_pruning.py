import copy
from typing import Any

import pytest

EMBEDDED = "x-kubernetes-embedded-resource"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
TEXT = {"type": "string"}


def of(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("properties", "given", "kept", "unknown"),
    [
        ({"a": TEXT}, {"a": "x", "b": 1}, {"a": "x"}, ["b"]),
        ({"a": TEXT}, {"b": {"c": 1}, "d": []}, {}, ["b", "d"]),
        ({"a": of(b=TEXT)}, {"a": {"b": "x", "c": {"d": 1}}}, {"a": {"b": "x"}}, ["a.c"]),
        ({"a": TEXT}, {"a": {"b": 1, "c": 2}}, {"a": {}}, ["a.b", "a.c"]),
        ({"a": TEXT}, {"a": [{"b": 1}, [{"c": 1}], 5]}, {"a": [{}, [{}], 5]}, ["a[0].b", "a[1][0].c"]),
        ({"a": {"type": "object"}}, {"a": {"b": 1}}, {"a": {}}, ["a.b"]),
        (
            {"a": {"type": "array", "items": of(b=TEXT)}},
            {"a": [{"b": "x"}, {"c": 1, "b": "y"}]},
            {"a": [{"b": "x"}, {"b": "y"}]},
            ["a[1].c"],
        ),
        (
            {"a": {"type": "object", "additionalProperties": of(b=TEXT)}},
            {"a": {"x": {"b": "1", "c": 2}}},
            {"a": {"x": {"b": "1"}}},
            ["a.x.c"],
        ),
        # of values that may be anything nothing is known
        (
            {"a": {"type": "object", "additionalProperties": True}},
            {"a": {"x": {"b": 1}, "y": 2}},
            {"a": {"x": {}, "y": 2}},
            ["a.x.b"],
        ),
        ({"a": {"type": "object", PRESERVE: True}}, {"a": {"x": {"y": 1}}}, {"a": {"x": {"y": 1}}}, []),
        ({"a": {PRESERVE: True}}, {"a": [{"x": 1}]}, {"a": [{"x": 1}]}, []),
        (
            {"a": {PRESERVE: True, **of(b=of(c=TEXT))}},
            {"a": {"x": 1, "b": {"c": "1", "d": 2}}},
            {"a": {"x": 1, "b": {"c": "1"}}},
            ["a.b.d"],
        ),
        (
            {"a": {PRESERVE: True, "type": "array", "items": of(b=of(c=TEXT))}},
            {"a": [{"x": 1, "b": {"d": 2}}]},
            {"a": [{"x": 1, "b": {}}]},
            ["a[0].b.d"],
        ),
        (
            {"a": {EMBEDDED: True, **of(spec=of(b=TEXT))}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"any": 1}, "spec": {"c": 1}, "d": 1}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"any": 1}, "spec": {}}},
            ["a.d", "a.spec.c"],
        ),
        ({"a": of(b=TEXT)}, {"a": {"apiVersion": "v1", "kind": "X"}}, {"a": {}}, ["a.apiVersion", "a.kind"]),
    ],
)
def test_unknown_fields_go_and_are_told(of_properties, properties, given, kept, unknown):
    meta = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "n"}}
    obj = meta | copy.deepcopy(given)
    schema = of_properties(properties)
    assert schema.prune(obj) == unknown
    assert obj == meta | kept
    assert schema.prune(obj) == []


def test_metadata_stays_though_the_schema_speaks_of_it(of_properties):
    obj = {"metadata": {"name": "n", "labels": {"a": "b"}}}
    assert of_properties({"metadata": {"type": "object", "properties": {"name": TEXT}}}).prune(obj) == []
    assert obj == {"metadata": {"name": "n", "labels": {"a": "b"}}}


def test_a_root_that_keeps_all_is_pruned_below_what_it_names(of_properties):
    obj = {"a": {"b": "x", "c": 1}, "d": {"e": 1}}
    assert of_properties({"a": of(b=TEXT)}, **{PRESERVE: True}).prune(obj) == ["a.c"]
    assert obj == {"a": {"b": "x"}, "d": {"e": 1}}


@pytest.mark.parametrize(
    ("properties", "given", "kept"),
    [
        ({"a": TEXT}, {"a": None}, {}),
        ({"a": {**TEXT, "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {**TEXT, "default": "x"}}, {"a": None}, {"a": None}),
        ({"a": of(b=TEXT)}, {"a": {"b": None}}, {"a": {}}),
        ({"a": {"type": "array", "items": TEXT}}, {"a": [None, "x"]}, {"a": [None, "x"]}),
        ({"a": {"type": "array", "items": of(b=TEXT)}}, {"a": [{"b": None}]}, {"a": [{}]}),
        ({"a": {"type": "object", "additionalProperties": TEXT}}, {"a": {"b": None, "c": "x"}}, {"a": {"c": "x"}}),
        ({"a": {"type": "object", "additionalProperties": True}}, {"a": {"b": None}}, {"a": {"b": None}}),
        ({"a": {PRESERVE: True, **of(b=TEXT)}}, {"a": {"b": None, "c": None}}, {"a": {"c": None}}),
        (
            {"metadata": {"type": "object", "properties": {"name": TEXT}}},
            {"metadata": {"name": None}},
            {"metadata": {}},
        ),
        ({"metadata": {"type": "object"}}, {"metadata": None}, {}),
    ],
)
def test_nulls_that_mean_nothing_go_without_a_word(of_properties, properties, given, kept):
    obj = copy.deepcopy(given)
    assert of_properties(properties).prune(obj) == []
    assert obj == kept


def test_lists_of_any_depth_are_pruned(of_properties):
    deep: list[Any] = []
    value = deep
    for _ in range(5_000):
        value.append([])
        value = value[0]
    value.append({"x": 1})
    assert len(of_properties({"a": TEXT}).prune({"a": deep})) == 1
    assert value == [{}]
    while deep:  # taken apart here, since the interpreter would do so by recursion
        deep = deep.pop()
