"""The engine by itself: transactions of several keys, which only a cluster makes, and what its log remembers."""

from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etcd.mvcc import Engine
from etcd.store import Event, KeyValue

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
    """An engine with a transaction of each size; every other key lies in another directory."""
    engine = Engine()
    for revision, size in enumerate(sizes, start=1):
        keys = [f"{PODS if number % 2 else '/registry/nodes/'}{number}" for number in range(size)]
        engine.apply(transaction(revision, keys, engine))
    return engine


def batches_of(engine: Engine, prefix: str, after: int) -> list[list[Event]]:
    """What a watcher is given, take by take."""
    cursor = engine.watch(prefix, after)
    batches = []
    while batch := cursor.take():
        batches.append(list(batch))
    return batches


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    prefix=st.sampled_from(["", PODS, PODS + "1"]),
    after=st.integers(0, 6),
    limit=st.integers(1, 8),
)
def test_all_events_of_a_transaction_come_in_one_batch(sizes, prefix, after, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("etcd.mvcc._BATCH", limit)
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
