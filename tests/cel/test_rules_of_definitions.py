"""The errors of the rules themselves, when a definition is created."""

import json

import pytest
from rule_schemas import TEXT, WHOLE, many, of, ruled, values

HEAD = "s.x-kubernetes-validations[0]"
REASONS = '"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
UNDECLARED = "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "self.a == 'x'"},
        {"rule": "self.a == 'x'", "message": "be x"},
        {"rule": "self.a ==\n'x'", "message": "be x"},
        {"rule": "self.a == 'x'\n"},
        {"rule": "self.a == 'x'", "message": "be x\n"},
        {"rule": "self.a == 'x'", "messageExpression": "'not ' + self.a", "message": "be x"},
        {"rule": "self.a == 'x'", "reason": "FieldValueDuplicate", "fieldPath": ".a"},
        {"rule": "self.a == oldSelf.a"},
        {"rule": "self.a == oldSelf.a.orValue('')", "optionalOldSelf": True},
        {"rule": "self.a == oldSelf.a", "optionalOldSelf": False},
    ],
)
def test_good_rules_are_good(refused, rule):
    assert refused(ruled(of(a=TEXT | {"maxLength": 9}), rule)) == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, [f"{HEAD}.rule: Required value: rule is not specified"]),
        ({"rule": " \t"}, [f"{HEAD}.rule: Required value: rule is not specified"]),
        (
            {"rule": "true", "message": " "},
            [f'{HEAD}.message: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            {"rule": "true", "message": "a\nb"},
            [f'{HEAD}.message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (
            {"rule": "true ||\ntrue"},
            [f"{HEAD}.message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "true", "messageExpression": " "},
            [f"{HEAD}.messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            {"rule": "true", "reason": "Because"},
            [f'{HEAD}.reason: Unsupported value: "Because": supported values: {REASONS}'],
        ),
        ({"rule": "true", "fieldPath": ".b"}, [f'{HEAD}.fieldPath: Invalid value: ".b": must be a valid path']),
        ({"rule": "true", "fieldPath": "a"}, [f'{HEAD}.fieldPath: Invalid value: "a": must be a valid path']),
        (
            {"rule": "true", "fieldPath": " "},
            [
                f'{HEAD}.fieldPath: Invalid value: " ": must be non-empty if specified',
                f'{HEAD}.fieldPath: Invalid value: " ": must be a valid path',
            ],
        ),
        (
            {"rule": "true", "fieldPath": ".a\n"},
            [
                f'{HEAD}.fieldPath: Invalid value: ".a\\n": must not contain line breaks',
                f'{HEAD}.fieldPath: Invalid value: ".a\\n": must be a valid path',
            ],
        ),
        (
            {"rule": "", "message": "a\nb", "reason": "x", "fieldPath": "b"},
            [
                f"{HEAD}.rule: Required value: rule is not specified",
                f'{HEAD}.reason: Unsupported value: "x": supported values: {REASONS}',
                f'{HEAD}.fieldPath: Invalid value: "b": must be a valid path',
            ],
        ),
    ],
)
def test_errors_in_how_rules_are_written_come_before_those_in_what_they_say(refused, rule, message):
    schema = ruled(of(a=TEXT), rule, "not an expression")
    assert refused(schema) == message
    assert refused(schema, expressions=False) == message


@pytest.mark.parametrize(
    ("rule", "field", "why"),
    [
        (
            {"rule": "self.x == 'é'"},
            "rule",
            "compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x == 'é'\n | ....^",
        ),
        ({"rule": "self.a", "reason": "FieldValueForbidden"}, "rule", "cel expression must evaluate to a bool"),
        (
            {"rule": "true", "messageExpression": "1"},
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            {"rule": "true", "messageExpression": "x"},
            "messageExpression",
            f"messageExpression compilation failed: {UNDECLARED}",
        ),
        (
            {"rule": "int('x') == 1"},
            "rule",
            "program instantiation failed: type conversion error from 'string' to 'int'",
        ),
        (
            {"rule": "true", "messageExpression": "string(int('x'))"},
            "messageExpression",
            "messageExpression instantiation failed: type conversion error from 'string' to 'int'",
        ),
    ],
)
def test_what_a_rule_says_is_told_with_the_rule(refused, rule, field, why):
    (message,) = refused(ruled(of(a=TEXT), rule))
    head, _, rest = message.partition(": Invalid value: ")
    written = {"Rule": "", "Message": "", "MessageExpression": "", "Reason": None, "FieldPath": ""}
    written |= {"OptionalOldSelf": None} | {name[0].upper() + name[1:]: value for name, value in rule.items()}
    shown = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    assert (head, rest) == (f"{HEAD}.{field}", f"{shown}: {why}")


def test_what_html_takes_for_its_own_is_escaped(refused):
    (message,) = refused(ruled(of(a=TEXT), "self > 1 && 2 < 3"))
    assert r'{"Rule":"self \u003e 1 \u0026\u0026 2 \u003c 3","Message"' in message


@pytest.mark.parametrize("optional", [True, False])
def test_only_rules_that_speak_of_before_may_do_without_it(refused, optional):
    assert refused(ruled(of(a=TEXT), {"rule": "true", "optionalOldSelf": optional})) == [
        f"{HEAD}.optionalOldSelf: Invalid value: {str(optional).lower()}: may not be set if oldSelf is not used in rule"
    ]


def test_errors_of_rules_below_come_first(refused):
    schema = ruled(
        of(b=ruled(TEXT, "x"), a=many(ruled(WHOLE, "x")), c=values(ruled(TEXT, "x"))) | {"type": "object"}, "x"
    )
    assert [error.partition(": ")[0] for error in refused(schema)] == [
        "s.properties[b].x-kubernetes-validations[0].rule",
        "s.properties[a].items.x-kubernetes-validations[0].rule",
        "s.properties[c].additionalProperties.x-kubernetes-validations[0].rule",
        "s.x-kubernetes-validations[0].rule",
    ]


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_of_rules_within_other_schemas_only_the_form_is_looked_at(refused, word):
    schema = of(a=TEXT) | {word: [ruled({}, "x", "")]}
    assert refused(schema) == [f"s.{word}[0].x-kubernetes-validations[1].rule: Required value: rule is not specified"]


@pytest.mark.parametrize(
    ("schema", "within"),
    [
        (of(a=many(ruled(TEXT | {"maxLength": 9}, "self == oldSelf"), maxItems=9)), "s.properties[a]"),
        (
            of(
                a=many(
                    ruled(TEXT | {"maxLength": 9}, "self == oldSelf"), maxItems=9, **{"x-kubernetes-list-type": "set"}
                )
            ),
            "s.properties[a]",
        ),
        (
            of(a=many(of(b=ruled(TEXT | {"maxLength": 9}, "self == oldSelf")), maxItems=9)),
            "s.properties[a]",
        ),
    ],
)
def test_what_was_there_before_is_not_known_of_items_without_keys(refused, schema, within):
    (message,) = refused(schema)
    assert message.endswith(
        f'"self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within {within}'
    )


@pytest.mark.parametrize(
    "schema",
    [
        of(a=ruled(many(TEXT | {"maxLength": 9}, maxItems=9), "self == oldSelf")),
        of(a=values(ruled(TEXT | {"maxLength": 9}, "self == oldSelf"), maxProperties=9)),
        of(
            a=many(
                ruled(of(k=TEXT | {"maxLength": 9}), "self.k == oldSelf.k"),
                maxItems=9,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            )
        ),
    ],
)
def test_what_was_there_before_is_known_of_everything_else(refused, schema):
    assert refused(schema) == []
