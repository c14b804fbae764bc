"""The engine by itself: transactions of several keys, which only a cluster makes, and what its log remembers."""

from functools import partial
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etcd.mvcc import Engine, directory
from etcd.store import Compacted, Event, FutureRevision, KeyValue

PODS = "/registry/pods/"


def transaction(revision: int, keys: list[str], engine: Engine) -> list[Event]:
    """Puts of some keys that have one revision."""
    events = []
    for key in keys:
        prev = engine.get(key)
        created = prev.create_revision if prev else revision
        events.append(Event(revision, key, KeyValue(key, b"%d" % revision, created, revision, None), prev))
    return events


def engine_of(sizes: list[int]) -> Engine:
    """An engine with a transaction of each size: half of the keys lie elsewhere, the rest in two namespaces."""
    engine = Engine()
    for revision, size in enumerate(sizes, start=1):
        keys = [f"{PODS}{number % 4}/{number}" if number % 2 else f"/registry/nodes/{number}" for number in range(size)]
        engine.apply(transaction(revision, keys, engine))
    return engine


def batches_of(engine: Engine, prefix: str, after: int) -> list[list[Event]]:
    """Return the batches of events that a watcher gets, one for each call."""
    cursor = engine.watch(prefix, after)
    batches = []
    while batch := cursor.next_events():
        batches.append(list(batch))
    return batches


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    prefix=st.sampled_from(["", PODS, PODS + "1/", PODS + "3/"]),
    after=st.integers(0, 6),
    limit=st.integers(1, 8),
)
def test_all_events_of_a_transaction_come_in_one_batch(sizes, prefix, after, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("etcd.mvcc._MAX_BATCH", limit)
        batches = batches_of(engine_of(sizes), prefix, min(after, len(sizes)))
    assert all(one[-1].revision < other[0].revision for one, other in pairwise(batches))
    expected = [event for event in engine_of(sizes).log if event.key.startswith(prefix) and event.revision > after]
    assert [event for batch in batches for event in batch] == expected
    for batch in batches:
        last = [len(list(events)) for _, events in groupby(batch, key=lambda event: event.revision)][-1]
        assert len(batch) - last < limit, "a batch grows beyond its limit by no more than it takes to end a transaction"


def test_a_batch_of_the_usual_size_ends_with_a_whole_transaction():
    batches = batches_of(engine_of([300] * 8), "", 0)
    assert [(len(batch), batch[0].revision, batch[-1].revision) for batch in batches] == [(1200, 1, 4), (1200, 5, 8)]


def test_revisions_of_others_move_the_engine_on_and_wake_who_waits_for_them():
    engine = engine_of([1, 1])
    woken = []
    engine.directory_index("").parked.add(lambda: woken.append("everything"))
    engine.directory_index(PODS).parked.add(lambda: woken.append("pods"))
    for older in (0, 1, 2):
        engine.advance(older)
        assert (engine.revision, woken) == (2, []), "nothing has happened"
    engine.advance(5)
    assert (engine.revision, woken) == (5, ["everything"])
    assert engine.watch(PODS, 2).position == 5
    engine.compact(5)
    with pytest.raises(Compacted):
        engine.watch(PODS, 4)
    with pytest.raises(FutureRevision):
        engine.compact(6)
    assert engine.compacted == 5


def engine_of_pods(number: int) -> Engine:
    """An engine with so many revisions of one pod."""
    engine = Engine()
    for revision in range(1, number + 1):
        engine.apply(transaction(revision, [PODS + "a"], engine))
    return engine


def test_an_engine_that_begins_with_a_state_knows_its_keys_and_nothing_from_before():
    kvs = [KeyValue(key, b"", 3, 4, None) for key in (PODS + "b", PODS + "a", "/registry/nodes/a", "odd")]
    engine = Engine()
    engine.restore(kvs, 7)
    assert (engine.revision, engine.compacted, list(engine.log)) == (7, 7, [])
    assert engine.range(PODS).items == [kvs[1], kvs[0]]
    assert engine.range("").items == [kvs[2], kvs[1], kvs[0], kvs[3]]
    assert (engine.count(PODS), engine.count(""), engine.get("odd")) == (2, 4, kvs[3])
    with pytest.raises(Compacted):
        engine.watch(PODS, 6)


def test_a_watcher_that_lacks_a_compacted_event_is_told_however_few_it_lacks():
    engine = engine_of_pods(5)
    cursors = [engine.watch(PODS, after) for after in range(6)]
    engine.compact(5)
    for cursor in cursors[:5]:
        with pytest.raises(Compacted):
            cursor.next_events()
    assert cursors[5].next_events() == ()


def test_a_position_moves_over_what_happens_elsewhere_without_anything_being_taken():
    engine = engine_of_pods(2)
    cursors = [engine.watch(PODS, 2), engine.watch(PODS, 1)]
    engine.apply(transaction(3, ["/registry/nodes/a"], engine))
    assert [cursor.position for cursor in cursors] == [3, 1], "the second has yet to take an event"
    assert [event.revision for event in cursors[1].next_events()] == [2]
    assert [cursor.position for cursor in cursors] == [3, 3]


@pytest.mark.parametrize("revision", range(6))
def test_what_a_compaction_drops_of_the_log_is_what_has_its_revision_or_an_older_one(revision):
    engine = engine_of_pods(5)
    dropped = engine.log_until(revision)
    log = list(engine.log)
    assert [event.revision for event in dropped] == list(range(1, revision + 1))
    engine.compact(revision)
    assert [*dropped, *engine.log] == log


def test_a_watcher_gets_its_events_however_many_of_others_come_before_them():
    engine = engine_of([])
    engine.apply(transaction(1, [f"{PODS}others/{number}" for number in range(3000)], engine))
    engine.apply(transaction(2, [f"{PODS}others/{number}" for number in range(3000)], engine))
    engine.apply(transaction(3, [PODS + "mine/a"], engine))
    assert [[event.revision for event in batch] for batch in batches_of(engine, PODS + "mine/", 0)] == [[3]]


def test_who_is_parked_is_woken_once_and_only_where_something_happens():
    engine = engine_of([1])
    woken: list[Any] = []
    for home in ("", PODS, "/registry/nodes/"):
        engine.directory_index(home).parked.add(partial(woken.append, home))
    engine.apply(transaction(2, [PODS + "a", PODS + "b"], engine))
    engine.apply(transaction(3, [PODS + "c"], engine))
    assert sorted(woken) == ["", PODS]
    engine.wake_all()
    assert sorted(woken) == ["", "/registry/nodes/", PODS]


def test_who_forgets_all_history_tells_every_watcher_also_of_quiet_directories():
    engine = engine_of([1, 2])
    cursors = [engine.watch(prefix, 2) for prefix in ("", PODS, "/registry/nodes/", "/registry/none/")]
    woken: list[Any] = []
    for cursor in cursors:
        cursor.index.parked.add(partial(woken.append, cursor))
    engine.advance(9)
    engine.forget_history()
    assert len(engine.log) == 0
    assert set(woken) == set(cursors)
    for cursor in cursors[:3]:
        with pytest.raises(Compacted) as caught:
            cursor.next_events()
        assert caught.value.compact_revision == 9
    assert engine.count(PODS) == 1, "the state stays"


def test_snapshots_are_kept_for_their_next_pages_and_only_so_many():
    engine = engine_of([2] * 12)
    for revision in range(1, 12):
        engine.range(PODS, revision=revision)
    assert list(engine._snapshots) == [(PODS, revision) for revision in range(4, 12)]
    first = engine.range(PODS, revision=5, limit=1)
    assert list(engine._snapshots) == [(PODS, revision) for revision in range(4, 12)], "it was still there"
    engine.apply(transaction(13, [PODS + "1/1"], engine))
    assert engine.range(PODS, revision=5, limit=1) == first
    engine.compact(5)
    assert engine._snapshots == {}


@pytest.mark.parametrize(
    ("key", "home"),
    [
        ("/registry/pods/default/web", "/registry/pods/"),
        ("/registry/pods/", "/registry/pods/"),
        ("/registry/pods", ""),
        ("/registry/", ""),
        ("/", ""),
        ("", ""),
        ("odd", ""),
        ("odd/", ""),
        ("a/b/c", "a/b/"),
        ("a//c", "a//"),
        ("/a/b/c", "/a/b/"),
    ],
)
def test_a_directory_is_the_first_two_steps_of_a_path(key, home):
    assert directory(key) == home
