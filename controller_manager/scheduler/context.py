"""The scheduler's view of the cluster, and which changes make it run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.contract import NAMESPACE_INDEX, PODS_BY_NODE, Change, Key, Listers, key_of
from controller_manager.reconcile.controller_ref import controller_of, is_deleting, resolve_controller
from controller_manager.reconcile.kinds import (
    CLAIM,
    DISRUPTION_BUDGET,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
    Kind,
)
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.volumes import FREE_VOLUMES, PODS_BY_CLAIM, VOLUMES_BY_CLAIM, class_of
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.schedule_one import SchedulingContext
from controller_manager.scheduler.scheduling_queue import QueuedPod, SchedulingQueue
from controller_manager.scheduler.snapshot import Cluster
from controller_manager.scheduler.status import TOPOLOGY_PLUGINS, VOLUME_PLUGINS
from controller_manager.scheduler.topology import default_selector
from controller_manager.scheduler.volume_binding import StorageListers

SCHEDULER_VIEW = "placement"
FLUSH_KEY = "flush"
"""The key that runs periodically, in case an event was missed."""

OWNER_KINDS: Mapping[tuple[str, str], Kind] = {
    (kind.api_version, kind.kind): kind for kind in (REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
}


# -- the view ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that has a node, and waits for its claims to be bound there.

    Attributes:
        deadline: when it gives up.
        claims: the keys of the claims, each with its resourceVersion before the scheduler wrote to it.
        volumes: the names of existing volumes that the claims get.
    """

    queued: QueuedPod
    node: str
    deadline: float
    claims: Mapping[Key, str]
    volumes: Sequence[str]


