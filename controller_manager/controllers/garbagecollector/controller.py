"""Deletes objects whose owners are gone, and releases owners that wait (pkg/controller/garbagecollector).

A key is either an item, "pods/default/web-1", to be checked against its owners or waiting for its dependents, or
"uid/<uid>", an owner that was not seen and that the server has to confirm. Upstream asks the server for every item and
every owner; here only for owners that no cache has: writes based on a cached item are guarded by its revision.
"""

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import namespace_of
from controller_manager.controllers.garbagecollector.dependents import (
    GRAPH,
    ClassifiedReference,
    OwnerState,
    classify,
    dependents_by_identity,
    dependents_of,
    graph_of,
    is_blocked_by,
    is_elsewhere,
    item_at,
    state_of,
    waits_for,
)
from controller_manager.controllers.garbagecollector.graph import (
    FOREGROUND_FINALIZER,
    ORPHAN_FINALIZER,
    UID_PREFIX,
    Graph,
    identity_of,
    item_of,
    waiting_finalizer,
)
from controller_manager.controllers.garbagecollector.patches import (
    owners_deletion_merge_patch,
    owners_deletion_patch,
    propagation_of,
    unblocking_merge_patch,
    unblocking_patch,
)
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Action,
    Batch,
    Change,
    ControllerSpec,
    Enqueue,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    Requeue,
    Watch,
)
from controller_manager.reconcile.deletion import Item, Patches, delete_item, get_live, patch_item, remove_finalizer
from controller_manager.reconcile.kinds import EVERYTHING

ORPHAN_BATCH = 100
"""The number of dependents that are orphaned at a time."""


@dataclass(frozen=True, slots=True)
class OwnedItem:
    """An item with at least one owner that is not solid.

    Attributes:
        owners: the owners, one for each reference.
        has_dependents: True if the item has dependents.
        in_circle: True if one of those waits for its own dependents, which may be a circle.
    """

    item: Item
    owners: tuple[ClassifiedReference, ...]
    has_dependents: bool
    in_circle: bool


@dataclass(frozen=True, slots=True)
class OrphaningOwner:
    """A deleted item that orphans its dependents."""

    item: Item
    dependents: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class FinishedOwner:
    """A deleted item whose dependents are gone, or do not block it."""

    item: Item


@dataclass(frozen=True, slots=True)
class UnconfirmedOwner:
    """An owner that the server has to confirm.

    Attributes:
        items: the items that refer to it by this identity.
        is_elsewhere: True if it is known in another namespace than theirs.
    """

    reference: ClassifiedReference
    items: tuple[Item, ...]
    is_elsewhere: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An owner with dependents that was not seen, or not with the identity that they give.

    Attributes:
        owners: one for each identity in the references.
        enqueue: dependents that have to be checked.
        requeue: True if a reference names a kind that is not served yet.
    """

    owners: tuple[UnconfirmedOwner, ...]
    enqueue: tuple[Item, ...]
    requeue: bool


Observed = OwnedItem | OrphaningOwner | FinishedOwner | Confirmation


# -- observe -----------------------------------------------------------------------------------------------------------


def _marked_keys(listers: Listers, _: Change) -> Iterable[Key]:
    """Return the keys that the graph, which has processed the change before, has marked."""
    graph: Graph = listers.view(GRAPH)
    return graph.take_marked()


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the facts needed to act on an item or an unseen owner, or None if there is nothing to do."""
    if key.startswith(UID_PREFIX):
        return _observe_owner(listers, key.removeprefix(UID_PREFIX))
    item = item_at(listers, key)
    if item is None:
        return None
    if item.meta.get("deletionTimestamp"):
        return _observe_deleted(listers, item)
    return _observe_owned(listers, item)


def _observe_deleted(listers: Listers, item: Item) -> Observed | None:
    finalizer, uid = waiting_finalizer(item.meta), item.meta["uid"]
    if finalizer == ORPHAN_FINALIZER:
        return OrphaningOwner(item, tuple(dependents_of(listers, uid)))
    if finalizer == FOREGROUND_FINALIZER and not any(
        _blocks_deletion(listers, dependent, uid) for dependent in dependents_of(listers, uid)
    ):
        return FinishedOwner(item)
    return None


def _blocks_deletion(listers: Listers, dependent: Item, uid: str) -> bool:
    """Return whether an owner has to wait for a dependent: not for one that itself waits for the owner.

    Upstream lets objects that were deleted one by one, each in the foreground, wait for each other for ever.
    """
    return is_blocked_by(dependent, uid) and not (
        waiting_finalizer(dependent.meta) == FOREGROUND_FINALIZER and waits_for(listers, dependent, uid)
    )


def _observe_owned(listers: Listers, item: Item) -> Observed | None:
    namespace, uid = namespace_of(item.obj), item.meta["uid"]
    references = item.meta.get("ownerReferences") or ()
    owners = tuple(classify(listers, owner["uid"], identity_of(owner, namespace)) for owner in references)
    states = {reference.state for reference in owners}
    if states <= {OwnerState.SOLID} or OwnerState.INVALID in states:
        return None
    in_circle = any(
        waiting_finalizer(dependent.meta) == FOREGROUND_FINALIZER for dependent in dependents_of(listers, uid)
    )
    return OwnedItem(item, owners, has_dependents=uid in graph_of(listers).owners, in_circle=in_circle)


