"""UnitedDeployments: one workload for each subset of the nodes, and the pods spread over them."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, bad_request
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.kruise.uniteddeployment.allocation import AllocationError, allocate
from controller_manager.kruise.uniteddeployment.schedulability import relax_target, schedulability_of
from controller_manager.kruise.uniteddeployment.status import Report, status_after, status_of
from controller_manager.kruise.uniteddeployment.subset_objects import SubsetTarget, targets_of
from controller_manager.kruise.uniteddeployment.subsets import (
    SUBSET_LABEL,
    Subset,
    SubsetType,
    UnnamedSubsetError,
    active_pods,
    fault_of,
    group_by_subset,
    type_of,
    workload_labels,
)
from controller_manager.kruise.uniteddeployment.sync_subsets import (
    KINDS,
    SyncInput,
    aggregate_message,
    delete_duplicate,
    manage_provision,
    update_subsets,
)
from controller_manager.kruise.uniteddeployment.unschedulable import (
    Schedulability,
    is_unschedulable,
    label_patch,
    with_scaled_size,
)
from controller_manager.reconcile.contract import (
    ORPHAN_INDEX,
    OWNER_INDEX,
    WARNING,
    Action,
    Batch,
    Change,
    ControllerSpec,
    Delete,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import (
    Parent,
    adopt_and_release,
    controller_of,
    is_deleting,
    resolve_controller,
)
from controller_manager.reconcile.controller_runtime_metrics import with_reconcile_metrics
from controller_manager.reconcile.deletion import delete_if_exists
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
from controller_manager.reconcile.revisions import History, expired_revisions, in_order, sync_revisions, template_data

MIN_INTERVAL = 0.2
"""Seconds between two runs for one UnitedDeployment, so that changes of several pods are handled together."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A UnitedDeployment and the objects that may belong to it.

    Attributes:
        selector: of its workloads, or the error if it is invalid.
        workloads: by kind, those that it owns, and those that match its selector and have no owner.
        pods: uid of a workload → its active pods.
        revisions: those that it owns, and those that match its selector and have no owner.
    """

    parent: Obj
    selector: LabelSelector | SelectorError
    workloads: Mapping[SubsetType, Sequence[Obj]]
    pods: Mapping[str, Sequence[Obj]]
    revisions: Sequence[Obj]


# -- observing ---------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the UnitedDeployment with that key and what may belong to it; None if it is gone or being deleted."""
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
        orphans = (obj for obj in listers[kind].by_index(ORPHAN_INDEX, namespace) if selector.matches(labels_of(obj)))
        workloads[subset_type] = [*listers[kind].by_index(OWNER_INDEX, uid), *orphans]
    owned_or_matching = (obj for workloads_of_kind in workloads.values() for obj in workloads_of_kind)
    pods = {obj["metadata"]["uid"]: active_pods(_pods(listers, obj["metadata"]["uid"])) for obj in owned_or_matching}
    history = listers[CONTROLLER_REVISION]
    revisions = [
        revision for revision in history.by_index(ORPHAN_INDEX, namespace) if selector.matches(labels_of(revision))
    ]
    return Observed(parent, selector, workloads, pods, [*history.by_index(OWNER_INDEX, uid), *revisions])


def _pods(listers: Listers, workload: str) -> Iterable[Obj]:
    """Yield the pods of a workload, including those of a Deployment's ReplicaSets."""
    yield from listers[POD].by_index(OWNER_INDEX, workload)
    for replica_set in listers[REPLICA_SET].by_index(OWNER_INDEX, workload):
        yield from listers[POD].by_index(OWNER_INDEX, replica_set["metadata"]["uid"])


def workload_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the UnitedDeployment that owns a workload, and its former owner (handler.EnqueueRequestForOwner)."""
    if change.old is change.new:
        return ()
    owners = (
        resolve_controller(listers, UNITED_DEPLOYMENT, obj) for obj in (change.old, change.new) if obj is not None
    )
    return {key_of(owner) for owner in owners if owner is not None}


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the UnitedDeployment of a pod that is counted differently now, or becomes unschedulable or schedulable.

    Upstream does not watch pods: it notices some when a workload's status changes, and others after a while.
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
    workload = next((owner for owner in workloads if owner is not None), None)
    return resolve_controller(listers, UNITED_DEPLOYMENT, workload) if workload is not None else None


# -- acting ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SyncContext:
    """One run for a UnitedDeployment.

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
        """The name of the revision that an update starts from."""
        return name_of(self.history.current)

    @property
    def update(self) -> str:
        """The name of the newest revision."""
        return name_of(self.history.update)


