"""ControllerRevisions: the states that a workload was in, numbered, named by a hash, and kept up to a limit.

The second half writes them: one for each state, the newest on top (controller_history.go).
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.reconcile.contract import Action, Create, Delete, Get, Plan, key_of
from controller_manager.reconcile.controller_ref import Parent, owner_reference
from controller_manager.reconcile.deletion import remove
from controller_manager.reconcile.kinds import CONTROLLER_REVISION
from controller_manager.reconcile.pod_templates import fnv32, is_same, safe_encoded
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.times import seconds

HASH_LABEL = "controller.kubernetes.io/hash"
"""The label of a revision with the hash that its name ends in."""

_LONGEST_PREFIX = 223  # a name has 253 characters, a hash ten; upstream leaves room for 29
_GO_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def template_data(template: Obj) -> Obj:
    """What a revision holds of a StatefulSet: a strategic merge patch that puts its template back (getPatch)."""
    return {"spec": {"template": template | {"$patch": "replace"}}}


def template_of(revision: Obj) -> Obj | None:
    """The template that a revision puts into its workload (ApplyRevision), None where it holds none.

    The patch replaces the template as a whole, so nothing of the workload's own is needed to merge it with.
    """
    found = revision.get("data")
    for name in ("spec", "template"):  # whoever writes a revision may put any JSON there
        found = found.get(name) if isinstance(found, dict) else None
    return {key: value for key, value in found.items() if key != "$patch"} if isinstance(found, dict) else None


def data_bytes(data: Obj) -> bytes:
    """The data as Go's encoding/json writes a map: keys in order, and what HTML would read escaped."""
    found = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    for character, escape in _GO_ESCAPES:
        found = found.replace(character, escape)
    return found


def revision_hash(data: Obj, collisions: int | None) -> str:
    """The hash of a revision's data (controller_history.go HashControllerRevision).

    Args:
        data: what the revision holds.
        collisions: how many names were found taken, which makes another hash of the same data; None leaves it out.
    """
    probe = b"" if collisions is None else str(collisions).encode()
    return safe_encoded(str(fnv32(data_bytes(data) + probe)))


def revision_name(parent: str, hashed: str) -> str:
    """The name of a workload's revision (ControllerRevisionName)."""
    return f"{parent[:_LONGEST_PREFIX]}-{hashed}"


def new_revision(
    parent: Obj, data: Obj, *, reference: Obj, number: int, collisions: int, labels: Mapping[str, str] | None = None
) -> Obj:
    """A ControllerRevision of a workload as it is now (NewControllerRevision).

    Args:
        parent: the workload, whose annotations the revision takes.
        data: what it holds.
        reference: the controlling owner reference to the workload.
        number: its place in the history.
        collisions: how many names were found taken.
        labels: by which it is selected; those of the workload's template where nothing is said.
    """
    hashed = revision_hash(data, collisions)
    meta = parent["metadata"]
    selected = labels_of(parent["spec"]["template"]) if labels is None else dict(labels)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": revision_name(meta["name"], hashed),
            "namespace": meta["namespace"],
            "labels": selected | {HASH_LABEL: hashed},
            "annotations": dict(meta.get("annotations") or {}),
            "ownerReferences": [reference],
        },
        "data": orjson.loads(data_bytes(data)),  # in the order of keys in which kubectl compares it
        "revision": number,
    }


def history_limit(parent: Obj) -> int:
    """spec.revisionHistoryLimit of a workload: how many old revisions are kept."""
    limit: int | None = parent["spec"].get("revisionHistoryLimit")
    return 10 if limit is None else limit


def number_of(revision: Obj) -> int:
    """The revision's place in its history."""
    return int(revision.get("revision") or 0)


def in_order(revisions: Iterable[Obj]) -> list[Obj]:
    """Revisions from the oldest on: by number, then by age, then by name (SortControllerRevisions)."""

    def rank(revision: Obj) -> tuple[object, ...]:
        created = revision["metadata"].get("creationTimestamp")
        return number_of(revision), seconds(created) if created else 0.0, name_of(revision)

    return sorted(revisions, key=rank)


def next_number(revisions: Sequence[Obj]) -> int:
    """The number of the revision after these, which are in order."""
    return number_of(revisions[-1]) + 1 if revisions else 1


def equal_revision(revisions: Sequence[Obj], data: Obj) -> Obj | None:
    """The newest of revisions in order that holds the same, None where none does (FindEqualRevisions).

    Hashes are never compared, since they depend on how many names were taken; and since 1.34 what defaults or spelling
    tell apart is the same (gate StatefulSetSemanticRevisionComparison).
    """
    for revision in reversed(revisions):
        found = revision.get("data") or {}
        if found == data or is_same(found, data):
            return revision
    return None


def excess(revisions: Sequence[Obj], *, live: Collection[str], limit: int) -> list[Obj]:
    """The revisions to be deleted, oldest first (stateful_set_control.go truncateHistory).

    Args:
        revisions: in order.
        live: names of those in use, which neither count nor go.
        limit: how many of the others stay; below 0 all do.
    """
    idle = [revision for revision in revisions if name_of(revision) not in live]
    return idle[: len(idle) - limit] if 0 <= limit < len(idle) else []


def expired(revisions: Sequence[Obj], *, live: Collection[str], limit: int) -> list[Obj]:
    """The revisions of a UnitedDeployment that are deleted before a new one comes (cleanExpiredRevision).

    Other than elsewhere those in use count, and one in use that is among the oldest saves none of the others.

    Args:
        revisions: in order.
        live: names of those in use.
        limit: how many stay.
    """
    oldest = revisions[: max(len(revisions) - limit, 0)]
    return [revision for revision in oldest if name_of(revision) not in live]


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
