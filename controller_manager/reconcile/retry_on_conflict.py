"""Updates that are retried from the newest state after a conflict (client-go retry.RetryOnConflict)."""

from collections.abc import Callable, Generator
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Action, Get, Update, key_of
from controller_manager.reconcile.kinds import Kind

TRIES = 5
"""How often an update is tried (retry.DefaultRetry)."""


def update(kind: Kind, obj: Obj, *, change: Callable[[Obj], Obj], subresource: str = "") -> Generator[Action, Any, Obj]:
    """PUT an object with a change applied, and return the object as stored.

    Args:
        kind: the object's kind.
        obj: the object as a cache has it.
        change: returns the object as it should be, from any state of it.
        subresource: the subresource to write, "" for the object itself.

    Raises:
        ApiError: it was refused, another object has its name by now, or every attempt met a conflict.
    """
    tries = TRIES
    while True:
        try:
            stored: Obj = yield Update(kind, change(obj), subresource)
        except ApiError as error:
            tries -= 1
            if error.code != 409 or not tries:
                raise
            fresh: Obj = yield Get(kind, key_of(obj))
            if fresh["metadata"]["uid"] != obj["metadata"]["uid"]:
                raise
            obj = fresh
        else:
            return stored
