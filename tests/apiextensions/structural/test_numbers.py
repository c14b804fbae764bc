import pytest

from apiserver.api.schema import Schema
from apiserver.apiextensions.structural import StructuralSchema
from apiserver.apiextensions.structural.numbers import is_whole

WHOLE, NUMBER = {"type": "integer"}, {"type": "number"}


def errors_of(schema, value):
    return [str(error) for error in schema.validate({"f": value})]


def out_of_range(what, kind, form=""):
    form = f"with format {form}" if form else "(default format)"
    return f'<nil>: Invalid value: "": {what} value must be of type {kind} {form} in f'


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (WHOLE | {"minimum": 1, "maximum": 10}, [1, 5, 10, 10.0]),
        (WHOLE | {"minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": True}, [2]),
        (WHOLE | {"multipleOf": 5}, [0, 10, -15, 10.0]),
        (NUMBER | {"multipleOf": 0.1}, [0.3, 1.5, 0.0]),
        (NUMBER | {"minimum": -1.5, "maximum": 1.5}, [-1.5, 0, 1.5, 1]),
        (WHOLE | {"format": "int32"}, [2**31 - 1, -(2**31)]),
        (WHOLE | {"format": "int64"}, [2**63 - 1]),
        (NUMBER | {"format": "float"}, [3.4028234663852886e38, 5]),
        (NUMBER | {"format": "double"}, [1.7976931348623157e308]),
        (NUMBER | {"minimum": 0.5}, [0]),  # the limit of a whole value is cut to a whole number
        ({"x-kubernetes-int-or-string": True, "minimum": 5}, ["1", 5]),
        ({"minimum": 5}, ["1", 5, True]),
    ],
)
def test_numbers_within_limits_are_good(of_properties, schema, values):
    for value in values:
        assert errors_of(of_properties({"f": schema}), value) == []


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (WHOLE | {"minimum": 1}, 0, ["f: Invalid value: 0: f in body should be greater than or equal to 1"]),
        (WHOLE | {"maximum": 10}, 11, ["f: Invalid value: 11: f in body should be less than or equal to 10"]),
        (
            WHOLE | {"minimum": 1, "exclusiveMinimum": True},
            1,
            ["f: Invalid value: 1: f in body should be greater than 1"],
        ),
        (WHOLE | {"maximum": 1, "exclusiveMaximum": True}, 1, ["f: Invalid value: 1: f in body should be less than 1"]),
        (WHOLE | {"maximum": 1}, 2.0, ["f: Invalid value: 2: f in body should be less than or equal to 1"]),
        (NUMBER | {"maximum": 1.5}, 1.75, ["f: Invalid value: 1.75: f in body should be less than or equal to 1.5"]),
        (NUMBER | {"maximum": 1.5}, 2, ["f: Invalid value: 2: f in body should be less than or equal to 1"]),
        (
            NUMBER | {"minimum": 2e6},
            1.5e6,
            ["f: Invalid value: 1.5e+06: f in body should be greater than or equal to 2e+06"],
        ),
        (WHOLE | {"multipleOf": 5}, 7, ["f: Invalid value: 7: f in body should be a multiple of 5"]),
        (NUMBER | {"minimum": 0.5, "maximum": 1.5}, 0.5, []),
        (NUMBER | {"minimum": 0.5, "maximum": 1.5}, 1.5, []),
        (
            NUMBER | {"minimum": 0.5, "exclusiveMinimum": True},
            0.5,
            ["f: Invalid value: 0.5: f in body should be greater than 0.5"],
        ),
        (NUMBER | {"minimum": 0.5, "exclusiveMinimum": True}, 0.5000000001, []),
        (
            NUMBER | {"maximum": 0.5, "exclusiveMaximum": True},
            0.5,
            ["f: Invalid value: 0.5: f in body should be less than 0.5"],
        ),
        (NUMBER | {"maximum": 0.5}, 0.75, ["f: Invalid value: 0.75: f in body should be less than or equal to 0.5"]),
        (NUMBER | {"multipleOf": 0.5}, 0.75, ["f: Invalid value: 0.75: f in body should be a multiple of 0.5"]),
        (
            NUMBER | {"multipleOf": 0.5},
            1,
            ["f: Invalid value: 0: factor MultipleOf declared for f must be positive: 0"],
        ),
        (
            WHOLE,
            1.5,
            [
                'f: Invalid value: "number": f in body must be of type integer: "number"',
                out_of_range("Checked", "integer"),
            ],
        ),
        (
            WHOLE,
            2**63,
            [
                'f: Invalid value: "number": f in body must be of type integer: "number"',
                out_of_range("Checked", "integer"),
            ],
        ),
        (WHOLE | {"format": "int32"}, 2**31, [out_of_range("Checked", "integer", "int32")]),
        (WHOLE | {"format": "int32"}, -(2**31) - 1, [out_of_range("Checked", "integer", "int32")]),
        (
            WHOLE | {"format": "int64"},
            9.3e18,
            [
                'f: Invalid value: "float64": f in body must be of type int64: "float64"',
                out_of_range("Checked", "integer", "int64"),
            ],
        ),
        (NUMBER | {"format": "float"}, 3.5e38, [out_of_range("Checked", "number", "float")]),
        (WHOLE | {"maximum": 10.5}, 3, [out_of_range("Maximum boundary", "integer")]),
        (
            WHOLE | {"maximum": 10.5},
            11,
            [
                out_of_range("Maximum boundary", "integer"),
                "f: Invalid value: 11: f in body should be less than or equal to 10.5",
            ],
        ),
        (WHOLE | {"minimum": 0.5}, 3, [out_of_range("Minimum boundary", "integer")]),
        (WHOLE | {"multipleOf": 1.5}, 3, [out_of_range("MultipleOf", "integer")]),
        (
            WHOLE | {"multipleOf": 5, "minimum": 4, "maximum": 2},
            3,
            [
                "f: Invalid value: 3: f in body should be a multiple of 5",
                "f: Invalid value: 3: f in body should be greater than or equal to 4",
                "f: Invalid value: 3: f in body should be less than or equal to 2",
            ],
        ),
    ],
)
def test_numbers_beyond_limits_are_told(of_properties, schema, value, errors):
    assert errors_of(of_properties({"f": schema}), value) == errors


def test_releases_before_1_36_look_at_no_range(types):
    schema = StructuralSchema(
        {"type": "object", "properties": {"f": WHOLE | {"format": "int32"}}}, Schema(types.definitions, "1.35")
    )
    assert errors_of(schema, 2**31) == []
    assert errors_of(schema, 1.5) == ['f: Invalid value: "float64": f in body must be of type int32: "float64"']


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (0.0, True),
        (3.0, True),
        (-3.0, True),
        (2.5, False),
        (-2.5, False),
        (0.5, False),
        (3.0000000001, True),
        (2.9999999999, False),
        (2.0**53, False),
    ],
)
def test_a_float_may_be_a_whole_number(value, whole):
    assert is_whole(value) is whole
