"""Fields at simple paths: found, put, and refused in upstream's words."""

import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedField, NestedFieldError

REPLICAS = NestedField.parse(".spec.replicas")
NO_MAP = "expected map[string]interface{}"


@pytest.mark.parametrize(
    ("obj", "number"),
    [
        ({"spec": {"replicas": 3}}, 3),
        ({"spec": {"replicas": 0}}, 0),
        ({"spec": {}}, None),
        ({"spec": None}, None),
        ({}, None),
    ],
)
def test_a_number_is_found_or_is_not_there(obj: Obj, number: int | None):
    assert REPLICAS.read_int64(obj) == number


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"spec": [1]}, f".spec.replicas accessor error: [1] is of the type []interface {{}}, {NO_MAP}"),
        ({"spec": "a"}, f".spec.replicas accessor error: a is of the type string, {NO_MAP}"),
        ({"spec": {"replicas": None}}, ".spec.replicas accessor error: <nil> is of the type <nil>, expected int64"),
        ({"spec": {"replicas": 1.0}}, ".spec.replicas accessor error: 1 is of the type float64, expected int64"),
        ({"spec": {"replicas": True}}, ".spec.replicas accessor error: true is of the type bool, expected int64"),
        (
            {"spec": {"replicas": 1 << 63}},
            "accessor error: 9.223372036854776e+18 is of the type float64, expected int64",
        ),
        ({"spec": {"replicas": "3"}}, ".spec.replicas accessor error: 3 is of the type string, expected int64"),
    ],
)
def test_what_is_no_whole_number_is_refused(obj: Obj, why: str):
    with pytest.raises(NestedFieldError) as refused:
        REPLICAS.read_int64(obj)
    assert str(refused.value).endswith(why)


def test_the_step_that_fails_is_told():
    with pytest.raises(NestedFieldError, match=r"^\.a\.b accessor error: 1 is of the type int64, expected map"):
        NestedField.parse("a.b.c").read_string({"a": 1})


def test_a_text_is_no_number():
    field = NestedField.parse(".status.selector")
    assert field.read_string({"status": {"selector": "a=b"}}) == "a=b"
    with pytest.raises(NestedFieldError, match="5 is of the type int64, expected string"):
        field.read_string({"status": {"selector": 5}})


def test_brackets_are_part_of_a_name():
    assert NestedField.parse(".spec.replicas[0]").read_int64({"spec": {"replicas[0]": 2}}) == 2


@pytest.mark.parametrize(
    ("obj", "changed"),
    [
        ({}, {"spec": {"replicas": 7}}),
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "replicas": 7}}),
        ({"spec": {"replicas": "x"}, "b": {}}, {"spec": {"replicas": 7}, "b": {}}),
    ],
)
def test_a_value_is_put_into_a_copy(obj: Obj, changed: Obj):
    before = copy.deepcopy(obj)
    assert REPLICAS.set_value(obj, 7) == changed
    assert obj == before


def test_parts_that_do_not_change_are_shared():
    obj: dict[str, Any] = {"spec": {"template": {"a": 1}}, "status": {}}
    changed = REPLICAS.set_value(obj, 7)
    assert changed["spec"]["template"] is obj["spec"]["template"]
    assert changed["status"] is obj["status"]


@pytest.mark.parametrize("spec", [None, "a", []])
def test_nothing_is_put_into_what_is_no_map(spec: Any):
    with pytest.raises(NestedFieldError) as refused:
        REPLICAS.set_value({"spec": spec}, 7)
    assert str(refused.value) == "value cannot be set because .spec is not a map[string]interface{}"
