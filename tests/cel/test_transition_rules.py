"""Rules that compare an object with what it was, and rules that an update does not make worse."""

import pytest
from rule_schemas import TEXT, WHOLE, many, of, ruled, values

from apiserver.apiextensions.rules import RuleValidator


def keyed(items):
    return many(items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})


FIXED = "self == oldSelf"


@pytest.mark.parametrize(
    ("schema", "obj", "old", "message"),
    [
        (ruled(of(a=TEXT), "self.a == oldSelf.a"), {"a": "y"}, {"a": "x"}, ["<nil>"]),
        (ruled(of(a=TEXT), "self.a == oldSelf.a"), {"a": "x"}, {"a": "x"}, []),
        (ruled(of(a=TEXT), "self.a == oldSelf.a"), {"a": "x"}, None, []),
        (of(a=ruled(TEXT, FIXED)), {"a": "y"}, {"a": "x"}, ["a"]),
        (of(a=ruled(TEXT, FIXED)), {"a": "y"}, {}, []),
        (of(a=ruled(TEXT, FIXED)), {}, {"a": "x"}, []),
        (of(a=ruled(TEXT, FIXED)), {"a": "y"}, {"a": None}, []),
        (of(a=values(ruled(TEXT, FIXED))), {"a": {"k": "y", "n": "z"}}, {"a": {"k": "x"}}, ["a[k]"]),
        (
            of(a=keyed(of(k=TEXT, v=ruled(TEXT, FIXED)))),
            {"a": [{"k": "2", "v": "y"}, {"k": "1", "v": "x"}, {"k": "3", "v": "z"}]},
            {"a": [{"k": "1", "v": "x"}, {"k": "2", "v": "x"}]},
            ["a[0].v"],
        ),
        (
            of(a=keyed(ruled(of(k=TEXT, v=TEXT), "self.v == oldSelf.v"))),
            {"a": [{"k": "1", "v": "y"}]},
            {"a": [{"k": "1", "v": "x"}]},
            ["a[0]"],
        ),
        (of(a=many(ruled(TEXT, "self != 'x'"))), {"a": ["x"]}, {"a": ["y"]}, ["a[0]"]),
        (of(a=ruled(many(WHOLE), "self.all(x, x in oldSelf)")), {"a": [3]}, {"a": [1, 2]}, ["a"]),
        (of(a=ruled(TEXT | {"format": "duration"}, "self >= oldSelf")), {"a": "1s"}, {"a": "1m"}, ["a"]),
        (of(a=ruled({"x-kubernetes-int-or-string": True}, FIXED)), {"a": 1}, {"a": "1"}, ["a"]),
    ],
)
def test_what_was_there_before_is_known_by_its_place_or_its_keys(checked, schema, obj, old, message):
    assert [error.partition(": ")[0] for error in checked(schema, obj, *([] if old is None else [old]))] == message


@pytest.mark.parametrize(
    ("rule", "obj", "old", "holds"),
    [
        ("!oldSelf.hasValue() || self == 'x'", "y", None, True),
        ("!oldSelf.hasValue() || self == 'x'", "y", "z", False),
        ("oldSelf.orValue('y') == self", "y", None, True),
        ("oldSelf.orValue('y') == self", "y", "x", False),
        ("oldSelf.optMap(o, o.size()).orValue(0) < self.size()", "yy", "x", True),
        ("oldSelf.hasValue() && oldSelf.value() == self", "y", None, False),
    ],
)
def test_a_rule_may_ask_whether_there_was_anything_before(checked, rule, obj, old, holds):
    schema = of(a=ruled(TEXT, {"rule": rule, "optionalOldSelf": True}))
    before = {} if old is None else {"a": old}
    assert (checked(schema, {"a": obj}, before) == []) is holds
    if old is None:
        assert (checked(schema, {"a": obj}) == []) is holds


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'was ' + oldSelf.value()", "be x"),
        ("oldSelf.hasValue() ? 'one' : 'other'", "be x"),
        ("oldSelf.optMap(old, old).orValue('none')", "be x"),
        ("'was ' + string(dyn(oldSelf))", "was y"),
    ],
)
@pytest.mark.parametrize("old", [{"a": "y"}, {}])
def test_a_message_sees_what_was_there_before_as_it_was_though_it_is_typed_optional(checked, expression, message, old):
    """Upstream gives it the variables of rules whose oldSelf is not optional, and its own message where that fails."""
    rule = {"rule": "oldSelf.orValue('') == 'x'", "optionalOldSelf": True, "message": "be x"}
    schema = of(a=ruled(TEXT, rule | {"messageExpression": expression}))
    assert checked(schema, {"a": "z"}, old) == [f'a: Invalid value: "z": {message if old else "be x"}']