def reconcile(observed: Observed, now: float) -> Plan:
    """Record the template's revision, allocate pods, create, delete and update workloads, and write the status.

    (uniteddeployment_controller.go Reconcile)

    Raises:
        ApiError: the first error; once it comes to the subsets, the status was written nevertheless.
    """
    parent, selector = observed.parent, observed.selector
    if isinstance(selector, SelectorError) or (fault := fault_of(parent, selector)):
        message = str(selector) if isinstance(selector, SelectorError) else fault
        yield RecordEvent(parent, "FailedRevisionProvision", message, WARNING)
        return
    claimant = Parent(UNITED_DEPLOYMENT, parent, selector)
    history = yield from _with_event(parent, "FailedRevisionProvision", _record_revision(claimant, observed.revisions))
    subsets = yield from _with_event(parent, "FailedFindSubsets", _find_subsets(claimant, observed))
    run = SyncContext(parent, selector, history, subsets, now)
    schedulabilities = {
        name: schedulability_of(parent, subset, current=run.current, update=run.update, now=now)
        for name, subset in subsets.items()
    }
    yield from _label_reserved_pods(schedulabilities.values())
    try:
        sizes = allocate(
            parent["spec"], {name: schedulability.state for name, schedulability in schedulabilities.items()}
        )
    except AllocationError as error:
        failure = f"Specified subset replicas is ineffective: {error}"
        yield RecordEvent(parent, "Failed SpecifySubsetReplicas", failure, WARNING)
        raise bad_request(failure) from error
    schedulabilities = {
        name: with_scaled_size(schedulability, sizes.get(name, 0), now)
        for name, schedulability in schedulabilities.items()
    }
    targets = targets_of(parent, run.update, sizes)
    targets = {
        name: relax_target(target, subsets.get(name), schedulabilities.get(name)) for name, target in targets.items()
    }
    yield from _sync_subsets(
        run, _other_kind_workloads(observed, claimant), targets=targets, schedulabilities=schedulabilities
    )


def _with_event(parent: Obj, reason: str, part: Generator[Action, Any, Any]) -> Generator[Action, Any, Any]:
    """Run a part of the plan; an error is recorded as an Event too."""
    try:
        return (yield from part)
    except ApiError as error:
        if not is_namespace_terminating(error):
            yield RecordEvent(parent, reason, error.message, WARNING)
        raise


def _record_revision(claimant: Parent, revisions: Sequence[Obj]) -> Generator[Action, Any, History]:
    """Record the template as the newest revision, and return the history (constructUnitedDeploymentRevisions)."""
    parent, status = claimant.obj, status_of(claimant.obj)
    orphans = [expired_revision for expired_revision in revisions if controller_of(expired_revision) is None]
    adopted = yield from adopt_and_release(claimant, CONTROLLER_REVISION, orphans)
    known = in_order([*(revision for revision in revisions if controller_of(revision) is not None), *adopted])
    limit = parent["spec"].get("revisionHistoryLimit")
    live = [status.get(field) or "" for field in ("currentRevision", "updatedRevision")]
    for expired_revision in expired_revisions(known, live=live, limit=10 if limit is None else limit):
        yield from delete_if_exists(
            Delete(CONTROLLER_REVISION, key_of(expired_revision), expired_revision["metadata"]["uid"])
        )
        known.remove(expired_revision)
    data = template_data(parent["spec"]["template"])
    return (yield from sync_revisions(claimant, known, data=data, labels=workload_labels(parent)))


