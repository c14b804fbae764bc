"""The status of PodDisruptionBudgets, which allows evictions, and pods that should have been disrupted but were not."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, group_version, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.controllers.disruption import budgets
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    WARNING,
    Action,
    Change,
    ControllerSpec,
    Get,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Update,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of, resolve_controller
from controller_manager.reconcile.kinds import (
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    Kind,
)
from controller_manager.reconcile.pods import DISRUPTION_TARGET, counts_differently
from controller_manager.reconcile.replicas import replicas_of
from controller_manager.reconcile.selectors import lenient_selector

POD_PREFIX = "pods/"
"""The prefix that distinguishes the key of a pod from that of a budget."""
MIN_INTERVAL = 0.1
"""Minimum seconds between two syncs of one budget, since each reads all pods of its namespace."""

_CACHED_KINDS = {
    ("", "ReplicationController"): REPLICATION_CONTROLLER,
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("extensions", "ReplicaSet"): REPLICA_SET,
    ("apps", "StatefulSet"): STATEFUL_SET,
}


@dataclass(frozen=True, slots=True)
class PodController:
    """A controller of pods that a budget selects.

    Attributes:
        pod: the name of one of these pods.
        reference: the pod's reference to its controller.
        kind: the controller's kind, or None if it is not served.
        uid, scale: those of the controller, or of the Deployment that controls it; scale is None if neither exists.
        reads_scale: True if the scale must be read from the server.
    """

    pod: str
    reference: Obj
    kind: Kind | None
    uid: str = ""
    scale: int | None = None
    reads_scale: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget and its pods.

    Attributes:
        error: why the selector cannot be parsed.
        controllers: each controller of the pods once, if the budget depends on their scale.
        unmanaged: True if some pods have no controller, and the budget depends on their scale.
    """

    obj: Obj
    pods: Sequence[Obj] = ()
    error: str = ""
    controllers: Sequence[PodController] = ()
    unmanaged: bool = False


@dataclass(frozen=True, slots=True)
class TargetPod:
    """A pod that is a disruption target, or that several budgets (given by name) select."""

    pod: Obj
    budgets: Sequence[str]


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Budget | TargetPod | None:
    """Return the budget of that key and its pods, or the pod of that key; None if it is gone."""
    if key.startswith(POD_PREFIX) and key.count("/") > 1:
        pod = listers[POD].get(key.removeprefix(POD_PREFIX))
        return TargetPod(pod, _names_of_budgets(listers, pod)) if pod is not None else None
    budget = listers[DISRUPTION_BUDGET].get(key)
    if budget is None:
        return None
    try:
        selector = label_selector_of(budget["spec"].get("selector"))
    except SelectorError as error:
        return Budget(budget, error=str(error))
    pods = _selected_pods(listers, selector, namespace_of(budget))
    if not budgets.needs_scale(budget["spec"]):
        return Budget(budget, pods)
    return _with_controllers(listers, budget, pods)


def _selected_pods(listers: Listers, selector: LabelSelector, namespace: str) -> Sequence[Obj]:
    return [pod for pod in listers[POD].by_index(NAMESPACE_INDEX, namespace) if selector.matches(labels_of(pod))]


def _with_controllers(listers: Listers, budget: Obj, pods: Sequence[Obj]) -> Budget:
    controls: dict[str, PodController] = {}
    unmanaged = False
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged = True
        elif reference["uid"] not in controls:
            controls[reference["uid"]] = _controller_of_pod(listers, pod, reference)
    return Budget(budget, pods, controllers=list(controls.values()), unmanaged=unmanaged)


