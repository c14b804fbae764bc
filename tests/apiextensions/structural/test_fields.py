import pytest

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.schema.go_types import load_go_types

PRESERVE = "x-kubernetes-preserve-unknown-fields"
TEXT = {"type": "string"}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEM = {"type": "object", "properties": {"k": TEXT, "v": TEXT}}


def of(**properties):
    return {"type": "object", "properties": properties}


@pytest.fixture
def root(types):
    fields = FieldSchema(types.definitions, load_go_types())
    return lambda **properties: fields.custom(of(**properties))


@pytest.mark.parametrize(
    ("schema", "value", "owned"),
    [
        (TEXT, "x", {}),
        (of(a=TEXT, b=TEXT), {"a": "x"}, {".": {}, "f:a": {}}),
        (of(a=TEXT), {}, {}),
        ({"type": "object"}, {}, {}),
        (of(a=TEXT) | {"x-kubernetes-map-type": "atomic"}, {"a": "x"}, {}),
        ({"type": "object", "additionalProperties": TEXT}, {"a": "x"}, {".": {}, "f:a": {}}),
        (
            {"type": "object", "additionalProperties": of(b=TEXT)},
            {"a": {"b": "x"}},
            {".": {}, "f:a": {".": {}, "f:b": {}}},
        ),
        ({"type": "array", "items": TEXT}, ["x"], {}),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"}, ["x"], {}),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["x"], {".": {}, 'v:"x"': {}}),
        (
            {"type": "array", "items": ITEM} | KEYED,
            [{"k": "x", "v": "y"}],
            {".": {}, 'k:{"k":"x"}': {".": {}, "f:k": {}, "f:v": {}}},
        ),
        ({PRESERVE: True}, {"a": {"b": [1]}}, {".": {}, "f:a": {".": {}, "f:b": {}}}),
        ({PRESERVE: True}, [1], {}),
        (of(a=TEXT) | {PRESERVE: True}, {"z": {"y": 1}}, {".": {}, "f:z": {".": {}, "f:y": {}}}),
        ({"x-kubernetes-int-or-string": True}, 5, {}),
        # values of other types, which nobody has refused yet
        (of(a=TEXT), "text", {}),
        (of(a=TEXT), ["text"], {}),
        ({"type": "object", "additionalProperties": of(b=TEXT)}, {"a": None}, {".": {}, "f:a": {}}),
        ({"type": "array", "items": ITEM} | KEYED, {"a": 1}, {}),
        ({"type": "array", "items": ITEM} | KEYED, [None], {".": {}, "v:null": {}}),
        (TEXT, {"a": 1}, {}),
    ],
)
def test_a_new_field_is_owned_part_by_part(root, schema, value, owned):
    assert root(f=schema).created_field_set({"apiVersion": "a/v1", "kind": "A", "f": value}) == {"f:f": owned}


@pytest.mark.parametrize(
    ("schema", "old", "new", "changed", "removed"),
    [
        (of(a=TEXT, b=TEXT), {"a": "x", "b": "y"}, {"a": "z"}, {"f:a": {}}, {"f:b": {}}),
        (
            {"type": "array", "items": ITEM} | KEYED,
            [{"k": "x", "v": "1"}, {"k": "y"}],
            [{"k": "x", "v": "2"}],
            {'k:{"k":"x"}': {"f:v": {}}},
            {'k:{"k":"y"}': {".": {}, "f:k": {}}},
        ),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a"], ["b"], {'v:"b"': {}}, {'v:"a"': {}}),
        ({PRESERVE: True}, {"a": 1}, {"a": 2}, {"f:a": {}}, None),
        (of(a=TEXT), "text", {"a": "x"}, {".": {}, "f:a": {}}, None),
    ],
)
def test_a_change_is_owned_part_by_part(root, schema, old, new, changed, removed):
    owned = root(f=schema).changes({"f": old}, {"f": new})
    assert owned.changed == {"f:f": changed}
    assert owned.removed == ({} if removed is None else {"f:f": removed})


def test_metadata_is_owned_as_in_all_kinds(root):
    meta = {"name": "n", "namespace": "s", "uid": "u", "labels": {"a": "b"}}
    assert root().created_field_set({"metadata": meta}) == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
