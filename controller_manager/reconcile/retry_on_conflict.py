"""Writes that are retried from the newest state after a conflict (client-go's retry.RetryOnConflict)."""

from collections.abc import Callable, Generator
from typing import Any

from apiserver.api.errors import ApiError, not_found
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Action, Get, Key, Request, Update, key_of
from controller_manager.reconcile.kinds import Kind

TRIES = 5
"""The number of times that a write is tried (retry.DefaultRetry)."""


def retry_on_conflict(
    kind: Kind, obj: Obj, *, write: Callable[[Obj], Request | None], tries: int = TRIES
) -> Generator[Action, Any, Obj | None]:
    """Write to an object, and return it as stored, or None if it needed no write.

    Args:
        kind: the object's kind.
        obj: the object as a cache has it.
        write: returns the write for any state of the object, or None if that state needs none.
        tries: how often the write is tried.

    Raises:
        ApiError: it was refused, the object is gone, or every attempt met a conflict.
    """
    while request := write(obj):
        try:
            stored: Obj = yield request
        except ApiError as error:
            tries -= 1
            if error.code != 409 or not tries:
                raise
            obj = yield from newest(kind, key_of(obj), obj["metadata"]["uid"])
        else:
            return stored
    return None


def update(
    kind: Kind, obj: Obj, *, change: Callable[[Obj], Obj], subresource: str = "", tries: int = TRIES
) -> Generator[Action, Any, Obj]:
    """PUT an object with a change applied, and return the object as stored.

    Args:
        kind: the object's kind.
        obj: the object as a cache has it.
        change: returns the object as it should be, from any state of it.
        subresource: the subresource to write, "" for the object itself.
        tries: how often the update is tried.

    Raises:
        ApiError: as for retry_on_conflict.
    """
    stored = yield from retry_on_conflict(
        kind, obj, write=lambda state: Update(kind, change(state), subresource), tries=tries
    )
    assert stored is not None, "every state of the object is written"
    return stored


def newest(kind: Kind, key: Key, uid: str) -> Generator[Action, Any, Obj]:
    """Return the object with this uid as the server has it.

    Raises:
        ApiError: the server cannot answer; 404 if the object is gone, even if another one has its name by now.
    """
    state: Obj = yield Get(kind, key)
    if (state.get("metadata") or {}).get("uid") != uid:
        raise not_found(kind.group, kind.plural, key.rpartition("/")[2])
    return state
