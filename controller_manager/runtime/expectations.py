"""A key's own writes, which the caches must have seen before the key runs again (upstream's expectations)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.contract import Create, Delete, Get, Key, ListAll, Patch, Request, Update
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.runtime.cache import Caches, KindCache, revision_of

EXPIRES = 300.0
"""Seconds after which a key runs although its writes were not seen (controller.ExpectationsTimeout)."""
SETTLES = 0.3
"""Seconds in which a cache hears of everything that was stored before it began to hear of changes again."""


@dataclass(frozen=True, slots=True)
class _End:
    """The deletion of an object, which a cache sees when the object is gone, another, or marked as going."""

    cache: KindCache
    key: Key
    uid: str

    def is_seen(self) -> bool:
        found = self.cache.get(self.key)
        return found is None or found["metadata"].get("uid") != self.uid or is_deleting(found)


@dataclass(slots=True)
class _Awaited:
    """What one key waits for.

    Attributes:
        expires: when it waits no longer, on the loop's clock.
        revisions: how far a cache must have come.
        ends: deletions.
        doubts: caches that must tell whether something was stored, and since when that is unknown.
        parked: whether the key will be woken.
    """

    expires: float = 0.0
    revisions: dict[str, tuple[KindCache, int]] = field(default_factory=dict)
    ends: list[_End] = field(default_factory=list)
    doubts: dict[str, tuple[KindCache, float]] = field(default_factory=dict)
    parked: bool = False

    def park(self, wake: Callable[[], None]) -> bool:
        """Have the key woken by the first thing that is not seen yet; False where all is seen."""
        for cache, revision in self.revisions.values():
            if cache.revision < revision:
                cache.when(revision, wake)
                return True
        while self.ends:
            end = self.ends[-1]
            if not end.is_seen():
                end.cache.when_changed(end.key, wake)
                return True
            self.ends.pop()
        for cache, _ in self.doubts.values():
            if cache.attached is None:
                cache.when_attached(wake)
                return True
        return False

    def unsettled(self, now: float) -> float:
        """The seconds until all caches have heard of what was stored before; they are attached."""
        since = (max(lost, cache.attached or 0.0) for cache, lost in self.doubts.values())
        return max(0.0, max(since, default=0.0) + SETTLES - now)


class Expectations:
    """What the keys of one controller wait for.

    Args:
        caches: which are to see what keys wrote.
        expired: told of a key that has waited for so long that it runs nevertheless.
    """

    def __init__(self, caches: Caches, expired: Callable[[Key], None] = lambda _: None) -> None:
        self._caches = caches
        self._expired = expired
        self._keys: dict[Key, _Awaited] = {}

    def wrote(self, key: Key, request: Request, answer: Any, *, now: float) -> None:
        """A request of the key was answered well: await that the caches hear of it."""
        cache = self._caches.kinds.get(request.kind)
        if cache is None or not isinstance(answer, dict):
            return
        match request:
            case Create() | Update() | Patch():
                revision = revision_of(answer) if metadata(answer) else 0
                if revision > cache.revision:
                    found = self._of(key, now)
                    _, known = found.revisions.get(str(request.kind), (cache, 0))
                    found.revisions[str(request.kind)] = (cache, max(known, revision))
            case Delete():
                end = _End(cache, request.key, request.uid or _uid(answer))
                if not end.is_seen():
                    self._of(key, now).ends.append(end)

    def lost(self, key: Key, request: Request, *, now: float) -> None:
        """No answer came to a request of the key: it may have been heard, and the caches will know.

        Upstream takes it for not heard, and may then make, or delete, something twice.
        """
        cache = self._caches.kinds.get(request.kind)
        if cache is not None and not isinstance(request, (Get, ListAll)):
            self._of(key, now).doubts[str(request.kind)] = (cache, now)

    def blocked(self, key: Key, wake: Callable[[], None], *, now: float) -> float:
        """The seconds that the key has at most to wait, 0 if it may run; `wake` is called when it should ask again."""
        found = self._keys.get(key)
        if found is None:
            return 0.0
        if now >= found.expires:
            del self._keys[key]
            self._expired(key)
            return 0.0
        if not found.parked:
            found.parked = found.park(lambda: self._wake(found, wake))
            if not found.parked:
                if wait := found.unsettled(now):
                    return wait
                del self._keys[key]
                return 0.0
        return found.expires - now

    def forget(self, key: Key) -> None:
        """The key is of no interest any more."""
        self._keys.pop(key, None)

    def _of(self, key: Key, now: float) -> _Awaited:
        found = self._keys.setdefault(key, _Awaited())
        found.expires = now + EXPIRES
        return found

    def _wake(self, found: _Awaited, wake: Callable[[], None]) -> None:
        found.parked = False
        wake()


def _uid(answer: Obj) -> str:
    """Of the object that a DELETE answered, or that its Status tells of."""
    return str(metadata(answer).get("uid") or (answer.get("details") or {}).get("uid") or "")
