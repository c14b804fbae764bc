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
    Judged,
    Verdict,
    by_name,
    dependents_of,
    graph_of,
    is_blocked_by,
    is_elsewhere,
    item_at,
    judge,
    verdict_on,
    waits_for,
)
from controller_manager.controllers.garbagecollector.graph import (
    FOREGROUND,
    ORPHAN,
    UID,
    Graph,
    awaited_work,
    identity_of,
    item_of,
)
from controller_manager.controllers.garbagecollector.patches import (
    owners_all_unblocked,
    owners_deleted,
    owners_kept,
    owners_unblocked,
    propagation_of,
)
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Action,
    Batch,
    Change,
    Enqueue,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    Requeue,
    Spec,
    Watch,
)
from controller_manager.reconcile.deletion import Item, Patches, delete, look_up, patch, take_finalizer
from controller_manager.reconcile.kinds import EVERYTHING

AT_ONCE = 100
"""How many dependents are orphaned at a time."""


@dataclass(frozen=True, slots=True)
class Judging:
    """An item with at least one owner that is not solid.

    Attributes:
        owners: the owners, one for each reference.
        has_dependents: True if the item has dependents.
        in_circle: True if one of those waits for its own dependents, which may be a circle.
    """

    item: Item
    owners: tuple[Judged, ...]
    has_dependents: bool
    in_circle: bool


@dataclass(frozen=True, slots=True)
class Orphaning:
    """A deleted item that orphans its dependents."""

    item: Item
    dependents: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Finishing:
    """A deleted item whose dependents are gone, or do not block it."""

    item: Item


@dataclass(frozen=True, slots=True)
class Doubt:
    """An owner that the server has to confirm.

    Attributes:
        items: the items that refer to it by this identity.
        is_elsewhere: True if it is known in another namespace than theirs.
    """

    judged: Judged
    items: tuple[Item, ...]
    is_elsewhere: bool


@dataclass(frozen=True, slots=True)
class Confirming:
    """An owner with dependents that was not seen, or not with the identity that they give.

    Attributes:
        doubts: one for each identity in the references.
        wake: dependents that have to be checked.
        again: True if a reference names a kind that is not served yet.
    """

    doubts: tuple[Doubt, ...]
    wake: tuple[Item, ...]
    again: bool


Observed = Judging | Orphaning | Finishing | Confirming


# -- observe -----------------------------------------------------------------------------------------------------------


