from typing import Any

import pytest

AT_30 = "2024-01-01T00:30:00Z"
AT_50 = "2024-01-01T00:50:00Z"
AT_55 = "2024-01-01T00:55:00.250000Z"

CORE = {
    "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
    "reason": "Started",
    "type": "Normal",
    "message": "  Started it\n",
    "source": {"component": "kubelet", "host": "n"},
    "firstTimestamp": AT_30,
    "lastTimestamp": AT_50,
    "count": 3,
}
EVENTS = {
    "regarding": CORE["involvedObject"],
    "reason": "Started",
    "type": "Normal",
    "note": CORE["message"],
    "deprecatedSource": CORE["source"],
    "deprecatedFirstTimestamp": AT_30,
    "deprecatedLastTimestamp": AT_50,
    "deprecatedCount": 3,
}
ROW = ["10m", "Normal", "Started", "pod/p", "spec.containers{c}", "kubelet, n", "Started it", "30m", 3, "x"]


@pytest.mark.parametrize(("group", "event"), [("", CORE), ("events.k8s.io", EVENTS)])
def test_an_event_reads_alike_in_both_groups(printed: Any, group: str, event: dict[str, Any]) -> None:
    assert list(printed(group, "Event", event).values()) == ROW


@pytest.mark.parametrize(
    ("event", "last", "first", "count"),
    [
        ({}, "<unknown>", "<unknown>", 1),
        ({"eventTime": AT_30}, "30m", "30m", 1),
        ({"firstTimestamp": AT_30}, "30m", "30m", 1),
        ({"firstTimestamp": None, "lastTimestamp": AT_50, "eventTime": AT_30}, "10m", "30m", 1),
        ({"eventTime": AT_30, "series": {"count": 7, "lastObservedTime": AT_55}}, "4m59s", "30m", 7),
        ({"lastTimestamp": AT_50, "count": 4, "series": {}}, "<unknown>", "<unknown>", 0),
    ],
)
def test_when_and_how_often_an_event_was_seen(printed: Any, event: Any, last: str, first: str, count: int) -> None:
    row = printed("", "Event", event)
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == (last, first, count)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({}, ""),
        ({"source": {"component": "c"}}, "c"),
        ({"source": {"component": "c", "host": "h"}}, "c, h"),
        ({"reportingComponent": "r", "reportingInstance": "i"}, "r, i"),
        ({"source": {"component": "c"}, "reportingComponent": "r", "reportingInstance": "i"}, "c, i"),
    ],
)
def test_who_reported_an_event(printed: Any, event: Any, expected: str) -> None:
    assert printed("", "Event", event)["Source"] == expected


@pytest.mark.parametrize(
    ("reference", "expected"), [({"kind": "Node", "name": "n"}, "node/n"), ({"kind": "Node"}, "node"), ({}, "")]
)
def test_what_an_event_is_about(printed: Any, reference: Any, expected: str) -> None:
    assert printed("", "Event", {"involvedObject": reference})["Object"] == expected
