"""JSON that Go reads and orjson refuses: broken UTF-8, lone surrogates, numbers beyond a float64."""

import pytest

from apiserver.api.json_input import first_overflow, loads


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (rb'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
        (rb'{"a": "\ud800"}', {"a": "\ufffd"}),
        (rb'{"a": "\udc00x"}', {"a": "\ufffdx"}),
        (rb'{"a": "\ud800\ud83d\ude00"}', {"a": "\ufffd\U0001f600"}),
        (rb'{"a": "\\ud800 \uD800"}', {"a": "\\ud800 \ufffd"}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b'{"a": "\xe2\x82"}', {"a": "\ufffd\ufffd"}),
        (b'{"a": "\xed\xa0\x80"}', {"a": "\ufffd\ufffd\ufffd"}),
        (b'{"\xc3\xa9": 1e400}', {"\xe9": float("inf")}),
        (b'[-1e999, "\xff"]', [float("-inf"), "\ufffd"]),
    ],
)
def test_what_go_makes_of_a_text(raw, value):
    assert loads(raw)[0] == value


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a": NaN, "b": 1e400}', "invalid character 'N' looking for beginning of value"),
        (b'{"a": 1e400, }', "invalid character '}' looking for beginning of object key string"),
        (rb'{"a": "\u00"', "invalid character '\"' in \\u hexadecimal character escape"),
        (rb'{"a": "\ud80"}', "invalid character '\"' in \\u hexadecimal character escape"),
    ],
)
def test_what_is_no_json_is_refused_in_words_of_go(raw, why):
    with pytest.raises(ValueError, match=r"JSON|invalid") as refused:
        loads(raw)
    assert str(refused.value) == why


@pytest.mark.parametrize(("raw", "number"), [(b"[1, 1e308, -1e309, 1e400]", "-1e309"), (b"[1.5]", "")])
def test_the_first_number_that_no_float_holds(raw, number):
    assert first_overflow(raw) == number
