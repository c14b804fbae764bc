"""Words that schemas of custom resources may not have, and what must go together in them."""

import json
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.schemas import validation
from apiserver.apiextensions.validation.strictness import Strictness

PATH = "spec.validation.openAPIV3Schema"
STRICT = Strictness()


def errors_of(schema: Obj, *, status: bool = False, strict: Strictness = STRICT) -> list[str]:
    """Return the validation errors of a schema, with paths relative to it."""
    errors = validation("spec.validation", {"openAPIV3Schema": schema}, strict, status=status)
    assert all(error.path.startswith(PATH) for error in errors)
    return [str(error).removeprefix(PATH).removeprefix(".") for error in errors]


def of_field(**schema: Any) -> list[str]:
    """Return the validation errors of the schema of one field."""
    errors = errors_of({"type": "object", "properties": {"f": schema}})
    return [error.removeprefix("properties[f].") for error in errors]


def test_there_need_be_no_schema_here():
    assert validation("spec.validation", None, STRICT, status=True) == []
    assert validation("spec.validation", {}, STRICT, status=True) == []


def test_a_schema_of_all_words_that_there_are_is_accepted():
    rich = {
        "description": "d",
        "title": "t",
        "format": "date",
        "maximum": 1,
        "minimum": 0,
        "maxLength": 1,
        "minLength": 1,
        "pattern": "^a$",
        "maxItems": 1,
        "minItems": 0,
        "multipleOf": 1,
        "enum": ["a"],
        "maxProperties": 1,
        "minProperties": 0,
        "type": "string",
        "nullable": True,
        "externalDocs": {"url": "https://example.com"},
        "example": "a",
    }
    assert of_field(**rich) == []


def test_types_are_those_of_openapi():
    words = (
        'Unsupported value: "strange": supported values: "array", "boolean", "integer", "number", "object", "string"'
    )
    assert of_field(type="strange") == [f"type: {words}"]
    assert of_field(type="null", nullable=True) == [
        f"type: {words.replace('strange', 'null')}",
        "type: Forbidden: type cannot be set to null, use nullable as an alternative",
    ]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("id", "x"),
        ("additionalItems", False),
        ("patternProperties", {"a": {"type": "string"}}),
        ("definitions", {"a": {"type": "string"}}),
        ("dependencies", {"a": ["b"]}),
        ("$ref", "#/a"),
    ],
)
def test_schemas_stand_for_themselves(word, value):
    assert of_field(type="string", **{word: value}) == [f"{word}: Forbidden: {word} is not supported"]


def test_a_url_of_a_schemas_language_is_refused_where_nothing_else_is():
    assert errors_of({"type": "object", "$schema": "http://json-schema.org/schema#"}) == [
        ": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
    ]


def test_all_items_are_of_one_schema():
    assert of_field(type="array", items=[{"type": "string"}]) == [
        "items: Forbidden: items must be a schema object and not an array"
    ]


def test_items_cannot_be_said_to_be_unique():
    words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    assert of_field(type="array", items={"type": "string"}, uniqueItems=True) == [f"uniqueItems: Forbidden: {words}"]


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        (True, []),
        (False, ["additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"]),
        (
            {"type": "string"},
            ["additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
    ],
)
def test_fields_have_names_or_are_those_of_a_map(values, errors):
    assert of_field(type="object", properties={"a": {"type": "string"}}, additionalProperties=values) == errors


def test_unknown_fields_are_preserved_or_nothing_is_said():
    assert of_field(**{"type": "object", "x-kubernetes-preserve-unknown-fields": False}) == [
        "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"
    ]


