"""The changes to a UnitedDeployment's subsets: create, delete and update their workloads.

(openkruise/kruise pkg/controller/uniteddeployment/uniteddeployment_update.go)
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.uniteddeployment.subset_objects import (
    SubsetTarget,
    contains,
    needs_update,
    new_workload,
    with_target,
)
from controller_manager.kruise.uniteddeployment.subsets import TYPES, Subset, SubsetType, type_of
from controller_manager.reconcile.contract import (
    WARNING,
    Action,
    Batch,
    Create,
    Delete,
    Plan,
    RecordEvent,
    Requeue,
    Update,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting, owner_reference
from controller_manager.reconcile.deletion import delete_if_exists
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
    Kind,
)
from controller_manager.reconcile.retry_on_conflict import newest, update

_KINDS_BY_NAME = {
    "StatefulSet": STATEFUL_SET,
    "AdvancedStatefulSet": ADVANCED_STATEFUL_SET,
    "CloneSet": CLONE_SET,
    "Deployment": DEPLOYMENT,
}
KINDS: Mapping[SubsetType, Kind] = {each: _KINDS_BY_NAME[each.name] for each in TYPES.values()}
"""Subset type → the kind of the workloads."""

Failures: TypeAlias = list[ApiError]
Steps: TypeAlias = Generator[Action, Any, Failures]


@dataclass(frozen=True, slots=True)
class SyncInput:
    """A UnitedDeployment, its actual subsets and its desired ones.

    Attributes:
        subsets: name → workload, for those that have one.
        targets: name → the desired workload.
        other_kind_workloads: its own workloads of another kind than its template's.
    """

    parent: Obj
    subsets: Mapping[str, Subset]
    targets: Mapping[str, SubsetTarget]
    other_kind_workloads: Sequence[Subset]

    @property
    def kind(self) -> Kind:
        """The kind of its workloads."""
        return KINDS[type_of(self.parent)]

    @property
    def type_name(self) -> str:
        """The kind's name in Events and messages."""
        return type_of(self.parent).name


def aggregate_message(failures: Failures) -> str:
    """Return the message of all errors together (utilerrors.NewAggregate)."""
    messages = list(dict.fromkeys(failure.message for failure in failures))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]" if messages else ""


def delete_duplicate(subset: Subset) -> Plan:
    """Delete a workload, and leave its dependents to the garbage collector (DeleteSubset).

    Raises:
        ApiError: the request was refused.
    """
    obj = subset.workload
    yield from delete_if_exists(
        Delete(KINDS[subset.type], key_of(obj), obj["metadata"]["uid"], propagation="Background")
    )


# -- creating and deleting workloads -----------------------------------------------------------------------------------


@dataclass(slots=True)
class ProvisionResult:
    """The result of creating and deleting workloads.

    Attributes:
        changed: True if there was anything to create or delete.
        failures: the errors.
    """

    changed: bool = False
    failures: Failures = field(default_factory=list)


def manage_provision(work: SyncInput) -> Generator[Action, Any, ProvisionResult]:
    """Create missing workloads, delete surplus ones, and those of another kind (manageSubsetProvision)."""
    missing = [work.targets[name] for name in sorted(work.targets.keys() - work.subsets.keys())]
    surplus = _not_deleting(work.subsets[name] for name in sorted(work.subsets.keys() - work.targets.keys()))
    other_kind_workloads = _not_deleting(work.other_kind_workloads)
    result = ProvisionResult(changed=bool(missing or surplus or other_kind_workloads))
    if missing:
        result.failures += yield from _create(work, missing)
    if surplus:
        result.failures += yield from _delete_surplus(work, surplus)
    for subset in other_kind_workloads:
        message = f"fail to delete Subset {name_of(subset.workload)} of other type {subset.type.name}"
        result.failures += yield from _delete(subset, f"{message} for UnitedDeployment {key_of(work.parent)}")
    return result


def _not_deleting(subsets: Iterable[Subset]) -> list[Subset]:
    return [subset for subset in subsets if not is_deleting(subset.workload)]


def _create(work: SyncInput, missing: Sequence[SubsetTarget]) -> Steps:
    """Create workloads: one, then two, four …; those whose requests time out will show up in the caches, if at all."""
    reference, failures, workloads = (
        owner_reference(UNITED_DEPLOYMENT, work.parent),
        Failures(),
        list[tuple[str, Obj]](),
    )
    for target in missing:
        try:
            workloads.append((target.name, new_workload(work.parent, target, reference)))
        except ApiError as error:
            failures.append(_creation_error(work, target.name, error))
    answers = yield Batch([Create(work.kind, obj) for _, obj in workloads], slow_start=True)
    for (name, _), answer in zip(workloads, answers, strict=True):
        if isinstance(answer, ApiError) and answer.reason != "Timeout":
            failures.append(_creation_error(work, name, answer))
    if not failures:
        number = sum(answer is not None for answer in answers)
        yield RecordEvent(work.parent, "SuccessfulUpdateSubset", f"Create {number} Subset ({work.type_name})")
        if None in answers:
            yield Requeue()
    return failures


