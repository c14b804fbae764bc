import pytest

from apiserver.api.golang.durations import duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("1h30m", 5400),
        ("1m30s", 90),
        ("1.5s", 1.5),
        (".5h", 1800),
        ("2.m", 120),
        ("500ms", 0.5),
        ("5us", 5e-6),
        ("1h0m0.25s", 3600.25),
    ],
)
def test_durations_are_read_as_go_reads_them(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "h", ".s", ".", "1.2.3s", "-1s", "+1s", "1 h", "1m 30s", "1d", "1e3s", "٣s"])
def test_what_is_no_duration_is_refused_with_what_to_write(text):
    with pytest.raises(ValueError, match="is no duration: give one such as 30s, 5m or 1h30m"):
        parse_duration(text)


def test_there_may_be_other_units():
    assert parse_duration("1d2h", {"d": 86400.0, "h": 3600.0}) == 93600
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration("1s", {"d": 86400.0})


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (10, "10s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s")])
def test_seconds_are_printed_as_go_does(seconds, text):
    assert duration_text(seconds) == text
