"""Validation of Events, in their old group and in their new one."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

TIME = "2026-01-01T00:00:00.000000Z"
OLD = {"metadata": {"name": "e", "namespace": "n"}, "involvedObject": {"namespace": "n"}}
NEW = {
    "metadata": {"name": "e", "namespace": "n"},
    "regarding": {"namespace": "n"},
    "eventTime": TIME,
    "type": "Normal",
    "reason": "Made",
    "action": "Make",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "note": "text",
}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("group", "event", "errors"),
    [
        ("", OLD, []),
        ("", OLD | {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": {}}, []),
        (
            "",
            OLD | {"involvedObject": {}},
            ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
        ),
        (
            "",
            OLD | {"involvedObject": {"namespace": "m"}},
            ['involvedObject.namespace: Invalid value: "m": does not match event.namespace'],
        ),
        (
            "",
            OLD | {"eventTime": TIME, "reportingComponent": "c", "reportingInstance": "i", "reason": "r" * 129},
            ["action: Required value", 'reason: Invalid value: "": can have at most 128 characters'],
        ),
        ("events.k8s.io", NEW, []),
        (
            "events.k8s.io",
            NEW | {"type": "Odd", "series": {"count": 1}, "deprecatedCount": 2},
            [
                'series.count: Invalid value: "": should be at least 2',
                "series.lastObservedTime: Required value",
                'type: Invalid value: "": has invalid value: Odd',
                'count: Invalid value: "": needs to be unset',
            ],
        ),
        (
            "events.k8s.io",
            {key: value for key, value in NEW.items() if key != "eventTime"},
            ["eventTime: Required value"],
        ),
    ],
)
def test_an_event_is_checked_as_its_group_asks(group: str, event: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS[group, "Event"].create(event)) == errors


def test_an_event_of_the_new_group_stays_but_for_its_series() -> None:
    series = {"count": 2, "lastObservedTime": TIME}
    update = VALIDATORS["events.k8s.io", "Event"].update
    assert messages(update(NEW | {"series": series}, NEW)) == []
    assert messages(update(NEW | {"note": "other"}, NEW)) == ['message: Invalid value: "other": field is immutable']
