"""ControllerRevisions: the states of a workload, numbered, named by a hash, and kept up to a limit.

The second half writes them: one for each state, the newest with the highest number (controller_history.go).
"""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.reconcile.contract import Action, Create, Delete, Get, Plan, key_of
from controller_manager.reconcile.controller_ref import Parent, owner_reference
from controller_manager.reconcile.deletion import delete_if_exists
from controller_manager.reconcile.kinds import CONTROLLER_REVISION
from controller_manager.reconcile.pod_templates import fnv32, is_same, safe_encoded
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.times import parse_time

HASH_LABEL = "controller.kubernetes.io/hash"
"""The label of a revision with the hash that its name ends in."""

_MAX_PREFIX_LENGTH = 223  # a name has 253 characters, a hash ten; upstream reserves 29
_GO_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def template_data(template: Obj) -> Obj:
    """Return a StatefulSet revision's data: a strategic merge patch that restores its template (getPatch)."""
    return {"spec": {"template": template | {"$patch": "replace"}}}


def template_of(revision: Obj) -> Obj | None:
    """Return the template that a revision restores (ApplyRevision), or None if it holds none.

    The patch replaces the template as a whole, so it need not be merged with the workload's current one.
    """
    part = revision.get("data")
    for name in ("spec", "template"):  # a revision may hold any JSON
        part = part.get(name) if isinstance(part, dict) else None
    return {key: value for key, value in part.items() if key != "$patch"} if isinstance(part, dict) else None


def data_bytes(data: Obj) -> bytes:
    """Return the data as Go's encoding/json writes a map: sorted keys, and HTML characters escaped."""
    encoded = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    for character, escape in _GO_ESCAPES:
        encoded = encoded.replace(character, escape)
    return encoded


def revision_hash(data: Obj, collisions: int | None) -> str:
    """Return the hash of a revision's data (controller_history.go HashControllerRevision).

    Args:
        data: what the revision holds.
        collisions: how many names were already taken, which changes the hash; None leaves it out.
    """
    probe = b"" if collisions is None else str(collisions).encode()
    return safe_encoded(str(fnv32(data_bytes(data) + probe)))


def revision_name(parent: str, hashed: str) -> str:
    """Return the name of a workload's revision (ControllerRevisionName)."""
    return f"{parent[:_MAX_PREFIX_LENGTH]}-{hashed}"


def new_revision(
    parent: Obj, data: Obj, *, reference: Obj, number: int, collisions: int, labels: Mapping[str, str] | None = None
) -> Obj:
    """Return a new ControllerRevision for the present state of a workload (NewControllerRevision).

    Args:
        parent: the workload, whose annotations are copied to the revision.
        data: the revision's data.
        reference: the controlling owner reference to the workload.
        number: its number in the history.
        collisions: how many names were already taken.
        labels: the labels that select it; None for those of the workload's template.
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
        "data": orjson.loads(data_bytes(data)),  # keys in the order in which kubectl compares them
        "revision": number,
    }


def history_limit(parent: Obj) -> int:
    """Return spec.revisionHistoryLimit of a workload: how many old revisions are kept."""
    limit: int | None = parent["spec"].get("revisionHistoryLimit")
    return 10 if limit is None else limit


def number_of(revision: Obj) -> int:
    """Return the revision's number in its history."""
    return int(revision.get("revision") or 0)


def in_order(revisions: Iterable[Obj]) -> list[Obj]:
    """Return revisions sorted from the oldest on: by number, then by age, then by name (SortControllerRevisions)."""

    def rank(revision: Obj) -> tuple[object, ...]:
        created = revision["metadata"].get("creationTimestamp")
        return number_of(revision), parse_time(created) if created else 0.0, name_of(revision)

    return sorted(revisions, key=rank)


def next_number(revisions: Sequence[Obj]) -> int:
    """Return the number that follows those of these revisions, which are in order."""
    return number_of(revisions[-1]) + 1 if revisions else 1


def equal_revision(revisions: Sequence[Obj], data: Obj) -> Obj | None:
    """Return the newest of the ordered revisions with the same data, or None if there is none (FindEqualRevisions).

    Hashes are not compared, since they depend on how many names were taken. As since 1.34, differences only in defaults
    or notation do not count (gate StatefulSetSemanticRevisionComparison).
    """
    for revision in reversed(revisions):
        existing = revision.get("data") or {}
        if existing == data or is_same(existing, data):
            return revision
    return None


