import pytest

from apiserver.apiextensions.structural import structural_errors, unsupported

EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
AN_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def errors_of(schema):
    return [str(error) for error in structural_errors(schema, "s")]


def of(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", PRESERVE: True},
        of(a={"type": "string"}, b={"type": "array", "items": {"type": "integer"}}),
        of(a={"type": "object", "additionalProperties": {"type": "string"}}),
        of(a={PRESERVE: True}, b={INT_OR_STRING: True}),
        of(a={INT_OR_STRING: True, "anyOf": AN_INT_OR_STRING}),
        of(a={INT_OR_STRING: True, "allOf": [{"anyOf": AN_INT_OR_STRING}, {"minimum": 1}]}),
        of(a={"type": "object", EMBEDDED: True, PRESERVE: True}),
        of(a={"type": "object", EMBEDDED: True, **of(spec={"type": "object"})}),
        of(kind={"type": "string"}, apiVersion={"type": "string"}, metadata={"type": "object"}),
        of(metadata={"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}}),
        of(metadata={"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}),
        {**of(a={"type": "string"}), "oneOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 1}}}]},
        {**of(a={"type": "string"}), "not": {"properties": {"a": {"pattern": "^x"}}}},
    ],
)
def test_a_structural_schema_is_one(schema):
    assert errors_of(schema) == []
    assert unsupported(schema) == ""


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({}, ["s.type: Required value: must not be empty at the root"]),
        ({"type": "string"}, ['s.type: Invalid value: "string": must be object at the root']),
        (
            of(spec={"properties": {"a": {}}}),
            [
                "s.properties[spec].properties[a].type: Required value: must not be empty for specified object fields",
                "s.properties[spec].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (of(a={"type": "array"}), ["s.properties[a].items: Required value: must be specified"]),
        (
            of(a={"type": "array", "items": {}}),
            ["s.properties[a].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            {"type": "object", "additionalProperties": False},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            of(m={"type": "object", "additionalProperties": {}}),
            [
                (
                    "s.properties[m].additionalProperties.type: "
                    "Required value: must not be empty for specified object fields"
                )
            ],
        ),
        (
            of(a={INT_OR_STRING: True, PRESERVE: True}),
            [f"s.properties[a].{PRESERVE}: Invalid value: true: must be false if {INT_OR_STRING} is true"],
        ),
        (
            of(a={INT_OR_STRING: True, EMBEDDED: True, "type": "object", "properties": {"b": {"type": "string"}}}),
            [f"s.properties[a].{EMBEDDED}: Invalid value: true: must be false if {INT_OR_STRING} is true"],
        ),
        (
            of(a={EMBEDDED: True, PRESERVE: True}),
            [f"s.properties[a].type: Required value: must be object if {EMBEDDED} is true"],
        ),
        (
            of(a={EMBEDDED: True, PRESERVE: True, "type": "string"}),
            [f's.properties[a].type: Invalid value: "string": must be object if {EMBEDDED} is true'],
        ),
        (
            of(a={EMBEDDED: True, PRESERVE: True, "type": "object", "additionalProperties": True}),
            [f"s.properties[a].additionalProperties: Forbidden: must not be used if {EMBEDDED} is set"],
        ),
        (
            of(a={EMBEDDED: True, "type": "object"}),
            [f"s.properties[a].properties: Required value: must not be empty if {EMBEDDED} is true without {PRESERVE}"],
        ),
        (
            of(kind={"type": "integer"}, apiVersion={PRESERVE: True}),
            [
                's.properties[apiVersion].type: Invalid value: "": must be string',
                's.properties[kind].type: Invalid value: "integer": must be string',
            ],
        ),
        (
            of(metadata={"type": "object", "properties": {"labels": {"type": "object"}}}),
            [
                (
                    "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                    "but metadata is implicitly specified"
                )
            ],
        ),
        (
            of(metadata={"type": "object", "required": ["name"]}),
            [
                (
                    "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                    "but metadata is implicitly specified"
                )
            ],
        ),
        (of(a=of(kind={"type": "integer"}, metadata={"type": "string"})), []),
        (
            of(a={"type": "object", EMBEDDED: True, **of(metadata={"type": "string"})}),
            ['s.properties[a].properties[metadata].type: Invalid value: "string": must be object'],
        ),
        (
            of(a={"type": "string", "pattern": "("}),
            [
                (
                    's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                    "error parsing regexp: missing closing ): `(`"
                )
            ],
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_told_why(schema, errors):
    assert errors_of(schema) == errors


@pytest.mark.parametrize(
    ("word", "value", "needed"),
    [
        ("type", "string", "empty"),
        ("additionalProperties", True, "undefined"),
        ("additionalProperties", {}, "undefined"),
        ("default", 1, "undefined"),
        ("title", "t", "empty"),
        ("description", "d", "empty"),
        ("nullable", True, "false"),
        (PRESERVE, True, "false"),
        (EMBEDDED, True, "false"),
        (INT_OR_STRING, True, "false"),
        ("x-kubernetes-list-map-keys", ["a"], "empty"),
        ("x-kubernetes-list-type", "set", "undefined"),
        ("x-kubernetes-map-type", "atomic", "undefined"),
        ("x-kubernetes-validations", [{"rule": "true"}], "empty"),
    ],
)
def test_a_junctor_only_narrows(word, value, needed):
    within = {word: value}
    schema = {"type": "object", "allOf": [within], "anyOf": [within], "oneOf": [within], "not": within}
    assert errors_of(schema) == [
        f"s.{junctor}.{word}: Forbidden: must be {needed} to be structural"
        for junctor in ("allOf[0]", "anyOf[0]", "not", "oneOf[0]")
    ]


def test_a_junctor_says_nothing_of_metadata():
    schema = {**of(metadata={"type": "object"}), "anyOf": [{"properties": {"metadata": {}}}]}
    assert errors_of(schema) == [
        "s.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context"
    ]


def test_types_stand_only_in_the_junctor_of_an_int_or_string():
    schema = of(a={"type": "string", "allOf": [{"minLength": 1}, {"anyOf": AN_INT_OR_STRING}]})
    assert errors_of(schema) == [
        f"s.properties[a].allOf[1].anyOf[{index}].type: Forbidden: must be empty to be structural" for index in (0, 1)
    ]


@pytest.mark.parametrize(
    ("junctors", "errors"),
    [
        (
            {"anyOf": [{"properties": {"b": {"minLength": 1}}}]},
            ["s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]"],
        ),
        (
            {"not": {"properties": {"a": {"items": {"minLength": 1}}}}},
            ["s.properties[a].items: Required value: because it is defined in s.not.properties[a].items"],
        ),
        (
            {"allOf": [{"oneOf": [{"properties": {"a": {"properties": {"c": {}}}}}]}]},
            [
                (
                    "s.properties[a].properties[c]: Required value: because it is defined in "
                    "s.allOf[0].oneOf[0].properties[a].properties[c]"
                )
            ],
        ),
    ],
)
def test_what_a_junctor_narrows_is_said_outside_of_it(junctors, errors):
    assert errors_of({**of(a={"type": "object"}), **junctors}) == errors


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"id": "x"}, "OpenAPIV3Schema 'id' is not supported"),
        ({"$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"$ref": "x"}, "OpenAPIV3Schema '$ref' is not supported"),
        ({"patternProperties": {"a": {}}}, "OpenAPIV3Schema 'patternProperties' is not supported"),
        ({"dependencies": {"a": ["b"]}}, "OpenAPIV3Schema 'dependencies' is not supported"),
        ({"additionalItems": False}, "OpenAPIV3Schema 'additionalItems' is not supported"),
        ({"definitions": {"a": {}}}, "OpenAPIV3Schema 'definitions' is not supported"),
        ({"items": [{}]}, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        ({PRESERVE: False}, f"internal error: '{PRESERVE}' must be true or undefined"),
    ],
)
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda inner: inner,
        lambda inner: of(a=inner),
        lambda inner: {"items": inner},
        lambda inner: {"additionalProperties": inner},
        lambda inner: {"allOf": [inner]},
        lambda inner: {"not": inner},
    ],
)
def test_what_no_structural_schema_has_is_unsupported_wherever_it_stands(words, why, wrapped):
    schema = wrapped(words)
    assert unsupported(schema) == why
    assert errors_of(schema) == [f's: Invalid value: "": {why}']
