"""One attempt to schedule a pod: its node, or why there is none and what to preempt (scheduler/schedule_one.go)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector
from controller_manager.scheduler.feasible_nodes import Diagnosis, FeasibleNodes, NodeFilter
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.preemption import Candidate, PreemptionContext, Victim, preempt, why_not_eligible
from controller_manager.scheduler.snapshot import Cluster
from controller_manager.scheduler.status import NO_NODES, NOT_HELPFUL, VOLUME_BINDING, fit_error
from controller_manager.scheduler.volume_binding import Bindings, PodVolumes, StorageListers, pod_volumes

_NO_PLUGIN = frozenset(("",))
"""The plug-ins that refused a pod where there are no nodes: "" stands for none of them."""
_NO_BINDINGS = Bindings()


@dataclass(frozen=True, slots=True)
class SchedulingContext:
    """Lookups for a decision, besides the cluster.

    Attributes:
        selector: returns the selector of the pods that a pod without own constraints is spread among; None if its
            owner is not known yet.
        storage: looks up claims and volumes.
        pods_on: returns the pods on a node.
        budgets: returns all PodDisruptionBudgets.
    """

    selector: Callable[[Obj], LabelSelector | None]
    storage: StorageListers
    pods_on: Callable[[str], Iterable[Obj]]
    budgets: Callable[[], Sequence[Obj]]


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """The pod has a node, and counts there already.

    Attributes:
        node: the node's name.
        bindings: what has to be bound or provisioned for the pod's claims first.
    """

    node: str
    bindings: Bindings


@dataclass(frozen=True, slots=True)
class FitError:
    """No node suits the pod.

    Attributes:
        info: the pod's PodInfo.
        message: why no node suits.
        plugins: the plug-ins that refused it.
        nominated: the name of the node that it is nominated to, "" for none.
        candidate: the pods to preempt there, None if there are none.
        demoted_uids: the uids of less important pods that lose their nomination to the same node.
    """

    info: PodInfo
    message: str
    plugins: frozenset[str]
    nominated: str = ""
    candidate: Candidate | None = None
    demoted_uids: Sequence[str] = ()


def schedule_pod(cluster: Cluster, pod: Obj, *, context: SchedulingContext) -> ScheduleResult | FitError:
    """Find a node for the pod, and count the pod there.

    Args:
        cluster: it is changed: the pod is assumed on its node, or nominated to one.
        pod: the pod to schedule.
        context: what has to be looked up.

    Raises:
        QuantityError, KeyError, TypeError: the pod is not one that an API server would accept.
    """
    info, uid = cluster.info_of(pod), pod["metadata"]["uid"]
    if not len(cluster):
        return FitError(info, NO_NODES, _NO_PLUGIN)
    nominated_node = cluster.delete_nomination(uid)
    attempt = _Attempt(cluster, pod, info, context, nominated_node)
    volumes = pod_volumes(pod, context.storage) if pod["spec"].get("volumes") else None
    if isinstance(volumes, str):
        return attempt.refuse_by_prefilter(volumes)
    volume_filter = volumes.status if volumes is not None else None
    feasible_nodes = cluster.feasible_nodes(info, lambda: context.selector(pod))
    node = attempt.find_node(feasible_nodes, volume_filter)
    if node is None:
        return attempt.run_post_filter(feasible_nodes, volume_filter)
    cluster.assume_pod(uid, info, node=node)
    return ScheduleResult(node.name, _bindings(volumes, node))


def _bindings(volumes: PodVolumes | None, node: NodeInfo) -> Bindings:
    return (volumes.bindings(node) if volumes is not None else None) or _NO_BINDINGS


@dataclass(frozen=True, slots=True)
class _Attempt:
    cluster: Cluster
    pod: Obj
    info: PodInfo
    context: SchedulingContext
    nominated_node: NodeInfo | None

    def find_node(self, feasible_nodes: FeasibleNodes, volume_filter: NodeFilter | None) -> NodeInfo | None:
        """Return the node that the pod is nominated to if it suits by now, else the best one; None if none suits."""
        nominated_node = self.nominated_node
        if (
            nominated_node is not None
            and nominated_node.exists
            and feasible_nodes.status(nominated_node, volume_filter=volume_filter) is None
        ):
            return nominated_node
        return feasible_nodes.best_node(volume_filter)

    def refuse_by_prefilter(self, reason: str) -> FitError:
        """Refuse the pod before looking at nodes, since something is missing without which none suits."""
        nodes = len(self.cluster)
        after = why_not_eligible(self.info, ()) or fit_error(nodes, Counter({NOT_HELPFUL: nodes}))
        message = fit_error(nodes, Counter(), before=reason, after=f"preemption: {after}")
        return FitError(self.info, message, frozenset((VOLUME_BINDING,)))

    def run_post_filter(self, feasible_nodes: FeasibleNodes, volume_filter: NodeFilter | None) -> FitError:
        """Refuse the pod since no node suits it, and nominate it where preemption helps (RunPostFilterPlugins)."""
        diagnosis = feasible_nodes.diagnose(volume_filter)
        if why := why_not_eligible(self.info, self._nominated_node_victims(diagnosis)):
            kept = self.nominated_node.name if self.nominated_node is not None else ""
            return self._new_fit_error(diagnosis, f"preemption: {why}", nominated=kept)
        search = PreemptionContext(
            self.info, feasible_nodes, len(self.cluster), self._victims, self.context.budgets, volume_filter
        )
        result = preempt(search, diagnosis.resolvable)
        if isinstance(result, str):
            return self._new_fit_error(diagnosis, f"preemption: {result}")
        return self._new_fit_error(diagnosis, nominated=result.node.name, candidate=result)

    def _new_fit_error(
        self, diagnosis: Diagnosis, after: str = "", *, nominated: str = "", candidate: Candidate | None = None
    ) -> FitError:
        message = fit_error(diagnosis.nodes, diagnosis.reasons, after=after)
        demoted_uids = self._clear_lower_nominations(candidate.node) if candidate is not None else ()
        if nominated:
            self.cluster.nominate(self.pod["metadata"]["uid"], self.info.requirements, name=nominated)
        return FitError(self.info, message, diagnosis.plugins, nominated, candidate, demoted_uids)

    def _clear_lower_nominations(self, node: NodeInfo) -> Sequence[str]:
        """Take nominations to the node from less important pods, which look for another sooner (prepareCandidate)."""
        priority = self.info.requirements.priority
        demoted_uids = [uid for uid, requirements in node.nominated.items() if requirements.priority < priority]
        for uid in demoted_uids:
            self.cluster.delete_nomination(uid)
        return demoted_uids

    def _nominated_node_victims(self, diagnosis: Diagnosis) -> Iterable[Victim]:
        if self.nominated_node is None or self.nominated_node not in diagnosis.resolvable:
            return ()
        return self._victims(self.nominated_node)

    def _victims(self, node: NodeInfo) -> Iterator[Victim]:
        for pod in self.context.pods_on(node.name):
            placed = self.cluster.placement_of(pod["metadata"]["uid"])
            if placed is not None and placed.node is node:
                yield Victim(pod, placed.info)
