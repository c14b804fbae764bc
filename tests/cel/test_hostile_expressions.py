"""Expressions that are made to take long: each is refused, or done with, in a time that does not depend on its luck."""

import pytest

from apiserver.apiextensions.rules import RuleValidator


def of(v, rule):
    return {"type": "object", "properties": {"v": v | {"x-kubernetes-validations": [{"rule": rule}]}}}


@pytest.mark.parametrize("macro", ["optMap(x, x)", "optFlatMap(x, optional.of(x))"])
def test_macros_that_double_what_they_are_called_on_are_refused_in_time(mistakes, macro):
    assert mistakes(f"optional.of(1).{macro}.{macro}.{macro}.{macro}.hasValue()") == []
    many = f".{macro}" * 40
    assert mistakes(f"optional.of(1){many}.hasValue()") == [
        "-1:0: expression has more than 20000 nodes that its macros copy"
    ]


@pytest.mark.parametrize(
    "text", ["[1]" + ".map(a, {a: a})" * 60 + ".size() > 0", "[1]" + ".map(a, {a: [a]})" * 60 + ".size() > 0"]
)
def test_types_that_double_are_refused_in_time(mistakes, text):
    assert mistakes(text) == ["-1:0: type has more than 2000 parts"]


def test_types_may_nest(mistakes):
    assert mistakes("[" * 80 + "1" + "]" * 80 + " != []") == []
    assert mistakes("[1]" + ".map(a, {a: a})" * 5 + ".size() > 0") == []


def test_many_types_that_are_to_be_found_take_no_longer_each(mistakes):
    assert mistakes(f"[{', '.join(['[]'] * 5000)}].size() > 0") == []


def test_a_pattern_of_large_classes_is_refused_in_time(mistakes):
    pattern = r"\p{L}" * 12000
    assert mistakes(f"'a'.matches(r'{pattern}')") == ["1:13: invalid matches argument"]


@pytest.mark.parametrize(
    ("pattern", "least"),
    [("(.{1,1000})*x", 100_000), ("[a-z]{1,500}" * 20 + "x", 100_000), (r"(.*[^\pL]){300}", 50_000)],
)
def test_searches_for_a_large_pattern_cost_what_they_may_take(cost, pattern, least):
    rule = f"'{'abc' * 500}'.matches(r'{pattern}')"
    cost(rule)
    assert cost(rule) > least


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^([\pL\pN]{1,63} ?)+$", "Grüße " * 250),
        (r"^[\pL\pN]{1,253}$", "é" * 1000),
        (r"^\p{Lu}[\p{L}\p{M}'. -]{0,99}$", "Émile " * 20),
        (r"^[^\pC]{1,80}$", "漢字 " * 100),
        (r"^(a*)*(\p{L}*)*x", "abc" * 500),
    ],
)
def test_searches_for_ordinary_unicode_patterns_cost_what_upstream_charges(cost, pattern, text):
    rule = f'r"{text}".matches(r"{pattern}")'
    cost(rule)
    assert cost(rule) == -(-(len(text) + 1) // 10) * -(-len(pattern) // 4)


def test_a_hostile_search_for_unicode_classes_goes_over_the_limit(cost):
    rule = f"'{'1' * 20_000}'.matches(r'(.*[^\\pL]){{300}}')"
    cost(rule)
    assert cost(rule) > 1_000_000


def test_patterns_that_are_made_by_the_expression_cost_what_reading_them_takes(cost):
    made = r"lists.range(20).all(i, !'abc'.matches('[a-z]+' + string(i) + r'\p{L}'))"
    assert cost(made) > 20 * 5_000


@pytest.mark.parametrize("pattern", ["^[a-z]+$", "[a-z]([-a-z0-9]*[a-z0-9])?", r"^([0-9]{1,3}\.){3}[0-9]{1,3}$"])
def test_a_plain_pattern_costs_what_upstream_charges(cost, pattern):
    assert cost(f"'abc'.matches(r'{pattern}')") == -(-len(pattern) // 4)


def test_a_text_that_is_no_address_is_refused_without_being_printed(cost):
    assert cost("isIP('é' + 'é'.replace('', 'é')) || isCIDR('é')") < 10


def test_sets_and_maps_are_compared_in_time():
    numbers = list(range(20_000))
    schema = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}
    rule = "lists.range(100000).all(i, self == self)"
    (message,) = RuleValidator(of(schema, rule)).check({"v": numbers})
    assert "actual cost limit exceeded" in str(message)
