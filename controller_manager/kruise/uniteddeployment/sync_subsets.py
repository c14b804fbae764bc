"""What a UnitedDeployment's controller does to its subsets: make, delete and update their workloads.

(openkruise/kruise pkg/controller/uniteddeployment/uniteddeployment_update.go)
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from apiserver.api.errors import ApiError, not_found
from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.uniteddeployment.subset_objects import Target, differs, holds, new_workload, with_target
from controller_manager.kruise.uniteddeployment.subsets import TYPES, Subset, SubsetType, type_of
from controller_manager.reconcile.contract import (
    WARNING,
    Action,
    Batch,
    Create,
    Delete,
    Get,
    Plan,
    RecordEvent,
    Requeue,
    Update,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting, owner_reference
from controller_manager.reconcile.deletion import remove
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
    Kind,
)
from controller_manager.reconcile.retry_on_conflict import update

_OF_TYPES = {
    "StatefulSet": STATEFUL_SET,
    "AdvancedStatefulSet": ADVANCED_STATEFUL_SET,
    "CloneSet": CLONE_SET,
    "Deployment": DEPLOYMENT,
}
KINDS: Mapping[SubsetType, Kind] = {each: _OF_TYPES[each.name] for each in TYPES.values()}
"""What subsets may be → the kind of their workloads."""

Failures: TypeAlias = list[ApiError]
Steps: TypeAlias = Generator[Action, Any, Failures]


@dataclass(frozen=True, slots=True)
class SyncInput:
    """A UnitedDeployment, what its subsets are and what they are to be.

    Attributes:
        subsets: name → workload, of those that have one.
        targets: name → what its workload is to be.
        strangers: workloads of its own that are of another kind than its template asks for.
    """

    parent: Obj
    subsets: Mapping[str, Subset]
    targets: Mapping[str, Target]
    strangers: Sequence[Subset]

    @property
    def kind(self) -> Kind:
        """Of its workloads."""
        return KINDS[type_of(self.parent)]

    @property
    def type_name(self) -> str:
        """The same, in events and messages."""
        return type_of(self.parent).name


def as_one(failures: Failures) -> str:
    """What errors say (utilerrors.NewAggregate)."""
    told = list(dict.fromkeys(each.message for each in failures))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def discard(subset: Subset) -> Plan:
    """Delete a workload, and leave what it owns to the garbage collector (DeleteSubset).

    Raises:
        ApiError: it was refused.
    """
    obj = subset.workload
    yield from remove(Delete(KINDS[subset.type], key_of(obj), obj["metadata"]["uid"], propagation="Background"))


# -- which workloads there are -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Provision:
    """What became of making and deleting workloads.

    Attributes:
        changed: whether there was anything to be made or deleted.
        failures: what stood in the way.
    """

    changed: bool = False
    failures: Failures = field(default_factory=list)


def provision(work: SyncInput) -> Generator[Action, Any, Provision]:
    """Make what is missing, delete what is too much, and what is of another kind (manageSubsetProvision)."""
    missing = [work.targets[name] for name in sorted(work.targets.keys() - work.subsets.keys())]
    surplus = _alive(work.subsets[name] for name in sorted(work.subsets.keys() - work.targets.keys()))
    strangers = _alive(work.strangers)
    done = Provision(changed=bool(missing or surplus or strangers))
    if missing:
        done.failures += yield from _make(work, missing)
    if surplus:
        done.failures += yield from _drop(work, surplus)
    for subset in strangers:
        told = f"fail to delete Subset {name_of(subset.workload)} of other type {subset.type.name}"
        done.failures += yield from _discarded(subset, f"{told} for UnitedDeployment {key_of(work.parent)}")
    return done


def _alive(subsets: Iterable[Subset]) -> list[Subset]:
    return [subset for subset in subsets if not is_deleting(subset.workload)]


def _make(work: SyncInput, missing: Sequence[Target]) -> Steps:
    """Make workloads, one first, then two, four …; what was not answered in time will show in caches, if at all."""
    reference, failures, made = owner_reference(UNITED_DEPLOYMENT, work.parent), Failures(), list[tuple[str, Obj]]()
    for target in missing:
        try:
            made.append((target.name, new_workload(work.parent, target, reference)))
        except ApiError as error:
            failures.append(_not_made(work, target.name, error))
    answers = yield Batch([Create(work.kind, obj) for _, obj in made], slow_start=True)
    for (name, _), answer in zip(made, answers, strict=True):
        if isinstance(answer, ApiError) and answer.reason != "Timeout":
            failures.append(_not_made(work, name, answer))
    if not failures:
        number = sum(answer is not None for answer in answers)
        yield RecordEvent(work.parent, "SuccessfulUpdateSubset", f"Create {number} Subset ({work.type_name})")
        if None in answers:
            yield Requeue()
    return failures


def _not_made(work: SyncInput, name: str, error: ApiError) -> ApiError:
    return error.worded(f"fail to create Subset ({work.type_name}) {name}: {error.message}")


def _drop(work: SyncInput, surplus: Sequence[Subset]) -> Steps:
    """Delete the workloads of subsets that the topology has no more."""
    failures = Failures()
    for subset in surplus:
        place = f"{key_of(subset.workload)} for {subset.name}"
        failures += yield from _discarded(subset, f"fail to delete Subset ({work.type_name}) {place}")
    if not failures:
        yield RecordEvent(work.parent, "SuccessfulUpdateSubset", f"Delete {len(surplus)} Subset ({work.type_name})")
    return failures


def _discarded(subset: Subset, what: str) -> Steps:
    try:
        yield from discard(subset)
    except ApiError as error:
        return [error.worded(f"{what}: {error.message}")]
    return []


# -- what they are -----------------------------------------------------------------------------------------------------


def revise(work: SyncInput) -> Steps:
    """Write workloads that are not what they are to be: one first, then two, four … while all goes well.

    (manageSubsets) Those whose pods are not all updated are looked after as well: what keeps them from it is deleted.
    """
    due = [
        (work.subsets[name], work.targets[name])
        for name in sorted(work.subsets.keys() & work.targets.keys())
        if _is_due(work.subsets[name], work.targets[name])
    ]
    size, failures = 1, Failures()
    while due and not failures:
        failures = yield from _revise_some(work, due[:size])
        due, size = due[size:], 2 * size
    return failures


def _is_due(subset: Subset, target: Target) -> bool:
    if is_deleting(subset.workload):
        return False
    return differs(subset, target) or len(subset.updated(target.revision)) < subset.counted("replicas")


def _revise_some(work: SyncInput, due: Sequence[tuple[Subset, Target]]) -> Steps:
    """Write workloads at once, and then see to each; one that somebody else wrote meanwhile is written again."""
    failures, written = Failures(), list[tuple[Subset, Target, Obj | None]]()
    for subset, target in due:
        try:
            wanted = with_target(work.parent, target, subset.workload)
            written.append((subset, target, None if holds(subset.workload, wanted) else wanted))
        except ApiError as error:
            failures.append((yield from _not_revised(work, subset, error)))
    answers = iter((yield Batch([Update(work.kind, obj) for _, _, obj in written if obj is not None])))
    for subset, target, obj in written:
        answer = subset.workload if obj is None else next(answers)
        try:
            yield from _sync_subset(work, subset, target, answer)
        except ApiError as error:
            failures.append((yield from _not_revised(work, subset, error)))
    return failures


def _sync_subset(work: SyncInput, subset: Subset, target: Target, answer: Obj | ApiError) -> Plan:
    """Bring a write to its end, and free the workload of pods that keep it from updating them (PostUpdate).

    Raises:
        ApiError: the workload could not be written, or a pod not be deleted.
    """
    if isinstance(answer, ApiError):
        if answer.code != 409:
            raise answer
        answer = yield from _written_anew(work, subset, target)
    stuck = replace(subset, workload=answer).stuck(target.revision, target.partition)
    for pod in stuck:
        yield from remove(Delete(POD, key_of(pod), pod["metadata"]["uid"], propagation="Background"))


def _written_anew(work: SyncInput, subset: Subset, target: Target) -> Generator[Action, Any, Obj]:
    """Write a workload as it is by now."""
    fresh: Obj = yield Get(work.kind, key_of(subset.workload))
    if fresh["metadata"]["uid"] != subset.workload["metadata"]["uid"]:
        raise not_found(work.kind.group, work.kind.plural, name_of(subset.workload))
    return (yield from update(work.kind, fresh, change=partial(with_target, work.parent, target)))


def _not_revised(work: SyncInput, subset: Subset, error: ApiError) -> Generator[Action, Any, ApiError]:
    """Tell of a workload that could not be updated."""
    if not is_namespace_terminating(error):
        told = f"Error updating PodSet ({work.type_name}) {name_of(subset.workload)} when updating: {error.message}"
        yield RecordEvent(work.parent, "FailedUpdateSubset", told, WARNING)
    return error