@dataclass(slots=True)
class SchedulerView:
    """The cluster, the queue, and the pods that wait for their claims.

    Attributes:
        waiting_for_claims: pods that have a node but not their claims, by key.
        reserved: names of volumes that pods are about to get.
        alarm: when a run is due because a backoff ends.
    """

    cluster: Cluster = field(default_factory=Cluster)
    queue: SchedulingQueue = field(default_factory=SchedulingQueue)
    waiting_for_claims: dict[Key, WaitingPod] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    alarm: float = 0.0

    def apply_change(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        """Update the view with an event of the watch."""
        match kind.kind:
            case "Pod":
                self.cluster.pod_changed(old, new)
            case "Node":
                if _scheduling_properties(old) != _scheduling_properties(new):
                    self.cluster.node_changed(name_of(new or old or {}), new)
            case "Namespace":
                self.cluster.namespace_changed(name_of(new or old or {}), None if new is None else labels_of(new))
            case "Service" if _selector_of(old) != _selector_of(new):
                self.cluster.invalidate_selectors()

    def begin_waiting(self, waiting_pod: WaitingPod) -> None:
        """Note that a pod waits for its claims."""
        self.waiting_for_claims[waiting_pod.queued.key] = waiting_pod
        self.reserved.update(waiting_pod.volumes)

    def end_waiting(self, key: Key) -> WaitingPod | None:
        """Note that a pod no longer waits for its claims; return what it waited for, None if it did not wait."""
        ended = self.waiting_for_claims.pop(key, None)
        if ended is not None:
            self.reserved.difference_update(ended.volumes)
        return ended

    def retry_helped(self, helps: Callable[[PodInfo, frozenset[str]], bool]) -> Sequence[Key]:
        """Try the pods again that an event may help; return the keys that are to run."""
        return self.queue.move_helped(helps) if self.queue.has_unschedulable else ()

    def retry_on_free_node(self, node: str) -> Sequence[Key]:
        """Try the pods again that more room on a node may help; return the keys that are to run."""
        return self.retry_helped(partial(self._may_help, node))

    def _may_help(self, name: str, info: PodInfo, plugins: frozenset[str]) -> bool:
        """Return True if room on a node may help pods with this PodInfo: it suits them now, or affects other nodes."""
        node = self.cluster.nodes.get(name)
        feasible_nodes = self.cluster.known_feasible_nodes(info)
        if feasible_nodes is None or plugins & (TOPOLOGY_PLUGINS | VOLUME_PLUGINS):
            return True
        return node is not None and node.exists and (bool(node.nominated) or feasible_nodes.status(node) is None)


def _scheduling_properties(node: Obj | None) -> Any:
    """Return the fields of a node that matter to pods; a heartbeat changes none of them."""
    if node is None:
        return None
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return [node["metadata"].get("labels"), spec.get("taints"), spec.get("unschedulable"), status.get("allocatable")]


def _selector_of(service: Obj | None) -> Any:
    return (service or {}).get("spec", {}).get("selector")


# -- which changes make it run -----------------------------------------------------------------------------------------


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys to run: a pod that wants a node; if it came to a node or left one, pods that this may help."""
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    old, new = change.old, change.new
    meta = change.obj["metadata"]
    if new is not None and not new["spec"].get("nodeName"):
        if is_to_schedule(new, listers.settings.scheduler_name):
            return _queue_pod(view, old, new)
        view.queue.remove(meta["uid"])
        return ()
    if meta["uid"] in view.queue and view.queue.remove(meta["uid"]) and new is None:
        view.end_waiting(key_of(change.obj))
        return view.retry_helped(lambda *_: True)  # it counted on some node
    return _retry_on_pod_change(view, old, new) if view.queue.has_unschedulable else ()


def is_to_schedule(pod: Obj, scheduler: str) -> bool:
    """Return True if the pod has no node and this scheduler is the one to find it one."""
    spec = pod["spec"]
    return (
        spec.get("schedulerName") == scheduler
        and not spec.get("schedulingGates")
        and not is_deleting(pod)
        and not is_terminal(pod)
    )


def _queue_pod(view: SchedulerView, old: Obj | None, new: Obj) -> Iterable[Key]:
    """Queue a pod without a node that came or changed; a change of its status alone does not matter."""
    uid, queue = new["metadata"]["uid"], view.queue
    if view.cluster.is_assumed(uid):
        return ()
    if uid in queue and old is not None and (old["spec"] == new["spec"] and labels_of(old) == labels_of(new)):
        return ()
    key = key_of(new)
    queue.add(key, uid, priority=new["spec"].get("priority") or 0)
    return (key,)


def _retry_on_pod_change(view: SchedulerView, old: Obj | None, new: Obj | None) -> Iterable[Key]:
    """Return the keys of the waiting pods that may find a node now that a pod on a node came, changed or went."""
    if new is None or (is_terminal(new) and not (old is not None and is_terminal(old))):
        name = ((new or old or {}).get("spec") or {}).get("nodeName")
        return view.retry_on_free_node(name) if name else ()
    if old is None or not old["spec"].get("nodeName") or labels_of(old) != labels_of(new):
        return view.retry_helped(lambda _, plugins: bool(plugins & TOPOLOGY_PLUGINS))
    if is_deleting(new) and not is_deleting(old):
        return view.retry_helped(lambda _, plugins: bool(plugins & TOPOLOGY_PLUGINS))
    return ()


def node_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of the waiting pods to try again since a node came or has other labels, taints or resources."""
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    if change.new is None or _scheduling_properties(change.old) == _scheduling_properties(change.new):
        return ()
    return view.retry_helped(lambda *_: True)


def volume_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of the waiting pods to try again since a volume or a class came or changed."""
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    if change.new is None or change.old is change.new:
        return ()
    return view.retry_helped(lambda _, plugins: bool(plugins & VOLUME_PLUGINS))


def claim_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of the pods that wait for a claim that came or changed, with a node or without."""
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    namespace, key = namespace_of(change.obj), key_of(change.obj)
    ready = [pod for pod, waiting_pod in view.waiting_for_claims.items() if key in waiting_pod.claims]
    if change.new is None or change.old is change.new:
        return ready
    moved = view.retry_helped(lambda info, plugins: info.namespace == namespace and bool(plugins & VOLUME_PLUGINS))
    return (*ready, *moved)


# -- what decisions need -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that decisions need.

    Attributes:
        key: the key that runs.
        view: the cluster and the queue.
        context: what decisions look up; all decisions are made before the first action.
        pod, claim: return the object with a key, None if there is none.
        scheduler: the scheduler's name (spec.schedulerName).
    """

    key: Key
    view: SchedulerView
    context: SchedulingContext
    pod: Callable[[Key], Obj | None]
    claim: Callable[[Key], Obj | None]
    scheduler: str


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return what the scheduler needs to decide, None if there is nothing to do."""
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    if not view.queue.has_any and key not in view.waiting_for_claims and key != FLUSH_KEY:
        return None
    context, scheduler = _scheduling_context(listers, view), listers.settings.scheduler_name
    return Observed(key, view, context, listers[POD].get, listers[CLAIM].get, scheduler)


def _scheduling_context(listers: Listers, view: SchedulerView) -> SchedulingContext:
    volumes = listers[VOLUME]

    def candidates(claim: Obj) -> Iterable[Obj]:
        yield from volumes.by_index(FREE_VOLUMES.name, class_of(claim))
        yield from volumes.by_index(VOLUMES_BY_CLAIM.name, key_of(claim))

    storage = StorageListers(
        listers[CLAIM].get,
        volumes.get,
        listers[STORAGE_CLASS].get,
        candidates,
        partial(listers[POD].by_index, PODS_BY_CLAIM.name),
        view.reserved,
    )
    pods_on = partial(listers[POD].by_index, PODS_BY_NODE.name)
    return SchedulingContext(
        partial(_default_selector, listers), storage, pods_on, lambda: list(listers[DISRUPTION_BUDGET])
    )


def _default_selector(listers: Listers, pod: Obj) -> LabelSelector | None:
    reference, owner = controller_of(pod), None
    kind = OWNER_KINDS.get((reference["apiVersion"], reference["kind"])) if reference is not None else None
    if kind is not None and (owner := resolve_controller(listers, kind, pod)) is None:
        return None
    services = listers[SERVICE].by_index(NAMESPACE_INDEX, namespace_of(pod))
    return default_selector(pod, services=services, owner=owner)
