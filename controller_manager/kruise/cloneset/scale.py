"""Scaling of CloneSets: creates and deletes pods and their claims, and records Events.

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
from controller_manager.kruise.cloneset.pods import instance_id, instance_ids, new_claims, new_pods
from controller_manager.kruise.cloneset.ranks import Ranks, node_ranks, spread_ranks
from controller_manager.kruise.cloneset.rolling import Diff, diff_of, limit_ready, pods_to_delete
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.kruise.pod_lifecycle import NORMAL, state_metadata
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Action,
    Batch,
    BatchResult,
    Create,
    Delete,
    Patch,
    RecordEvent,
    key_of,
)
from controller_manager.reconcile.controller_ref import owner_reference
from controller_manager.reconcile.in_place import gate_opening_patch
from controller_manager.reconcile.kinds import CLAIM, CLONE_SET, POD

CREATE_BATCH = 32
"""The most pods that are created at a time, before their gates are opened."""


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """The result of scaling.

    Attributes:
        changed: True if a pod was created or deleted, so that none is updated in the same run.
        refusal: the first error, None if there was none.
    """

    changed: bool = False
    refusal: ApiError | None = None


ScalePlan = Generator[Action, Any, ScaleResult]


@dataclass(frozen=True, slots=True)
class SyncContext:
    """One run for a CloneSet.

    Attributes:
        parent: the set.
        strategy: its strategy.
        members: its active pods.
        claims: those that it owns and that are not being deleted.
        taken: the ids of all its pods and claims, which no new pod may have.
        current: the template of the current revision.
        update: the template of the update revision.
        nodes: the labels of nodes, if pods are spread over domains.
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


def scale(run: SyncContext) -> ScalePlan:
    """Create missing pods, or delete those that are leaving, or those that are too many (Scale)."""
    diff = diff_of(run.members, run.strategy)
    if diff.create > diff.create_limit:
        message = f"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: {diff.create_limit}"
        yield RecordEvent(run.parent, "ScaleUpLimited", message, WARNING)
    if diff.create:
        return (yield from _create_missing(run, diff))
    leaving = [member for member in run.members if member.terminating]
    if deletable := limit_ready(leaving, diff.delete_ready_limit):
        return (yield from _delete_pods(run, deletable))
    if leaving or not diff.delete:
        return ScaleResult()
    return (yield from _delete_pods(run, pods_to_delete(run.members, diff, partial(_ranks, run))))


def _ranks(run: SyncContext, members: Sequence[Member]) -> Ranks:
    constraints = run.parent["spec"]["template"]["spec"].get("topologySpreadConstraints")
    if not constraints:
        return node_ranks(members)
    return spread_ranks(members, [constraint["topologyKey"] for constraint in constraints], run.nodes)


# -- creating pods -----------------------------------------------------------------------------------------------------


def _create_missing(run: SyncContext, diff: Diff) -> ScalePlan:
    """Create pods of both revisions, each after its claims; pods whose claims were refused are left out.

    (createPods)
    """
    pods = _new_pods(run, diff)
    refusals = yield from _create_claims(run, pods)
    creatable = [pod for pod in pods if instance_id(pod) not in refusals]
    answers = yield from _create_pods(creatable, run.now)
    errors = [error for error in refusals.values() if error is not None]
    any_created = False
    for pod, answer in zip(creatable, answers, strict=True):
        if isinstance(answer, ApiError):
            errors.append(answer)
            yield _failure_event(run, "FailedCreate", f"failed to create pod: {answer.message}, pod: {_text(pod)}")
        elif answer is not None:
            any_created = True
            yield RecordEvent(run.parent, "SuccessfulCreate", f"succeed to create pod {name_of(answer)}")
    return ScaleResult(any_created, next(iter(errors), None))


def _create_pods(pods: Sequence[Obj], now: float) -> Generator[Action, Any, list[BatchResult]]:
    """Create pods: one, then two, four … and no more after a round with an error; return the answers like a Batch.

    The pods of a round get the lifecycle state Normal together with the next round, and the same write opens their
    gates, so that a kubelet need not write their status twice. If that write is refused, the next run repeats it.
    """
    answers, patches, size = list[BatchResult](), list[Patch](), 1
    while len(answers) < len(pods):
        creations = [Create(POD, pod) for pod in pods[len(answers) : len(answers) + size]]
        created = (yield Batch([*creations, *patches]))[: len(creations)]
        answers += created
        patches = [_open_gate(answer, now) for answer in created if isinstance(answer, dict)]
        if len(patches) < len(created):
            break
        size = min(size * 2, CREATE_BATCH)
    yield Batch(patches)
    return answers + [None] * (len(pods) - len(answers))


