import pytest

TEXT = {"type": "string", "maxLength": 1}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEM = {"type": "object", "properties": {"k": {"type": "string"}, "v": TEXT}}


def of(**properties):
    return {"type": "object", "properties": properties}


def places(errors):
    return [error.path for error in errors]


@pytest.mark.parametrize(
    ("properties", "old", "new", "wrong"),
    [
        # what was wrong and stays is let through; what is changed must be good
        ({"a": TEXT, "b": TEXT}, {"a": "long"}, {"a": "long", "b": "x"}, []),
        ({"a": TEXT, "b": TEXT}, {"a": "long"}, {"a": "other", "b": "x"}, ["a"]),
        ({"a": TEXT, "b": TEXT}, {"a": "long"}, {"a": "long", "b": "long"}, ["b"]),
        ({"a": TEXT, "b": TEXT}, {"b": "x"}, {"a": "long"}, ["a"]),
        ({"a": of(b=TEXT, c=TEXT)}, {"a": {"b": "long", "c": "x"}}, {"a": {"b": "long", "c": "y"}}, []),
        # 1 is not 1.0, nor true
        ({"a": {"type": "string"}}, {"a": 1}, {"a": 1}, []),
        ({"a": {"type": "string"}}, {"a": 1}, {"a": 1.0}, ["a"]),
        ({"a": {"type": "string"}}, {"a": 1}, {"a": True}, ["a"]),
        # what is missing is let through where the object is the same
        (
            {"a": of(b=TEXT) | {"required": ["c"]}, "d": TEXT},
            {"a": {"b": "x"}, "d": "x"},
            {"a": {"b": "x"}, "d": "y"},
            [],
        ),
        ({"a": of(b=TEXT) | {"required": ["c"]}}, {"a": {"b": "x"}}, {"a": {"b": "y"}}, ["a.c"]),
        # an object with a field that the schema does not mention never counts as the same
        (
            {"a": of(b=TEXT) | {"x-kubernetes-preserve-unknown-fields": True, "required": ["c"]}},
            {"a": {"x": 1}},
            {"a": {"x": 1}},
            ["a.c"],
        ),
        # maps, by key
        ({"a": {"type": "object", "additionalProperties": TEXT}}, {"a": {"k": "long"}}, {"a": {"k": "long"}}, []),
        (
            {"a": {"type": "object", "additionalProperties": TEXT}},
            {"a": {"k": "long"}},
            {"a": {"l": "long"}},
            ["a.l"],
        ),
        # lists with keys, item by item in any order
        (
            {"a": {"type": "array", "items": ITEM} | KEYED},
            {"a": [{"k": "1", "v": "long"}, {"k": "2", "v": "x"}]},
            {"a": [{"k": "2", "v": "y"}, {"k": "1", "v": "long"}]},
            [],
        ),
        (
            {"a": {"type": "array", "items": ITEM} | KEYED},
            {"a": [{"k": "1", "v": "long"}]},
            {"a": [{"k": "2", "v": "long"}]},
            ["a[0].v"],
        ),
        (
            {"a": {"type": "array", "items": ITEM, "maxItems": 1} | KEYED},
            {"a": [{"k": "1"}, {"k": "2"}]},
            {"a": [{"k": "2"}, {"k": "1"}]},
            [],
        ),
        # other lists, as a whole
        ({"a": {"type": "array", "items": TEXT}}, {"a": ["long"]}, {"a": ["long"]}, []),
        ({"a": {"type": "array", "items": TEXT}}, {"a": ["long"]}, {"a": ["long", "x"]}, ["a[0]"]),
        (
            {"a": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}},
            {"a": ["long", "x"]},
            {"a": ["x", "long"]},
            ["a[1]"],
        ),
        # junctors: the value that they are of is the same, or it is not
        ({"a": of(b=TEXT) | {"anyOf": [{"required": ["c"]}]}}, {"a": {}}, {"a": {}}, []),
        (
            {"a": of(b={"type": "string"}) | {"allOf": [{"properties": {"b": {"maxLength": 1}}}]}},
            {"a": {"b": "long"}},
            {"a": {"b": "long"}},
            [],
        ),
    ],
)
def test_an_update_lets_through_what_was_wrong_before(of_properties, properties, old, new, wrong):
    schema = of_properties(properties)
    assert places(schema.validate(new, old)) == wrong


def test_junctors_do_not_let_fields_through_by_themselves(of_properties):
    part = of(b={"type": "string"}, c={"type": "string"}) | {"allOf": [{"properties": {"b": {"maxLength": 1}}}]}
    errors = of_properties({"a": part}).validate({"a": {"b": "long", "c": "y"}}, {"a": {"b": "long", "c": "x"}})
    assert places(errors) == ["a.b", "<nil>"]


def test_versions_and_kinds_are_always_looked_at(of_properties):
    schema = of_properties({"kind": TEXT, "apiVersion": TEXT, "a": TEXT})
    old = {"kind": "Long", "apiVersion": "a/v1", "a": "x"}
    assert places(schema.validate(old | {"a": "y"}, old)) == ["kind", "apiVersion"]


def test_a_status_lets_through_what_was_wrong_before(of_properties):
    schema = of_properties({"status": of(a=TEXT, b=TEXT)})
    old = {"status": {"a": "long"}}
    assert schema.validate_status({"status": {"a": "long", "b": "x"}}, old) == []
    assert places(schema.validate_status({"status": {"a": "other"}}, old)) == ["status.a"]
    assert places(schema.validate_status({"status": {"a": "other"}}, {})) == ["status.a"]
