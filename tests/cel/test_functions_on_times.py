import pytest


@pytest.mark.parametrize(
    "text",
    [
        "duration('1h30m') == duration('5400s') && duration('-1.5ms') < duration('0s')",
        "duration('1us') > duration('1ns')",
        "duration('1h30m').getHours() == 1 && duration('1h30m').getMinutes() == 90",
        "duration('90s').getSeconds() == 90",
        "duration('1.5s').getMilliseconds() == 1500 && duration('-90m').getHours() == -1",
        "string(duration('1h30m')) == '5400s' && string(duration('1500ms')) == '1.5s'",
        "int(duration('1s')) == 1000000000",
        "duration('1m') + duration('1s') == duration('61s') && duration('1m') - duration('1s') == duration('59s')",
        "timestamp('2023-12-25T01:02:03.5Z').getFullYear() == 2023",
        "timestamp('2023-12-25T00:00:00Z').getMonth() == 11",
        "timestamp('2023-12-25T00:00:00Z').getDate() == 25 && timestamp('2023-12-25T00:00:00Z').getDayOfMonth() == 24",
        "timestamp('2023-12-25T00:00:00Z').getDayOfWeek() == 1",
        "timestamp('2023-02-01T00:00:00Z').getDayOfYear() == 31",
        "timestamp('2023-12-25T01:02:03.5Z').getHours() == 1 && timestamp('2023-12-25T01:02:03.5Z').getMinutes() == 2",
        "timestamp('2023-12-25T01:02:03.5Z').getSeconds() == 3",
        "timestamp('2023-12-25T01:02:03.5Z').getMilliseconds() == 500",
        "timestamp('2023-12-25T00:00:00Z').getHours('-08:00') == 16",
        "timestamp('2023-12-25T00:00:00Z').getDate('-08:00') == 24",
        "timestamp('2023-06-25T00:00:00Z').getHours('Europe/Berlin') == 2",
        "timestamp('2023-12-25T02:00:00+02:00') == timestamp('2023-12-25T00:00:00Z')",
        "timestamp(1) == timestamp('1970-01-01T00:00:01Z') && int(timestamp('1970-01-01T00:01:00Z')) == 60",
        "string(timestamp('2023-12-25T01:02:03.500Z')) == '2023-12-25T01:02:03.5Z'",
        "timestamp('2023-01-01T00:00:00Z') + duration('24h') == timestamp('2023-01-02T00:00:00Z')",
        "timestamp('2023-01-02T00:00:00Z') - timestamp('2023-01-01T00:00:00Z') == duration('24h')",
        "timestamp('2023-01-02T00:00:00Z') - duration('24h') == timestamp('2023-01-01T00:00:00Z')",
    ],
)
def test_moments_and_durations_are_computed_with(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("duration(['1x'][0]) == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp(['now'][0]) == timestamp(0)", 'invalid RFC 3339 timestamp "now"'),
        (
            "timestamp(['2025-01-17T01:00:00,5Z'][0]) == timestamp(0)",
            'invalid RFC 3339 timestamp "2025-01-17T01:00:00,5Z"',
        ),
        ("timestamp(['2025-01-17T1:00:00Z'][0]) == timestamp(0)", 'invalid RFC 3339 timestamp "2025-01-17T1:00:00Z"'),
        (
            "timestamp(['2025-02-30T01:00:00Z'][0]) == timestamp(0)",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            "timestamp(['2025-02-03t01:00:00z'][0]) == timestamp(0)",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s') == timestamp(0)", "timestamp overflow"),
        ("timestamp(0).getHours('Mars/Olympus') == 0", "unknown time zone Mars/Olympus"),
        ("timestamp(0).getHours('../UTC') == 0", "time: invalid location name"),
        ("timestamp(0).getHours('-24:60') == 0", "timezone offset hours out of range [-23, 23]: -24:60"),
        ("timestamp(0).getHours('23:60') == 0", "timezone offset minutes out of range [0, 59]: 23:60"),
    ],
)
def test_what_is_no_time_is_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3 && int(7u) == 7 && int('-7') == -7",
        "uint('42') == 42u && uint(3.9) == 3u && uint(7) == 7u",
        "double('1.5') == 1.5 && double(1) == 1.0 && double(1u) == 1.0 && double('1e3') == 1000.0",
        "string(1) == '1' && string(1.5) == '1.5' && string(true) == 'true' && string(b'a') == 'a'",
        "string(1u) == '1'",
        "string(1e21) == '1e+21' && string(100000.0) == '100000' && string(-0.0) == '-0'",
        "bool('true') && bool('TRUE') && bool('t') && bool('1') && !bool('false') && !bool('0') && !bool('F')",
        "bytes('ab') == b'ab' && string(bytes('é')) == 'é' && dyn(1) == 1",
    ],
)
def test_values_are_converted(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("int(['x'][0]) == 1", "type conversion error from 'string' to 'int'"),
        ("uint([-1][0]) == 1u", "unsigned integer overflow"),
        ("int([1e30][0]) == 1", "integer overflow"),
        ("int([18446744073709551615u][0]) == 1", "integer overflow"),
        ("bool(['yes'][0])", "type conversion error from 'string' to 'bool'"),
        ("string([b'\\xff'][0]) == ''", "invalid UTF-8 in bytes, cannot convert to string"),
        ("double(['x'][0]) == 1.0", "type conversion error from 'string' to 'double'"),
    ],
)
def test_what_cannot_be_converted_is_told(value, text, error):
    assert value(text) == f"error: {error}"
