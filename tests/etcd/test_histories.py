"""The checker of histories finds contradictions, one for each way in which a store could be wrong."""

from typing import Any

import etcd_histories
import pytest


def good() -> list[list[Any]]:
    """Two writers, a reader and a watch; nothing is wrong with it."""
    return [
        ["s", "watch", "/r/", 0],
        ["i", "w1", 1.0, "put", "/r/a", "w1", 0],
        ["o", "w1", 2.0, "ok", 1],
        ["r", 3.0, 4.0, 1, "/r/a", "w1", 1],
        ["i", "w2", 5.0, "put", "/r/a", "w2", 1],
        ["i", "w3", 5.0, "put", "/r/a", "w3", 1],
        ["o", "w2", 6.0, "ok", 2],
        ["o", "w3", 6.5, "conflict", 2],
        ["g", 7.0, 8.0, 2, "/r/", [["/r/a", 2]]],
        ["i", "d1", 9.0, "delete", "/r/a", None, None],
        ["o", "d1", 10.0, "ok", 3],
        ["i", "w4", 9.0, "put", "/r/b", "w4", None],
        ["o", "w4", 12.0, "unknown", 0],
        ["i", "d2", 11.0, "delete", "/r/a", None, None],
        ["o", "d2", 12.0, "conflict", 0],
        ["i", "d3", 13.0, "delete", "/r/b", None, None],
        ["e", "watch", 1, "/r/a", "w1", 0],
        ["e", "watch", 2, "/r/a", "w2", 1],
        ["e", "watch", 3, "/r/a", None, 2],
        ["e", "watch", 4, "/r/b", "w4", 0],
        ["e", "watch", 5, "/r/b", None, 4],
        ["p", "watch", 20.0, 5],
        ["f"],
    ]


WRITTEN = [(1, "/r/a", "w1"), (2, "/r/a", "w2"), (3, "/r/a", None), (4, "/r/b", "w4"), (5, "/r/b", None)]


def problems(lines, written=WRITTEN) -> str:
    history = etcd_histories.History()
    for line in lines:
        history.add(*line)
    return "\n".join(etcd_histories.problems(history, [etcd_histories.HistoryEntry(*each) for each in written]))


def changed(old: list[Any], new: list[Any] | None) -> list[list[Any]]:
    """A good history but for one line."""
    lines = good()
    index = lines.index(old)
    lines[index : index + 1] = [] if new is None else [new]
    return lines