def test_what_is_wrong_is_found_wherever_it_stands():
    bad = {"type": "object", "$ref": "#"}
    schema = {
        "type": "object",
        "additionalProperties": bad,
        "not": bad,
        "allOf": [bad],
        "oneOf": [bad],
        "anyOf": [{"type": "object"}, bad],
        "items": bad,
        "definitions": {"d": bad},
        "dependencies": {"e": bad},
    }
    errors = [error.removesuffix(".$ref: Forbidden: $ref is not supported") for error in of_field(**schema)]
    assert [path for path in errors if ":" not in path] == [
        "additionalProperties",
        "not",
        "allOf[0]",
        "oneOf[0]",
        "anyOf[1]",
        "definitions[d]",
        "items",
        "dependencies[e]",
    ]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "object", "x-kubernetes-map-type": "atomic"}, []),
        ({"type": "object", "x-kubernetes-map-type": "granular"}, []),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "granular"},
            ['type: Invalid value: "array": must be object if x-kubernetes-map-type is specified'],
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"},
            ["type: Required value: must be object if x-kubernetes-map-type is specified"],
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "badMapType"},
            [('x-kubernetes-map-type: Unsupported value: "badMapType": supported values: "atomic", "granular"')],
        ),
    ],
)
def test_a_map_type_is_one_of_two_and_of_objects(schema, errors):
    assert of_field(**schema) == errors


def list_of(list_type: str, items: Any, **more: Any) -> Obj:
    return {"type": "array", "x-kubernetes-list-type": list_type, "items": items} | more


KEYS = "x-kubernetes-list-map-keys"
STRING = {"type": "string"}
ITEM_OF_SET = "must be atomic as item of a list with x-kubernetes-list-type=set"
KEYED = {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]}


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (list_of("atomic", {"type": "object"}), []),
        (list_of("set", STRING), []),
        (list_of("set", {"type": "object", "x-kubernetes-map-type": "atomic"}), []),
        (list_of("set", {"type": "array", "items": STRING}), []),
        (list_of("map", KEYED, **{KEYS: ["a"]}), []),
        (
            {"type": "object", "x-kubernetes-list-type": "atomic"},
            ['type: Invalid value: "object": must be array if x-kubernetes-list-type is specified'],
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-list-type": "set"},
            ["type: Required value: must be array if x-kubernetes-list-type is specified"],
        ),
        (
            list_of("bag", STRING),
            ['x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
        ),
        (
            list_of("set", {"type": "object", "x-kubernetes-map-type": "granular"}),
            [f"items.x-kubernetes-map-type: Invalid value: null: {ITEM_OF_SET}"],
        ),
        (list_of("set", {"type": "object"}), [f"items.x-kubernetes-map-type: Invalid value: null: {ITEM_OF_SET}"]),
        (
            list_of("set", list_of("set", STRING)),
            [f'items.x-kubernetes-list-type: Invalid value: "set": {ITEM_OF_SET}'],
        ),
        (
            list_of("set", {"type": "string", "nullable": True}),
            ["items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
        ),
        (
            list_of("map", KEYED),
            [f"{KEYS}: Required value: must not be empty if x-kubernetes-list-type is map"],
        ),
        (
            {"type": "array", "items": KEYED, KEYS: ["a"]},
            ["x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
        ),
        (
            list_of("set", STRING, **{KEYS: ["a"]}),
            [('x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty')],
        ),
        (
            list_of("map", STRING, **{KEYS: ["a"]}),
            ['items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map'],
        ),
        (
            list_of("map", KEYED, **{KEYS: ["a", "c", "a"]}),
            [
                f'{KEYS}: Invalid value: ["a","c","a"]: entries must all be names of item properties',
                f'{KEYS}: Invalid value: ["a","c","a"]: must not contain duplicate entries',
            ],
        ),
        (
            list_of(
                "map", {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}, **{KEYS: ["a"]}
            ),
            [
                (
                    'items.properties[a].type: Invalid value: "object": '
                    "must be a scalar type if parent array's x-kubernetes-list-type is map"
                )
            ],
        ),
        (
            list_of("map", KEYED | {"required": ["a"], "nullable": True}, **{KEYS: ["a", "b"]}),
            [
                "items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
                (
                    "items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, "
                    "so it must have a default or be a required property"
                ),
            ],
        ),
        (
            list_of(
                "map",
                {"type": "object", "properties": {"a": {"type": "string", "default": "x", "nullable": True}}},
                **{KEYS: ["a"]},
            ),
            [
                (
                    "items.properties[a].nullable: Forbidden: "
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
                )
            ],
        ),
    ],
)
def test_lists_that_are_merged_say_how(schema, errors):
    assert of_field(**schema) == errors


def test_a_map_of_several_schemas_of_items_is_printed_as_go_has_it():
    listed = list_of("map", [STRING], **{KEYS: ["a"]})
    (error,) = [each for each in of_field(**listed) if "single schema" in each]
    head, _, rest = error.partition(": Invalid value: ")
    printed, _, words = rest.rpartition(": ")
    assert (head, words) == ("items", "must only have a single schema if x-kubernetes-list-type is map")
    assert json.loads(printed)["Schema"] is None
    assert json.loads(printed)["JSONSchemas"][0]["Type"] == "string"


def test_the_metadata_of_objects_has_no_defaults_of_its_own():
    metadata = {"type": "object", "properties": {"name": {"type": "string", "default": "n"}}}
    assert errors_of({"type": "object", "properties": {"metadata": metadata}}) == [
        "properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"
    ]
    kind = {"type": "string", "default": "Widget"}
    assert errors_of({"type": "object", "properties": {"kind": kind}}) == [
        "properties[kind].default: Forbidden: must not be set in top-level kind"
    ]


def embedded(metadata: Obj) -> list[str]:
    errors = of_field(
        **{
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"metadata": metadata},
        }
    )
    return [error.removeprefix("properties[metadata].") for error in errors]


