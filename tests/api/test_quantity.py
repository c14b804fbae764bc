"""Quantities against upstream's rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.quantity import QuantityError, canonical, of, parse


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("0.0", "0"),
        ("-0", "0"),
        ("0Ki", "0"),
        ("1", "1"),
        ("100m", "100m"),
        ("0.5", "500m"),
        ("0.500", "500m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1234567", "1234567"),
        ("2e3", "2e3"),
        ("1E3", "1E3"),
        ("1000e3", "1e6"),
        ("12e6", "12e6"),
        ("1.2e6", "1200e3"),
        ("1E", "1E"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1Ki", "1Ki"),
        ("1536Mi", "1536Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("0.1Ki", "102400m"),
        ("2048Mi", "2Gi"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("1Ei", "1Ei"),
        ("8Ei", "9223372036854775807"),
        ("100Ei", "9223372036854775807"),
        ("0.0000000001", "1n"),
        ("1n", "1n"),
        ("1.0000000001", "1000000001n"),
        ("-1.5Gi", "-1536Mi"),
        ("-0.5", "-500m"),
        (".5", "500m"),
        ("5.", "5."),
        ("+5", "+5"),
        ("100k", "100k"),
        ("1e-3", "1e-3"),
        ("100000000000000000000", "100E"),
    ],
)
def test_a_quantity_is_printed_as_upstream_does(text, printed):
    assert canonical(text) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("abc", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1 Gi", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1.2.3", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1GB", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1K", "unable to parse quantity's suffix"),
        ("1mm", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1Gi5", "unable to parse quantity's suffix"),
        ("1e99999999", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity_is_told_in_upstreams_words(text, message):
    with pytest.raises(QuantityError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "printed"), [(" 1Gi ", "1Gi"), (1, "1"), (0.5, "500m"), (1e22, "10e21"), (2000, "2k"), (None, "0")]
)
def test_json_values_are_quantities(value, printed):
    assert str(of(value)) == printed


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("1", "500m", "1500m", "500m"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "1", "1073741825", "1073741823"),
        ("1", "1", "2", "0"),
    ],
)
def test_quantities_add_and_subtract_in_the_format_of_the_first(left, right, total, difference):
    assert str(parse(left) + parse(right)) == total
    assert str(parse(left) - parse(right)) == difference


def test_values_are_rounded_away_from_zero():
    assert parse("1500m").value == 2
    assert parse("-1500m").value == -2
    assert parse("1.0001").milli_value == 1001


def test_quantities_compare_by_amount():
    assert parse("1Gi").nanos == parse("1024Mi").nanos
    assert parse("1G").nanos < parse("1Gi").nanos


@given(
    st.sampled_from(["", "-"]),
    st.integers(0, 10**20),
    st.text("0123456789", max_size=6),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "e3", "e-2", "E5"]),
)
def test_the_printed_form_says_the_same_amount_and_is_stable(sign, whole, fraction, suffix):
    text = f"{sign}{whole}.{fraction}{suffix}"
    quantity = parse(text)
    if str(quantity).lstrip("-").isdigit() and abs(quantity.nanos) >= 10**30:
        return  # beyond exa there is no decimal suffix
    assert parse(str(quantity)).nanos == quantity.nanos
    assert canonical(canonical(text)) == canonical(text)


@given(st.integers(0, 10**9), st.integers(0, 9))
def test_decimal_amounts_are_exact(number, places):
    assert parse(f"{number}e-{places}").nanos == number * 10 ** (9 - places)
