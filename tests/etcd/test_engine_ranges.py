"""Ranges of the engine: pages of the newest and of past states are those of a list that is kept of each revision."""

from hypothesis import given, settings
from hypothesis import strategies as st

from etcd.mvcc import Engine
from etcd.store import Event, KeyValue

PREFIX = "/registry/pods/"
KEYS = [f"{PREFIX}{name}" for name in "abcd"]


def written(steps: list[tuple[int, bool]]) -> tuple[Engine, list[list[KeyValue]]]:
    """An engine after puts (True) and deletes of keys by number, and what there was at each revision."""
    engine = Engine()
    states: list[list[KeyValue]] = [[]]
    for number, is_put in steps:
        revision, key = len(states), KEYS[number]
        prev = engine.get(key)
        if prev is None and not is_put:
            continue
        created = prev.create_revision if prev else revision
        kv = KeyValue(key, b"%d" % revision, created, revision, None) if is_put else None
        engine.apply([Event(revision, key, kv, prev)])
        kept = [each for each in states[-1] if each.key != key]
        states.append(sorted([*kept, *([kv] if kv else [])], key=lambda each: each.key))
    return engine, states


@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12),
    begin=st.integers(0, 3),
    limit=st.integers(0, 5),
    data=st.data(),
)
def test_a_page_is_a_part_of_what_there_was_at_its_revision(steps, begin, limit, data):
    engine, states = written(steps)
    revision = data.draw(st.integers(0, len(states) - 1))
    expected = [each for each in states[revision or -1] if each.key >= KEYS[begin]]
    for _ in range(2):  # the second time from a snapshot that is kept
        page = engine.range(PREFIX, start=KEYS[begin], limit=limit, revision=revision)
        shown = expected[: limit or None]
        assert list(page.items) == shown
        assert (page.remaining, page.more) == (len(expected) - len(shown), len(expected) > len(shown))
    assert engine.count(PREFIX) == len(states[-1])
