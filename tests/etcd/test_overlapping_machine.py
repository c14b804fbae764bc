"""Writers that overlap with commits, failures, crashes and restarts: whatever happens, what was answered was true."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gated_log import GatedLog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from etcd.backends import open_store
from etcd.compaction import CompactionLimits
from etcd.durable import DurableStore
from etcd.embedded import StoreOptions
from etcd.sqlite import Row
from etcd.store import Conflict, Event, KeyValue, Unavailable

KEYS = ["/r/a/1", "/r/a/2", "/r/b/1"]
PREFIXES = ["", "/r/a/", "/r/b/1"]
IN_MEMORY = Path("/dev/shm")
"""Where files are, if there is such a folder: no test here is about what a disk has synced."""
KINDS = ["any", "any", "seen", "seen", "absent", "under way", "next", "wrong"]
TURNS = 6
"""Turns of the loop after which whatever does not wait for the writer has happened."""
ROUNDS = 100
"""Jobs of the writer after which a store that is being closed, and nothing holds up, has to be."""


@dataclass(eq=False)
class Write:
    """A put, or a delete where `value` is None, and what is known of its outcome.

    Attributes:
        begun: the newest revision when it began.
        faults: how many faults there had been then.
    """

    key: str
    value: bytes | None
    expect: int | None
    begun: int
    faults: int
    task: asyncio.Task[KeyValue | Event]
    is_judged: bool = False


@dataclass(eq=False)
class Watch:
    """A watcher, which is read late, or as soon as there is something if it has a task."""

    prefix: str
    after: int
    watcher: Any
    events: list[Event]
    task: asyncio.Task[None] | None = None


def attach(key: str, value: bytes) -> tuple[str, bytes]:
    return key, value


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def fail_before_writing(_rows: Sequence[Row]) -> None:
    raise Unavailable("the disk is on fire")


def fail_oddly(_rows: Sequence[Row]) -> None:
    raise RuntimeError("out of luck")


class OverlappingMachine(RuleBasedStateMachine):
    """A durable store whose commits are held up.

    The truth is what a watcher of everything has been given since the beginning; answers, reads, other watches and
    copies of the files are judged by it. All values differ, so that each event tells which write it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
        self.loop = asyncio.new_event_loop()
        self.truth: list[Event] = []
        self.writes: list[Write] = []
        self.watches: list[Watch] = []
        self.compacted = 0
        self.faults = 0
        self.number = 0
        self.open()

    def open(self) -> None:
        self.log = GatedLog(self.folder / "store.db")
        self.log.before.close()
        self.store = self.run(self.opened())
        self.observer = self.store.watch("", after=len(self.truth))

    async def opened(self) -> DurableStore:
        return DurableStore(
            self.log, StoreOptions(attach=attach, clock=time.monotonic, limits=CompactionLimits(1e9, 10**6))
        )

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def turn(self) -> None:
        """Let everything happen that does not wait for the writer."""
        self.run(turns())

    async def passed_by_the_writer(self) -> None:
        """Wait until the writer has done what it was given so far, and whoever waited for that has heard of it."""
        passed = self.loop.create_future()
        self.store._worker.submit(lambda: None, passed.set_result)
        await passed
        await turns()

    # -- writers

    @rule(
        writes=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans(), st.sampled_from(KINDS)), min_size=1, max_size=4)
    )
    def write(self, writes: list[tuple[str, bool, str]]) -> None:
        """Begin writes of keys that may be under way, with expectations that may hold of one of their versions."""
        for key, is_put, kind in writes:
            self.number += 1
            value = b"%d" % self.number if is_put else None
            expect = self.expectation(key, kind)
            work = self.store.delete(key, expect=expect) if value is None else self.store.put(key, value, expect=expect)
            task = self.loop.create_task(work)
            self.writes.append(Write(key, value, expect, len(self.truth), self.faults, task))
        self.turn()

    def expectation(self, key: str, kind: str) -> int | None:
        seen = self.store.get(key)
        return {
            "any": None,
            "seen": seen.mod_revision if seen else 0,
            "absent": 0,
            "under way": len(self.truth) + 1,
            "next": len(self.truth) + 2,
            "wrong": len(self.truth) + 50,
        }[kind]

    @rule(number=st.integers(0, 5))
    def cancel(self, number: int) -> None:
        """A client goes away in the middle of its write, which may or may not come to be."""
        pending = [write for write in self.writes if not write.task.done()]
        if pending:
            pending[number % len(pending)].task.cancel()
            self.turn()

    # -- the writer

    @rule(number=st.integers(1, 3))
    def let_commits_pass(self, number: int) -> None:
        for _ in range(number):
            if not self.store._batch:
                break
            self.log.before.wait_for_arrival()
            self.log.before.let_one_pass()
            self.run(self.passed_by_the_writer())

    @precondition(lambda self: self.store._batch)
    @rule(how=st.sampled_from(["before", "oddly", "full"]))
    def fail_a_commit(self, how: str) -> None:
        faults: dict[str, Callable[[Sequence[Row]], None]] = {
            "before": fail_before_writing,
            "oddly": fail_oddly,
            "full": self.log.append_to_full_disk,
        }
        self.faults += 1
        self.log.fault = faults[how]
        self.let_commits_pass(1)

    # -- crashes and restarts

    @precondition(lambda self: self.store._batch)
    @rule(is_written=st.booleans())
    def look_at_what_a_crash_would_leave(self, *, is_written: bool) -> None:
        """Open a copy of the files from before a commit, or from after it and before its answers."""
        self.log.before.wait_for_arrival()
        if is_written:
            self.log.after.close()
            self.log.before.let_one_pass()
            self.log.after.wait_for_arrival()
        copy = self.folder / "copy"
        copy.mkdir()
        for path in self.folder.glob("store.db*"):
            shutil.copy(path, copy)
        unanswered = self.log.batch if is_written else ()
        if is_written:
            self.log.after.open()
            self.run(self.passed_by_the_writer())
        self.run(self.check_copy(copy, unanswered))
        shutil.rmtree(copy)

    async def check_copy(self, copy: Path, unanswered: Sequence[Row]) -> None:
        """Check that visible writes are there, unanswered ones as a whole or not at all, and nothing else."""
        store: Any = await open_store(f"sqlite://{copy}", attach=attach, compact_age=1e9)
        begin = store._engine.compacted
        events = store.watch("", after=begin).next_nowait()
        copied = [(event.revision, event.key, event.kv.value if event.kv else None) for event in events]
        known = [(event.revision, event.key, event.kv.value if event.kv else None) for event in self.truth[begin:]]
        more = [(row.revision, row.key, row.value) for row in unanswered]
        assert copied == [*known, *(each for each in more if each[0] > len(self.truth))]
        assert (await store.put("/r/next", b"")).mod_revision == begin + len(copied) + 1
        await store.close()

    @rule()
    def restart(self) -> None:
        """Close with everything under way, which waits for all of it, and open again."""
        closing = self.loop.create_task(self.store.close())
        self.turn()
        self.log.before.open()
        self.faults += 1  # a writer who comes back from waiting may find the store closed
        self.run(self.finished(closing))
        assert closing.done(), "closing does not end"
        closing.result()
        assert all(write.task.done() for write in self.writes), "a writer has no answer"
        self.observe(self.observer_without_its_store())
        for each in self.watches:
            if each.task is not None:
                assert isinstance(each.task.exception(), Unavailable)
        self.watches = []
        self.open()

    async def finished(self, closing: asyncio.Task[None]) -> None:
        for _ in range(ROUNDS):
            passed = asyncio.ensure_future(self.passed_by_the_writer())
            await asyncio.wait({passed, closing}, return_when=asyncio.FIRST_COMPLETED)
            passed.cancel()
            await asyncio.wait({passed})
            if closing.done():
                break
        await turns()

    def observer_without_its_store(self) -> Sequence[Event]:
        """Return the events that became visible while the store was being closed, when its watchers answer no more."""
        events: Sequence[Event] = self.observer._cursor.next_events()
        return events

    # -- watchers

    @rule(prefix=st.sampled_from(PREFIXES), back=st.integers(-2, 9), is_live=st.booleans())
    def watch(self, prefix: str, back: int, *, is_live: bool) -> None:
        after = max(self.compacted, len(self.truth) - back)
        watch = Watch(prefix, after, self.store.watch(prefix, after=after), [])
        if is_live:
            watch.task = self.loop.create_task(self.follow(watch))
        self.watches.append(watch)

    async def follow(self, watch: Watch) -> None:
        while True:
            watch.events += await watch.watcher.next()

    @rule()
    def late_watchers_catch_up(self) -> None:
        for watch in self.watches:
            if watch.task is None and watch.watcher.position >= self.compacted:
                watch.events += watch.watcher.next_nowait()
                self.check_watch(watch)

    def check_watch(self, watch: Watch) -> None:
        expected = [each for each in self.truth[watch.after :] if each.key.startswith(watch.prefix)]
        assert watch.events == expected
        assert watch.watcher.position == max(watch.after, len(self.truth))

    @rule(back=st.integers(0, 6))
    def compact(self, back: int) -> None:
        """It is done in the thread of the writer, behind the commit under way: only begin it."""
        revision = max(0, len(self.truth) - back)
        self.late_watchers_catch_up()
        self.compacted = max(self.compacted, revision)
        self.loop.create_task(self.compacted_unless_closed(revision))
        self.turn()

    async def compacted_unless_closed(self, revision: int) -> None:
        with suppress(Unavailable):
            await self.store.compact(revision)

    # -- what holds at any time

    def observe(self, events: Sequence[Event]) -> None:
        """Take in what has become visible: gapless, on top of what was there, and each event somebody's write."""
        for event in events:
            assert event.revision == len(self.truth) + 1
            assert event.prev == self.version(event.key, len(self.truth))
            if event.kv:
                created = event.prev.create_revision if event.prev else event.revision
                assert event.kv[:4] == (event.key, event.kv.value, created, event.revision)
                assert event.kv.index_attrs == attach(event.key, event.kv.value)
            else:
                assert event.prev
            self.truth.append(event)

    def version(self, key: str, revision: int) -> KeyValue | None:
        """A key as it was at a revision."""
        return next((event.kv for event in reversed(self.truth[:revision]) if event.key == key), None)

    @invariant()
    def answers_are_true(self) -> None:
        self.turn()
        self.observe(self.observer.next_nowait())
        for write in self.writes:
            if write.task.done() and not write.is_judged:
                write.is_judged = True
                if not write.task.cancelled():
                    self.judge(write)
        self.check_each_event_has_one_writer()

    def judge(self, write: Write) -> None:
        error = write.task.exception()
        if error is None:
            result = write.task.result()
            revision = result.revision if isinstance(result, Event) else result.mod_revision
            assert write.begun < revision <= len(self.truth), "what is acknowledged is visible"
            event = self.truth[revision - 1]
            assert result == (event if write.value is None else event.kv)
            assert write.value is None or (event.kv is not None and event.kv.value == write.value)
            assert write.expect in {None, event.prev.mod_revision if event.prev else 0}
        elif isinstance(error, Conflict):
            possible = [self.version(write.key, at) for at in range(write.begun, len(self.truth) + 1)]
            assert error.current in possible
            newest = error.current.mod_revision if error.current else 0
            assert (write.expect is not None and write.expect != newest) or (write.value is None and not newest)
        else:
            assert isinstance(error, Unavailable | RuntimeError)
            assert write.faults < self.faults, "nothing failed"
            assert write.value is None or all(event.kv is None or event.kv.value != write.value for event in self.truth)

    def check_each_event_has_one_writer(self) -> None:
        """Every event is an acknowledged write, or one whose writer has not been answered."""
        unanswered = [write for write in self.writes if not write.task.done() or write.task.cancelled()]
        answered = [write.task for write in self.writes if write.task.done() and not write.task.cancelled()]
        results = [task.result() for task in answered if task.exception() is None]
        revisions = [each.revision if isinstance(each, Event) else each.mod_revision for each in results]
        assert len(set(revisions)) == len(revisions)
        for event in self.truth:
            if event.revision not in revisions:
                value = event.kv.value if event.kv else None
                assert any((write.key, write.value) == (event.key, value) for write in unanswered)

    @invariant()
    def reads_see_what_is_visible_and_nothing_else(self) -> None:
        assert self.store.revision == len(self.truth)
        state = [kv for key in sorted(KEYS) if (kv := self.version(key, len(self.truth)))]
        assert list(self.store.range("").items) == state
        assert [self.store.get(key) for key in KEYS] == [self.version(key, len(self.truth)) for key in KEYS]

    @invariant()
    def live_watchers_have_seen_everything(self) -> None:
        for watch in self.watches:
            if watch.task is not None:
                self.check_watch(watch)

    def teardown(self) -> None:
        """Every writer is answered in the end, and what is on disk is the truth."""
        self.let_commits_pass(ROUNDS)
        assert all(write.task.done() for write in self.writes), "a writer has no answer"
        self.answers_are_true()
        self.live_watchers_have_seen_everything()
        self.late_watchers_catch_up()
        self.restart()
        self.run(self.store.close())
        self.run(self.check_copy(self.folder, ()))
        self.loop.close()
        shutil.rmtree(self.folder)


def test_whatever_overlaps_what_was_answered_was_true():
    run_state_machine_as_test(
        OverlappingMachine,
        settings=settings(
            max_examples=80, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
