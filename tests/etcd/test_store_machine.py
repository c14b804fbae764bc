"""Any sequence of writes, compactions, restarts, watches and pages behaves as the model, on every backend."""

import asyncio
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from etcd.access import ClusterConfig, KeyPrefix
from etcd.backends import open_store
from etcd.store import Compacted, Conflict, FutureRevision

KEYS = ["/r/a/n/1", "/r/a/n/2", "/r/a/m/1", "/r/a-b/n/1", "/r/b/1", "/r/b/é", "odd"]
PREFIXES = ["", "/r/", "/r/a", "/r/a/", "/r/a/n/", "/r/b/", "/none/at/all"]


class Model:
    """A model of a store: a list of (key, value or None), number N being revision N + 1, counted since its opening."""

    def __init__(self) -> None:
        self.log: list[tuple[str, bytes | None]] = []
        self.compacted = 0

    def state(self, revision: int) -> dict[str, tuple[bytes, int]]:
        """The keys at a revision: value and mod_revision."""
        state: dict[str, tuple[bytes, int]] = {}
        for number, (key, value) in enumerate(self.log[:revision], start=1):
            state.pop(key, None)
            if value is not None:
                state[key] = (value, number)
        return dict(sorted(state.items(), key=lambda item: item[0].encode()))

    def events(self, prefix: str, after: int) -> list[tuple[int, str, bytes | None]]:
        """Return the events that a watch gives."""
        numbered = enumerate(self.log, start=1)
        return [(n, key, value) for n, (key, value) in numbered if n > after and key.startswith(prefix)]


def simple(events: Any, at: int) -> list[tuple[int, str, bytes | None]]:
    return [(event.revision - at, event.key, event.kv.value if event.kv else None) for event in events]