def test_labels_of_an_embedded_object_have_no_defaults_each():
    labels = {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
    assert embedded({"type": "object", "properties": {"labels": labels}}) == [
        (
            "properties[labels].additionalProperties.default: Forbidden: "
            "must not be set inside additionalProperties applying to object metadata"
        )
    ]


def test_no_object_is_embedded_in_metadata():
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    assert embedded({"type": "object", "properties": {"x": inner}}) == [
        "properties[x].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta"
    ]


def test_whole_objects_are_not_null():
    assert errors_of({"type": "object", "nullable": True}) == [
        "nullable: Forbidden: nullable cannot be true at the root"
    ]


ROOT_ONLY = (
    "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations] fields are allowed at the root of the schema if the status subresource is enabled"
)


def test_where_the_status_is_apart_the_root_says_nothing_that_binds_it_to_the_rest():
    allowed = {"type": "object", "description": "d", "required": ["spec"], "properties": {"spec": {"type": "object"}}}
    assert errors_of(allowed, status=True) == []
    (error,) = errors_of(allowed | {"maxProperties": 3, "anyOf": [{"minProperties": 1}]}, status=True)
    assert error.endswith(f": {ROOT_ONLY}")
    printed = json.loads(error.removeprefix(": Invalid value: ").removesuffix(f": {ROOT_ONLY}"))
    assert (printed["MaxProperties"], printed["AnyOf"][0]["MinProperties"]) == (3, 1)
    assert errors_of(allowed | {"maxProperties": 3}) == []


def test_where_the_status_is_apart_the_root_is_an_object():
    words = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    assert errors_of({"type": "string"}, status=True) == [
        f'type: Invalid value: "string": {words}',
        'type: Invalid value: "string": must be object at the root',
    ]


def test_a_schema_that_is_not_structural_is_refused_with_all_else_that_is_wrong():
    assert errors_of({"type": "object", "properties": {"a": {}, "b": {"type": "string", "$ref": "x"}}}) == [
        "properties[b].$ref: Forbidden: $ref is not supported"
    ]
    assert errors_of({"type": "object", "properties": {"a": {}}}) == [
        "properties[a].type: Required value: must not be empty for specified object fields"
    ]
