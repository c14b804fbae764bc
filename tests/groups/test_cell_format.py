import pytest

from apiserver.groups.cell_format import AgeCell, age, epoch, human_duration, selector_dump, selector_text, since

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (1, "1s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (49 * HOUR, "2d1h"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - DAY, "7y364d"),
        (8 * YEAR + 3 * DAY, "8y"),
        (50 * YEAR, "50y"),
        (500 * YEAR, "292y"),  # what Go can count
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, expected: str) -> None:
    assert human_duration(seconds) == expected


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.500000Z", 10.5),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("0001-01-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_timestamp_is_seconds_since_the_epoch_or_nothing(timestamp: object, expected: float | None) -> None:
    assert epoch(timestamp) == expected


def test_what_has_no_time_has_an_unknown_age() -> None:
    assert since(None) == "<unknown>"
    assert age({"metadata": {"creationTimestamp": None}}) == "<unknown>"
    assert age({}) == "<unknown>"


def test_a_pattern_stands_around_the_duration() -> None:
    assert AgeCell(10.0, "2 (%s ago)").text_at(40.0) == "2 (30s ago)"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"m": ""},
                "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "b", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "a", "operator": "In", "values": ["v"]},
                    {"key": "c", "operator": "DoesNotExist"},
                ],
            },
            "a in (v),b notin (x,y),!c,m=,z",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, "<error>"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "<error>"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["v"]}]}, "<error>"),
    ],
)
def test_a_selector_reads_as_one_would_type_it(selector: object, expected: str) -> None:
    assert selector_text({"selector": selector}, "selector") == expected


def test_a_selector_is_dumped_as_go_prints_its_struct() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "k", "operator": "In", "values": ["v", "w"]}],
    }
    assert selector_dump(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
        "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}"
    )
    assert (
        selector_dump({})
        == "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"
    )
