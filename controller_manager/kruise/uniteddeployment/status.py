"""The status of a UnitedDeployment: numbers of its subsets' pods, progress of an update, and errors.

(openkruise/kruise pkg/controller/uniteddeployment calculateStatus)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import reserves
from controller_manager.kruise.uniteddeployment.subset_objects import SubsetTarget
from controller_manager.kruise.uniteddeployment.subsets import RESERVED_LABEL, Subset
from controller_manager.kruise.uniteddeployment.unschedulable import Schedulability, condition
from controller_manager.reconcile.conditions import FALSE, TRUE, find_condition, with_condition, without_condition
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.times import format_time, parse_time

PROVISIONED, UPDATED, SUBSETS_UPDATED, FAILURE = (
    "SubsetProvisioned",
    "UnitedDeploymentUpdated",
    "SubsetUpdated",
    "SubsetFailure",
)
"""The types of its conditions; nothing sets the last one, nor does upstream."""

_REQUIRED_FIELDS = frozenset(("replicas", "updatedReplicas", "currentRevision"))
"""Fields that the status has even if they are 0 or empty."""


def status_of(parent: Obj) -> Obj:
    """Return the status, empty if there is none yet."""
    status: Obj = parent.get("status") or {}
    return status


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run for a UnitedDeployment.

    Attributes:
        current, update: the names of the revisions that an update starts from and leads to.
        collisions: how many names of revisions were already taken.
        selector: of its pods, as text.
        subsets: name → workload, for those that existed when the run began.
        targets: name → the desired workload.
        schedulabilities: name → schedulability, for those that existed.
        provisioned: the error if subsets could not be created or deleted, "" if they were, None if none had to be.
        updated: the error if subsets could not be updated, "" if they were, None if it was not tried.
    """

    current: str
    update: str
    collisions: int
    selector: str
    subsets: Mapping[str, Subset]
    targets: Mapping[str, SubsetTarget]
    schedulabilities: Mapping[str, Schedulability]
    provisioned: str | None
    updated: str | None


def status_after(parent: Obj, report: Report, now: float) -> Obj:
    """Return the new status; equal to the old one if nothing has changed."""
    subsets, old = report.subsets.values(), status_of(parent)
    updated = [pod for subset in subsets for pod in subset.updated_pods(report.update)]
    reserved = sum(schedulability.state.reserved for schedulability in report.schedulabilities.values())
    numbers = {
        "replicas": sum(subset.status_count("replicas") for subset in subsets) - reserved,
        "readyReplicas": sum(subset.status_count("readyReplicas") for subset in subsets),
        "updatedReplicas": len(updated),
        "updatedReadyReplicas": sum(map(is_ready, updated)),
        "reservedPods": reserved,
    }
    # a workload may not have counted its newest pods yet: upstream then takes an update for done that a partition holds
    existing = max(numbers["replicas"], sum(len(subset.pods) for subset in subsets) - reserved)
    done = numbers["updatedReadyReplicas"] >= existing
    current = report.update if done else report.current
    fields = numbers | {
        "observedGeneration": parent["metadata"].get("generation") or 0,
        "collisionCount": report.collisions,
        "currentRevision": current,
        "updatedRevision": report.update,
        "subsetStatuses": [_subset_status(parent, target, report, now) for target in report.targets.values()],
        "conditions": _conditions(old.get("conditions") or (), report, current=current, now=now),
        "labelSelector": report.selector + (f",{RESERVED_LABEL}=false" if reserves(parent["spec"]) else ""),
    }
    return {name: value for name, value in fields.items() if value or name in _REQUIRED_FIELDS}


def _subset_status(parent: Obj, target: SubsetTarget, report: Report, now: float) -> Obj:
    schedulability, subset = report.schedulabilities.get(target.name), report.subsets.get(target.name)
    entry: Obj = {
        "name": target.name,
        "replicas": target.replicas,
        "readyReplicas": subset.status_count("readyReplicas") if subset is not None else 0,
        "partition": target.partition,
        "reservedPods": schedulability.state.reserved if schedulability is not None else 0,
        "conditions": _subset_conditions(parent, target.name, schedulability, now),
    }
    return {name: value for name, value in entry.items() if value}


# -- conditions of a subset --------------------------------------------------------------------------------------------


def subset_conditions(parent: Obj, name: str) -> Sequence[Obj]:
    """Return the old conditions of a subset."""
    for entry in status_of(parent).get("subsetStatuses") or ():
        if entry["name"] == name:
            conditions: Sequence[Obj] = entry.get("conditions") or ()
            return conditions
    return ()


def _subset_conditions(parent: Obj, name: str, schedulability: Schedulability | None, now: float) -> Sequence[Obj]:
    conditions = subset_conditions(parent, name)
    for shown in schedulability.conditions if schedulability is not None else _initial_conditions(parent, name, now):
        conditions = with_condition(conditions, shown)
    return conditions


def _initial_conditions(parent: Obj, name: str, now: float) -> Iterable[Obj]:
    """Yield the condition of a subset that is added later: its first pods are reserved until they are known to run.

    (initStatus)
    """
    known = [entry["name"] for entry in status_of(parent).get("subsetStatuses") or ()]
    if reserves(parent["spec"]) and known and name not in known:
        message = "newly-created subsets in reservation strategy"
        yield condition(FALSE, now, reason="created", message=message)


# -- conditions of the UnitedDeployment --------------------------------------------------------------------------------


def updating_since(parent: Obj, current: str, update: str, *, now: float) -> float:
    """Return when the update to the newest revision began, or when it ended, according to the condition."""
    old_condition = find_condition(status_of(parent).get("conditions") or (), UPDATED)
    if old_condition is None or (old_condition["status"] == TRUE) != (current == update):
        return now
    return parse_time(old_condition["lastTransitionTime"])


def _conditions(conditions: Sequence[Obj], report: Report, *, current: str, now: float) -> Sequence[Obj]:
    conditions = _with_progress(without_condition(conditions, FAILURE), current, report.update, now=now)
    had = find_condition(conditions, PROVISIONED)
    if report.provisioned is not None or (had is not None and had["status"] != TRUE):
        conditions = with_condition(conditions, _condition_for_error(PROVISIONED, report.provisioned or "", now))
    if report.updated is not None:
        conditions = with_condition(conditions, _condition_for_error(SUBSETS_UPDATED, report.updated, now))
    return conditions


def _with_progress(conditions: Sequence[Obj], current: str, update: str, *, now: float) -> list[Obj]:
    """Return the conditions with the one about revisions (setUpdatedCondition).

    If another revision comes before an update is over, upstream's message keeps naming the former one.
    """
    done = current == update
    reason = "UnitedDeploymentRevisionUpdated" if done else "UnitedDeploymentRevisionUpdating"
    message = f"{'updated' if done else 'updating'} to revision {update}"
    shown = _condition_for_error(UPDATED, "" if done else message, now) | {"reason": reason, "message": message}
    return [
        each | {"message": message} if each["type"] == UPDATED and each["status"] == shown["status"] else each
        for each in with_condition(conditions, shown)
    ]


def _condition_for_error(type_: str, error: str, now: float) -> Obj:
    outcome = {"type": type_, "status": FALSE if error else TRUE, "lastTransitionTime": format_time(now)}
    return outcome | ({"reason": "Error", "message": error} if error else {})