def _controller_of_pod(listers: Listers, pod: Obj, reference: Obj) -> PodController:
    """Return the controller of a pod, as far as the caches know it (disruption.go finders)."""
    group, _ = group_version(reference["apiVersion"])
    kind = _CACHED_KINDS.get((group, reference["kind"]))
    if kind is None:
        served = listers.served.find_kind(reference["apiVersion"], reference["kind"])
        return PodController(name_of(pod), reference, served, reference["uid"], reads_scale=True)
    owner = resolve_controller(listers, kind, pod)
    if owner is not None and kind == REPLICA_SET:
        owner = resolve_controller(listers, DEPLOYMENT, owner) or owner
    if owner is None:
        return PodController(name_of(pod), reference, kind)
    return PodController(name_of(pod), reference, kind, owner["metadata"]["uid"], replicas_of(owner))


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the keys of the budgets that select the pod or did, and of the pod itself if it is disturbed."""
    old, new = change.old, change.new
    if old is not None and new is not None and (old is new or not _matters(old, new)):
        return
    pod = change.obj
    keys = {key_of(budget): None for budget in _budgets(listers, pod)}
    if new is not None and (len(keys) > 1 or condition_of(new, DISRUPTION_TARGET)):
        yield f"{POD_PREFIX}{key_of(new)}"
    if old is not None and new is not None and labels_of(old) != labels_of(new):
        keys |= {key_of(budget): None for budget in _budgets(listers, old)}
    yield from keys


def _matters(old: Obj, new: Obj) -> bool:
    return counts_differently(old, new) or condition_of(old, DISRUPTION_TARGET) != condition_of(new, DISRUPTION_TARGET)


def _budgets(listers: Listers, pod: Obj) -> Iterable[Obj]:
    """Yield the budgets that may select a pod, judged by matchLabels alone: expressions are parsed in the sync."""
    labels = labels_of(pod).items()
    for budget in listers[DISRUPTION_BUDGET].by_index(NAMESPACE_INDEX, namespace_of(pod)):
        selector = budget["spec"].get("selector")
        if selector is not None and (selector.get("matchLabels") or {}).items() <= labels:
            yield budget


def _names_of_budgets(listers: Listers, pod: Obj) -> Sequence[str]:
    selectors = (
        (name_of(budget), lenient_selector(budget["spec"].get("selector"))) for budget in _budgets(listers, pod)
    )
    return sorted(name for name, selector in selectors if selector.matches(labels_of(pod)))


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Budget | TargetPod, now: float) -> Plan:
    """Update how many pods may be disrupted; none may while that is unknown (disruption.go sync).

    Raises:
        ApiError: the status could not be written, or a scale could not be read.
    """
    if isinstance(observed, TargetPod):
        yield from _sync_target_pod(observed, now)
        return
    failure = None
    try:
        status = yield from _status(observed, now)
    except (ApiError, ValueError) as error:
        failure = error
        status = budgets.failed_status(observed.obj, str(error), now)
    if status != observed.obj.get("status"):
        yield Update(DISRUPTION_BUDGET, observed.obj | {"status": status}, "status")
    if isinstance(failure, ApiError):
        raise failure


def _status(observed: Budget, now: float) -> Generator[Action, Any, Obj]:
    """Return the status that the budget should have.

    Raises:
        ApiError, ValueError: it cannot be calculated; an event was recorded.
    """
    budget = observed.obj
    if observed.error:
        yield RecordEvent(budget, "NoPods", f"Failed to get pods: {observed.error}", WARNING)
        raise ValueError(observed.error)
    if not observed.pods:
        yield RecordEvent(budget, "NoPods", "No matching pods found")
    try:
        scale = yield from _scale(observed)
        expectation = budgets.expected_pods(budget["spec"], len(observed.pods), scale)
    except (ApiError, ValueError) as error:
        message = f"Failed to calculate the number of expected pods: {error}"
        yield RecordEvent(budget, "CalculateExpectedPodCountFailed", message, WARNING)
        raise
    if observed.unmanaged:
        yield RecordEvent(budget, "UnmanagedPods", _report_unmanaged(budget), WARNING)
    disrupted = budgets.disrupted_pods((budget.get("status") or {}).get("disruptedPods") or {}, observed.pods, now)
    for pod in disrupted.missed:
        namespace = namespace_of(budget)  # twice, as upstream prints it
        message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
        yield RecordEvent(pod, "NotDeleted", message, WARNING)
    if disrupted.wait is not None:
        yield RequeueAfter(disrupted.wait)
    current = budgets.count_healthy(observed.pods, disrupted.awaited)
    return budgets.status_of(budget, expectation, current, awaited=disrupted.awaited, now=now)


def _report_unmanaged(budget: Obj) -> str:
    selector = budgets.format_selector(budget["spec"].get("selector"))
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {selector}) were "
        "found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in "
        'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer '
        "value."
    )


def _scale(observed: Budget) -> Generator[Action, Any, int]:
    """Return how many pods all the controllers ask for, each controller counted once (getExpectedScale)."""
    scales: dict[str, int] = {}
    for controls in observed.controllers:
        scale = controls.scale
        if controls.reads_scale:
            scale = yield from _read_scale(controls, namespace_of(observed.obj))
        if scale is None:
            raise ValueError(f'found no controllers for pod "{controls.pod}"')
        scales[controls.uid] = scale
    return sum(scales.values())


def _read_scale(controls: PodController, namespace: str) -> Generator[Action, Any, int | None]:
    """Read from the server the scale of a controller that is not cached; None if it is gone (getScaleController)."""
    reference, kind = controls.reference, controls.kind
    if kind is None:
        raise ValueError(f'no matches for kind "{reference["kind"]}" in version "{reference["apiVersion"]}"')
    try:
        scale = yield Get(kind, f"{namespace}/{reference['name']}", "scale")
    except ApiError as error:
        if error.code != 404:
            raise
        if not (error.details or {}).get("name"):  # the path itself is not there
            raise ValueError(f"{kind} does not implement the scale subresource") from error
        return None
    return scale["spec"].get("replicas") or 0 if scale["metadata"].get("uid") == controls.uid else None


def _sync_target_pod(disturbed: TargetPod, now: float) -> Plan:
    """Report that several budgets select a pod, and clear a stale disruption target (syncStalePodDisruption)."""
    pod, wait = disturbed.pod, budgets.stale_in(disturbed.pod, now)
    if len(disturbed.budgets) > 1:
        summary = f'Pod "{namespace_of(pod)}"/"{name_of(pod)}" matches multiple PodDisruptionBudgets.'
        chosen = f'Chose "{disturbed.budgets[0]}" arbitrarily.'
        yield RecordEvent(pod, "MultiplePodDisruptionBudgets", f"{summary}  {chosen}", WARNING)
    if wait:
        yield RequeueAfter(wait)
    elif wait is not None:
        yield Update(POD, pod | {"status": budgets.status_without_target(pod, now)}, "status")


SPEC = ControllerSpec(
    name="disruption",
    account="disruption-controller",
    watches=(
        Watch(DISRUPTION_BUDGET, enqueue_self),
        Watch(POD, pod_changed),
        Watch(DEPLOYMENT),
        Watch(REPLICA_SET),
        Watch(STATEFUL_SET),
        Watch(REPLICATION_CONTROLLER),
    ),
    observe=observe,
    reconcile=reconcile,
    source="controllermanager",
    min_interval=MIN_INTERVAL,
)
