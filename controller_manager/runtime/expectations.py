"""A key's own writes that the caches must have seen before the key is processed again (upstream's expectations)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.contract import Create, Delete, Get, Key, ListAll, Patch, Request, Update
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.kinds import Kind
from controller_manager.runtime.cache import Caches, KindCache, revision_of

TIMEOUT = 300.0
"""Seconds after which a key is processed although its writes were not seen (controller.ExpectationsTimeout)."""
SETTLE_SECONDS = 0.3
"""Seconds within which a cache receives everything that was stored before its watch was re-established."""


@dataclass(frozen=True, slots=True)
class _ExpectedDeletion:
    """A deletion that a cache sees when the object is gone, replaced, or has a deletionTimestamp."""

    cache: KindCache
    key: Key
    uid: str

    def is_seen(self) -> bool:
        current = self.cache.get(self.key)
        return current is None or current["metadata"].get("uid") != self.uid or is_deleting(current)


@dataclass(slots=True)
class _PendingWrites:
    """The writes that one key waits for.

    Attributes:
        expires: the end of the wait, on the loop's clock.
        revisions: the revision that a cache must reach.
        deletions: the deletions to be seen.
        doubts: caches for writes without an answer, which may have been stored, and since when that is unknown.
        parked: True if a wake-up is registered.
    """

    expires: float = 0.0
    revisions: dict[str, tuple[KindCache, int]] = field(default_factory=dict)
    deletions: list[_ExpectedDeletion] = field(default_factory=list)
    doubts: dict[str, tuple[KindCache, float]] = field(default_factory=dict)
    parked: bool = False

    def wait_for_unseen(self, wake: Callable[[], None]) -> bool:
        """Register a wake-up at the first write that is not seen yet; return False if all are seen."""
        for cache, revision in self.revisions.values():
            if cache.revision < revision:
                cache.call_at_revision(revision, wake)
                return True
        while self.deletions:
            deletion = self.deletions[-1]
            if not deletion.is_seen():
                deletion.cache.call_when_changed(deletion.key, wake)
                return True
            self.deletions.pop()
        for cache, _ in self.doubts.values():
            if cache.attached is None:
                cache.call_when_attached(wake)
                return True
        return False

    def seconds_to_settle(self, now: float) -> float:
        """Return the seconds until all caches have received what was stored before; they are attached."""
        since = (max(lost, cache.attached or 0.0) for cache, lost in self.doubts.values())
        return max(0.0, max(since, default=0.0) + SETTLE_SECONDS - now)


class Expectations:
    """The writes that the keys of one controller wait for.

    Args:
        caches: the caches that must see the writes.
        expired: called for a key that is processed because its wait timed out.
        hidden: called for a key with a write whose outcome a list may hide: an object that the key created, and
            somebody deleted while the watch was broken, never comes into the cache and never leaves it.
    """

    def __init__(
        self,
        caches: Caches,
        expired: Callable[[Key], None] = lambda _: None,
        hidden: Callable[[Key], None] = lambda _: None,
    ) -> None:
        self._caches = caches
        self._expired = expired
        self._hidden = hidden
        self._kinds: set[Kind] = set()
        self._keys: dict[Key, _PendingWrites] = {}

    def expect(self, key: Key, request: Request, answer: Any, *, now: float) -> None:
        """Expect the caches to see a request of the key that succeeded."""
        cache = self._caches.kinds.get(request.kind)
        if cache is None or not isinstance(answer, dict):
            return
        match request:
            case Create() | Update() | Patch():
                revision = revision_of(answer) if metadata(answer) else 0
                if revision > cache.revision:
                    pending = self._of(key, now)
                    _, known = pending.revisions.get(str(request.kind), (cache, 0))
                    pending.revisions[str(request.kind)] = (cache, max(known, revision))
                    self._follow_lists(cache)
            case Delete():
                deletion = _ExpectedDeletion(cache, request.key, request.uid or _uid(answer))
                if not deletion.is_seen():
                    self._of(key, now).deletions.append(deletion)

    def expect_unanswered(self, key: Key, request: Request, *, now: float) -> None:
        """Expect the caches to show whether a request of the key without an answer was stored.

        Upstream assumes that it was not, and may then create, or delete, something twice.
        """
        cache = self._caches.kinds.get(request.kind)
        if cache is not None and not isinstance(request, (Get, ListAll)):
            self._of(key, now).doubts[str(request.kind)] = (cache, now)

    def seconds_blocked(self, key: Key, wake: Callable[[], None], *, now: float) -> float:
        """Return the seconds that the key must wait at most, 0 if it may run; `wake` is called when to ask again."""
        pending = self._keys.get(key)
        if pending is None:
            return 0.0
        if now >= pending.expires:
            del self._keys[key]
            self._expired(key)
            return 0.0
        if not pending.parked:
            pending.parked = pending.wait_for_unseen(lambda: self._wake(pending, wake))
            if not pending.parked:
                if wait := pending.seconds_to_settle(now):
                    return wait
                del self._keys[key]
                return 0.0
        return pending.expires - now

    def delete(self, key: Key) -> None:
        """Forget a key that is no longer needed."""
        self._keys.pop(key, None)

    def _follow_lists(self, cache: KindCache) -> None:
        if cache.kind not in self._kinds:
            self._kinds.add(cache.kind)
            cache.on_relist(partial(self._before_relist, cache))

    def _before_relist(self, cache: KindCache) -> None:
        for key, pending in self._keys.items():
            known, revision = pending.revisions.get(str(cache.kind), (None, 0))
            if known is cache and revision > cache.revision:
                self._hidden(key)

    def _of(self, key: Key, now: float) -> _PendingWrites:
        pending = self._keys.setdefault(key, _PendingWrites())
        pending.expires = now + TIMEOUT
        return pending

    def _wake(self, pending: _PendingWrites, wake: Callable[[], None]) -> None:
        pending.parked = False
        wake()


def _uid(answer: Obj) -> str:
    """Return the uid of the object in the answer to a DELETE, or in the details of a Status."""
    return str(metadata(answer).get("uid") or (answer.get("details") or {}).get("uid") or "")