def test_a_message_sees_what_was_there_before_only_where_a_rule_does(checked):
    message = {"message": "be x", "messageExpression": "'was ' + oldSelf"}
    rules = [{"rule": "self == 'x'"} | message, {"rule": "self != '' || oldSelf != ''"}]
    assert checked(of(a=ruled(TEXT, rules[0])), {"a": "z"}, {"a": "y"}) == ['a: Invalid value: "z": be x']
    assert checked(of(a=ruled(TEXT, *rules)), {"a": "z"}, {"a": "y"}) == ['a: Invalid value: "z": was y']


def test_fields_of_what_was_there_before_are_optional_too(checked):
    rule = {"rule": "oldSelf.?b.orValue('none') != self.b", "optionalOldSelf": True}
    schema = of(a=ruled(of(b=TEXT), rule))
    assert checked(schema, {"a": {"b": "x"}}) == []
    assert checked(schema, {"a": {"b": "x"}}, {"a": {"b": "x"}}) != []
    assert checked(schema, {"a": {"b": "x"}}, {"a": {}}) == []


def test_a_message_may_speak_of_what_was_there_before(checked):
    schema = of(a=ruled(WHOLE, {"rule": "self >= oldSelf", "messageExpression": "'was %d'.format([oldSelf])"}))
    assert checked(schema, {"a": 1}, {"a": 2}) == ["a: Invalid value: 1: was 2"]


def verdict(schema, obj, old):
    result = RuleValidator(schema).validate(obj, old)
    return [str(error) for error in result.errors], result.warnings


ODD = {"rule": "self % 2 == 1", "message": "be odd"}


@pytest.mark.parametrize(
    ("schema", "obj", "old", "passing"),
    [
        (of(a=ruled(WHOLE, ODD)), {"a": 2}, {"a": 2}, True),
        (of(a=ruled(WHOLE, ODD)), {"a": 4}, {"a": 2}, False),
        (of(a=ruled(WHOLE, ODD)), {"a": 2}, {}, False),
        (of(a=many(ruled(WHOLE, ODD)), b=TEXT), {"a": [1, 2], "b": "x"}, {"a": [1, 2], "b": "y"}, True),
        (of(a=many(ruled(WHOLE, ODD))), {"a": [2]}, {"a": [2, 3]}, False),
        (of(a=many(ruled(WHOLE, ODD))), {"a": [2, 1]}, {"a": [1, 2]}, False),
        (
            of(a=keyed(of(k=TEXT, v=ruled(WHOLE, ODD)))),
            {"a": [{"k": "2", "v": 2}, {"k": "1", "v": 1}]},
            {"a": [{"k": "1", "v": 3}, {"k": "2", "v": 2}]},
            True,
        ),
        (of(a=values(ruled(WHOLE, ODD))), {"a": {"x": 2, "y": 1}}, {"a": {"x": 2}}, True),
        (of(a=of(b=ruled(WHOLE, ODD), c=TEXT)), {"a": {"b": 2, "c": "new"}}, {"a": {"b": 2}}, True),
        (
            of(a=ruled(of(b=WHOLE, c=TEXT), {"rule": "self.b == 1", "fieldPath": ".b"})),
            {"a": {"b": 2, "c": "new"}},
            {"a": {"b": 2}},
            False,
        ),
        (of(kind=ruled(TEXT, "self == 'x'")), {"kind": "y"}, {"kind": "y"}, False),
        (of(a=of(kind=ruled(TEXT, "self == 'x'"))), {"a": {"kind": "y"}}, {"a": {"kind": "y"}}, True),
        (of(a=ruled(TEXT, "oldSelf != 'y' && self == 'x'")), {"a": "y"}, {"a": "y"}, False),
        (
            of(a=WHOLE, b=ruled(TEXT, "true")) | {"allOf": [{"properties": {"a": ruled({}, ODD)}}]},
            {"a": 2},
            {"a": 2},
            False,
        ),
    ],
)
def test_an_update_is_warned_of_what_it_left_as_wrong_as_it_was(schema, obj, old, passing):
    errors, warnings = verdict(schema, obj, old)
    assert (errors == []) is passing
    assert (warnings == []) is not passing


def test_a_warning_says_what_an_error_would():
    assert verdict(of(a=ruled(WHOLE, ODD)), {"a": 2}, {"a": 2}) == ([], ["a: Invalid value: 2: be odd"])


def test_what_comes_to_nothing_is_an_error_though_nothing_changed(checked):
    schema = of(a=ruled(of(b=TEXT), "self.b == 'x'"))
    assert checked(schema, {"a": {}}, {"a": {}}) == [
        """a: Invalid value: "object": no such key: b evaluating rule: self.b == 'x'"""
    ]


@pytest.mark.parametrize(("new", "old"), [(1, 1.0), (1, True), (0, False), ("1", 1)])
def test_values_of_different_types_are_different(new, old):
    schema = of(a=ruled({"x-kubernetes-int-or-string": True}, "self == 5"))
    errors, _ = verdict(schema, {"a": new}, {"a": old})
    assert len(errors) == 1
