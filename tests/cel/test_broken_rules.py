"""The errors of an object that breaks the rules of its schema, and their paths."""

import pytest
from rule_schemas import NUMBER, TEXT, TRUTH, WHOLE, many, of, ruled, values

NO_SIGNATURE = "call arguments did not match a supported operator, function or macro signature"
NO_EXPRESSION = "rule compile error: compilation failed: ERROR: <input>:"


@pytest.mark.parametrize(
    ("schema", "obj", "message"),
    [
        (ruled(of(), "1 > 2"), {}, ["<nil>: Invalid value: failed rule: 1 > 2"]),
        (of(a=ruled(TEXT, "self == 'x'")), {"a": "y"}, ["""a: Invalid value: "y": failed rule: self == 'x'"""]),
        (of(a=ruled(WHOLE, "self > 3")), {"a": 2}, ["a: Invalid value: 2: failed rule: self > 3"]),
        (of(a=ruled(NUMBER, "self > 3.0")), {"a": 2.5}, ["a: Invalid value: 2.5: failed rule: self > 3.0"]),
        (of(a=ruled(TRUTH, "self")), {"a": False}, ["a: Invalid value: false: failed rule: self"]),
        (of(a=ruled(of(b=TEXT), "has(self.b)")), {"a": {}}, ["a: Invalid value: failed rule: has(self.b)"]),
        (of(a=ruled(many(TEXT), "size(self) > 1")), {"a": ["x"]}, ["a: Invalid value: failed rule: size(self) > 1"]),
        (
            of(a=many(ruled(WHOLE, "self > 1"))),
            {"a": [1, 2, 0]},
            ["a[0]: Invalid value: 1: failed rule: self > 1", "a[2]: Invalid value: 0: failed rule: self > 1"],
        ),
        (
            of(a=values(ruled(WHOLE, "self > 1"))),
            {"a": {"x.y": 1, "z": 2}},
            ["a[x.y]: Invalid value: 1: failed rule: self > 1"],
        ),
        (
            ruled(of(a=ruled(of(b=ruled(TEXT, "self == 'x'")), "self.b == 'x'")), "self.a.b == 'x'"),
            {"a": {"b": "y"}},
            [
                "<nil>: Invalid value: failed rule: self.a.b == 'x'",
                "a: Invalid value: failed rule: self.b == 'x'",
                """a.b: Invalid value: "y": failed rule: self == 'x'""",
            ],
        ),
        (
            of(a=ruled(TEXT, "self == 'x'", "self == 'y'", "self != 'z'")),
            {"a": "z"},
            [f"""a: Invalid value: "z": failed rule: {r}""" for r in ("self == 'x'", "self == 'y'", "self != 'z'")],
        ),
        (of(a=ruled(TEXT, " self == 'x'\t")), {"a": "y"}, ["""a: Invalid value: "y": failed rule: self == 'x'"""]),
        (of(a=ruled(TEXT, "self == 'x'")), {}, []),
        (of(a=ruled(TEXT | {"nullable": True}, "self == 'x'")), {"a": None}, []),
        (
            of(a=ruled({"x-kubernetes-int-or-string": True}, "self == 1")),
            {"a": 2},
            ["a: Invalid value: 2: failed rule: self == 1"],
        ),
        (
            of(a=ruled(TEXT | {"format": "duration"}, "self > duration('1s')")),
            {"a": "1ms"},
            ["""a: Invalid value: "1ms": failed rule: self > duration('1s')"""],
        ),
    ],
)
def test_each_broken_rule_is_told_where_it_stands(checked, schema, obj, message):
    assert checked(schema, obj) == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "a: Invalid value: failed rule: self.b == 'x'"),
        ({"message": "be x"}, "a: Invalid value: be x"),
        ({"message": " be x "}, "a: Invalid value: be x"),
        ({"messageExpression": "'be x, not ' + self.b"}, "a: Invalid value: be x, not y"),
        ({"message": "be x", "messageExpression": "'not ' + self.b"}, "a: Invalid value: not y"),
        ({"message": "be x", "messageExpression": "[''][1]"}, "a: Invalid value: be x"),
        ({"message": "be x", "messageExpression": "'  '"}, "a: Invalid value: be x"),
        ({"message": "be x", "messageExpression": "'two\\nlines'"}, "a: Invalid value: be x"),
        ({"message": "be x", "messageExpression": f"'{'é' * 2561}'"}, "a: Invalid value: be x"),
        ({"message": "be x", "messageExpression": "42"}, "a: Invalid value: be x"),
        ({"messageExpression": "[''][1]"}, "a: Invalid value: failed rule: self.b == 'x'"),
        ({"messageExpression": "oldSelf.b", "message": "be x"}, "a: Invalid value: be x"),
        ({"reason": "FieldValueInvalid"}, "a: Invalid value: failed rule: self.b == 'x'"),
        ({"reason": "FieldValueForbidden"}, "a: Forbidden: failed rule: self.b == 'x'"),
        ({"reason": "FieldValueRequired"}, "a: Required value: failed rule: self.b == 'x'"),
        ({"reason": "FieldValueDuplicate"}, "a: Duplicate value"),
        ({"fieldPath": ".b"}, "a.b: Invalid value: failed rule: self.b == 'x'"),
        ({"fieldPath": "['b']", "reason": "FieldValueForbidden", "message": "no"}, "a.b: Forbidden: no"),
        ({"fieldPath": ".c['x.y']"}, "a.c[x.y]: Invalid value: failed rule: self.b == 'x'"),
    ],
)
def test_a_rule_says_how_it_is_told(checked, words, message):
    schema = of(a=ruled(of(b=TEXT, c=values(TEXT)), {"rule": "self.b == 'x'"} | words))
    assert checked(schema, {"a": {"b": "y"}}) == [message]


