"""The Events that are made of occurrences, as upstream's recorders make them."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import WARNING, RecordEvent
from controller_manager.runtime.event_builder import core_event, core_patch, new_event, new_occurrence
from controller_manager.runtime.event_correlator import EventCorrelator, LRUCache, SeriesTracker

NOW = 1_800_000_000 * 10**9
SECOND = 10**9
POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "u", "resourceVersion": "7"},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"}}


@pytest.fixture
def correlate(hasty):
    """Whole seconds and a message make what is written of them: the name's number, count and message, or None."""
    correlator = EventCorrelator(hasty)

    def say(second, message="it did", *, of=POD, source="x-controller", reason="Did"):
        hasty.passed = second
        said = new_occurrence(RecordEvent(of, reason, message), source, nanos=NOW + second * SECOND)
        correlated = correlator.correlate(said)
        return correlated and (correlated.count, correlated.occurrence.message, (correlated.first - NOW) // SECOND)

    return say


# -- the core API


def test_the_same_is_counted(correlate):
    assert [correlate(second) for second in (0, 1, 5)] == [(1, "it did", 0), (2, "it did", 0), (3, "it did", 0)]


def test_other_sources_objects_and_reasons_are_counted_apart(correlate):
    correlate(0)
    others: list[dict[str, Any]] = [
        {"source": "y-controller"},
        {"of": NODE},
        {"reason": "Other"},
        {"message": "it did not"},
    ]
    assert [correlate(1, **other)[0] for other in others] == [1, 1, 1, 1]


def test_ten_messages_of_one_reason_are_combined_from_then_on(correlate):
    events = [correlate(second, f"m{second}") for second in range(12)]
    assert events[:9] == [(1, f"m{second}", second) for second in range(9)]
    combined = "(combined from similar events): m"
    assert events[9:] == [(count, f"{combined}{second}", 9) for count, second in ((1, 9), (2, 10), (3, 11))]


def test_a_message_that_was_told_as_it_is_goes_on_so_while_new_ones_are_combined(correlate):
    """All but the one of ten that upstream lets go, whichever that is."""
    for second in range(10):
        correlate(second, f"m{second}")
    again = [correlate(second, f"m{second - 10}")[1] for second in range(10, 19)]
    assert any("combined" not in message for message in again)


def test_messages_that_are_more_than_ten_minutes_apart_are_not_combined(correlate):
    events = [correlate(second, f"m{second}") for second in range(0, 20 * 601, 601)]
    assert {count for count, _, _ in events} == {1}
    assert not any("combined" in message for _, message, _ in events)


def test_a_source_says_twenty_five_things_of_an_object_and_then_one_in_five_minutes(correlate):
    assert [bool(correlate(0)) for _ in range(30)] == [True] * 25 + [False] * 5
    assert correlate(299) is None
    assert correlate(300) == (32, "it did", 0)
    assert correlate(301) is None
    assert correlate(301, of=NODE) == (1, "it did", 301)


def test_what_is_remembered_is_bounded():
    recent: LRUCache[int] = LRUCache(3)
    for number in range(3):
        recent.put(number, number)
    recent.get(0)
    recent.put(3, 3)
    assert [recent.get(number) for number in range(4)] == [0, None, 2, 3]


def test_what_was_only_asked_for_takes_no_room():
    recent: LRUCache[int] = LRUCache(2)
    recent.put("a", 1)
    assert [recent.get(key) for key in ("x", "y")] == [None, None]
    recent.put("b", 2)
    assert [recent.get(key) for key in ("a", "b")] == [1, 2]


def test_4096_are_remembered_unless_another_number_is_said():
    recent: LRUCache[int] = LRUCache()
    for number in range(4096):
        recent.put(number, number)
    assert recent.get(0) == 0
    recent.put("one more", 1)
    assert recent.get(1) is None
    assert recent.get(2) == 2


def test_an_event_of_the_core_api_is_upstreams():
    emit = RecordEvent(POD, "Pulled", "pulled it", component="kubelet", host="n1", field_path="spec.containers{web}")
    said = new_occurrence(emit, "ignored", nanos=NOW + SECOND)
    assert said.event_name == f"web-1.{NOW + SECOND:x}"
    assert core_event(said, name="e", count=2, first=NOW) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web-1",
            "namespace": "shop",
            "uid": "u",
            "resourceVersion": "7",
            "fieldPath": "spec.containers{web}",
        },
        "type": "Normal",
        "reason": "Pulled",
        "message": "pulled it",
        "count": 2,
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:01Z",
        "source": {"component": "kubelet", "host": "n1"},
        "reportingComponent": "kubelet",
        "reportingInstance": "n1",
    }
    assert core_patch(said, count=3) == {"count": 3, "lastTimestamp": "2027-01-15T08:00:01Z", "message": "pulled it"}


def test_events_of_what_has_no_namespace_are_in_default():
    said = new_occurrence(RecordEvent(NODE, "Starting", ""), "kubelet", nanos=NOW)
    event = core_event(said, name="e", count=1, first=NOW)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.parametrize("name", ["x" * 250, "system:node", ""])
