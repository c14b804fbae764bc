"""Label and field selectors against upstream's grammar and words."""

import pytest

from apiserver.api.selectors import (
    SelectorError,
    label_selector_of,
    parse_field_selector,
    parse_label_selector,
)

REQUIREMENT = "unable to parse requirement:"
NAME_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
WEB = {"env": "prod", "tier": "web", "n": "5"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("env=prod", True),
        ("env==prod,tier==web", True),
        ("env=prod,env=test", False),
        ("env!=prod", False),
        ("absent!=x", True),
        ("env in (prod, test)", True),
        (" env  in ( prod , test ) , tier = web ", True),
        ("env in ()", False),
        ("absent in ()", False),
        ("env notin (prod)", False),
        ("absent notin (x)", True),
        ("tier,n", True),
        ("!tier", False),
        ("!absent", True),
        ("n>4", True),
        ("n<5", False),
        ("env>4", False),
        ("absent<4", False),
        ("in", False),
        ("x in (in,notin)", False),
    ],
)
def test_a_label_selector_matches_as_upstream_says(text, matches):
    assert parse_label_selector(text).matches(WEB) is matches


@pytest.mark.parametrize(
    "text", ["env=", "env in ()", "env in (test,)", "env in (,)", "env in (,test)", "env in (a,,b)"]
)
def test_an_empty_value_is_a_value(text):
    selector = parse_label_selector(text)
    assert selector.matches({"env": ""})
    assert not selector.matches({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b,", "found '', expected: identifier after ','"),
        (",a=b", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b,,c=d", "found ',', expected: identifier after ','"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("==b", "found '==', expected: !, identifier, or 'end of string'"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a=b!", "found '!', expected: ',' or 'end of string'"),
        ("!(a)", "unable to parse requirement: found '(', expected: identifier"),
        ("a in (b) c", "found 'c', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        (
            "n>x",
            f"{REQUIREMENT} values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a=-b", f'{REQUIREMENT} values[0][a]: Invalid value: "-b": {VALUE_WORDS}'),
        ("-a=b", f'{REQUIREMENT} <nil>: Invalid value: "-a": name part {NAME_WORDS}'),
    ],
)
def test_a_wrong_label_selector_is_told_in_upstreams_words(text, message):
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("key", ["a/b/c", "/b", "a/", "A.b/c", "x" * 64, f"{'p' * 254}/x", "a b", "ä"])
def test_a_malformed_key_is_refused(key):
    with pytest.raises(SelectorError):
        label_selector_of({"matchLabels": {key: "v"}})


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"z": "1"},
                "matchExpressions": [
                    {"key": "e", "operator": "In", "values": ["y", "x"]},
                    {"key": "f", "operator": "NotIn", "values": ["x"]},
                    {"key": "g", "operator": "Exists"},
                    {"key": "h", "operator": "DoesNotExist"},
                ],
            },
            "e in (x,y),f notin (x),g,!h,z=1",
        ),
    ],
)
def test_a_selector_object_means_what_its_text_would(selector, shown):
    assert str(label_selector_of(selector)) == shown


def test_a_missing_selector_object_selects_nothing_and_an_empty_one_everything():
    assert not label_selector_of(None).matches(WEB)
    assert not label_selector_of(None).empty
    assert label_selector_of({}).matches(WEB)
    assert label_selector_of({}).empty


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Near"}, '"Near" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In", "values": []},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_a_wrong_expression_is_told(expression, message):
    with pytest.raises(SelectorError) as caught:
        label_selector_of({"matchExpressions": [expression]})
    assert str(caught.value) == message


def test_a_printed_selector_parses_to_itself():
    selector = parse_label_selector("b notin (y,x),a,!c,d!=1,e>3,f==2")
    assert str(selector) == "a,b notin (x,y),!c,d!=1,e>3,f==2"
    assert parse_label_selector(str(selector)) == selector


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("metadata.name=a", [("metadata.name", True, "a")]),
        ("metadata.name==a,", [("metadata.name", True, "a")]),
        ("b!=1,a=2", [("a", True, "2"), ("b", False, "1")]),
        (r"a=x\,y,b=\=\\", [("a", True, "x,y"), ("b", True, "=\\")]),
        ("spec.nodeName=", [("spec.nodeName", True, "")]),
        ("=x", [("", True, "x")]),
    ],
)
def test_a_field_selector_has_terms(text, terms):
    assert [(t.path, t.equal, t.value) for t in parse_field_selector(text).terms] == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"),
        ("a in (b)", "invalid selector: 'a in (b)'; can't understand 'a in (b)'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_wrong_field_selector_is_told_in_upstreams_words(text, message):
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message


def test_a_field_that_is_not_there_counts_as_empty():
    assert parse_field_selector("spec.nodeName=").matches({"metadata.name": "a"})
    assert not parse_field_selector("spec.nodeName!=").matches({"metadata.name": "a"})


@pytest.mark.parametrize(
    ("text", "kept"),
    [("=", []), ("==", []), ("!=", []), ("=,a=b,!=", ["a"]), ("=b", [""]), ("a=", ["a"]), ("a!=", ["a"])],
)
def test_a_term_without_field_and_value_is_none(text, kept):
    assert [term.path for term in parse_field_selector(text).terms] == kept


def test_a_key_with_two_slashes_is_called_a_label_key():
    with pytest.raises(SelectorError, match='Invalid value: "a/b/c": a valid label key must consist of'):
        parse_label_selector("a/b/c=1")
