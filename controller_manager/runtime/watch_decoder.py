"""What a server tells of a kind, put into its cache: lists, and the events of a watch."""

from collections.abc import Iterable

import orjson

from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Key, key_of
from controller_manager.runtime.cache import KindCache, number_of
from controller_manager.runtime.interning import Sharing
from controller_manager.runtime.requests import lost, status_error

INITIAL_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which a watch has told everything that there is (KEP-3157)."""


class WatchDecoder:
    """The one writer of a cache.

    Attributes:
        revision: up to which the cache has everything, as the server wrote it; "" where it has to be told everything.
        received: how many events came since the watch began.
    """

    def __init__(self, cache: KindCache) -> None:
        self._cache = cache
        self._sharing = Sharing()
        self.revision = ""
        self.received = 0
        self._initial: dict[Key, Obj] | None = None
        self._rest = b""

    def note_absent(self, *, absent: bool) -> None:
        """Note whether the kind is waited for, which the server does not serve."""
        self._cache.absent = absent

    @property
    def is_initial(self) -> bool:
        """Whether a watch tells what there is, and has not come to the end of it."""
        return self._initial is not None

    def begin(self, *, initial: bool) -> None:
        """A watch begins.

        Args:
            initial: whether it tells first what there is.
        """
        self._initial = {} if initial else None
        self._rest = b""
        self.received = 0

    def feed(self, chunk: bytes) -> None:
        """Some bytes of a watch came.

        Raises:
            ApiError: the server tells of an error, or what it tells is no event.
        """
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._event(line)
        self.received += len(lines)

    def attach(self, now: float) -> None:
        """The server tells of changes as they happen."""
        self._cache.attach(now)

    def detach(self) -> None:
        """It does so no longer."""
        self._cache.detach()

    def replace(self, objects: Iterable[Obj], revision: str) -> None:
        """Everything that there is, as of a revision."""
        self._cache.replace(objects, number_of(revision))
        self.revision = revision

    def trimmed(self, obj: Obj) -> Obj:
        """A newly parsed object as caches hold it: it says what it is, and not who wrote which field."""
        kind = self._cache.kind
        obj["metadata"].pop("managedFields", None)
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
        return self._sharing.shared(obj)

    def _event(self, line: bytes) -> None:
        try:
            event = orjson.loads(line)
            word, obj = event["type"], event["object"]
            if word != "ERROR":
                self._change(word, obj)
                return
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
            raise lost(f"this is no watch event: {line[:200].decode(errors='replace')!r}") from error
        raise status_error(obj)

    def _change(self, word: str, obj: Obj) -> None:
        revision = obj["metadata"]["resourceVersion"]
        number = number_of(revision)
        if word == "BOOKMARK":
            self._bookmark(obj["metadata"], revision, number)
            return
        key = key_of(obj)
        obj = self.trimmed(obj)
        if self._initial is not None:
            self._initial[key] = obj
            return
        if word == "DELETED":
            self._cache.remove(obj)
        else:
            self._cache.put(obj)
        self.revision = revision

    def _bookmark(self, meta: Obj, revision: str, number: int) -> None:
        if self._initial is None:
            self.revision = revision
            self._cache.advance(number)
        elif (meta.get("annotations") or {}).get(INITIAL_END) == "true":
            found, self._initial = self._initial, None
            self.replace(found.values(), revision)
