import pytest

from apiserver.api.meta import Obj

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ANY = '<nil>: Invalid value: "": "{}" must validate at least one schema (anyOf)'
ONE = '<nil>: Invalid value: "": "{}" must validate one and only one schema (oneOf). {}'
ALL = '<nil>: Invalid value: "": "{}" must validate all the schemas (allOf){}'
NOT = '<nil>: Invalid value: "": "{}" must not validate the schema (not)'


def of(**properties):
    return {"type": "object", "properties": properties}


def errors_of(schema, obj):
    return [str(error) for error in schema.validate(obj)]


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (TEXT | {"anyOf": [{"maxLength": 1}, {"pattern": "^a"}]}, "abc", []),
        (
            TEXT | {"anyOf": [{"maxLength": 1}, {"pattern": "^a"}]},
            "bcd",
            [ANY.format("f"), "f: Too long: may not be more than 1 byte"],
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [WHOLE, TEXT]},
            True,
            [
                'f: Invalid value: "boolean": f in body must be of type integer,string: "boolean"',
                ANY.format("f"),
                'f: Invalid value: "boolean": f in body must be of type integer: "boolean"',
            ],
        ),
        (
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [WHOLE, TEXT]}]},
            {},
            [
                'f: Invalid value: "object": f in body must be of type integer,string: "object"',
                ANY.format("f"),
                'f: Invalid value: "object": f in body must be of type integer: "object"',
                ALL.format("f", ". None validated"),
            ],
        ),
        (of(a=TEXT, b=TEXT) | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"}, []),
        (
            of(a=TEXT, b=TEXT) | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [ONE.format("f", "Found none valid"), "f.a: Required value"],
        ),
        (
            of(a=TEXT, b=TEXT) | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x", "b": "y"},
            [ONE.format("f", "Found 2 valid alternatives")],
        ),
        (TEXT | {"allOf": [{"minLength": 1}, {"maxLength": 3}]}, "ab", []),
        (
            TEXT | {"allOf": [{"minLength": 1}, {"maxLength": 3}]},
            "",
            ['f: Invalid value: "": f in body should be at least 1 chars long', ALL.format("f", "")],
        ),
        (TEXT | {"not": {"pattern": "^x"}}, "ax", []),
        (TEXT | {"not": {"pattern": "^x"}}, "xa", [NOT.format("f")]),
        (of(a=WHOLE) | {"not": {"required": ["a"]}}, {"a": 1}, [NOT.format("f")]),
    ],
)
def test_junctors_tell_what_upstream_tells(of_properties, schema, value, errors):
    assert errors_of(of_properties({"f": schema}), {"f": value}) == errors


def test_of_alternatives_the_one_that_fits_best_is_told(of_properties):
    parts = of(kind=TEXT, size=WHOLE, name=TEXT)
    alternatives = [
        {"properties": {"kind": {"enum": ["a"]}, "name": {"maxLength": 1}}},
        {"properties": {"kind": {"enum": ["b"]}, "name": {"minLength": 1}, "size": {"minimum": 5}}},
    ]
    errors = errors_of(
        of_properties({"f": parts | {"anyOf": alternatives}}), {"f": {"kind": "b", "name": "long", "size": 1}}
    )
    assert errors == [ANY.format("f"), "f.size: Invalid value: 1: f.size in body should be greater than or equal to 5"]


def test_the_same_is_told_once(of_properties):
    schema = TEXT | {"minLength": 2, "allOf": [{"minLength": 2}]}
    assert errors_of(of_properties({"f": schema}), {"f": "a"}) == [
        'f: Invalid value: "a": f in body should be at least 2 chars long',
        ALL.format("f", ". None validated"),
    ]


def test_a_null_is_not_looked_at_by_junctors(of_properties):
    assert errors_of(of_properties({"f": TEXT | {"nullable": True, "anyOf": [{"minLength": 2}]}}), {"f": None}) == []


def test_the_whole_object_may_have_junctors(of_properties):
    schema = of_properties({"a": TEXT, "b": TEXT}, anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    assert errors_of(schema, {"b": "x"}) == []
    assert errors_of(schema, {}) == [ANY.format(""), "a: Required value"]


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_however_deep_junctors_are_nested_each_is_compiled_once(of_properties, word):
    nested: Obj = {"minProperties": 1}
    for _ in range(90):
        nested = {word: [nested]}
    schema = of_properties({"f": of() | nested})
    assert errors_of(schema, {"f": {"a": 1}}) == []
    assert errors_of(schema, {"f": {}}) != []
