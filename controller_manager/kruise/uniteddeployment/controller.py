"""UnitedDeployments: one workload for each subset of the nodes, and the pods spread over them."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, bad_request
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.kruise.uniteddeployment.allocation.choice import sizes_of
from controller_manager.kruise.uniteddeployment.allocation.subset_state import AllocationError
from controller_manager.kruise.uniteddeployment.schedulability import outlook_of, relax_target
from controller_manager.kruise.uniteddeployment.status import Report, status_after, status_of
from controller_manager.kruise.uniteddeployment.subset_objects import Target, targets_of
from controller_manager.kruise.uniteddeployment.subsets import (
    SUBSET_LABEL,
    Subset,
    SubsetType,
    UnnamedSubsetError,
    active,
    by_name,
    fault_of,
    type_of,
    workload_labels,
)
from controller_manager.kruise.uniteddeployment.sync_subsets import KINDS, SyncInput, as_one, discard, provision, revise
from controller_manager.kruise.uniteddeployment.unschedulable import (
    Outlook,
    is_unschedulable,
    label_patch,
    scaled_again,
)
from controller_manager.reconcile.contract import (
    ORPHANS,
    OWNER,
    WARNING,
    Action,
    Batch,
    Change,
    Delete,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Spec,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import Parent, claim, controller_of, is_deleting, resolve_controller
from controller_manager.reconcile.controller_runtime_metrics import reconciled
from controller_manager.reconcile.deletion import remove
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    CONTROLLER_REVISION,
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
)
from controller_manager.reconcile.pods import counts_differently
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import History, expired, in_order, record, template_data

PACE = 0.2
"""Seconds between two looks at one UnitedDeployment: what happens to its pods one after the other is one look."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A UnitedDeployment and what may be its.

    Attributes:
        selector: of its workloads, or why it is none.
        workloads: of each kind those that it owns, and those that it selects and nobody owns.
        pods: uid of a workload → its active pods.
        revisions: those that it owns, and those that nobody owns.
    """

    parent: Obj
    selector: LabelSelector | SelectorError
    workloads: Mapping[SubsetType, Sequence[Obj]]
    pods: Mapping[str, Sequence[Obj]]
    revisions: Sequence[Obj]


# -- what is seen ------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | None:
    """The UnitedDeployment of that key and what may be its; None where it is gone or going: then nothing is done."""
    parent = listers[UNITED_DEPLOYMENT].get(key)
    if parent is None or is_deleting(parent):
        return None
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return Observed(parent, error, {}, {}, ())
    uid, namespace = parent["metadata"]["uid"], namespace_of(parent)
    workloads: dict[SubsetType, Sequence[Obj]] = {}
    for subset_type, kind in KINDS.items():
        orphans = (obj for obj in listers[kind].by(ORPHANS, namespace) if selector.matches(labels_of(obj)))
        workloads[subset_type] = [*listers[kind].by(OWNER, uid), *orphans]
    mine = (obj for found in workloads.values() for obj in found)
    pods = {obj["metadata"]["uid"]: active(_pods(listers, obj["metadata"]["uid"])) for obj in mine}
    history = listers[CONTROLLER_REVISION]
    revisions = [each for each in history.by(ORPHANS, namespace) if selector.matches(labels_of(each))]
    return Observed(parent, selector, workloads, pods, [*history.by(OWNER, uid), *revisions])


def _pods(listers: Listers, workload: str) -> Iterable[Obj]:
    """The pods of a workload, those of a Deployment's ReplicaSets among them."""
    yield from listers[POD].by(OWNER, workload)
    for replica_set in listers[REPLICA_SET].by(OWNER, workload):
        yield from listers[POD].by(OWNER, replica_set["metadata"]["uid"])


def workload_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """The UnitedDeployment that owns a workload, and its former owner (handler.EnqueueRequestForOwner)."""
    if change.old is change.new:
        return ()
    owners = (
        resolve_controller(listers, UNITED_DEPLOYMENT, obj) for obj in (change.old, change.new) if obj is not None
    )
    return {key_of(owner) for owner in owners if owner is not None}


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """The UnitedDeployment of a pod that counts otherwise now, or looks for a node in vain.

    Upstream follows no pods: it hears of some when a workload's status changes, and of others after a while.
    """
    old, new = change.old, change.new
    if SUBSET_LABEL not in labels_of(change.obj) or old is new:
        return ()
    if old is not None and new is not None and not _matters(old, new):
        return ()
    owner = _united_deployment(listers, change.obj)
    return (key_of(owner),) if owner is not None else ()


