"""Values as Go names and prints them; what is expected here kubectl prints of the same JSON."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.golang.values import go_json, go_text, go_type

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("document", "text", "json"),
    [
        ("1234567.0", "1.234567e+06", "1234567"),
        ("123456.0", "123456", "123456"),
        ("100000.5", "100000.5", "100000.5"),
        ("999999.5", "999999.5", "999999.5"),
        ("123456789.125", "1.23456789125e+08", "123456789.125"),
        ("1e20", "1e+20", "100000000000000000000"),
        ("1e21", "1e+21", "1e+21"),
        ("3.0", "3", "3"),
        ("1E2", "100", "100"),
        ("-0.0", "-0", "-0"),
        ("0.0001", "0.0001", "0.0001"),
        ("0.00001", "1e-05", "0.00001"),
        ("0.000001234", "1.234e-06", "0.000001234"),
        ("1e-7", "1e-07", "1e-7"),
        ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9.223372036854776e+18", "9223372036854776000"),
        ("-9223372036854775808", "-9223372036854775808", "-9223372036854775808"),
        ("12345678901234567890", "1.2345678901234567e+19", "12345678901234567000"),
        ("true", "true", "true"),
        ("null", "<nil>", "null"),
        ('"a b"', "a b", '"a b"'),
        ('"<&>\\u2028"', "<&>\u2028", '"\\u003c\\u0026\\u003e\\u2028"'),
        ("[1, 2.5, null, []]", "[1 2.5 <nil> []]", "[1,2.5,null,[]]"),
        ('{"b": {"c": 1e6}, "a": ["x"]}', "map[a:[x] b:map[c:1e+06]]", '{"a":["x"],"b":{"c":1000000}}'),
    ],
)
def test_values_read_as_go_prints_them(document: str, text: str, json: str):
    value = orjson.loads(document)
    assert (go_text(value), go_json(value)) == (text, json)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "<nil>"),
        (True, "bool"),
        (1, "int64"),
        (1 << 63, "float64"),
        (1.0, "float64"),
        ("", "string"),
        ({}, "map[string]interface {}"),
        ([], "[]interface {}"),
    ],
)
def test_types_have_the_names_that_go_gives_them(value: Any, name: str):
    assert go_type(value) == name


@given(JSON)
def test_what_is_written_as_json_means_the_value(value: Any):
    assert orjson.loads(go_json(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_loses_nothing(number: float):
    assert float(go_json(number)) == float(go_text(number)) == number
