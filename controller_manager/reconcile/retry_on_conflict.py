"""Updates that begin again from the newest state where somebody else was faster (client-go retry.RetryOnConflict)."""

from collections.abc import Callable, Generator
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Action, Get, Update, key_of
from controller_manager.reconcile.kinds import Kind

TRIES = 5
"""How often an update is tried (retry.DefaultRetry)."""


def update(kind: Kind, obj: Obj, *, change: Callable[[Obj], Obj], subresource: str = "") -> Generator[Action, Any, Obj]:
    """PUT what a change makes of an object, and give the object as stored.

    Args:
        kind: of the object.
        obj: the object as a cache has it.
        change: the object as it should be, made of any state of it.
        subresource: the part that is written, "" for the object.

    Raises:
        ApiError: it was refused, or another object has its name by now, or others were faster every time.
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