def test_a_name_that_would_not_be_valid_gives_way_to_a_uuid(name):
    said = replace(new_occurrence(RecordEvent(NODE, "a", "b"), "c", nanos=NOW), name=name)
    assert len(said.event_name) == 36


# -- events.k8s.io


@pytest.mark.parametrize(
    ("reason", "action"),
    [
        ("Scheduled", "Binding"),
        ("FailedScheduling", "Scheduling"),
        ("Preempted", "Preempting"),
        ("Other", "Other"),
    ],
)
def test_an_event_of_the_scheduler_is_upstreams(reason, action):
    said = new_occurrence(RecordEvent(POD, reason, "no room", WARNING), "default-scheduler", nanos=NOW)
    assert new_event(said, name="e", instance="default-scheduler-host") == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "eventTime": "2027-01-15T08:00:00.000000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": action,
        "reason": reason,
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web-1",
            "namespace": "shop",
            "uid": "u",
            "resourceVersion": "7",
        },
        "note": "no room",
        "type": "Warning",
    }


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("ü" * 600, "ü" * 510 + " ..."),
        ("x" + "ü" * 600, "x" + "ü" * 509 + " ..."),
    ],
)
def test_a_note_is_cut_where_it_is_too_long(message, note):
    said = new_occurrence(RecordEvent(POD, "FailedScheduling", message), "default-scheduler", nanos=NOW)
    assert new_event(said, name="e", instance="i")["note"] == note


@pytest.fixture
def observe():
    series = SeriesTracker()
    times = itertools.count(NOW, SECOND)

    def say(of=POD):
        return series.observe(
            new_occurrence(RecordEvent(of, "FailedScheduling", "no"), "default-scheduler", nanos=next(times))
        )

    observing: Any = say
    observing.series = series
    return observing


def test_the_second_makes_a_series_and_the_rest_are_counted_silently(observe):
    first, second, third = observe(), observe(), observe()
    assert first.series() is None
    assert second.name == first.name
    assert second.series() == {"count": 2, "lastObservedTime": "2027-01-15T08:00:01.000000Z"}
    assert third is None
    assert [serial.count for serial in observe.series.running()] == [3]


def test_a_changed_object_begins_another_series(observe):
    observe()
    changed = POD | {"metadata": POD["metadata"] | {"resourceVersion": "8"}}
    assert observe(changed).series() is None


def test_series_end_after_six_silent_minutes_with_a_last_count(observe):
    for _ in range(3):
        observe()
    observe(NODE)
    last = NOW / SECOND + 3
    assert list(observe.series.finish(last + 357)) == []
    assert [serial.count for serial in observe.series.finish(last + 361)] == [3]
    assert observe.series.running() == []
    assert observe().series() is None


def test_a_series_ends_after_more_than_six_minutes_and_one_alone_has_no_last_count(observe):
    observe()
    assert observe.series.running() == []
    observe()
    observe(NODE)
    assert [serial.count for serial in observe.series.running()] == [2]
    last = NOW / SECOND + 1
    assert list(observe.series.finish(last + 360)) == []
    assert [serial.count for serial in observe.series.finish(last + 360.5)] == [2]
    assert list(observe.series.finish(last + 400)) == []


@pytest.mark.parametrize("pause", [400, 600])
def test_messages_are_combined_while_each_comes_within_ten_minutes_of_the_one_before(correlate, pause):
    events = [correlate(number * pause, f"m{number}") for number in range(11)]
    assert ["combined" in message for _, message, _ in events] == [False] * 9 + [True] * 2


def test_what_is_put_again_is_remembered_as_new():
    recent: LRUCache[int] = LRUCache(3)
    for number in (0, 1, 2, 0, 3):
        recent.put(number, number)
    assert [recent.get(number) for number in range(4)] == [0, None, 2, 3]


@pytest.mark.parametrize(("length", "is_kept"), [(253, True), (254, False)])
def test_the_name_of_an_event_may_have_253_letters(length, is_kept):
    suffix = f".{NOW:x}"
    said = replace(new_occurrence(RecordEvent(NODE, "a", "b"), "c", nanos=NOW), name="x" * (length - len(suffix)))
    assert said.event_name.endswith(suffix) is is_kept


def test_a_combined_event_is_of_no_field():
    said = new_occurrence(
        RecordEvent(POD, "Pulled", "m", field_path="spec.containers{web}"), "kubelet", nanos=NOW
    ).combined()
    assert (said.field_path, said.message) == ("", "(combined from similar events): m")


def test_a_series_is_told_in_its_event_and_a_note_needs_no_valid_unicode():
    said = new_occurrence(RecordEvent(POD, "FailedScheduling", "\ud800" + "x" * 2000), "default-scheduler", nanos=NOW)
    event = new_event(said, name="e", instance="i", series={"count": 2})
    assert event["series"] == {"count": 2}
    assert event["note"] == "?" + "x" * 1019 + " ..."
