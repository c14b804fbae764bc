import copy

import pytest

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED

TEXT = {"type": "string"}


def of(**properties):
    return {"type": "object", "properties": properties}


def with_default(value, schema=None):
    return (schema or TEXT) | {"default": value}


@pytest.mark.parametrize(
    ("properties", "given", "filled"),
    [
        ({"a": with_default("x")}, {}, {"a": "x"}),
        ({"a": with_default("x")}, {"a": "y"}, {"a": "y"}),
        ({"a": with_default("x")}, {"a": ""}, {"a": ""}),
        ({"a": with_default("x")}, {"a": None}, {"a": "x"}),
        ({"a": with_default("x", {**TEXT, "nullable": True})}, {"a": None}, {"a": None}),
        ({"a": with_default("x", {**TEXT, "nullable": True})}, {}, {"a": "x"}),
        ({"a": with_default(False, {"type": "boolean"})}, {}, {"a": False}),
        ({"a": with_default(None)}, {}, {}),
        ({"a": of(b=with_default("x"))}, {}, {}),
        ({"a": of(b=with_default("x"))}, {"a": {}}, {"a": {"b": "x"}}),
        ({"a": with_default({}, of(b=with_default("x"), c=TEXT))}, {}, {"a": {"b": "x"}}),
        ({"a": with_default({"c": "y"}, of(b=with_default("x"), c=TEXT))}, {}, {"a": {"b": "x", "c": "y"}}),
        ({"a": with_default({"b": "z"}, of(b=with_default("x")))}, {}, {"a": {"b": "z"}}),
        (
            {"a": {"type": "array", "items": of(b=with_default("x"))}},
            {"a": [{}, {"b": "y"}]},
            {"a": [{"b": "x"}, {"b": "y"}]},
        ),
        ({"a": {"type": "array", "items": with_default("x")}}, {"a": [None, "y"]}, {"a": ["x", "y"]}),
        ({"a": {"type": "array", "items": TEXT}}, {"a": [None]}, {"a": [None]}),
        (
            {"a": {"type": "object", "additionalProperties": of(b=with_default("x"))}},
            {"a": {"k": {}, "l": {"b": "y"}}},
            {"a": {"k": {"b": "x"}, "l": {"b": "y"}}},
        ),
        ({"a": {"type": "object", "additionalProperties": with_default("x")}}, {"a": {"k": None}}, {"a": {"k": "x"}}),
        # of another type than it should be: nothing to fill
        ({"a": of(b=with_default("x"))}, {"a": "text"}, {"a": "text"}),
        ({"a": of(b=with_default("x"))}, {"a": [{}]}, {"a": [{}]}),
    ],
)
def test_defaults_are_filled_in(of_properties, properties, given, filled):
    obj = copy.deepcopy(given)
    schema = of_properties(properties)
    schema.default(obj)
    assert obj == filled
    schema.default(obj)
    assert obj == filled


def test_no_two_objects_share_a_default(of_properties):
    schema = of_properties(
        {"a": with_default({"b": []}, of(b={"type": "array", "items": TEXT})), "c": with_default([])}
    )
    one: Obj = {}
    other: Obj = {}
    schema.default(one)
    schema.default(other)
    one["a"]["b"].append("x")
    one["c"].append("y")
    assert other == {"a": {"b": []}, "c": []}


def test_a_default_brings_no_unknown_fields(of_properties):
    nested = {EMBEDDED: True, **of(c=TEXT)}
    schema = of_properties(
        {"a": with_default({"b": "x", "z": 1}, of(b=TEXT)), "e": with_default({"kind": "X", "z": 1}, nested)}
    )
    obj: Obj = {}
    schema.default(obj)
    assert obj == {"a": {"b": "x"}, "e": {"kind": "X"}}