def _observe_owner(listers: Listers, uid: str) -> Observed | None:
    unconfirmed: list[UnconfirmedOwner] = []
    to_check: list[Item] = []
    requeue = False
    for named, items in dependents_by_identity(listers, uid).items():
        reference = classify(listers, uid, named)
        if reference.owner_object is not None:
            graph_of(listers).record_owner(reference.kind, reference.owner_object)
        match reference.state:
            case OwnerState.DANGLING | OwnerState.WAITING:
                to_check += items
            case OwnerState.UNSEEN:
                unconfirmed.append(
                    UnconfirmedOwner(reference, tuple(items), is_elsewhere=is_elsewhere(listers, reference))
                )
            case OwnerState.NOT_SERVED:
                requeue = True
    return (
        Confirmation(tuple(unconfirmed), tuple(to_check), requeue=requeue)
        if unconfirmed or to_check or requeue
        else None
    )


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, _: float) -> Plan:
    """Delete, release, or ask the server."""
    match observed:
        case OwnedItem():
            yield from _sync_item(observed)
        case OrphaningOwner(item, dependents):
            yield from _orphan(dependents, item.meta["uid"])
            yield from remove_finalizer(item, ORPHAN_FINALIZER)
        case FinishedOwner(item):
            yield from remove_finalizer(item, FOREGROUND_FINALIZER)
        case Confirmation():
            yield from _confirm_owners(observed)


def _sync_item(owned: OwnedItem) -> Plan:
    """Delete an item without owners, and remove its references to owners that are gone (attemptToDeleteItem)."""
    owners: defaultdict[OwnerState, list[str]] = defaultdict(list)
    for reference in owned.owners:
        state = reference.state
        if state is OwnerState.UNSEEN:
            state = yield from _read_owner_state(reference)
        owners[state].append(reference.uid)
    item, waiting = owned.item, owners[OwnerState.WAITING]
    if owners[OwnerState.NOT_SERVED]:
        yield Requeue()
    elif owners[OwnerState.SOLID]:
        others = owners[OwnerState.DANGLING] + waiting
        if others:
            yield from patch_item(item, _release_patches(item, others))
    elif waiting and owned.has_dependents:
        yield from _delete_in_foreground(item, in_circle=owned.in_circle)
    else:
        yield from delete_item(item, propagation_of(item.meta))


def _delete_in_foreground(item: Item, *, in_circle: bool) -> Plan:
    """Delete in the foreground; if a dependent may be waiting for the item itself, first unblock both."""
    if in_circle:
        freed = yield from patch_item(item, Patches(unblocking_patch(item.meta), unblocking_merge_patch(item.meta)))
        if freed is None:
            return
        item = freed
    yield from delete_item(item, "Foreground")


def _orphan(dependents: Sequence[Item], uid: str) -> Plan:
    """Remove the references to an owner from all its dependents (orphanDependents).

    Raises:
        ApiError: the first refusal, after all dependents were patched.
    """
    failure: ApiError | None = None
    for start in range(0, len(dependents), ORPHAN_BATCH):
        chunk = dependents[start : start + ORPHAN_BATCH]
        patches = [
            Patch(item.kind, item.key, _release_patches(item, [uid]).strategic, "", STRATEGIC_PATCH) for item in chunk
        ]
        answers = yield Batch(patches)
        for item, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, ApiError) and answer.code == 415:
                yield from patch_item(item, _release_patches(item, [uid]))
            elif isinstance(answer, ApiError) and answer.code != 404:
                failure = failure or answer
    if failure is not None:
        raise failure


def _confirm_owners(confirmation: Confirmation) -> Plan:
    """Ask the server for owners that no cache has; dependents of those that do not exist have to be checked."""
    to_check, requeue = list(confirmation.enqueue), confirmation.requeue
    for owner in confirmation.owners:
        if (yield from _read_owner_state(owner.reference)) is not OwnerState.DANGLING:
            requeue = True  # it exists, and has to be seen, or its deletion would be missed
            continue
        if owner.is_elsewhere:
            for item in owner.items:
                yield _wrong_namespace(item, owner.reference)
        to_check += owner.items
    if to_check:
        yield Enqueue([item_of(item.kind, item.meta) for item in to_check])
    if requeue:
        yield Requeue()


def _read_owner_state(reference: ClassifiedReference) -> Generator[Action, Any, OwnerState]:
    """Ask the server for an owner that no cache has; remember the identity if it is absent (absentOwnerCache)."""
    assert reference.kind is not None
    owner = yield from get_live(reference.kind, reference.identity.key, reference.uid)
    if owner is None:
        reference.owner.absent.add(reference.identity)
        return OwnerState.DANGLING
    return state_of(owner)


def _wrong_namespace(item: Item, reference: ClassifiedReference) -> RecordEvent:
    namespace = namespace_of(item.obj)
    owner = reference.identity.text(reference.uid)
    message = f'ownerRef {owner} does not exist in namespace "{namespace}"'
    return RecordEvent(item.obj, "OwnerRefInvalidNamespace", message, WARNING)


def _release_patches(item: Item, uids: Collection[str]) -> Patches:
    return Patches(owners_deletion_patch(item.meta, uids), owners_deletion_merge_patch(item.meta, uids))


SPEC = ControllerSpec(
    name="garbagecollector",
    account="generic-garbage-collector",
    watches=(Watch(EVERYTHING, _marked_keys),),
    observe=observe,
    reconcile=reconcile,
    source="garbage-collector-controller",
    workers=20,
    flag="gc",
    views={GRAPH: Graph},
    view_kinds={GRAPH: (EVERYTHING,)},
    queue="garbage_collector_attempt_to_delete",
)
