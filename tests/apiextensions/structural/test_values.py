import pytest

from apiserver.api.schema import Schema
from apiserver.apiextensions.structural import StructuralSchema

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
INVALID, TYPE_INVALID, NOT_SUPPORTED = "FieldValueInvalid", "FieldValueTypeInvalid", "FieldValueNotSupported"
TOO_LONG, TOO_MANY = "FieldValueTooLong", "FieldValueTooMany"


def errors_of(schema, obj):
    return [str(error) for error in schema.validate(obj)]


def wrong_type(path, expected, given):
    return f'{path}: Invalid value: "{given}": {path} in body must be of type {expected}: "{given}"'


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (TEXT, ["", "x"]),
        (WHOLE, [0, -5, 2**63 - 1, -(2**63), 1.0, 1e3]),
        ({"type": "number"}, [0, 1.5, 2**70, -1e300]),
        ({"type": "boolean"}, [True, False]),
        ({"type": "object"}, [{}, {"any": [1]}]),
        ({"type": "array", "items": TEXT}, [[], ["a"]]),
        (TEXT | {"nullable": True}, [None, "x"]),
        ({"nullable": True}, [None, 1, "x", {}, [], True, 1.5]),
        ({}, [None, 1, "x", {}, [], True, 1.5]),
        (INT_OR_STRING, [5, "5%", 1.0]),
        (INT_OR_STRING | {"anyOf": [WHOLE, TEXT], "nullable": True}, [5, "5%", None]),
        (INT_OR_STRING | {"allOf": [{"anyOf": [WHOLE, TEXT]}]}, [5, "5%"]),
        (TEXT | {"maxLength": 2, "minLength": 1}, ["é", "日本"]),
        (TEXT | {"pattern": "b"}, ["abc"]),
        (TEXT | {"enum": ["a", ""]}, ["a", ""]),
        (WHOLE | {"enum": [1, 2]}, [1, 2, 2.0]),
        ({"type": "number", "enum": [1.5, 2]}, [1.5, 2, 2.75]),
        ({"type": "object", "enum": [{"a": [1]}]}, [{"a": [1]}]),
        (TEXT | {"format": "date"}, ["2024-02-29"]),
        (TEXT | {"format": "no-format-at-all"}, ["x"]),
        (TEXT | {"format": "date"}, [["a list passes for a text with a format"]]),
        ({"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2}, [["a"], ["a", "b"]]),
        ({"type": "array", "items": WHOLE, "uniqueItems": True}, [[1, 2], [1, 1.0]]),
        ({"type": "object", "minProperties": 1, "maxProperties": 2}, [{"a": 1}, {"a": 1, "b": 2}]),
        ({"type": "object", "additionalProperties": WHOLE}, [{"a": 1}]),
        ({"type": "object", "additionalProperties": True}, [{"a": [None]}]),
        ({"type": "object", "required": ["a"]}, [{"a": None}]),
    ],
)
def test_good_values_are_good(of_properties, schema, values):
    for value in values:
        assert errors_of(of_properties({"f": schema}), {"f": value}) == []


@pytest.mark.parametrize(
    ("schema", "expected", "values"),
    [
        (
            TEXT,
            "string",
            [(1, "integer"), (1.5, "number"), (True, "boolean"), ([], "array"), ({}, "object"), (None, "null")],
        ),
        (WHOLE, "integer", [("1", "string"), (True, "boolean"), ([], "array"), ({}, "object"), (None, "null")]),
        ({"type": "number"}, "number", [("1", "string"), (False, "boolean"), (None, "null")]),
        ({"type": "boolean"}, "boolean", [("true", "string"), (1, "integer"), (0.5, "number")]),
        ({"type": "object"}, "object", [([], "array"), ("{}", "string"), (1, "integer")]),
        ({"type": "array", "items": TEXT}, "array", [({}, "object"), ("x", "string")]),
        (INT_OR_STRING, "integer,string", [(True, "boolean"), (1.5, "number"), (None, "null"), ({}, "object")]),
        (TEXT | {"format": "date"}, "date", [(1, "int64"), (1.5, "float64"), (True, ""), ({}, "")]),
        (TEXT | {"format": "date"}, "string", [(None, "null")]),
        (WHOLE | {"format": "int32"}, "int32", [(True, ""), ({}, "")]),
        (WHOLE | {"format": "int32"}, "integer", [("1", "string"), ([], "array")]),
        ({"format": "date"}, "date", [(1, "int64")]),
    ],
)
def test_values_of_wrong_types_are_told(of_properties, schema, expected, values):
    for value, given in values:
        errors = of_properties({"f": schema}).validate({"f": value})
        assert [str(error) for error in errors] == [wrong_type("f", expected, given)]
        assert errors[0].reason == TYPE_INVALID