def _matters(old: Obj, new: Obj) -> bool:
    return counts_differently(old, new) or is_unschedulable(old) != is_unschedulable(new)


def _united_deployment(listers: Listers, pod: Obj) -> Obj | None:
    replica_set = resolve_controller(listers, REPLICA_SET, pod)
    if replica_set is not None:
        workloads = [resolve_controller(listers, DEPLOYMENT, replica_set)]
    else:
        workloads = [
            resolve_controller(listers, kind, pod) for kind in (STATEFUL_SET, ADVANCED_STATEFUL_SET, CLONE_SET)
        ]
    workload = next((found for found in workloads if found is not None), None)
    return resolve_controller(listers, UNITED_DEPLOYMENT, workload) if workload is not None else None


# -- what is done ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SyncContext:
    """One run over a UnitedDeployment.

    Attributes:
        selector: of its workloads.
        history: its revisions.
        subsets: name → workload.
    """

    parent: Obj
    selector: LabelSelector
    history: History
    subsets: Mapping[str, Subset]
    now: float

    @property
    def current(self) -> str:
        """The name of the revision that an update comes from."""
        return name_of(self.history.current)

    @property
    def update(self) -> str:
        """The name of the newest revision."""
        return name_of(self.history.update)


def plan(seen: Observed, now: float) -> Plan:
    """Record what the template is now, spread pods over subsets, make, delete and update workloads, tell how many.

    (uniteddeployment_controller.go Reconcile)

    Raises:
        ApiError: the first that stood in the way; once subsets are being seen to, the status was written nevertheless.
    """
    parent, selector = seen.parent, seen.selector
    if isinstance(selector, SelectorError) or (fault := fault_of(parent, selector)):
        why = str(selector) if isinstance(selector, SelectorError) else fault
        yield RecordEvent(parent, "FailedRevisionProvision", why, WARNING)
        return
    claimant = Parent(UNITED_DEPLOYMENT, parent, selector)
    history = yield from _told(parent, "FailedRevisionProvision", _recorded(claimant, seen.revisions))
    subsets = yield from _told(parent, "FailedFindSubsets", _found(claimant, seen))
    run = SyncContext(parent, selector, history, subsets, now)
    outlooks = {
        name: outlook_of(parent, subset, current=run.current, update=run.update, now=now)
        for name, subset in subsets.items()
    }
    yield from _label(outlooks.values())
    try:
        sizes = sizes_of(parent["spec"], {name: outlook.standing for name, outlook in outlooks.items()})
    except AllocationError as error:
        told = f"Specified subset replicas is ineffective: {error}"
        yield RecordEvent(parent, "Failed SpecifySubsetReplicas", told, WARNING)
        raise bad_request(told) from error
    outlooks = {name: scaled_again(outlook, sizes.get(name, 0), now) for name, outlook in outlooks.items()}
    targets = targets_of(parent, run.update, sizes)
    targets = {name: relax_target(target, subsets.get(name), outlooks.get(name)) for name, target in targets.items()}
    yield from _sync_subsets(run, _strangers(seen, claimant), targets=targets, outlooks=outlooks)


def _told(parent: Obj, reason: str, part: Generator[Action, Any, Any]) -> Generator[Action, Any, Any]:
    """What a part gives; its error is told by an event as well."""
    try:
        return (yield from part)
    except ApiError as error:
        if not is_namespace_terminating(error):
            yield RecordEvent(parent, reason, error.message, WARNING)
        raise


def _recorded(claimant: Parent, revisions: Sequence[Obj]) -> Generator[Action, Any, History]:
    """The revisions, the newest of which holds the template (constructUnitedDeploymentRevisions)."""
    parent, status = claimant.obj, status_of(claimant.obj)
    orphans = [revision for revision in revisions if controller_of(revision) is None]
    adopted = yield from claim(claimant, CONTROLLER_REVISION, orphans)
    known = in_order([*(each for each in revisions if controller_of(each) is not None), *adopted])
    limit = parent["spec"].get("revisionHistoryLimit")
    live = [status.get(field) or "" for field in ("currentRevision", "updatedRevision")]
    for revision in expired(known, live=live, limit=10 if limit is None else limit):
        yield from remove(Delete(CONTROLLER_REVISION, key_of(revision), revision["metadata"]["uid"]))
        known.remove(revision)
    data = template_data(parent["spec"]["template"])
    return (yield from record(claimant, known, data=data, labels=workload_labels(parent)))