def _creation_error(work: SyncInput, name: str, error: ApiError) -> ApiError:
    return error.with_message(f"fail to create Subset ({work.type_name}) {name}: {error.message}")


def _delete_surplus(work: SyncInput, surplus: Sequence[Subset]) -> Steps:
    """Delete the workloads of subsets that are no longer in the topology."""
    failures = Failures()
    for subset in surplus:
        what = f"{key_of(subset.workload)} for {subset.name}"
        failures += yield from _delete(subset, f"fail to delete Subset ({work.type_name}) {what}")
    if not failures:
        yield RecordEvent(work.parent, "SuccessfulUpdateSubset", f"Delete {len(surplus)} Subset ({work.type_name})")
    return failures


def _delete(subset: Subset, what: str) -> Steps:
    try:
        yield from delete_duplicate(subset)
    except ApiError as error:
        return [error.with_message(f"{what}: {error.message}")]
    return []


# -- updating workloads ------------------------------------------------------------------------------------------------


def update_subsets(work: SyncInput) -> Steps:
    """Update workloads that differ from their targets: one, then two, four … as long as there is no error.

    (manageSubsets) Workloads whose pods are not all updated are handled as well: pods that block the update are
    deleted.
    """
    due = [
        (work.subsets[name], work.targets[name])
        for name in sorted(work.subsets.keys() & work.targets.keys())
        if _needs_update(work.subsets[name], work.targets[name])
    ]
    size, failures = 1, Failures()
    while due and not failures:
        failures = yield from _update_batch(work, due[:size])
        due, size = due[size:], 2 * size
    return failures


def _needs_update(subset: Subset, target: SubsetTarget) -> bool:
    if is_deleting(subset.workload):
        return False
    return needs_update(subset, target) or len(subset.updated_pods(target.revision)) < subset.status_count("replicas")


def _update_batch(work: SyncInput, due: Sequence[tuple[Subset, SubsetTarget]]) -> Steps:
    """Update several workloads at once, then handle each; after a conflict a workload is read and written again."""
    failures, written = Failures(), list[tuple[Subset, SubsetTarget, Obj | None]]()
    for subset, target in due:
        try:
            desired = with_target(work.parent, target, subset.workload)
            written.append((subset, target, None if contains(subset.workload, desired) else desired))
        except ApiError as error:
            failures.append((yield from _report_failure(work, subset, error)))
    answers = iter((yield Batch([Update(work.kind, obj) for _, _, obj in written if obj is not None])))
    for subset, target, obj in written:
        answer = subset.workload if obj is None else next(answers)
        try:
            yield from _sync_subset(work, subset, target, answer)
        except ApiError as error:
            failures.append((yield from _report_failure(work, subset, error)))
    return failures


def _sync_subset(work: SyncInput, subset: Subset, target: SubsetTarget, answer: Obj | ApiError) -> Plan:
    """Finish an update, and delete pods that block it (PostUpdate).

    Raises:
        ApiError: the workload could not be written, or a pod not be deleted.
    """
    if isinstance(answer, ApiError):
        if answer.code != 409:
            raise answer
        answer = yield from _retry_update(work, subset, target)
    stuck = replace(subset, workload=answer).stuck_pods(target.revision, target.partition)
    for pod in stuck:
        yield from delete_if_exists(Delete(POD, key_of(pod), pod["metadata"]["uid"], propagation="Background"))


def _retry_update(work: SyncInput, subset: Subset, target: SubsetTarget) -> Generator[Action, Any, Obj]:
    """Read a workload again, and update it."""
    state = yield from newest(work.kind, key_of(subset.workload), subset.workload["metadata"]["uid"])
    return (yield from update(work.kind, state, change=partial(with_target, work.parent, target)))


def _report_failure(work: SyncInput, subset: Subset, error: ApiError) -> Generator[Action, Any, ApiError]:
    """Record an Event for a workload that could not be updated."""
    if not is_namespace_terminating(error):
        message = f"Error updating PodSet ({work.type_name}) {name_of(subset.workload)} when updating: {error.message}"
        yield RecordEvent(work.parent, "FailedUpdateSubset", message, WARNING)
    return error