def test_a_good_history_has_no_problems():
    assert problems(good()) == ""
    history = etcd_histories.History()
    for line in good():
        history.add(*line)
    assert (history.operations, history.refused) == (9, 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (["r", 3.0, 4.0, 1, "/r/a", "w1", 1], ["r", 7.0, 8.0, 1, "/r/a", "w1", 1], "stale: a read"),
        (["r", 3.0, 4.0, 1, "/r/a", "w1", 1], ["r", 3.0, 4.0, 0, "/r/a", None, 0], "stale: a read"),
        (["r", 3.0, 4.0, 1, "/r/a", "w1", 1], ["r", 3.0, 4.0, 1, "/r/a", "w2", 2], "a read of /r/a at 1 gave 'w2'"),
        (["r", 3.0, 4.0, 1, "/r/a", "w1", 1], ["r", 3.0, 4.0, 1, "/r/a", None, 0], "a read of /r/a at 1 gave None"),
        (["r", 3.0, 4.0, 1, "/r/a", "w1", 1], ["r", 3.0, 4.0, 2, "/r/a", "w2", 2], "2 was seen before it began"),
        (["g", 7.0, 8.0, 2, "/r/", [["/r/a", 2]]], ["g", 7.0, 8.0, 2, "/r/", []], "a range of /r/ at 2 gave"),
        (["g", 7.0, 8.0, 2, "/r/", [["/r/a", 2]]], ["g", 7.0, 8.0, 1, "/r/", [["/r/a", 1]]], "stale: a range"),
        (["o", "w2", 6.0, "ok", 2], ["o", "w2", 6.0, "ok", 1], "lost"),
        (["o", "w2", 6.0, "ok", 2], ["o", "w2", 6.0, "ok", 9], "lost"),
        (["o", "w2", 6.0, "ok", 2], ["o", "w2", 6.0, "refused", 0], "nobody can have written"),
        (["o", "w2", 6.0, "ok", 2], ["o", "w2", 6.0, "conflict", 1], "nobody can have written"),
        (["i", "w2", 5.0, "put", "/r/a", "w2", 1], ["i", "w2", 5.0, "put", "/r/a", "w2", 0], "replaced 1"),
        (["o", "w3", 6.5, "conflict", 2], ["o", "w3", 6.5, "conflict", 1], "although it was as it should be"),
        (["o", "w3", 6.5, "conflict", 2], ["o", "w3", 6.5, "conflict", 4], "stale"),
        (["i", "w3", 5.0, "put", "/r/a", "w3", 1], ["i", "w3", 10.5, "put", "/r/a", "w3", 1], "was told of 2, and 3"),
        (["o", "d2", 12.0, "conflict", 0], ["o", "d2", 12.0, "conflict", 2], "was told of 2, and 3"),
        (["i", "d2", 11.0, "delete", "/r/a", None, None], ["i", "d2", 2.5, "delete", "/r/a", None, None], ""),
        (["e", "watch", 2, "/r/a", "w2", 1], None, "misses"),
        (["e", "watch", 5, "/r/b", None, 4], None, "misses"),
        (["e", "watch", 2, "/r/a", "w2", 1], ["e", "watch", 2, "/r/a", "w2", 0], "misses"),
        (["e", "watch", 1, "/r/a", "w1", 0], ["e", "watch", 2, "/r/a", "w2", 1], "1 twice"),
        (["p", "watch", 20.0, 5], ["p", "watch", 20.0, 4], "has"),
        (["s", "watch", "/r/", 0], ["s", "watch", "/r/", 1], "of nobody"),
    ],
)
def test_what_cannot_have_been_is_found(old, new, words):
    faults = problems(changed(old, new))
    assert words in faults
    assert bool(words) == bool(faults)


def test_a_write_in_doubt_may_have_happened_once_or_not_and_never_twice():
    lines = [line for line in good() if line[0] not in "sepf"]
    assert problems(lines) == ""
    assert problems(lines, WRITTEN[:3]) == ""
    assert "doubled" in problems(lines, [*WRITTEN, (6, "/r/b", "w4")])
    assert "nobody can have written" in problems(lines, [*WRITTEN, (6, "/r/b", "w9")])
    assert "nobody can have written" in problems(lines, [*WRITTEN, (6, "/r/b", None)])


def test_a_write_that_is_older_than_what_was_seen_before_it_began_is_found():
    lines = [["i", "w1", 1.0, "put", "/r/a", "w1", None], ["o", "w1", 2.0, "ok", 2]]
    lines += [["i", "w2", 3.0, "put", "/r/b", "w2", None], ["o", "w2", 4.0, "ok", 1]]
    assert "is at 1, and 2 was seen before it began" in problems(lines, [(1, "/r/b", "w2"), (2, "/r/a", "w1")])


def test_a_watch_of_a_server_that_was_killed_is_judged_by_what_it_gave():
    lines = good()
    lines.remove(["p", "watch", 20.0, 5])
    assert problems(lines) == ""
    lines.remove(["e", "watch", 5, "/r/b", None, 4])
    assert problems(lines) == ""
    lines.remove(["e", "watch", 3, "/r/a", None, 2])
    assert "misses" in problems(lines)


def test_a_watch_that_does_not_come_to_what_everybody_saw_is_found():
    lines = [line for line in good() if line[:3] != ["e", "watch", 5] and line[:3] != ["e", "watch", 4]]
    lines = [["p", "watch", 20.0, 3] if line[0] == "p" else line for line in lines]
    assert problems(lines, WRITTEN[:3]) == ""
    lines = [["p", "watch", 20.0, 2] if line[0] == "p" else line for line in lines if line[:3] != ["e", "watch", 3]]
    assert "stands at 2, and 3 was seen" in problems(lines, WRITTEN[:3])