def _found(claimant: Parent, seen: Observed) -> Generator[Action, Any, Mapping[str, Subset]]:
    """The workloads by subset; of two for one subset, one goes (getExistingSubsets).

    Raises:
        ApiError: one could not be claimed or deleted, or does not tell which subset it is.
    """
    subset_type = type_of(seen.parent)
    claimed = yield from claim(claimant, KINDS[subset_type], seen.workloads[subset_type])
    try:
        grouped = by_name(Subset(subset_type, obj, seen.pods[obj["metadata"]["uid"]]) for obj in claimed)
    except UnnamedSubsetError as error:
        raise bad_request(str(error)) from error
    for subset in grouped.doubled:
        if not is_deleting(subset.workload):
            yield from _told(seen.parent, "FailedDeleteDuplicatedSubsets", discard(subset))
    return grouped.kept


def _strangers(seen: Observed, claimant: Parent) -> list[Subset]:
    """Workloads of its own that are of another kind than the template asks for; it adopts none of these."""
    uid, wanted = seen.parent["metadata"]["uid"], type_of(seen.parent)
    return [
        Subset(subset_type, obj, ())
        for subset_type, found in seen.workloads.items()
        for obj in found
        if subset_type is not wanted and claimant.matches(obj) and (controller_of(obj) or {}).get("uid") == uid
    ]


def _label(outlooks: Iterable[Outlook]) -> Plan:
    """Label pods as reserved, or as not; pods that are gone by now do not matter.

    Raises:
        ApiError: one could not be labelled.
    """
    labels = [label for outlook in outlooks for label in outlook.labels]
    if not labels:
        return
    answers = yield Batch([Patch(POD, key_of(label.pod), label_patch(label)) for label in labels])
    for answer in answers:
        if isinstance(answer, ApiError) and answer.code != 404:
            raise answer


# -- what becomes of subsets -------------------------------------------------------------------------------------------


def _sync_subsets(
    run: SyncContext, strangers: Sequence[Subset], *, targets: Mapping[str, Target], outlooks: Mapping[str, Outlook]
) -> Plan:
    """Bring the workloads to what they are to be, and tell what there is, be it that this failed.

    Where some could not be made or deleted, the others are left as they are.

    Raises:
        ApiError: the first that stood in the way.
    """
    work = SyncInput(run.parent, run.subsets, targets, strangers)
    done, updated = (yield from provision(work)), None
    failures = list(done.failures)
    if failures:
        told = f"fail to manage Subset provision: {as_one(failures)}"
        if not is_namespace_terminating(failures[0]):
            yield RecordEvent(run.parent, "FailedUpdateSubset", told, WARNING)
    else:
        failures = yield from revise(work)
        updated = as_one(failures)
    report = Report(
        current=run.current,
        update=run.update,
        collisions=run.history.collisions,
        selector=str(run.selector),
        subsets=run.subsets,
        targets=targets,
        outlooks=outlooks,
        provisioned=as_one(done.failures) if done.changed else None,
        updated=updated,
    )
    try:
        yield from _tell(run, report)
    except ApiError as error:
        failures.append(error)
    waits = [outlook.wait for outlook in outlooks.values() if outlook.wait is not None]
    if waits:
        yield RequeueAfter(min(waits))
    if failures:
        raise failures[0]


def _tell(run: SyncContext, report: Report) -> Plan:
    """Write the status if it changes (updateUnitedDeployment)."""
    status = status_after(run.parent, report, run.now)
    if status != run.parent.get("status"):
        yield from update(
            UNITED_DEPLOYMENT, run.parent, change=lambda obj: obj | {"status": status}, subresource="status"
        )


SPEC = reconciled(
    Spec(
        name="uniteddeployment",
        source="uniteddeployment-controller",
        workers=3,
        flag="uniteddeployment",
        min_interval=PACE,
        queue="uniteddeployment-controller",
        watches=(
            Watch(UNITED_DEPLOYMENT, enqueue_self),
            *(Watch(kind, workload_changed) for kind in KINDS.values()),
            Watch(POD, pod_changed),
            Watch(REPLICA_SET),
            Watch(CONTROLLER_REVISION),
        ),
        observe=observe,
        reconcile=plan,
    )
)