class StoreMachine(RuleBasedStateMachine):
    url = "memory://"
    key_prefix: Callable[[], KeyPrefix] = KeyPrefix
    history_survives = True
    """True if revisions from before a restart can be read and watched after it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.model = Model()
        self.watchers: list[tuple[Any, str, list[Any], int]] = []
        self.access = ClusterConfig(key_prefix=self.key_prefix())
        self.open()
        self.at = self.store.revision

    def open(self) -> None:
        url = self.url.format(self.folder.name)
        self.store = self.run(
            open_store(url, attach=lambda key, value: (key, value), compact_age=1e9, access=self.access)
        )

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()
        self.folder.cleanup()

    def expectation(self, key: str, kind: str) -> int | None:
        current = self.model.state(len(self.model.log)).get(key, (b"", 0))[1]
        current = current and self.at + current
        return {"any": None, "right": current, "absent": 0, "wrong": current + 1}[kind]

    def outcome(self, write: Any) -> Any:
        """The write's result, or its Conflict."""

        async def attempt() -> Any:
            try:
                return await write
            except Conflict as conflict:
                return conflict

        return attempt()

    @rule(
        key=st.sampled_from(KEYS),
        value=st.binary(max_size=3),
        kind=st.sampled_from(["any", "right", "absent", "wrong"]),
    )
    def put(self, key: str, value: bytes, kind: str) -> None:
        expect = self.expectation(key, kind)
        fits = expect is None or expect == self.expectation(key, "right")
        result = self.run(self.outcome(self.store.put(key, value, expect=expect)))
        assert isinstance(result, Conflict) != fits
        if fits:
            self.model.log.append((key, value))
            assert (result.mod_revision - self.at, result.index_attrs) == (len(self.model.log), (key, value))

    @rule(key=st.sampled_from(KEYS), kind=st.sampled_from(["any", "right", "wrong"]))
    def delete(self, key: str, kind: str) -> None:
        expect, current = self.expectation(key, kind), self.expectation(key, "right")
        fits = bool(current) and expect in {None, current}
        result = self.run(self.outcome(self.store.delete(key, expect=expect)))
        assert isinstance(result, Conflict) != fits
        if fits:
            self.model.log.append((key, None))
            assert (result.revision - self.at, result.prev.mod_revision) == (len(self.model.log), current)

    @initialize(writes=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=5, max_size=25))
    def begin_with_some_history(self, writes: list[tuple[str, bool]]) -> None:
        for key, keep in writes:
            self.put(key, b"0", "any")
            if not keep:
                self.delete(key, "any")

    @rule(writes=st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([b"1", None]), st.booleans()), max_size=8))
    def write_together(self, writes: list[tuple[str, bytes | None, bool]]) -> None:
        """Writes of one moment: whatever their results, the revisions given say in which order they were made."""

        async def together() -> list[Any]:
            return await asyncio.gather(
                *(
                    self.outcome(self.store.delete(key))
                    if value is None
                    else self.outcome(self.store.put(key, value, expect=0 if create else None))
                    for key, value, create in writes
                )
            )

        made, at = {}, self.at
        for (key, value, _), result in zip(writes, self.run(together()), strict=True):
            if not isinstance(result, Conflict):
                made[(result.revision if value is None else result.mod_revision) - at] = (key, value)
        begin = len(self.model.log)
        assert sorted(made) == list(range(begin + 1, begin + 1 + len(made)))
        self.model.log += [made[revision] for revision in sorted(made)]

    @rule(back=st.integers(0, 10))
    def compact(self, back: int) -> None:
        revision = max(0, len(self.model.log) - back)
        self.run(self.store.compact(self.at + revision))
        self.model.compacted = max(self.model.compacted, revision)

    @precondition(lambda self: self.url != "memory://")
    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.open()
        self.watchers = []
        if not self.history_survives:
            self.model.compacted = len(self.model.log)

    @rule(prefix=st.sampled_from(PREFIXES), back=st.integers(-2, 12))
    def watch(self, prefix: str, back: int) -> None:
        after = max(0, len(self.model.log) - back)
        if after < self.model.compacted:
            with pytest.raises(Compacted):
                self.store.watch(prefix, after=self.at + after)
        else:
            self.watchers.append((self.store.watch(prefix, after=self.at + after), prefix, [], after))

    @rule()
    def watchers_catch_up(self) -> None:
        kept = []
        for watcher, prefix, seen, after in self.watchers:
            position = watcher.position - self.at
            try:
                seen.extend(simple(watcher.next_nowait(), self.at))
            except Compacted:
                assert position < self.model.compacted
                continue
            assert seen == self.model.events(prefix, after)
            assert watcher.position - self.at == max(after, len(self.model.log))
            kept.append((watcher, prefix, seen, after))
        self.watchers = kept

    @rule(number=st.integers(0, 20), key=st.sampled_from(KEYS))
    def a_parked_watcher_wakes(self, number: int, key: str) -> None:
        """Which one is not drawn from those there are: that may differ where parallel writes have no order."""
        self.watchers_catch_up()
        fitting = [each for each in self.watchers if key.startswith(each[1]) and each[3] <= len(self.model.log)]
        if not fitting:
            return
        watcher, _, seen, _ = fitting[number % len(fitting)]

        async def wait_and_write() -> Any:
            parked = asyncio.ensure_future(watcher.next())
            await asyncio.sleep(0)
            await self.store.put(key, b"wake")
            return await parked

        batch = self.run(wait_and_write())
        self.model.log.append((key, b"wake"))
        assert simple(batch, self.at) == [(len(self.model.log), key, b"wake")]
        seen.extend(simple(batch, self.at))

    @rule(
        prefix=st.sampled_from(PREFIXES),
        back=st.integers(-1, 12),
        start=st.sampled_from(["", *KEYS]),
        limit=st.integers(0, 4),
    )
    def page(self, prefix: str, back: int, start: str, limit: int) -> None:
        revision = len(self.model.log) - back
        if revision <= 0:
            return
        if back < 0 or revision < self.model.compacted:
            with pytest.raises(FutureRevision if back < 0 else Compacted):
                self.store.range(prefix, revision=self.at + revision)
            return
        expected = [
            (key, *value)
            for key, value in self.model.state(revision).items()
            if key.startswith(prefix) and key.encode() >= start.encode()
        ]
        page = self.store.range(prefix, start=start, limit=limit, revision=self.at + revision)
        cut = limit or len(expected)
        assert [(kv.key, kv.value, kv.mod_revision - self.at) for kv in page.items] == expected[:cut]
        left = max(0, len(expected) - cut)
        assert (page.revision - self.at, page.more, page.remaining) == (revision, left > 0, left)

    @invariant()
    def the_newest_state_is_the_models(self) -> None:
        state = self.model.state(len(self.model.log))
        assert self.store.revision - self.at == len(self.model.log)
        assert [(kv.key, kv.value, kv.mod_revision - self.at) for kv in self.store.range("").items] == [
            (key, *value) for key, value in state.items()
        ]
        assert {key for key in KEYS if self.store.get(key)} == set(state)


class DurableMachine(StoreMachine):
    url = "sqlite://{}/data"


def behaves(machine: type[StoreMachine], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize(("machine", "examples"), [(StoreMachine, 150), (DurableMachine, 60)])
def test_any_sequence_behaves_as_the_model(machine, examples):
    behaves(machine, examples)


def test_any_sequence_over_a_cluster_behaves_as_the_model(shared_etcd, new_prefix):
    class ClusterMachine(StoreMachine):
        url = shared_etcd.url
        key_prefix = staticmethod(new_prefix)
        history_survives = False

    behaves(ClusterMachine, 40)
