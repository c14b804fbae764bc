import pytest

from apiserver.apiextensions.structural import in_version_2, published

EMBEDDED, PRESERVE = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
AN_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
FOO = ("bar.example.com", "v1", "Foo")
GVK = [{"group": "bar.example.com", "version": "v1", "kind": "Foo"}]
META_REF = "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
TEXT = {"type": "string"}
KIND = {"description": "...", "type": "string"}
METADATA = {"description": "...", "allOf": [{"$ref": META_REF}]}
META = {"apiVersion": KIND, "kind": KIND, "metadata": METADATA}
META_V2 = META | {"metadata": {"description": "...", "$ref": META_REF}}


def of(**properties):
    return {"type": "object", "properties": properties}


def without_words(value):
    """The schema with the release's long descriptions cut."""
    if isinstance(value, dict):
        return {
            key: "..." if key == "description" and isinstance(inner, str) and len(inner) > 40 else without_words(inner)
            for key, inner in value.items()
        }
    return [*map(without_words, value)] if isinstance(value, list) else value


@pytest.fixture
def shown(types):
    def both(schema, **options):
        third = published(schema, FOO, types.definitions, **options)
        return without_words(third), without_words(in_version_2(third))

    return both


def test_without_a_schema_nothing_is_told(shown):
    whole = {"type": "object", "x-kubernetes-group-version-kind": GVK}
    assert shown(None) == (whole, whole)


def test_objects_have_metadata(shown):
    third, second = shown({"type": "object"})
    assert third == {"type": "object", "properties": META, "x-kubernetes-group-version-kind": GVK}
    assert second == {"type": "object", "properties": META_V2, "x-kubernetes-group-version-kind": GVK}


def test_a_root_that_keeps_all_tells_version_2_nothing(shown):
    third, second = shown({**of(spec=TEXT), PRESERVE: True}, selectable=[".spec.color"])
    assert third["properties"] == META | {"spec": TEXT}
    assert third["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.color"}]
    assert second == {
        "type": "object",
        "x-kubernetes-group-version-kind": GVK,
        "x-kubernetes-selectable-fields": [{"fieldPath": "spec.color"}],
    }


@pytest.mark.parametrize(
    ("schema", "third", "second"),
    [
        (TEXT | {"description": "d", "maxLength": 5}, None, TEXT | {"description": "d", "maxLength": 5}),
        (TEXT | {"default": "x"}, None, TEXT),
        (TEXT | {"default": None}, TEXT, TEXT),
        (TEXT | {"nullable": True, "maxLength": 5}, None, {"maxLength": 5}),
        (of(a=TEXT) | {"nullable": True}, None, {}),
        (
            of(a=TEXT | {"nullable": True}, b=TEXT) | {"required": ["a", "b"]},
            None,
            of(a={}, b=TEXT) | {"required": ["b"]},
        ),
        (of(a=TEXT | {"nullable": True}) | {"required": ["a"]}, None, of(a={})),
        ({"type": "array", "items": TEXT, "nullable": True}, None, {}),
        ({"type": "array", "items": TEXT, PRESERVE: True}, None, {PRESERVE: True}),
        ({PRESERVE: True}, None, {PRESERVE: True}),
        (of(a=TEXT) | {PRESERVE: True}, None, {PRESERVE: True}),
        (
            of(a=TEXT) | {"anyOf": [{"required": ["a"]}], "oneOf": [{}], "allOf": [{}], "not": {"required": ["b"]}},
            None,
            of(a=TEXT),
        ),
        ({INT_OR_STRING: True}, {INT_OR_STRING: True, "anyOf": AN_INT_OR_STRING}, {INT_OR_STRING: True}),
        ({INT_OR_STRING: True, "anyOf": AN_INT_OR_STRING}, None, {INT_OR_STRING: True}),
        (
            {INT_OR_STRING: True, "anyOf": [{"minimum": 1}], "allOf": [{"maximum": 2}]},
            {INT_OR_STRING: True, "anyOf": [{"minimum": 1}], "allOf": [{"anyOf": AN_INT_OR_STRING}, {"maximum": 2}]},
            {INT_OR_STRING: True},
        ),
        (
            {INT_OR_STRING: True, "allOf": [{"anyOf": AN_INT_OR_STRING}]},
            None,
            {INT_OR_STRING: True},
        ),
        (
            of(spec=TEXT) | {EMBEDDED: True, "required": ["spec"]},
            of(spec=TEXT, **META) | {EMBEDDED: True, "required": ["spec", "kind", "apiVersion"]},
            of(spec=TEXT, **META_V2) | {EMBEDDED: True, "required": ["spec", "kind", "apiVersion"]},
        ),
        (
            {"type": "object", EMBEDDED: True, PRESERVE: True},
            of(**META) | {EMBEDDED: True, PRESERVE: True, "required": ["kind", "apiVersion"]},
            {EMBEDDED: True, PRESERVE: True},
        ),
        (
            {"type": "array", "items": {"type": "object", "additionalProperties": {INT_OR_STRING: True}}},
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": {INT_OR_STRING: True, "anyOf": AN_INT_OR_STRING},
                },
            },
            {"type": "array", "items": {"type": "object", "additionalProperties": {INT_OR_STRING: True}}},
        ),
        ({"type": "object", "additionalProperties": True}, None, {"type": "object", "additionalProperties": True}),
    ],
)
def test_a_field_is_told_in_both_versions(shown, schema, third, second):
    documents = shown(of(f=schema))
    assert documents[0]["properties"]["f"] == (schema if third is None else third)
    assert documents[1]["properties"]["f"] == second


def test_the_schema_itself_stays_as_it_is(shown):
    schema = of(f={INT_OR_STRING: True}, g=of(kind=TEXT) | {EMBEDDED: True, "required": []})
    before = repr(schema)
    shown(schema)
    assert repr(schema) == before
