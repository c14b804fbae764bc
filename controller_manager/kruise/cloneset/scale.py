"""How a CloneSet gets as many pods as it wants: pods and their claims made and deleted, and Events that tell of them.

(pkg/controller/cloneset/sync/cloneset_scale.go)
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.identity import Version
from controller_manager.kruise.cloneset.pods import id_of, instance_ids, new_claims, new_pods
from controller_manager.kruise.cloneset.ranks import Ranks, node_ranks, spread_ranks
from controller_manager.kruise.cloneset.rolling import Diff, diff_of, to_be_deleted, within
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.kruise.pod_lifecycle import NORMAL, state_marks
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Action,
    Answer,
    Batch,
    Create,
    Delete,
    Patch,
    RecordEvent,
    key_of,
)
from controller_manager.reconcile.controller_ref import owner_reference
from controller_manager.reconcile.in_place import opening
from controller_manager.reconcile.kinds import CLAIM, CLONE_SET, POD

ROUND = 32
"""How many pods are made at a time at the most, before their gates are opened."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """What came of scaling.

    Attributes:
        moved: whether a pod was made or deleted, so that none is updated in the same run.
        refusal: the first one, None where there was none.
    """

    moved: bool = False
    refusal: ApiError | None = None


Scaling = Generator[Action, Any, Scaled]


@dataclass(frozen=True, slots=True)
class SyncContext:
    """One run over a CloneSet.

    Attributes:
        parent: the set.
        strategy: what it asks for.
        members: its active pods.
        claims: those that it owns and that nobody deletes.
        taken: ids that no new pod may have: of all its pods and claims.
        current: what pods of the current revision are made of.
        update: what the others are made of.
        nodes: the labels of nodes, where pods are spread over domains.
        now: the time.
    """

    parent: Obj
    strategy: Strategy
    members: Sequence[Member]
    claims: Sequence[Obj]
    taken: frozenset[str]
    current: Version
    update: Version
    nodes: Mapping[str, Mapping[str, str]]
    now: float


def scale(run: SyncContext) -> Scaling:
    """Make missing pods, or delete those that are to go, or those that are too many (Scale)."""
    diff = diff_of(run.members, run.strategy)
    if diff.create > diff.create_limit:
        why = f"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: {diff.create_limit}"
        yield RecordEvent(run.parent, "ScaleUpLimited", why, WARNING)
    if diff.create:
        return (yield from _create(run, diff))
    leaving = [each for each in run.members if each.leaving]
    if going := within(leaving, diff.delete_ready_limit):
        return (yield from _delete(run, going))
    if leaving or not diff.delete:
        return Scaled()
    return (yield from _delete(run, to_be_deleted(run.members, diff, partial(_ranks, run))))


def _ranks(run: SyncContext, members: Sequence[Member]) -> Ranks:
    constraints = run.parent["spec"]["template"]["spec"].get("topologySpreadConstraints")
    if not constraints:
        return node_ranks(members)
    return spread_ranks(members, [constraint["topologyKey"] for constraint in constraints], run.nodes)


# -- pods that are made ------------------------------------------------------------------------------------------------


def _create(run: SyncContext, diff: Diff) -> Scaling:
    """Make pods of both revisions, each after its claims; those whose claims were refused are left out (createPods)."""
    pods = _new_pods(run, diff)
    refusals = yield from _make_claims(run, pods)
    able = [pod for pod in pods if id_of(pod) not in refusals]
    answers = yield from _make(able, run.now)
    errors = [error for error in refusals.values() if error is not None]
    made = False
    for pod, answer in zip(able, answers, strict=True):
        if isinstance(answer, ApiError):
            errors.append(answer)
            yield _failed(run, "FailedCreate", f"failed to create pod: {answer.message}, pod: {_text(pod)}")
        elif answer is not None:
            made = True
            yield RecordEvent(run.parent, "SuccessfulCreate", f"succeed to create pod {name_of(answer)}")
    return Scaled(made, next(iter(errors), None))


def _make(pods: Sequence[Obj], now: float) -> Generator[Action, Any, list[Answer]]:
    """Make pods: one first, then two, four … and none after a round with an error; gives the answers, as a Batch does.

    Each round's pods are told to be normal beside the next one, and their gates are opened by the same write, so that a
    kubelet need not tell twice how they fare. Where that is refused, the next run does it.
    """
    answers, told, size = list[Answer](), list[Patch](), 1
    while len(answers) < len(pods):
        creations = [Create(POD, pod) for pod in pods[len(answers) : len(answers) + size]]
        made = (yield Batch([*creations, *told]))[: len(creations)]
        answers += made
        told = [_welcome(answer, now) for answer in made if isinstance(answer, dict)]
        if len(told) < len(made):
            break
        size = min(size * 2, ROUND)
    yield Batch(told)
    return answers + [None] * (len(pods) - len(answers))


def _welcome(pod: Obj, now: float) -> Patch:
    return Patch(POD, key_of(pod), opening(pod, now, state_marks(NORMAL, now)), "status", STRATEGIC_PATCH)


def _new_pods(run: SyncContext, diff: Diff) -> list[Obj]:
    """As many pods as may be made now; those of the current revision first (NewVersionedPods)."""
    number, old = diff.create_limit, min(diff.create_old, diff.create_limit)
    living = {id_of(each.pod) for each in run.members}
    waiting = {id_of(claim) for claim in run.claims} - living - {""}
    ids = instance_ids(number, taken=run.taken, free=waiting, seed=f"{run.parent['metadata']['uid']}/{run.now}")
    reference = owner_reference(CLONE_SET, run.parent)
    return [
        *new_pods(run.parent, run.current, ids=ids[:old], reference=reference, now=run.now),
        *new_pods(run.parent, run.update, ids=ids[old:], reference=reference, now=run.now),
    ]


def _make_claims(run: SyncContext, pods: Iterable[Obj]) -> Generator[Action, Any, dict[str, ApiError | None]]:
    """Make the claims of pods that are not there; gives the ids that lack one, with the refusal if it was tried."""
    there = {name_of(claim) for claim in run.claims}
    missing = [claim for pod in pods for claim in new_claims(run.parent, pod) if name_of(claim) not in there]
    answers = (yield Batch([Create(CLAIM, claim) for claim in missing], slow_start=True)) if missing else ()
    refusals: dict[str, ApiError | None] = {}
    for claim, answer in zip(missing, answers, strict=True):
        if isinstance(answer, ApiError):
            yield _failed(run, "FailedCreate", f"failed to create pvc: {answer.message}, pvc: {_text(claim)}")
        if answer is None or isinstance(answer, ApiError):
            refusals[id_of(claim)] = refusals.get(id_of(claim)) or answer
    return refusals


def _text(obj: Obj) -> str:
    return orjson.dumps(obj).decode()


def _failed(run: SyncContext, reason: str, message: str) -> RecordEvent:
    return RecordEvent(run.parent, reason, message, WARNING)


# -- pods that go ------------------------------------------------------------------------------------------------------


def _delete(run: SyncContext, members: Sequence[Member]) -> Scaling:
    """Delete pods, and then their claims, which go when the pods are gone (deletePods)."""
    if not members:
        return Scaled()
    deletions = [Delete(POD, key_of(each.pod), uid=each.pod["metadata"]["uid"]) for each in members]
    answers = yield Batch(deletions)
    refusals, gone = list[ApiError](), set[str]()
    for each, answer in zip(members, answers, strict=True):
        if not isinstance(answer, ApiError):
            gone.add(id_of(each.pod))
            yield RecordEvent(run.parent, "SuccessfulDelete", f"succeed to delete pod {each.name}")
        elif answer.code != 404:
            refusals.append(answer)
            yield _failed(run, "FailedDelete", f"failed to delete pod {each.name}: {answer.message}")
    going = [claim for claim in run.claims if id_of(claim) in gone]
    refusals += yield from delete_claims(run.parent, going, "failed to delete pvc")
    return Scaled(bool(gone), next(iter(refusals), None))


def delete_claims(parent: Obj, claims: Sequence[Obj], failure: str) -> Generator[Action, Any, list[ApiError]]:
    """Delete claims; gives the refusals, of which the Events tell that begin with those words."""
    deletions = [Delete(CLAIM, key_of(claim), uid=claim["metadata"]["uid"]) for claim in claims]
    answers = (yield Batch(deletions)) if deletions else ()
    refusals = list[ApiError]()
    for claim, answer in zip(claims, answers, strict=True):
        if isinstance(answer, ApiError) and answer.code != 404:
            refusals.append(answer)
            yield RecordEvent(parent, "FailedDelete", f"{failure} {name_of(claim)}: {answer.message}", WARNING)
    return refusals
