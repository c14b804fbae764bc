import pytest

from apiserver.api.validation.embedded import validate_embedded
from apiserver.apiextensions.structural import default_errors, has_unpruned_default

EMBEDDED, PRESERVE = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def of(**properties):
    return {"type": "object", "properties": properties}


def errors_of(schema, **options):
    return [str(error) for error in default_errors(schema, "s", validate_embedded, **options)]


@pytest.mark.parametrize(
    "schema",
    [
        of(a=WHOLE | {"default": 5}),
        of(a=of(b=TEXT) | {"default": {"b": "x"}}),
        of(a=TEXT | {"nullable": True, "default": None}),
        of(a={PRESERVE: True, "type": "object", "default": {"any": 1}}),
        of(a={EMBEDDED: True, PRESERVE: True, "type": "object", "default": {"apiVersion": "v1", "kind": "Pod"}}),
        of(a={EMBEDDED: True, **of(kind=TEXT | {"default": "Pod"})}),
        of(a={EMBEDDED: True, **of(metadata=of(labels={"type": "object", "default": {"a": "b"}}))}),
        of(
            a={
                "type": "object",
                "additionalProperties": of(b=WHOLE | {"default": "no whole number, but nobody looks here"}),
            }
        ),
    ],
)
def test_good_defaults_are_good(schema):
    assert errors_of(schema) == []


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (
            of(spec=of(a=WHOLE | {"default": "many"})),
            [
                (
                    's.properties[spec].properties[a].default: Invalid value: "string":  '
                    'in body must be of type integer: "string"'
                )
            ],
        ),
        (
            of(a=of(b=WHOLE | {"minimum": 5}) | {"default": {"b": 1}}),
            ["s.properties[a].default.b: Invalid value: 1: b in body should be greater than or equal to 5"],
        ),
        (
            of(a=of(b=TEXT) | {"required": ["b"], "default": {}}),
            ["s.properties[a].default.b: Required value"],
        ),
        (
            of(a={"type": "array", "items": TEXT | {"maxLength": 1, "default": "long"}}),
            ["s.properties[a].items.default: Too long: may not be more than 1 byte"],
        ),
        (
            of(a=of(b=TEXT) | {"default": {"c": 1, "b": "x"}}),
            ['s.properties[a].default: Invalid value: {"b":"x","c":1}: must not have unknown fields'],
        ),
        (
            of(a={EMBEDDED: True, PRESERVE: True, "type": "object", "default": {}}),
            ["s.properties[a].default.apiVersion: Required value", "s.properties[a].default.kind: Required value"],
        ),
        (
            of(a={EMBEDDED: True, PRESERVE: True, "type": "object", "default": {"kind": 1}}),
            ["s.properties[a].default.kind: Invalid value: 1: must be a string"],
        ),
        (
            of(a={EMBEDDED: True, **of(metadata=of(name=TEXT | {"default": "a/b"}))}),
            [
                (
                    's.properties[a].properties[metadata].properties[name].default: Invalid value: "a/b": '
                    "must result in valid metadata: metadata.name: Invalid value: \"a/b\": may not contain '/'"
                )
            ],
        ),
        (
            of(a={EMBEDDED: True, **of(metadata=of(finalizers={"type": "array", "items": WHOLE | {"default": 5}}))}),
            [
                (
                    "s.properties[a].properties[metadata].properties[finalizers].items.default: Invalid value: 5: "
                    'must result in valid metadata: metadata: Invalid value: {"finalizers":[5]}: '
                    "json: cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string"
                )
            ],
        ),
        (
            of(
                a={
                    EMBEDDED: True,
                    **of(apiVersion=TEXT | {"default": "a/b/c"}, kind=TEXT | {"default": "P", "maxLength": 0}),
                }
            ),
            [
                (
                    's.properties[a].properties[apiVersion].default: Invalid value: "a/b/c": '
                    "must result in valid metadata: "
                    'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'
                ),
                "s.properties[a].properties[kind].default: Too long: may not be more than 0 bytes",
            ],
        ),
    ],
)
def test_a_default_that_breaks_its_schema_is_told(schema, errors):
    assert errors_of(schema) == errors


def test_unknown_fields_may_stay_where_they_were():
    schema = of(a=of(b=TEXT) | {"default": {"c": 1}})
    assert has_unpruned_default(schema)
    assert errors_of(schema, pruned=False) == []
    assert not has_unpruned_default(of(a=of(b=TEXT) | {"default": {"b": "x"}}))
