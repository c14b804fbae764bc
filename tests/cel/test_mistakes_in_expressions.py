import pytest

ANYTHING = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", [f"1:1: Syntax error: mismatched input '<EOF>' expecting {ANYTHING}"]),
        ("1 +", [f"1:4: Syntax error: mismatched input '<EOF>' expecting {ANYTHING}"]),
        ("1 2", ["1:3: Syntax error: extraneous input '2' expecting <EOF>"]),
        ("f(1", ["1:4: Syntax error: missing ')' at '<EOF>'"]),
        (
            "a = b",
            [
                "1:3: Syntax error: token recognition error at: '= '",
                "1:5: Syntax error: extraneous input 'b' expecting <EOF>",
            ],
        ),
        ("{", ["1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?'"]),
        ("a.true", ["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        (
            "'a\nb'",
            [
                r"1:1: Syntax error: token recognition error at: ''a\n'",
                "2:2: Syntax error: token recognition error at: '''",
            ],
        ),
        (
            "'\\q'",
            [
                "1:1: Syntax error: token recognition error at: ''\\q'",
                "1:4: Syntax error: token recognition error at: '''",
                "1:5: Syntax error: mismatched input '<EOF>' expecting",
            ],
        ),
    ],
)
def test_what_follows_no_grammar_is_told_by_the_parser_of_upstream(mistakes, text, message):
    assert [mistake[: len(words)] for mistake, words in zip(mistakes(text), message, strict=True)] == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if == 1", ["1:1: reserved identifier: if"]),
        ("for(1) == namespace", ["1:1: reserved identifier: for", "1:11: reserved identifier: namespace"]),
        ("9223372036854775808 > 0", ["1:1: invalid int literal"]),
        ("-9223372036854775809 > 0", ["1:1: invalid int literal"]),
        ("0 < 18446744073709551616u", ["1:5: invalid uint literal"]),
        ("1e999 > 1.0", ["1:1: invalid double literal"]),
        (f"{'9' * 5000} > 0", ["1:1: invalid int literal"]),
        ("'\\ud800' == ''", ["1:1: invalid unicode code point"]),
        ("b'\\u00e9' == b''", ["1:1: unable to unescape string"]),
        ("has(1)", ["1:5: invalid argument to has() macro"]),
        ("has([1].?a)", ["1:8: invalid argument to has() macro"]),
        ("[1].all(1, true)", ["1:9: argument must be a simple name"]),
        ("[1].map(x.y, 1) == []", ["1:10: argument is not an identifier"]),
        ("[1].filter('x', true) == []", ["1:12: argument is not an identifier"]),
        ("[1].all(x, x, true)", ["1:12: duplicate variable name: x"]),
        ("[1].exists(__result__, true)", ["1:12: iteration variable overwrites accumulator variable"]),
        ("optional.of(1).optMap(1, 2) == 1", ["1:23: optMap() variable name must be a simple identifier"]),
        (
            "'a'.sortBy(x, x) == []",
            ["1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression"],
        ),
        (f"{' + '.join(['1'] * 252)} > 0", ["-1:0: max recursion depth exceeded"]),
        (f"{'1 > 0 ? true : ' * 250}true", ["-1:0: expression recursion limit exceeded: 250"]),
        (f"{'(' * 250}true{')' * 250}", ["-1:0: expression recursion limit exceeded: 250"]),
        (f"{'[' * 250}{']' * 250} == []", ["-1:0: expression recursion limit exceeded: 250"]),
        ("'" + "a" * 100_000 + "'", ["-1:0: expression code point size exceeds limit: size: 100002, limit 100000"]),
    ],
)
def test_what_the_grammar_lets_pass_and_nothing_else_does_is_told(mistakes, text, message):
    assert mistakes(text) == message


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["1"] * 249) + " > 0",
        "1 > 0 ? true : " * 240 + "true",
        "true" + " && true" * 2000,
        "!" * 1000 + "true",
        "(" * 60 + "true" + ")" * 60,
        "[1].all(x, " * 40 + "true" + ")" * 40,
        "[" + "1," * 3000 + "].size() == 3000",
        "{'a': 1, }.a == 1 && [1, ] == [1] && [,].size() == 0 // trailing commas",
        "{`in`: 1}.`in` == 1".replace("{`in`", "{'in'"),
    ],
)
def test_long_expressions_and_odd_ones_are_read(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x == 1", ["1:1: undeclared reference to 'x' (in container '')"]),
        ("f(1) == 1", ["1:2: undeclared reference to 'f' (in container '')"]),
        ("1 == 'a'", ["1:3: found no matching overload for '_==_' applied to '(int, string)'"]),
        ("1 + 1u == 2", ["1:3: found no matching overload for '_+_' applied to '(int, uint)'"]),
        ("!1", ["1:1: found no matching overload for '!_' applied to '(int)'"]),
        ("'a'.size(1) == 1", ["1:9: found no matching overload for 'size' applied to 'string.(int)'"]),
        ("1 in 2", ["1:3: found no matching overload for '@in' applied to '(int, int)'"]),
        ("true ? 1 : 'a'", ["1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"]),
        ("(1).a == 1", ["1:4: type 'int' does not support field selection"]),
        (
            "1.all(x, true)",
            ["1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
        ),
        ("[1, 'a'].size() == 2", ["1:5: expected type 'int' but found 'string'"]),
        ("{'a': 1, 'b': 'c'}.size() == 2", ["1:15: expected type 'int' but found 'string'"]),
        ("{1: 1, 'b': 1}.size() == 2", ["1:8: expected type 'int' but found 'string'"]),
        ("Pod{name: 'a'} == 1", ["1:4: undeclared reference to 'Pod' (in container '')"]),
        (
            "x + y == 1\n || 'a' == 1",
            [
                "1:1: undeclared reference to 'x' (in container '')",
                "1:5: undeclared reference to 'y' (in container '')",
                "2:9: found no matching overload for '_==_' applied to '(string, int)'",
            ],
        ),
        (
            "[1].map(x, x) == ['a']",
            ["1:15: found no matching overload for '_==_' applied to '(list(int), list(string))'"],
        ),
        ("optional.of(1) == 1", ["1:16: found no matching overload for '_==_' applied to '(optional_type(int), int)'"]),
    ],
)
def test_types_that_do_not_fit_are_told(mistakes, text, message):
    assert mistakes(text) == message