def test_a_scalar_that_is_there_twice_is_told(checked):
    schema = of(a=ruled(TEXT, {"rule": "self == 'x'", "reason": "FieldValueDuplicate", "message": "twice"}))
    assert checked(schema, {"a": "y"}) == ['a: Duplicate value: "y"']


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("self.l[5] == 'x'", "index out of bounds: 5 evaluating rule: self.l[5] == 'x'"),
        ("self.b == 'x'", "no such key: b evaluating rule: self.b == 'x'"),
        ("self.m['k'] == 'x'", "no such key: k evaluating rule: self.m['k'] == 'x'"),
        ("1 / self.n == 1", "division by zero evaluating rule: 1 / self.n == 1"),
        (
            "self.e + 'x' == 'y'",
            f"'no such overload': {NO_SIGNATURE} for rule: self.e + 'x' == 'y'",
        ),
        ({"rule": "self.b == 'x'", "message": "be x"}, "no such key: b evaluating rule: be x"),
        (
            "'x' +c == self.b",
            f"{NO_EXPRESSION}1:6: undeclared reference to 'c' (in container '')\n | 'x' +c == self.b\n | .....^",
        ),
        ("self.b", "rule compile error: cel expression must evaluate to a bool"),
    ],
)
def test_a_rule_that_comes_to_nothing_is_told(checked, rule, why):
    parts = of(b=TEXT, l=many(TEXT), m=values(TEXT), n=WHOLE, e={"x-kubernetes-int-or-string": True})
    obj = {"a": {"l": [], "m": {}, "n": 0, "e": 1}}
    assert checked(of(a=ruled(parts, rule)), obj) == [f'a: Invalid value: "object": {why}']


@pytest.mark.parametrize(
    ("schema", "obj", "why"),
    [
        (TEXT, 1, "invalid data, expected string, got int64"),
        (WHOLE, "x", "invalid data, expected int, got string"),
        (NUMBER, "x", "invalid data, expected float, got string"),
        (TRUTH, 1.5, "invalid data, expected bool, got float64"),
        (of(b=TEXT), [1], "invalid data, expected a map for the provided schema with type=object"),
        (many(TEXT), {}, "invalid data, expected an array for the provided schema with type=array"),
        (TEXT | {"format": "duration"}, "x", 'Invalid duration x: unable to parse "x" as duration'),
    ],
)
def test_a_value_that_is_not_what_its_schema_says_is_told(checked, schema, obj, why):
    (message,) = checked(of(a=ruled(schema, "self == self")), {"a": obj})
    assert message == f'a: Invalid value: "{schema["type"]}": {why} evaluating rule: self == self'


def test_rules_of_schemas_within_all_of_are_applied(checked):
    schema = of(a=TEXT, b=many(TEXT), c=values(TEXT), d=ruled(TEXT, "true")) | {
        "allOf": [
            ruled({}, {"rule": "self.a != 'x'", "message": "not x"}),
            {"properties": {"a": ruled({}, "self != 'x'"), "b": {"items": ruled({}, "self.size() > 1")}}},
            {"properties": {"c": {"additionalProperties": {"allOf": [ruled({}, "self == 'z'")]}}}},
        ]
    }
    assert checked(schema, {"a": "x", "b": ["y"], "c": {"k": "v"}}) == [
        "<nil>: Invalid value: not x",
        """a: Invalid value: "x": failed rule: self != 'x'""",
        'b[0]: Invalid value: "y": failed rule: self.size() > 1',
        """c[k]: Invalid value: "v": failed rule: self == 'z'""",
    ]


def test_rules_within_all_of_alone_are_not_looked_at(checked):
    """Upstream makes no validator of a schema that has rules nowhere else (hasXValidations)."""
    schema = of(a=TEXT) | {"allOf": [ruled({}, "self.a != 'x'")]}
    assert checked(schema, {"a": "x"}) == []
    assert checked(schema | {"properties": {"a": ruled(TEXT, "true")}}, {"a": "x"}) != []


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_rules_of_schemas_that_need_not_hold_are_not_applied(checked, word):
    schema = ruled(of(a=TEXT), "true") | {word: [ruled({}, "false")], "not": ruled({}, "false")}
    assert checked(schema, {"a": "x"}) == []


def test_the_same_rules_judge_many_objects(checked):
    schema = of(a=ruled(WHOLE, "self > 1"))
    assert [checked(schema, {"a": number}) == [] for number in range(4)] == [False, False, True, True]
