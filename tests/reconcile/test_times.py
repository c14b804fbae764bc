"""Times as objects hold them, however far away."""

from math import inf

import pytest

from controller_manager.reconcile.times import format_micro_time, format_time, parse_time, time_left


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1_800_000_000.9, "2027-01-15T08:00:00Z"),
        (-62_135_596_799.0, "0001-01-01T00:00:01Z"),
        (-9e18, "0001-01-01T00:00:00Z"),
        (9e18, "9999-12-31T23:59:59Z"),
        (inf, "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_told_within_the_years_that_texts_have(now: float, text: str) -> None:
    assert format_time(now) == text
    assert format_micro_time(int(parse_time(text))) == text.replace("Z", ".000000Z")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2027-01-15T08:00:00Z", 1_800_000_000.0),
        ("2027-01-15T13:30:00+05:30", 1_800_000_000.0),
        ("2027-01-15T08:00:00.123456789Z", 1_800_000_000.123456),
        ("0001-01-01T00:00:00Z", -62_135_596_800.0),
        ("9999-12-31T23:59:59-14:00", 253_402_300_799.0 + 14 * 3600),
    ],
)
def test_all_that_servers_take_for_a_time_is_understood(text: str, time: float) -> None:
    assert parse_time(text) == pytest.approx(time, abs=1e-6)


@pytest.mark.parametrize(
    ("since", "left"), [(100.0, 10.0), (95.0, 5.0), (90.0, 0.0), (0.0, 0.0), (-1e11, 0.0), (101.0, 0.0), (1e12, 0.0)]
)
def test_a_period_that_begins_in_the_future_is_over(since: float, left: float) -> None:
    assert time_left(10.0, since, now=100.0) == left