def test_a_mistake_is_pointed_at(refused):
    errors = refused({"type": "object", "x-kubernetes-validations": [{"rule": "self.a == 1"}, {"rule": "'é' == 1"}]})
    assert errors[0].endswith("undefined field 'a'\n | self.a == 1\n | ....^")
    assert errors[1].endswith("applied to '(string, int)'\n | 'é' == 1\n | .\uff0e..^")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration('1x') == duration('1s')", ["1:10: invalid duration argument"]),
        ("timestamp('now') == timestamp(0)", ["1:11: invalid timestamp argument"]),
        ("'a'.matches('(')", ["1:13: invalid matches argument"]),
        ("'%z'.format([1]) == ''", ['1:12: could not parse formatting clause: unrecognized formatting clause "z"']),
        ("'%s %s'.format([1]) == ''", ["1:15: index 1 out of range"]),
        ("'%d'.format(['a']) == ''", ["1:14: error during formatting: decimal clause can only be used on integers"]),
    ],
)
def test_constants_that_cannot_be_meant_are_told(mistakes, text, message):
    assert [mistake.partition(", was")[0] for mistake in mistakes(text)] == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int('x') == 1", ["type conversion error from 'string' to 'int'"]),
        ("matches('a', '[')", ["error parsing regexp: missing closing ]: `[`"]),
        ("'a'.find('(') == ''", ["error parsing regexp: missing closing ): `(`"]),
    ],
)
def test_constants_that_no_program_can_be_made_of_are_told(refused, text, message):
    errors = refused({"type": "object", "x-kubernetes-validations": [{"rule": text}]})
    assert [error.rpartition("program instantiation failed: ")[2] for error in errors] == message
