"""The status of a UnitedDeployment: its subsets counted, how far an update has come, and what stood in the way.

(openkruise/kruise pkg/controller/uniteddeployment calculateStatus)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import reserves
from controller_manager.kruise.uniteddeployment.subset_objects import Target
from controller_manager.kruise.uniteddeployment.subsets import RESERVED_LABEL, Subset
from controller_manager.kruise.uniteddeployment.unschedulable import Outlook, condition
from controller_manager.reconcile.conditions import FALSE, TRUE, find, put, without
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.times import seconds, stamp

PROVISIONED, UPDATED, SUBSETS_UPDATED, FAILURE = (
    "SubsetProvisioned",
    "UnitedDeploymentUpdated",
    "SubsetUpdated",
    "SubsetFailure",
)
"""The types of its conditions; nothing sets the last one, upstream neither."""

_ALWAYS = frozenset(("replicas", "updatedReplicas", "currentRevision"))
"""What the status says even where it is 0 or empty."""


def status_of(parent: Obj) -> Obj:
    """The status, empty where there is none yet."""
    found: Obj = parent.get("status") or {}
    return found


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass over a UnitedDeployment has found and done.

    Attributes:
        current, update: the names of the revisions that an update comes from and goes to.
        collisions: how many names of revisions were found taken.
        selector: of its pods, as text.
        subsets: name → workload, of those that were there when the pass began.
        targets: name → what its workload is to be.
        outlooks: name → what a look at it has shown, of those that were there.
        provisioned: the error where subsets could not be made or deleted, "" where they were, None where none had to.
        updated: the error where subsets could not be updated, "" where they were, None where none was tried.
    """

    current: str
    update: str
    collisions: int
    selector: str
    subsets: Mapping[str, Subset]
    targets: Mapping[str, Target]
    outlooks: Mapping[str, Outlook]
    provisioned: str | None
    updated: str | None


def status_after(parent: Obj, report: Report, now: float) -> Obj:
    """The status as it should be; equal to the one that the UnitedDeployment has where there is nothing to write."""
    subsets, old = report.subsets.values(), status_of(parent)
    updated = [pod for subset in subsets for pod in subset.updated(report.update)]
    reserved = sum(outlook.standing.reserved for outlook in report.outlooks.values())
    numbers = {
        "replicas": sum(subset.counted("replicas") for subset in subsets) - reserved,
        "readyReplicas": sum(subset.counted("readyReplicas") for subset in subsets),
        "updatedReplicas": len(updated),
        "updatedReadyReplicas": sum(map(is_ready, updated)),
        "reservedPods": reserved,
    }
    # a workload may not have counted its newest pods yet: upstream then takes an update for done that a partition holds
    there = max(numbers["replicas"], sum(len(subset.pods) for subset in subsets) - reserved)
    done = numbers["updatedReadyReplicas"] >= there
    current = report.update if done else report.current
    told = numbers | {
        "observedGeneration": parent["metadata"].get("generation") or 0,
        "collisionCount": report.collisions,
        "currentRevision": current,
        "updatedRevision": report.update,
        "subsetStatuses": [_entry(parent, target, report, now) for target in report.targets.values()],
        "conditions": _conditions(old.get("conditions") or (), report, current=current, now=now),
        "labelSelector": report.selector + (f",{RESERVED_LABEL}=false" if reserves(parent["spec"]) else ""),
    }
    return {name: value for name, value in told.items() if value or name in _ALWAYS}


def _entry(parent: Obj, target: Target, report: Report, now: float) -> Obj:
    outlook, subset = report.outlooks.get(target.name), report.subsets.get(target.name)
    entry: Obj = {
        "name": target.name,
        "replicas": target.replicas,
        "readyReplicas": subset.counted("readyReplicas") if subset is not None else 0,
        "partition": target.partition,
        "reservedPods": outlook.standing.reserved if outlook is not None else 0,
        "conditions": _subset_conditions(parent, target.name, outlook, now),
    }
    return {name: value for name, value in entry.items() if value}


# -- conditions of a subset --------------------------------------------------------------------------------------------


def subset_conditions(parent: Obj, name: str) -> Sequence[Obj]:
    """What is told of a subset so far."""
    for entry in status_of(parent).get("subsetStatuses") or ():
        if entry["name"] == name:
            found: Sequence[Obj] = entry.get("conditions") or ()
            return found
    return ()


def _subset_conditions(parent: Obj, name: str, outlook: Outlook | None, now: float) -> Sequence[Obj]:
    conditions = subset_conditions(parent, name)
    for shown in outlook.conditions if outlook is not None else _of_new(parent, name, now):
        conditions = put(conditions, shown)
    return conditions


def _of_new(parent: Obj, name: str, now: float) -> Iterable[Obj]:
    """What is told of a subset that comes later than others: its first pods are reserved until they are known to run.

    (initStatus)
    """
    known = [entry["name"] for entry in status_of(parent).get("subsetStatuses") or ()]
    if reserves(parent["spec"]) and known and name not in known:
        message = "newly-created subsets in reservation strategy"
        yield condition(FALSE, now, reason="created", message=message)


# -- its own conditions ------------------------------------------------------------------------------------------------


def updating_since(parent: Obj, current: str, update: str, *, now: float) -> float:
    """Since when the UnitedDeployment is updated to its newest revision, or has been, as its condition says."""
    told = find(status_of(parent).get("conditions") or (), UPDATED)
    if told is None or (told["status"] == TRUE) != (current == update):
        return now
    return seconds(told["lastTransitionTime"])


def _conditions(conditions: Sequence[Obj], report: Report, *, current: str, now: float) -> Sequence[Obj]:
    conditions = _with_progress(without(conditions, FAILURE), current, report.update, now=now)
    had = find(conditions, PROVISIONED)
    if report.provisioned is not None or (had is not None and had["status"] != TRUE):
        conditions = put(conditions, _outcome(PROVISIONED, report.provisioned or "", now))
    if report.updated is not None:
        conditions = put(conditions, _outcome(SUBSETS_UPDATED, report.updated, now))
    return conditions


def _with_progress(conditions: Sequence[Obj], current: str, update: str, *, now: float) -> list[Obj]:
    """The conditions with the one that tells of revisions (setUpdatedCondition).

    Where another revision comes before an update is over, upstream goes on to name the former one.
    """
    done = current == update
    reason = "UnitedDeploymentRevisionUpdated" if done else "UnitedDeploymentRevisionUpdating"
    message = f"{'updated' if done else 'updating'} to revision {update}"
    shown = _outcome(UPDATED, "" if done else message, now) | {"reason": reason, "message": message}
    return [
        each | {"message": message} if each["type"] == UPDATED and each["status"] == shown["status"] else each
        for each in put(conditions, shown)
    ]


def _outcome(type_: str, error: str, now: float) -> Obj:
    found = {"type": type_, "status": FALSE if error else TRUE, "lastTransitionTime": stamp(now)}
    return found | ({"reason": "Error", "message": error} if error else {})