def _open_gate(pod: Obj, now: float) -> Patch:
    return Patch(POD, key_of(pod), gate_opening_patch(pod, now, state_metadata(NORMAL, now)), "status", STRATEGIC_PATCH)


def _new_pods(run: SyncContext, diff: Diff) -> list[Obj]:
    """Return as many new pods as may be created now; those of the current revision first (NewVersionedPods)."""
    number, old = diff.create_limit, min(diff.create_old, diff.create_limit)
    pod_ids = {instance_id(member.pod) for member in run.members}
    unused_ids = {instance_id(claim) for claim in run.claims} - pod_ids - {""}
    ids = instance_ids(number, taken=run.taken, free=unused_ids, seed=f"{run.parent['metadata']['uid']}/{run.now}")
    reference = owner_reference(CLONE_SET, run.parent)
    return [
        *new_pods(run.parent, run.current, ids=ids[:old], reference=reference, now=run.now),
        *new_pods(run.parent, run.update, ids=ids[old:], reference=reference, now=run.now),
    ]


def _create_claims(run: SyncContext, pods: Iterable[Obj]) -> Generator[Action, Any, dict[str, ApiError | None]]:
    """Create missing claims of pods; return the ids of pods that lack one, with the error if it was tried."""
    existing = {name_of(claim) for claim in run.claims}
    missing = [claim for pod in pods for claim in new_claims(run.parent, pod) if name_of(claim) not in existing]
    answers = (yield Batch([Create(CLAIM, claim) for claim in missing], slow_start=True)) if missing else ()
    refusals: dict[str, ApiError | None] = {}
    for claim, answer in zip(missing, answers, strict=True):
        if isinstance(answer, ApiError):
            yield _failure_event(run, "FailedCreate", f"failed to create pvc: {answer.message}, pvc: {_text(claim)}")
        if answer is None or isinstance(answer, ApiError):
            refusals[instance_id(claim)] = refusals.get(instance_id(claim)) or answer
    return refusals


def _text(obj: Obj) -> str:
    return orjson.dumps(obj).decode()


def _failure_event(run: SyncContext, reason: str, message: str) -> RecordEvent:
    return RecordEvent(run.parent, reason, message, WARNING)


# -- deleting pods -----------------------------------------------------------------------------------------------------


def _delete_pods(run: SyncContext, members: Sequence[Member]) -> ScalePlan:
    """Delete pods, and then their claims, which go when the pods are gone (deletePods)."""
    if not members:
        return ScaleResult()
    deletions = [Delete(POD, key_of(member.pod), uid=member.pod["metadata"]["uid"]) for member in members]
    answers = yield Batch(deletions)
    refusals, deleted_ids = list[ApiError](), set[str]()
    for member, answer in zip(members, answers, strict=True):
        if not isinstance(answer, ApiError):
            deleted_ids.add(instance_id(member.pod))
            yield RecordEvent(run.parent, "SuccessfulDelete", f"succeed to delete pod {member.name}")
        elif answer.code != 404:
            refusals.append(answer)
            yield _failure_event(run, "FailedDelete", f"failed to delete pod {member.name}: {answer.message}")
    claims = [claim for claim in run.claims if instance_id(claim) in deleted_ids]
    refusals += yield from delete_claims(run.parent, claims, "failed to delete pvc")
    return ScaleResult(bool(deleted_ids), next(iter(refusals), None))


def delete_claims(parent: Obj, claims: Sequence[Obj], failure: str) -> Generator[Action, Any, list[ApiError]]:
    """Delete claims; return the errors, which are also recorded as Events that begin with `failure`."""
    deletions = [Delete(CLAIM, key_of(claim), uid=claim["metadata"]["uid"]) for claim in claims]
    answers = (yield Batch(deletions)) if deletions else ()
    refusals = list[ApiError]()
    for claim, answer in zip(claims, answers, strict=True):
        if isinstance(answer, ApiError) and answer.code != 404:
            refusals.append(answer)
            yield RecordEvent(parent, "FailedDelete", f"{failure} {name_of(claim)}: {answer.message}", WARNING)
    return refusals
