"""A workload's ControllerRevisions: one for each state that it was in, the newest on top (controller_history.go)."""

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.parts.disposal import remove
from controller_manager.parts.updates import update
from controller_manager.planning.revisions import (
    equal_revision,
    excess,
    in_order,
    new_revision,
    next_number,
)
from controller_manager.runtime.claims import Parent, owner_reference
from controller_manager.runtime.contract import Action, Create, Delete, Get, Plan, key_of
from controller_manager.runtime.kinds import CONTROLLER_REVISION


@dataclass(frozen=True, slots=True)
class History:
    """Where a workload stands in its history.

    Attributes:
        revisions: all that there were, the oldest first.
        current: the one that an update comes from; the update revision where status.currentRevision names none.
        update: the one that an update goes to.
        collisions: how many names were found taken, for status.collisionCount.
    """

    revisions: Sequence[Obj]
    current: Obj
    update: Obj
    collisions: int


def record(
    parent: Parent, revisions: Sequence[Obj], *, data: Obj, labels: Mapping[str, str] | None = None
) -> Generator[Action, Any, History]:
    """See to it that the newest revision holds what the workload is now (getStatefulSetRevisions).

    A state that was there before keeps its name and gets the next number, so that going back makes nothing new.

    Args:
        parent: the workload.
        revisions: its own.
        data: what a revision of it would hold now.
        labels: of a new revision; those of the workload's template where nothing is said.

    Raises:
        ApiError: the revision could not be created or renumbered.
    """
    known, status = in_order(revisions), parent.obj.get("status") or {}
    number, same = next_number(known), equal_revision(known, data)
    collisions = status.get("collisionCount") or 0
    if same is None:
        newest, collisions = yield from _create(parent, data, number=number, collisions=collisions, labels=labels)
    elif same is known[-1]:
        newest = same
    else:
        newest = yield from update(CONTROLLER_REVISION, same, change=lambda found: found | {"revision": number})
    current = next((revision for revision in known if name_of(revision) == status.get("currentRevision")), newest)
    return History(known, current, newest, collisions)


def _create(
    parent: Parent, data: Obj, *, number: int, collisions: int, labels: Mapping[str, str] | None
) -> Generator[Action, Any, tuple[Obj, int]]:
    """Create a revision under the first name that is free; one that is there and holds the same is as good."""
    reference = owner_reference(parent.kind, parent.obj)
    while True:
        made = new_revision(parent.obj, data, reference=reference, number=number, collisions=collisions, labels=labels)
        try:
            created: Obj = yield Create(CONTROLLER_REVISION, made)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        else:
            return created, collisions
        found: Obj = yield Get(CONTROLLER_REVISION, key_of(made))
        if equal_revision((found,), data) is not None:
            return found, collisions
        collisions += 1


def truncate(history: History, *, live: Collection[str], limit: int) -> Plan:
    """Delete the oldest revisions beyond a limit, but none that is in use (truncateHistory).

    Args:
        history: the revisions, of which the current and the update revision are in use.
        live: names of others in use.
        limit: spec.revisionHistoryLimit.

    Raises:
        ApiError: a revision could not be deleted for a reason other than that it is gone.
    """
    for revision in excess(
        history.revisions, live={*live, name_of(history.current), name_of(history.update)}, limit=limit
    ):
        yield from remove(Delete(CONTROLLER_REVISION, key_of(revision), uid=revision["metadata"]["uid"]))
