"""Reads, and updates with retries, in the API's terms: keys, pages, continue tokens; store errors as API errors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import parse_uint
from apiserver.api.resources import Resource
from apiserver.registry.codec import IndexAttrs
from apiserver.registry.continue_tokens import decode_token, encode_token
from apiserver.registry.options import ListOptions
from etcd.store import Compacted, Conflict, KeyValue, Page, Store, StoreError, Unavailable, Unreachable

ROOT = "/registry/"
RETRY_AFTER = 1
"""Seconds after which clients should retry while the store is unreachable."""
MAX_REVISION_WAIT = 3.0
"""Seconds that a read waits for a resourceVersion that is yet to come (cacher's blockTimeout)."""

Match = Callable[[KeyValue], bool]


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list.

    Attributes:
        items: the selected objects, in key order.
        revision: the revision of the snapshot that all pages of the list are read from.
        token: the continue token, "" at the end.
        remaining: the number of objects after this page, None if unknown (there is a selector).
    """

    items: list[KeyValue]
    revision: int
    token: str = ""
    remaining: int | None = None


def key_of(resource: Resource, namespace: str, name: str) -> str:
    """Return the key of one object."""
    return f"{prefix_of(resource, namespace)}{name}"


def prefix_of(resource: Resource, namespace: str) -> str:
    """Return the prefix of a resource's keys, in one namespace or ("") in all."""
    prefix = f"{ROOT}{resource.storage_prefix}/"
    return f"{prefix}{namespace}/" if namespace and resource.namespaced else prefix


class _MapStoreErrors:
    """The context manager of map_store_errors(); a class, since every request passes through it."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, StoreError):
            api_error = _api_error(error)
            if api_error is not None:
                raise api_error from error


_MAP_STORE_ERRORS = _MapStoreErrors()


def map_store_errors() -> _MapStoreErrors:
    """Turn a store's errors into API errors; a Conflict, a lost compare-and-swap, passes through."""
    return _MAP_STORE_ERRORS


def _api_error(error: StoreError) -> ApiError | None:
    match error:
        case Conflict():
            return None
        case Compacted():
            return errors.expired("The resourceVersion for the provided list is too old.")
        case Unreachable(unknown=True):
            # without Retry-After: clients would send the request again, and it might be carried out twice
            return errors.unavailable(f"etcd gave no answer, the request may have been carried out or not: {error}")
        case Unreachable():
            return errors.unavailable(f"etcd does not answer: {error}", seconds=RETRY_AFTER)
        case Unavailable():
            return errors.internal(str(error))
    return ApiError(500, "", str(error))  # the store's own message, as upstream has it


def parse_revision(text: str, *, prefix: str = "") -> int:
    """Return the revision that a parameter names, 0 for "" and "0".

    Args:
        text: the parameter.
        prefix: the beginning of the error message.

    Raises:
        ApiError: 400.
    """
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        invalid = field.invalid("resourceVersion", text, str(error))
        raise errors.bad_request(f"{prefix}{invalid}") from error


def matcher(options: ListOptions) -> Match | None:
    """Return the predicate for the objects of a list, None if it has no selector."""
    labels, fields = options.labels, options.fields
    if labels is None and fields is None:
        return None

    def matches(kv: KeyValue) -> bool:
        attrs: IndexAttrs = kv.index_attrs
        return (labels is None or labels.matches(attrs.labels)) and (fields is None or fields.matches(attrs.fields))

    return matches


class Outcome(Protocol):
    """The outcome of a change."""

    @property
    def kv(self) -> KeyValue:
        """The object after the change."""


T = TypeVar("T", bound=Outcome)


class Storage:
    """Reads of a store, and updates with retries, in the API's terms."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def get(self, resource: Resource, namespace: str, name: str, *, min_resource_version: str = "") -> KeyValue:
        """Return one object: its newest state, or any state not older than a resourceVersion.

        Raises:
            ApiError: 400 for a bad resourceVersion, 404, 504 if it is yet to come.
        """
        with map_store_errors():
            if min_resource_version:
                await self.await_revision(parse_revision(min_resource_version))
            else:
                await self.store.sync_read()
            kv = self.store.get(key_of(resource, namespace, name))
        if kv is None:
            raise errors.not_found(resource.group, resource.plural, name)
        return kv

    async def guaranteed_update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        attempt: Callable[[KeyValue], Awaitable[T]],
        *,
        read_latest: bool,
    ) -> T:
        """Change one object and return the outcome; retry on the newest state if others changed the object meanwhile.

        With several servers, it first tries on the state known here. If that write succeeds the state was current;
        otherwise it reads the newest state and repeats (etcd3's GuaranteedUpdate).

        Args:
            resource: the kind of the object.
            namespace: the object's namespace, "" for cluster-scoped kinds.
            name: the object's name.
            attempt: makes and stores the change. It raises Conflict if the object has changed, and returns the very
                state that it was given if there was nothing to do.
            read_latest: whether to start with the newest state, as for a dry run, which stores nothing.

        Raises:
            ApiError: 404, and the errors of the attempt.
        """
        store, newest = self.store, False
        kv = store.get(key_of(resource, namespace, name)) if store.is_shared and not read_latest else None
        while True:
            if kv is None:
                kv, newest = await self.get(resource, namespace, name), True
            try:
                outcome = await attempt(kv)
            except Conflict:
                pass  # the next read finds the object changed, or gone
            except ApiError as error:
                if newest or error.code >= 500:
                    raise
            else:
                if newest or outcome.kv is not kv:
                    return outcome
            kv = None

    async def await_revision(self, revision: int) -> None:
        """Wait until a revision can be read.

        Raises:
            ApiError: 504 if it does not come in time.
        """
        if revision <= self.store.revision:
            return
        with map_store_errors():
            has_come = await self.store.wait_for(revision, MAX_REVISION_WAIT)
        if not has_come:
            raise errors.timeout(
                f"Timeout: Too large resource version: {revision}, current: {self.store.revision}",
                seconds=1,
                causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            )

    async def list(self, resource: Resource, namespace: str, options: ListOptions) -> ListPage:
        """Return a page of a list, of the newest state or of the revision that the options name.

        Raises:
            ApiError: 400 for a bad token or version, 410 if the snapshot is compacted, 504 for a future version.
        """
        prefix = prefix_of(resource, namespace)
        revision, start = 0, ""
        if options.continue_token:
            revision, start = decode_token(options.continue_token)
            start = prefix + start
            if options.resource_version not in ("", "0"):
                raise errors.bad_request("specifying resource version is not allowed when using continue")
            await self.await_revision(revision)  # it may come from another server
        else:
            requested = parse_revision(options.resource_version, prefix="invalid resource version: ")
            await self.await_revision(requested)
            exact = options.match == "Exact" or (options.limit > 0 and not options.match)
            revision = requested if exact else 0
            if options.resource_version == "0" and options.limit > 0:
                options = replace(options, limit=0)  # as in the watch cache (cacher.go's computeListLimit)
            if not options.resource_version:
                with map_store_errors():
                    await self.store.sync_read()
        try:
            with map_store_errors():
                return await self._select(prefix, start, max(revision, 0), options)
        except ApiError as error:
            if error.code == 410 and options.continue_token:
                raise self._expired_token(prefix, start) from error
            raise

    async def _select(self, prefix: str, start: str, revision: int, options: ListOptions) -> ListPage:
        match, limit = matcher(options), max(options.limit, 0)
        if match is None:
            page = await self._read(prefix, start, limit, revision)
            return _page(prefix, list(page.items), page, remaining=page.remaining)
        selected: list[KeyValue] = []
        chunk = max(limit, 500) if limit else 0
        while True:
            page = await self._read(prefix, start, chunk, revision)
            revision = page.revision
            selected += filter(match, page.items)
            if limit and len(selected) > limit:
                last = selected[limit - 1].key
                return ListPage(selected[:limit], page.revision, _encode_token(prefix, last, page.revision))
            if not page.more:
                return ListPage(selected, page.revision)
            start = _after(page.items[-1].key)

    async def _read(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """Return a page of objects of the newest state, or of an old one that this server may never have had."""
        if not revision:
            return self.store.range(prefix, start=start, limit=limit)
        return await self.store.range_at(prefix, start=start, limit=limit, revision=revision)

    def _expired_token(self, prefix: str, start: str) -> ApiError:
        """Return the 410 with a token that continues in the newest state, which upstream calls inconsistent."""
        token = encode_token(-1, start.removeprefix(prefix))
        error = errors.expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list."
        )
        error.list_metadata = {"continue": token}
        return error


def _page(prefix: str, items: list[KeyValue], page: Page, *, remaining: int) -> ListPage:
    if not page.more:
        return ListPage(items, page.revision)
    return ListPage(items, page.revision, _encode_token(prefix, items[-1].key, page.revision), remaining)


def _after(key: str) -> str:
    """Return the first key that can come after this one."""
    return key + "\0"


def _encode_token(prefix: str, last: str, revision: int) -> str:
    return encode_token(revision, _after(last).removeprefix(prefix))
