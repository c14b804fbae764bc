"""Decoding the events of a watch into a cache."""

import json
import logging

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.kinds import CONFIG_MAP
from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.watch_decoder import INITIAL_EVENTS_END, WatchDecoder


@pytest.fixture
def cache():
    return KindCache(CONFIG_MAP)


@pytest.fixture
def intake(cache):
    decoder = WatchDecoder(cache)
    decoder.begin_watch(initial=False)
    return decoder


def test_objects_come_change_and_go(cache, intake, event):
    intake.feed(event("ADDED") + event("MODIFIED", revision="2", labels={"a": "b"}))
    assert cache.get("d/a")["metadata"]["labels"] == {"a": "b"}
    assert (intake.revision, cache.revision) == ("2", 2)
    intake.feed(event("DELETED", revision="3"))
    assert (len(cache), cache.revision, intake.received) == (0, 3, 3)


def test_cached_objects_say_what_they_are_and_not_who_wrote_what(cache, intake, event):
    intake.feed(event("ADDED", managedFields=[{"manager": "me"}]))
    obj = cache.get("d/a")
    assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")
    assert "managedFields" not in obj["metadata"]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_events_may_be_parted_anywhere(cache, intake, size, event):
    stream = b"".join(event("ADDED", name, str(number)) for number, name in enumerate("abc", 1))
    for at in range(0, len(stream), size):
        intake.feed(stream[at : at + size])
    assert len(cache) == 3


def test_half_an_event_of_a_watch_that_broke_is_no_part_of_the_next_watch(cache, intake, event):
    intake.feed(event("ADDED", "a") + event("ADDED", "b")[:20])
    intake.begin_watch(initial=False)
    intake.feed(event("ADDED", "c"))
    assert {obj["metadata"]["name"] for obj in cache} == {"a", "c"}
    assert intake.received == 1


def test_bookmarks_tell_how_far_the_cache_is(cache, intake, event):
    woken = []
    cache.call_at_revision(9, lambda: woken.append("now"))
    intake.feed(event("BOOKMARK", revision="9"))
    assert (intake.revision, cache.revision, woken) == ("9", 9, ["now"])


def test_what_there_is_replaces_what_was_once_all_is_told(cache, intake, event):
    intake.feed(event("ADDED", "old"))
    intake.begin_watch(initial=True)
    intake.feed(event("ADDED", "new", "5") + event("BOOKMARK", revision="5"))
    assert intake.is_initial
    assert cache.get("d/old")
    intake.feed(event("BOOKMARK", revision="6", annotations={INITIAL_EVENTS_END: "true"}))
    assert not intake.is_initial
    assert (cache.get("d/old"), intake.revision, cache.revision) == (None, "6", 6)
    assert cache.get("d/new")
    assert cache.synced


@pytest.mark.parametrize(
    "line",
    [
        b"x",
        b"",
        b"[]",
        b"5",
        b"null",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": null}',
        b'{"type": "ADDED", "object": {"metadata": {}}}',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": "1"}}}',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": 1, "name": "a"}}}',
        b'{"object": {"metadata": {"resourceVersion": "1"}}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_event_is_a_lost_connection_and_leaves_no_trace(cache, intake, line):
    with pytest.raises(ApiError) as caught:
        intake.feed(line + b"\n")
    assert caught.value.code == 0
    assert (len(cache), intake.revision) == (0, "")


@pytest.mark.parametrize(("status", "code"), [({"code": 410}, 410), ({"code": 500}, 500), ({}, 500), (None, 500)])
def test_an_error_in_the_stream_is_the_servers(intake, status, code):
    obj = status if status is None else {"kind": "Status"} | status
    with pytest.raises(ApiError) as caught:
        intake.feed(json.dumps({"type": "ERROR", "object": obj}).encode() + b"\n")
    assert caught.value.code == code


def test_a_listener_that_fails_stops_nobody(cache, intake, caplog, event):
    def fail(_):
        raise ZeroDivisionError

    cache.add_listener(fail)
    with caplog.at_level(logging.CRITICAL):
        intake.feed(event("ADDED", "a", "1") + event("ADDED", "b", "2"))
    assert (len(cache), cache.revision, intake.revision) == (2, 2, "2")
