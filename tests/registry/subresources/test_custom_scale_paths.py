"""Errors in the parts of custom objects that a Scale shows."""

from typing import Any

import pytest

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.scale_paths import ScalePaths, scale_paths
from apiserver.registry.custom_scale import scale_spec, scale_status


def version(**more: str) -> Obj:
    return {"subresources": {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"} | more}}


def paths(**more: str) -> ScalePaths:
    scale_fields = scale_paths(version(**more))
    assert scale_fields is not None
    return scale_fields


WITH_SELECTOR = paths(labelSelectorPath=".status.selector")


def messages(errors: Any) -> list[str]:
    field_errors: list[FieldError] = list(errors)
    assert all(error.reason == "FieldValueInvalid" for error in field_errors)
    return [str(error) for error in field_errors]


@pytest.mark.parametrize("value", [0, 3, (1 << 31) - 1])
def test_replicas_that_fit_into_32_bits_are_right(value: int):
    obj = {"spec": {"n": value}, "status": {"n": value, "selector": "a=b"}}
    assert messages(scale_spec(obj, WITH_SELECTOR)) == messages(scale_status(obj, WITH_SELECTOR)) == []


@pytest.mark.parametrize("obj", [{}, {"spec": None, "status": None}, {"spec": {}, "status": {}}])
def test_what_is_not_there_is_right(obj: Obj):
    assert messages(scale_spec(obj, WITH_SELECTOR)) == messages(scale_status(obj, WITH_SELECTOR)) == []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (-6, "Invalid value: -6: should be a non-negative integer"),
        (1 << 31, "Invalid value: 2147483648: should be less than or equal to 2147483647"),
        ("3", "Invalid value: 0: {} accessor error: 3 is of the type string, expected int64"),
        (3.0, "Invalid value: 0: {} accessor error: 3 is of the type float64, expected int64"),
        (None, "Invalid value: 0: {} accessor error: <nil> is of the type <nil>, expected int64"),
    ],
)
def test_other_replicas_are_told_at_their_path(value: Any, why: str):
    assert messages(scale_spec({"spec": {"n": value}}, paths())) == [f".spec.n: {why.format('.spec.n')}"]
    assert messages(scale_status({"status": {"n": value}}, paths())) == [f".status.n: {why.format('.status.n')}"]


def test_a_selector_is_a_text():
    obj = {"status": {"n": -1, "selector": {"a": "b"}}}
    why = ".status.selector accessor error: map[a:b] is of the type map[string]interface {}, expected string"
    assert messages(scale_status(obj, WITH_SELECTOR)) == [
        ".status.n: Invalid value: -1: should be a non-negative integer",
        f'.status.selector: Invalid value: "": {why}',
    ]
    assert messages(scale_status(obj, paths(labelSelectorPath=""))) == messages(scale_status(obj, paths()))


@pytest.mark.parametrize("given", [{}, {"subresources": {}}, {"subresources": {"status": {}}}])
def test_a_kind_without_a_scale_has_no_paths(given: Obj):
    assert scale_paths(given) is None