def excess_revisions(revisions: Sequence[Obj], *, live: Collection[str], limit: int) -> list[Obj]:
    """Return the revisions to delete, oldest first (stateful_set_control.go truncateHistory).

    Args:
        revisions: in order.
        live: the names of revisions in use, which neither count nor are deleted.
        limit: how many of the others are kept; below 0 all are.
    """
    idle = [revision for revision in revisions if name_of(revision) not in live]
    return idle[: len(idle) - limit] if 0 <= limit < len(idle) else []


def expired_revisions(revisions: Sequence[Obj], *, live: Collection[str], limit: int) -> list[Obj]:
    """Return the revisions of a UnitedDeployment to delete before a new one is created (cleanExpiredRevision).

    Unlike elsewhere, revisions in use count, and one in use among the oldest does not keep another from deletion.

    Args:
        revisions: in order.
        live: the names of those in use.
        limit: how many are kept.
    """
    oldest = revisions[: max(len(revisions) - limit, 0)]
    return [revision for revision in oldest if name_of(revision) not in live]


@dataclass(frozen=True, slots=True)
class History:
    """The revisions of a workload.

    Attributes:
        revisions: all existing revisions, the oldest first.
        current: the revision to update from; the update revision if status.currentRevision names none.
        update: the revision to update to.
        collisions: how many names were already taken, for status.collisionCount.
    """

    revisions: Sequence[Obj]
    current: Obj
    update: Obj
    collisions: int


def sync_revisions(
    parent: Parent, revisions: Sequence[Obj], *, data: Obj, labels: Mapping[str, str] | None = None
) -> Generator[Action, Any, History]:
    """Ensure that the newest revision holds the present state of the workload (getStatefulSetRevisions).

    A state that existed before keeps its name and gets the next number, so that a rollback creates nothing new.

    Args:
        parent: the workload.
        revisions: its revisions.
        data: the data of a revision for its present state.
        labels: of a new revision; None for those of the workload's template.

    Raises:
        ApiError: the revision could not be created or renumbered.
    """
    ordered, status = in_order(revisions), parent.obj.get("status") or {}
    number, equal = next_number(ordered), equal_revision(ordered, data)
    collisions = status.get("collisionCount") or 0
    if equal is None:
        newest, collisions = yield from _create(parent, data, number=number, collisions=collisions, labels=labels)
    elif equal is ordered[-1]:
        newest = equal
    else:
        newest = yield from update(
            CONTROLLER_REVISION, equal, change=lambda current_state: current_state | {"revision": number}
        )
    current = next((revision for revision in ordered if name_of(revision) == status.get("currentRevision")), newest)
    return History(ordered, current, newest, collisions)


def _create(
    parent: Parent, data: Obj, *, number: int, collisions: int, labels: Mapping[str, str] | None
) -> Generator[Action, Any, tuple[Obj, int]]:
    """Create a revision under the first free name; an existing one with the same data is returned instead."""
    reference = owner_reference(parent.kind, parent.obj)
    while True:
        new = new_revision(parent.obj, data, reference=reference, number=number, collisions=collisions, labels=labels)
        try:
            created: Obj = yield Create(CONTROLLER_REVISION, new)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        else:
            return created, collisions
        existing: Obj = yield Get(CONTROLLER_REVISION, key_of(new))
        if equal_revision((existing,), data) is not None:
            return existing, collisions
        collisions += 1


def truncate_history(history: History, *, live: Collection[str], limit: int) -> Plan:
    """Delete the oldest revisions beyond a limit, except those in use (truncateHistory).

    Args:
        history: the revisions; its current and update revisions are in use.
        live: the names of others in use.
        limit: spec.revisionHistoryLimit.

    Raises:
        ApiError: a revision could not be deleted for a reason other than that it is gone.
    """
    for revision in excess_revisions(
        history.revisions, live={*live, name_of(history.current), name_of(history.update)}, limit=limit
    ):
        yield from delete_if_exists(Delete(CONTROLLER_REVISION, key_of(revision), uid=revision["metadata"]["uid"]))
