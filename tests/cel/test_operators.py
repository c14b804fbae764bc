import pytest


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9",
        "7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1 && 7 % -3 == 1",
        "7u / 2u == 3u && 7u % 4u == 3u",
        "1.5 + 1.5 == 3.0 && 1.0 / 4.0 == 0.25 && 1.0 / 0.0 > 1e308",
        "-9223372036854775808 + 9223372036854775807 == -1",
        "18446744073709551615u > 1u",
        "-(3) == -3 && -1.5 < 0.0 && --3 == 3",
        "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]",
        "!(1 == 2) && 1 != 2 && !!true",
        "'a' < 'b' && 'Z' < 'a' && 'é' > 'z' && b'a' <= b'a' && true > false",
        "1 < 1.5 && 2u > 1.5 && 1 <= 1u && 2 >= 1u && 1.0 == dyn(1) && dyn(1u) == 1",
        "0x1F == 31 && 0xau == 10u && 1e3 == 1000.0 && .5 == 0.5",
        "'\\u00e9' == 'é' && r'\\n' == '\\\\n' && '''a\nb''' == 'a\\nb' && b'\\xff' != b'\\x00'",
        "[1, 2] == [1, 2] && [1, 2] != [2, 1] && {'a': 1, 'b': 2} == {'b': 2, 'a': 1}",
        "dyn([1, 2]) == dyn([1.0, 2.0]) && dyn({1: 2u}) == dyn({1u: 2})",
        "1 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': 1} && !('b' in {'a': 1}) && 1u in [1, 2].map(x, dyn(x))",
        "true ? true : false",
        "dyn(1) + dyn(2) == 3 && dyn('a') + dyn('b') == 'ab' && dyn(1.5) * dyn(2.0) == 3.0",
        "[true, false][0] && {'a': true}.a && {'a': true}['a'] && {1: true}[1] && {1u: true}[dyn(1)]",
        "0.0 / 0.0 != 0.0 / 0.0 && !(0.0 / 0.0 == 1.0)",
        "null == null && dyn(null) != dyn(0)",
        "type(1) == int && type(1u) == uint && type('') == string && type([]) == list && type({}) == map",
        "type(null) == null_type && type(type(1)) == type && type(true) == bool && type(b'') == bytes",
        "type(timestamp(0)) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration",
    ],
)
def test_operators_compute_as_cel_has_it(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("1u / 0u == 1u", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("-9223372036854775808 - 1 > 0", "integer overflow"),
        ("9223372036854775807 * 2 > 0", "integer overflow"),
        ("-(-9223372036854775808) > 0", "integer overflow"),
        ("-9223372036854775808 / -1 > 0", "integer overflow"),
        ("18446744073709551615u + 1u > 0u", "unsigned integer overflow"),
        ("0u - 1u > 0u", "unsigned integer overflow"),
        ("[1, 2][2] == 0", "index out of bounds: 2"),
        ("[1, 2][-1] == 0", "index out of bounds: -1"),
        ("{'a': 1}.b == 1", "no such key: b"),
        ("{'a': 1}['b'] == 1", "no such key: b"),
        ("{1: 1}[2] == 1", "no such key: 2"),
        ("dyn(1) + dyn('a') == dyn(1)", "no such overload"),
        ("[1.0, 0.0 / 0.0].max() > 0.0", "NaN values cannot be ordered"),
        ("dyn('a') < dyn(1)", "no such overload"),
        ("!dyn(1)", "no such overload"),
        ("dyn(1) && true", "no such overload"),
        ("dyn(5).a == 1", "no such key: a"),
        ("size(dyn(5)) == 1", "no such overload: size(int)"),
        ("dyn([1])['a'] == 1", "unsupported index type 'string' in list"),
    ],
)
def test_what_cannot_be_computed_is_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("other", ["1.0", "1", "1u", "0.0 / 0.0"])
def test_no_order_holds_for_what_is_no_number(value, sign, other):
    assert value(f"0.0 / 0.0 {sign} {other}") is False
    assert value(f"{other} {sign} 0.0 / 0.0") is False


@pytest.mark.parametrize(
    "text",
    [
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "!(false && 1 / 0 == 1)",
        "!(1 / 0 == 1 && false)",
        "[0, 1].exists(x, 1 / x == 1)",
        "![0, 2].all(x, 1 / x == 1)",
        "true ? true : 1 / 0 == 1",
    ],
)
def test_an_error_that_does_not_matter_is_none(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    "text", ["1 / 0 == 1 || false", "true && 1 / 0 == 1", "[0, 2].exists(x, 1 / x == 1)", "[0, 1].all(x, 1 / x == 1)"]
)
def test_an_error_that_matters_is_told_after_all_has_been_tried(value, text):
    assert value(text) == "error: division by zero"