def _find_subsets(claimant: Parent, observed: Observed) -> Generator[Action, Any, Mapping[str, Subset]]:
    """Return the workloads by subset; of two for one subset, one is deleted (getExistingSubsets).

    Raises:
        ApiError: one could not be claimed or deleted, or has no label with its subset.
    """
    subset_type = type_of(observed.parent)
    claimed = yield from adopt_and_release(claimant, KINDS[subset_type], observed.workloads[subset_type])
    try:
        grouped = group_by_subset(Subset(subset_type, obj, observed.pods[obj["metadata"]["uid"]]) for obj in claimed)
    except UnnamedSubsetError as error:
        raise bad_request(str(error)) from error
    for subset in grouped.duplicates:
        if not is_deleting(subset.workload):
            yield from _with_event(observed.parent, "FailedDeleteDuplicatedSubsets", delete_duplicate(subset))
    return grouped.kept


def _other_kind_workloads(observed: Observed, claimant: Parent) -> list[Subset]:
    """Return its own workloads of another kind than the template's; it adopts no such workloads."""
    uid, desired = observed.parent["metadata"]["uid"], type_of(observed.parent)
    return [
        Subset(subset_type, obj, ())
        for subset_type, objs in observed.workloads.items()
        for obj in objs
        if subset_type is not desired and claimant.matches(obj) and (controller_of(obj) or {}).get("uid") == uid
    ]


def _label_reserved_pods(schedulabilities: Iterable[Schedulability]) -> Plan:
    """Label pods as reserved or not; ignore pods that are gone by now.

    Raises:
        ApiError: one could not be labelled.
    """
    labels = [label for schedulability in schedulabilities for label in schedulability.labels]
    if not labels:
        return
    answers = yield Batch([Patch(POD, key_of(label.pod), label_patch(label)) for label in labels])
    for answer in answers:
        if isinstance(answer, ApiError) and answer.code != 404:
            raise answer


# -- subsets -----------------------------------------------------------------------------------------------------------


def _sync_subsets(
    run: SyncContext,
    other_kind_workloads: Sequence[Subset],
    *,
    targets: Mapping[str, SubsetTarget],
    schedulabilities: Mapping[str, Schedulability],
) -> Plan:
    """Create, delete and update workloads, and write the status, even after an error.

    If some could not be created or deleted, the others are left as they are.

    Raises:
        ApiError: the first error.
    """
    work = SyncInput(run.parent, run.subsets, targets, other_kind_workloads)
    provisioned, updated = (yield from manage_provision(work)), None
    failures = list(provisioned.failures)
    if failures:
        message = f"fail to manage Subset provision: {aggregate_message(failures)}"
        if not is_namespace_terminating(failures[0]):
            yield RecordEvent(run.parent, "FailedUpdateSubset", message, WARNING)
    else:
        failures = yield from update_subsets(work)
        updated = aggregate_message(failures)
    report = Report(
        current=run.current,
        update=run.update,
        collisions=run.history.collisions,
        selector=str(run.selector),
        subsets=run.subsets,
        targets=targets,
        schedulabilities=schedulabilities,
        provisioned=aggregate_message(provisioned.failures) if provisioned.changed else None,
        updated=updated,
    )
    try:
        yield from _write_status(run, report)
    except ApiError as error:
        failures.append(error)
    waits = [schedulability.wait for schedulability in schedulabilities.values() if schedulability.wait is not None]
    if waits:
        yield RequeueAfter(min(waits))
    if failures:
        raise failures[0]


def _write_status(run: SyncContext, report: Report) -> Plan:
    """Write the status if it changes (updateUnitedDeployment)."""
    status = status_after(run.parent, report, run.now)
    if status != run.parent.get("status"):
        yield from update(
            UNITED_DEPLOYMENT, run.parent, change=lambda obj: obj | {"status": status}, subresource="status"
        )


SPEC = with_reconcile_metrics(
    ControllerSpec(
        name="uniteddeployment",
        account="kruise-manager",
        source="uniteddeployment-controller",
        workers=3,
        flag="uniteddeployment",
        min_interval=MIN_INTERVAL,
        queue="uniteddeployment-controller",
        watches=(
            Watch(UNITED_DEPLOYMENT, enqueue_self),
            *(Watch(kind, workload_changed) for kind in KINDS.values()),
            Watch(POD, pod_changed),
            Watch(REPLICA_SET),
            Watch(CONTROLLER_REVISION),
        ),
        observe=observe,
        reconcile=reconcile,
    )
)
