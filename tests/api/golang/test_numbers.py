import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.golang.numbers import as_go_writes, floats_as_go_reads, format_float, parse_int, parse_uint
from apiserver.api.meta import Obj


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("18446744073709551615", 2**64 - 1), ("0" * 5000 + "1", 1)],
)
def test_an_unsigned_number_is_read(text, number):
    assert parse_uint(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("+5", 5), ("-5", -5), ("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)],
)
def test_a_signed_number_is_read(text, number):
    assert parse_int(text) == number


@pytest.mark.parametrize(
    ("parse", "text", "why"),
    [
        (parse_uint, "abc", 'strconv.ParseUint: parsing "abc": invalid syntax'),
        (parse_uint, "-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
        (parse_uint, "", 'strconv.ParseUint: parsing "": invalid syntax'),
        (parse_uint, "٣", 'strconv.ParseUint: parsing "٣": invalid syntax'),
        (
            parse_uint,
            "18446744073709551616",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
        ),
        (parse_int, "1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        (parse_int, "-", 'strconv.ParseInt: parsing "-": invalid syntax'),
        (parse_int, "9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
    ],
)
def test_what_is_no_number_is_refused_in_words_of_go(parse, text, why):
    with pytest.raises(ValueError, match="strconv") as refused:
        parse(text)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-0.25, "-0.25"),
        (100000.0, "100000"),
        (123456.75, "123456.75"),
        (1000000.0, "1e+06"),
        (-1234567.5, "-1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9.2e18, "9.2e+18"),
    ],
)
def test_a_float_is_printed(number, text):
    assert format_float(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (1.5, "1.5"),
        (-2.0, "-2"),
        (1e16, "10000000000000000"),
        (9.223372036854776e18, "9223372036854776000"),
        (1e20, "100000000000000000000"),
        (1.2345e20, "123450000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.00001, "0.00001"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (9.5e-7, "9.5e-7"),
        (1e-10, "1e-10"),
        (1e-60, "1e-60"),
        ("1.0, 1e+20", '"1.0, 1e+20"'),
        ('a": 1.0, "', '"a\\": 1.0, \\""'),
    ],
)
def test_json_has_numbers_as_go_writes_them(value, text):
    for around in ('{"a":%s}', "[1e+22,%s]", '{"b":"v1.0,","a":[%s,0]}'):
        written = orjson.dumps(orjson.loads(around % orjson.dumps(value).decode()))
        assert as_go_writes(written).decode() == around % text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_written_as_go_does_is_the_same_number(value):
    assert float(as_go_writes(orjson.dumps([value])).decode()[1:-1]) == value


def test_whole_numbers_beyond_an_int64_are_floats():
    least, most = -(1 << 63), (1 << 63) - 1
    value: Obj = {"a": [most, most + 1, {"b": least, "c": (1 << 64) - 1}], "d": True, "e": "x"}
    floats_as_go_reads(value)
    assert value == {"a": [most, float(most + 1), {"b": least, "c": 1.8446744073709552e19}], "d": True, "e": "x"}
    assert [type(each) for each in value["a"][:2]] == [int, float]


def test_infinite_numbers_are_refused():
    with pytest.raises(OverflowError):
        floats_as_go_reads({"a": [{"b": float("-inf")}]})
