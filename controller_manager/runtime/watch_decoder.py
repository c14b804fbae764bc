"""Decodes a server's lists and watch events of a kind, and writes them to its cache."""

from collections.abc import Iterable

import orjson

from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Key, key_of
from controller_manager.runtime.cache import KindCache, revision_number
from controller_manager.runtime.interning import Interner
from controller_manager.runtime.requests import connection_lost, status_error

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a watch's initial events (KEP-3157)."""


class WatchDecoder:
    """The only writer of a cache.

    Attributes:
        revision: the cache has everything up to this resourceVersion; "" if all objects must be read.
        received: the number of events since the watch began.
    """

    def __init__(self, cache: KindCache) -> None:
        self._cache = cache
        self._sharing = Interner()
        self.revision = ""
        self.received = 0
        self._initial: dict[Key, Obj] | None = None
        self._rest = b""

    def note_absent(self, *, absent: bool) -> None:
        """Record in the cache whether the server does not serve the kind, and the watcher waits for it."""
        self._cache.absent = absent

    @property
    def is_initial(self) -> bool:
        """True while a watch sends its initial events."""
        return self._initial is not None

    def begin_watch(self, *, initial: bool) -> None:
        """Prepare for a new watch.

        Args:
            initial: True if it begins with all existing objects.
        """
        self._initial = {} if initial else None
        self._rest = b""
        self.received = 0

    def feed(self, chunk: bytes) -> None:
        """Process some bytes of a watch.

        Raises:
            ApiError: the server sent an error, or data that is not an event.
        """
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._event(line)
        self.received += len(lines)

    def attach(self, now: float) -> None:
        """Record that changes arrive as they happen."""
        self._cache.attach(now)

    def detach(self) -> None:
        """Record that changes no longer arrive as they happen."""
        self._cache.detach()

    def replace(self, objects: Iterable[Obj], revision: str) -> None:
        """Replace all objects of the cache as of a revision."""
        self._cache.replace(objects, revision_number(revision))
        self.revision = revision

    def transform(self, obj: Obj) -> Obj:
        """Prepare a newly parsed object for the cache: set apiVersion and kind, drop managedFields, intern parts."""
        kind = self._cache.kind
        obj["metadata"].pop("managedFields", None)
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
        return self._sharing.intern(obj)

    def _event(self, line: bytes) -> None:
        try:
            event = orjson.loads(line)
            event_type, obj = event["type"], event["object"]
            if event_type != "ERROR":
                self._change(event_type, obj)
                return
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
            raise connection_lost(f"this is no watch event: {line[:200].decode(errors='replace')!r}") from error
        raise status_error(obj)

    def _change(self, event_type: str, obj: Obj) -> None:
        revision = obj["metadata"]["resourceVersion"]
        number = revision_number(revision)
        if event_type == "BOOKMARK":
            self._bookmark(obj["metadata"], revision, number)
            return
        key = key_of(obj)
        obj = self.transform(obj)
        if self._initial is not None:
            self._initial[key] = obj
            return
        if event_type == "DELETED":
            self._cache.remove(obj)
        else:
            self._cache.put(obj)
        self.revision = revision

    def _bookmark(self, meta: Obj, revision: str, number: int) -> None:
        if self._initial is None:
            self.revision = revision
            self._cache.advance_to(number)
        elif (meta.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true":
            initial, self._initial = self._initial, None
            self.replace(initial.values(), revision)