def _marked_keys(listers: Listers, _: Change) -> Iterable[Key]:
    """Return the keys that the graph, which has processed the change before, has marked."""
    graph: Graph = listers.view(GRAPH)
    return graph.take_marked()


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the facts needed to act on an item or an unseen owner, or None if there is nothing to do."""
    if key.startswith(UID):
        return _observe_owner(listers, key.removeprefix(UID))
    item = item_at(listers, key)
    if item is None:
        return None
    if item.meta.get("deletionTimestamp"):
        return _observe_deleted(listers, item)
    return _observe_owned(listers, item)


def _observe_deleted(listers: Listers, item: Item) -> Observed | None:
    finalizer, uid = awaited_work(item.meta), item.meta["uid"]
    if finalizer == ORPHAN:
        return Orphaning(item, tuple(dependents_of(listers, uid)))
    if finalizer == FOREGROUND and not any(
        _has_to_go(listers, dependent, uid) for dependent in dependents_of(listers, uid)
    ):
        return Finishing(item)
    return None


def _has_to_go(listers: Listers, dependent: Item, uid: str) -> bool:
    """Return whether an owner has to wait for a dependent: not for one that itself waits for the owner.

    Upstream lets objects that were deleted one by one, each in the foreground, wait for each other for ever.
    """
    return is_blocked_by(dependent, uid) and not (
        awaited_work(dependent.meta) == FOREGROUND and waits_for(listers, dependent, uid)
    )


def _observe_owned(listers: Listers, item: Item) -> Observed | None:
    namespace, uid = namespace_of(item.obj), item.meta["uid"]
    references = item.meta.get("ownerReferences") or ()
    owners = tuple(judge(listers, owner["uid"], identity_of(owner, namespace)) for owner in references)
    verdicts = {judged.verdict for judged in owners}
    if verdicts <= {Verdict.SOLID} or Verdict.INVALID in verdicts:
        return None
    in_circle = any(awaited_work(dependent.meta) == FOREGROUND for dependent in dependents_of(listers, uid))
    return Judging(item, owners, has_dependents=uid in graph_of(listers).owners, in_circle=in_circle)


def _observe_owner(listers: Listers, uid: str) -> Observed | None:
    doubts: list[Doubt] = []
    wake: list[Item] = []
    requeue = False
    for named, items in by_name(listers, uid).items():
        judged = judge(listers, uid, named)
        if judged.owner_object is not None:
            graph_of(listers).record_owner(judged.kind, judged.owner_object)
        match judged.verdict:
            case Verdict.DANGLING | Verdict.WAITING:
                wake += items
            case Verdict.UNSEEN:
                doubts.append(Doubt(judged, tuple(items), is_elsewhere=is_elsewhere(listers, judged)))
            case Verdict.UNSERVED:
                requeue = True
    return Confirming(tuple(doubts), tuple(wake), again=requeue) if doubts or wake or requeue else None


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, _: float) -> Plan:
    """Delete, release, or ask the server."""
    match observed:
        case Judging():
            yield from _judge_item(observed)
        case Orphaning(item, dependents):
            yield from _orphan(dependents, item.meta["uid"])
            yield from take_finalizer(item, ORPHAN)
        case Finishing(item):
            yield from take_finalizer(item, FOREGROUND)
        case Confirming():
            yield from _confirm(observed)


def _judge_item(judging: Judging) -> Plan:
    """Delete an item without owners, and remove its references to owners that are gone (attemptToDeleteItem)."""
    owners: defaultdict[Verdict, list[str]] = defaultdict(list)
    for judged in judging.owners:
        verdict = judged.verdict
        if verdict is Verdict.UNSEEN:
            verdict = yield from _ask(judged)
        owners[verdict].append(judged.uid)
    item, waiting = judging.item, owners[Verdict.WAITING]
    if owners[Verdict.UNSERVED]:
        yield Requeue()
    elif owners[Verdict.SOLID]:
        others = owners[Verdict.DANGLING] + waiting
        if others:
            yield from patch(item, _release_patches(item, others))
    elif waiting and judging.has_dependents:
        yield from _delete_in_foreground(item, in_circle=judging.in_circle)
    else:
        yield from delete(item, propagation_of(item.meta))


def _delete_in_foreground(item: Item, *, in_circle: bool) -> Plan:
    """Delete in the foreground; if a dependent may be waiting for the item itself, first unblock both."""
    if in_circle:
        freed = yield from patch(item, Patches(owners_unblocked(item.meta), owners_all_unblocked(item.meta)))
        if freed is None:
            return
        item = freed
    yield from delete(item, "Foreground")


def _orphan(dependents: Sequence[Item], uid: str) -> Plan:
    """Remove the references to an owner from all its dependents (orphanDependents).

    Raises:
        ApiError: the first refusal, after all dependents were patched.
    """
    failure: ApiError | None = None
    for start in range(0, len(dependents), AT_ONCE):
        chunk = dependents[start : start + AT_ONCE]
        patches = [
            Patch(item.kind, item.key, _release_patches(item, [uid]).strategic, "", STRATEGIC_PATCH) for item in chunk
        ]
        answers = yield Batch(patches)
        for item, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, ApiError) and answer.code == 415:
                yield from patch(item, _release_patches(item, [uid]))
            elif isinstance(answer, ApiError) and answer.code != 404:
                failure = failure or answer
    if failure is not None:
        raise failure


def _confirm(confirming: Confirming) -> Plan:
    """Ask the server for owners that no cache has; dependents of those that do not exist have to be checked."""
    wake, requeue = list(confirming.wake), confirming.again
    for doubt in confirming.doubts:
        if (yield from _ask(doubt.judged)) is not Verdict.DANGLING:
            requeue = True  # it exists, and has to be seen, or its deletion would be missed
            continue
        if doubt.is_elsewhere:
            for item in doubt.items:
                yield _wrong_namespace(item, doubt.judged)
        wake += doubt.items
    if wake:
        yield Enqueue([item_of(item.kind, item.meta) for item in wake])
    if requeue:
        yield Requeue()


def _ask(judged: Judged) -> Generator[Action, Any, Verdict]:
    """Ask the server for an owner that no cache has; remember the identity if it is absent (absentOwnerCache)."""
    assert judged.kind is not None
    owner = yield from look_up(judged.kind, judged.identity.key, judged.uid)
    if owner is None:
        judged.owner.absent.add(judged.identity)
        return Verdict.DANGLING
    return verdict_on(owner)


def _wrong_namespace(item: Item, judged: Judged) -> RecordEvent:
    namespace = namespace_of(item.obj)
    owner = judged.identity.text(judged.uid)
    message = f'ownerRef {owner} does not exist in namespace "{namespace}"'
    return RecordEvent(item.obj, "OwnerRefInvalidNamespace", message, WARNING)


def _release_patches(item: Item, uids: Collection[str]) -> Patches:
    return Patches(owners_deleted(item.meta, uids), owners_kept(item.meta, uids))


SPEC = Spec(
    name="garbagecollector",
    watches=(Watch(EVERYTHING, _marked_keys),),
    observe=observe,
    reconcile=reconcile,
    source="garbage-collector-controller",
    workers=20,
    flag="gc",
    views={GRAPH: Graph},
    feeds={GRAPH: (EVERYTHING,)},
    queue="garbage_collector_attempt_to_delete",
)