@pytest.mark.parametrize(
    ("schema", "value", "error", "reason"),
    [
        (TEXT | {"minLength": 2}, "a", 'Invalid value: "a": f in body should be at least 2 chars long', INVALID),
        (TEXT | {"maxLength": 2}, "abc", "Too long: may not be more than 2 bytes", TOO_LONG),
        (TEXT | {"maxLength": 1}, "ab", "Too long: may not be more than 1 byte", TOO_LONG),
        (TEXT | {"pattern": "^[a-z]+$"}, "ABC", "Invalid value: \"ABC\": f in body should match '^[a-z]+$'", INVALID),
        (
            TEXT | {"pattern": "+"},
            "x",
            (
                'Invalid value: "x": f in body should match \'+, but pattern is invalid: '
                "error parsing regexp: missing argument to repetition operator: `+`'"
            ),
            INVALID,
        ),
        (
            TEXT | {"enum": ["red", "green"]},
            "blue",
            'Unsupported value: "blue": supported values: "red", "green"',
            NOT_SUPPORTED,
        ),
        (WHOLE | {"enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"', NOT_SUPPORTED),
        (
            {"enum": ["a", {"b": 1.5}]},
            {"d": 1, "c": 2},
            'Unsupported value: {"c":2,"d":1}: supported values: "a", "{\\"b\\":1.5}"',
            NOT_SUPPORTED,
        ),
        (
            TEXT | {"nullable": True, "enum": ["a"]},
            None,
            'Unsupported value: null: supported values: "a"',
            NOT_SUPPORTED,
        ),
        (
            TEXT | {"format": "date"},
            "soon",
            'Invalid value: "soon": f in body must be of type date: "soon"',
            TYPE_INVALID,
        ),
        (
            TEXT | {"format": "k8s-short-name"},
            "a-",
            'Invalid value: "a-": f in body must be of type k8s-short-name: "a-"',
            TYPE_INVALID,
        ),
        ({"type": "array", "minItems": 1}, [], "Invalid value: 0: f in body should have at least 1 items", INVALID),
        ({"type": "array", "maxItems": 2}, [1, 2, 3], "Too many: 3: must have at most 2 items", TOO_MANY),
        (
            {"type": "array", "uniqueItems": True},
            [{"a": 1}, {"a": 1}],
            'Invalid value: "": f in body shouldn\'t contain duplicates',
            INVALID,
        ),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid value: 0: f in body should have at least 1 properties",
            INVALID,
        ),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, "Too many: 2: must have at most 1 item", TOO_MANY),
        (
            {"type": "object", "additionalProperties": False},
            {"a": 1},
            'Invalid value: "a": f.a in body is a forbidden property',
            INVALID,
        ),
    ],
)
def test_values_that_break_a_constraint_are_told(of_properties, schema, value, error, reason):
    (reported,) = of_properties({"f": schema}).validate({"f": value})
    assert (reported.path, reported.message, reported.reason) == ("f", error, reason)


@pytest.mark.parametrize(
    ("properties", "obj", "errors"),
    [
        ({"spec": {"type": "object", "required": ["size"]}}, {"spec": {}}, ["spec.size: Required value"]),
        (
            {"a": {"type": "array", "items": {"type": "object", "properties": {"b": TEXT}}}},
            {"a": [{"b": "x"}, {"b": 1}]},
            [wrong_type("a[1].b", "string", "integer")],
        ),
        (
            {"a": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": WHOLE}}},
            {"a": {"k": {"l": "x"}}},
            [wrong_type("a.k.l", "integer", "string")],
        ),
        (
            {"a": TEXT, "b": TEXT},
            {"b": 1, "a": 2},
            [wrong_type("a", "string", "integer"), wrong_type("b", "string", "integer")],
        ),
        (
            {"a": WHOLE | {"enum": [1, 2]}},
            {"a": "x"},
            [wrong_type("a", "integer", "string"), 'a: Unsupported value: "x": supported values: "1", "2"'],
        ),
    ],
)
def test_errors_name_their_places(of_properties, properties, obj, errors):
    assert errors_of(of_properties(properties), obj) == errors


def test_what_the_whole_object_lacks_is_told_at_its_root(of_properties):
    schema = of_properties({}, required=["spec"], minProperties=3)
    assert errors_of(schema, {"kind": "A"}) == [
        "<nil>: Invalid value: 1:  in body should have at least 3 properties",
        "spec: Required value",
    ]


@pytest.mark.parametrize(
    ("size", "errors"),
    [
        (3, []),
        ({}, ['status.size: Invalid value: "object": size in body must be of type integer: "object"']),
        (-1, ["status.size: Invalid value: -1: size in body should be greater than or equal to 0"]),
    ],
)
def test_a_status_is_validated_alone(of_properties, size, errors):
    status = {"type": "object", "properties": {"size": WHOLE | {"minimum": 0}}}
    schema = of_properties({"spec": TEXT, "status": status})
    assert [str(error) for error in schema.validate_status({"spec": 1, "status": {"size": size}}, {})] == errors


def test_a_status_without_a_schema_is_good(of_properties):
    assert of_properties({}).validate_status({"status": 5}, {}) == []
    assert of_properties({"status": WHOLE}).validate_status({"spec": 1}, {"status": "x"}) == []


def test_a_format_is_nothing_to_a_release_that_does_not_know_it(types):
    older = Schema(types.definitions, "1.33")
    schema = {"type": "object", "properties": {"f": TEXT | {"format": "k8s-short-name"}}}
    assert errors_of(StructuralSchema(schema, older), {"f": "A-"}) == []
    assert errors_of(StructuralSchema(schema, types), {"f": "A-"}) != []
