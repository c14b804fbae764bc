import pytest

from apiserver.api.go_numbers import parse_int, parse_uint


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
