"""Deployments: one ReplicaSet per pod template; a rollout moves pods from the old ones to the new one in steps."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, namespace_of
from apiserver.api.selectors import label_selector_of
from controller_manager.controllers.deployment.history import rollback_revision
from controller_manager.controllers.deployment.invalid_spec import Fault, fault_of, is_reported, with_fault
from controller_manager.controllers.deployment.replica_sets import partition_sets
from controller_manager.controllers.deployment.rolling import RECREATE, strategy_of
from controller_manager.controllers.deployment.status import status_of
from controller_manager.controllers.deployment.sync import (
    SyncContext,
    record_pause,
    roll_back,
    roll_out,
    scale,
    sync_new_replica_set,
    sync_status,
)
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    ORPHAN_INDEX,
    OWNER_INDEX,
    WARNING,
    Change,
    ControllerSpec,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Update,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.controller_ref import (
    Parent,
    adopt_and_release,
    controller_of,
    is_deleting,
    resolve_controller,
)
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.selectors import lenient_selector


@dataclass(frozen=True, slots=True)
class Observed:
    """A Deployment and the ReplicaSets that may belong to it.

    Attributes:
        candidates: the ReplicaSets that it owns, and those of its namespace that have no controller.
        sets_with_running_pods: the uids of candidates with a pod that has not ended; only set if the strategy is
            Recreate.
    """

    deployment: Obj
    candidates: tuple[Obj, ...]
    sets_with_running_pods: frozenset[str]
    profile: Profile


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the Deployment of that key and its candidate ReplicaSets, or None if the Deployment is gone."""
    deployment = listers[DEPLOYMENT].get(key)
    if deployment is None:
        return None
    sets = listers[REPLICA_SET]
    candidates = (
        *sets.by_index(OWNER_INDEX, deployment["metadata"]["uid"]),
        *sets.by_index(ORPHAN_INDEX, namespace_of(deployment)),
    )
    sets_with_running_pods = (
        _sets_with_running_pods(listers, candidates) if strategy_of(deployment) == RECREATE else frozenset()
    )
    return Observed(deployment, candidates, sets_with_running_pods, listers.profile)


def _sets_with_running_pods(listers: Listers, sets: Iterable[Obj]) -> frozenset[str]:
    """Return the uids of ReplicaSets with a pod that has not ended; terminating and Unknown pods count."""
    uids = (replica_set["metadata"]["uid"] for replica_set in sets)
    return frozenset(
        uid for uid in uids if any(not is_terminal(pod) for pod in listers[POD].by_index(OWNER_INDEX, uid))
    )


def replica_set_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the Deployments of a ReplicaSet: its controller, its former one, or for an orphan those that select it."""
    old, new = change.old, change.new
    if new is None or (old is None and is_deleting(new)):
        return _owner_key(listers, change.obj)
    if old is None:
        return _keys_for_replica_set(listers, new)
    if old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
        return ()
    moved = controller_of(old) != controller_of(new)
    former = _owner_key(listers, old) if moved else ()
    if controller_of(new) is None and not moved and labels_of(old) == labels_of(new):
        return ()
    return {*former, *_keys_for_replica_set(listers, new)}


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the Deployment with strategy Recreate whose last active pod was deleted, if any."""
    if change.new is not None:
        return ()
    replica_set = resolve_controller(listers, REPLICA_SET, change.obj)
    deployment = resolve_controller(listers, DEPLOYMENT, replica_set) if replica_set else None
    if deployment is None or strategy_of(deployment) != RECREATE:
        return ()
    sets = listers[REPLICA_SET].by_index(OWNER_INDEX, deployment["metadata"]["uid"])
    return () if _sets_with_running_pods(listers, sets) else (key_of(deployment),)


def _keys_for_replica_set(listers: Listers, replica_set: Obj) -> Iterable[Key]:
    """Return the key of the Deployment that controls a ReplicaSet, or for an orphan those of all that select it."""
    if controller_of(replica_set) is not None:
        return _owner_key(listers, replica_set)
    if not (labels := labels_of(replica_set)):
        return ()
    deployments = listers[DEPLOYMENT].by_index(NAMESPACE_INDEX, namespace_of(replica_set))
    return [key_of(deployment) for deployment in deployments if _selects(deployment, labels)]


def _selects(deployment: Obj, labels: dict[str, str]) -> bool:
    selector = lenient_selector(deployment["spec"].get("selector"))
    return not selector.empty and selector.matches(labels)


def _owner_key(listers: Listers, replica_set: Obj) -> tuple[Key, ...]:
    """Return the key of the Deployment that controls a ReplicaSet, () if none does."""
    deployment = resolve_controller(listers, DEPLOYMENT, replica_set)
    return () if deployment is None else (key_of(deployment),)


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Take one step towards what the Deployment asks for (deployment_controller.go syncDeployment)."""
    deployment = observed.deployment
    if fault := fault_of(deployment):
        yield from _report_invalid(deployment, fault, now)
        return
    selector = label_selector_of(deployment["spec"].get("selector"))
    if selector.empty:
        yield from _refuse_empty_selector(deployment)
        return
    replica_sets = yield from adopt_and_release(
        Parent(DEPLOYMENT, deployment, selector), REPLICA_SET, observed.candidates
    )
    context = SyncContext(deployment, partition_sets(deployment, replica_sets), now, observed.profile)
    if is_deleting(deployment):
        yield from sync_status(context)
        return
    yield from record_pause(context)
    if deployment["spec"].get("paused"):
        yield from sync_new_replica_set(context)
        yield from scale(context)
    elif rollback_revision(deployment) is not None:
        yield from roll_back(context)
    else:
        yield from roll_out(context, observed.sets_with_running_pods)


def _report_invalid(deployment: Obj, fault: Fault, now: float) -> Plan:
    """Report an invalid spec once; nothing is changed until it is corrected."""
    if not is_reported(deployment, fault):
        yield RecordEvent(deployment, reason=fault.reason, message=fault.message, type=WARNING)
        yield Update(DEPLOYMENT, with_fault(deployment, fault, now), subresource="status")


def _refuse_empty_selector(deployment: Obj) -> Plan:
    message = "This deployment is selecting all pods. A non-empty selector is required."
    yield RecordEvent(deployment, reason="SelectingAll", message=message, type=WARNING)
    status, generation = status_of(deployment), deployment["metadata"].get("generation", 0)
    if status.get("observedGeneration", 0) < generation:
        changed = deployment | {"status": status | {"observedGeneration": generation}}
        yield Update(DEPLOYMENT, changed, subresource="status")


SPEC = ControllerSpec(
    name="deployment",
    account="deployment-controller",
    source="deployment-controller",
    flag="deployment",
    retries=15,
    watches=(Watch(DEPLOYMENT, enqueue_self), Watch(REPLICA_SET, replica_set_changed), Watch(POD, pod_changed)),
    observe=observe,
    reconcile=reconcile,
)
