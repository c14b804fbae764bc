import pytest

from apiserver.api.go_numbers import format_float, parse_int, parse_uint


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
