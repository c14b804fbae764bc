"""One pod's turn: the node that it gets, or why it gets none and who has to go for it (scheduler/schedule_one.go)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector
from controller_manager.scheduler.feasible_nodes import Accepts, Board, Diagnosis
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.preemption import Candidate, Search, Victim, preempt, why_not_eligible
from controller_manager.scheduler.snapshot import Cluster
from controller_manager.scheduler.status import NO_NODES, NOT_HELPFUL, VOLUME_BINDING, fit_error
from controller_manager.scheduler.volume_binding import Bindings, PodVolumes, Storage, pod_volumes

_NODES = frozenset(("",))
_NOTHING_TO_BIND = Bindings()


@dataclass(frozen=True, slots=True)
class SchedulingContext:
    """What a decision looks up besides the cluster.

    Attributes:
        selector: finds the pods among which a pod is spread that says nothing itself; None where that is not known yet.
        storage: where claims and volumes are found.
        pods_on: the pods on a node.
        budgets: gives all PodDisruptionBudgets.
    """

    selector: Callable[[Obj], LabelSelector | None]
    storage: Storage
    pods_on: Callable[[str], Iterable[Obj]]
    budgets: Callable[[], Sequence[Obj]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pod has a node, where it counts already.

    Attributes:
        node: its name.
        bindings: what has to be done for its claims first.
    """

    node: str
    bindings: Bindings


@dataclass(frozen=True, slots=True)
class Refused:
    """The pod has no node.

    Attributes:
        info: what it is.
        message: why.
        plugins: who refused it.
        nominated: the node that it is promised, "" for none.
        candidate: who has to go for that, None where nobody has to.
        demoted: the uids of pods that were promised the same node and are less important.
    """

    info: PodInfo
    message: str
    plugins: frozenset[str]
    nominated: str = ""
    candidate: Candidate | None = None
    demoted: Sequence[str] = ()


def decide(cluster: Cluster, pod: Obj, *, around: SchedulingContext) -> Chosen | Refused:
    """Find the pod a node, and count it there.

    Args:
        cluster: which changes: the pod is assumed where it will be, or promised a node.
        pod: that waits.
        around: what has to be looked up.

    Raises:
        QuantityError, KeyError, TypeError: the pod is nothing that a server lets through.
    """
    info, uid = cluster.info_of(pod), pod["metadata"]["uid"]
    if not len(cluster):
        return Refused(info, NO_NODES, _NODES)
    promised = cluster.take_back_promise(uid)
    turn = _Turn(cluster, pod, info, around, promised)
    volumes = pod_volumes(pod, around.storage) if pod["spec"].get("volumes") else None
    if isinstance(volumes, str):
        return turn.refuse_before(volumes)
    accepts = volumes.status if volumes is not None else None
    board = cluster.board(info, lambda: around.selector(pod))
    node = turn.find(board, accepts)
    if node is None:
        return turn.refuse(board, accepts)
    cluster.assume(uid, info, node=node)
    return Chosen(node.name, _bindings(volumes, node))


def _bindings(volumes: PodVolumes | None, node: NodeInfo) -> Bindings:
    return (volumes.bindings(node) if volumes is not None else None) or _NOTHING_TO_BIND


@dataclass(frozen=True, slots=True)
class _Turn:
    cluster: Cluster
    pod: Obj
    info: PodInfo
    around: SchedulingContext
    promised: NodeInfo | None

    def find(self, board: Board, accepts: Accepts | None) -> NodeInfo | None:
        """The node that the pod is promised, if it suits by now, else the best."""
        promised = self.promised
        if promised is not None and promised.exists and board.status(promised, accepts=accepts) is None:
            return promised
        return board.choose(accepts)

    def refuse_before(self, why: str) -> Refused:
        """No node was asked for: something is missing without which no node suits."""
        nodes = len(self.cluster)
        after = why_not_eligible(self.info, ()) or fit_error(nodes, Counter({NOT_HELPFUL: nodes}))
        message = fit_error(nodes, Counter(), before=why, after=f"preemption: {after}")
        return Refused(self.info, message, frozenset((VOLUME_BINDING,)))

    def refuse(self, board: Board, accepts: Accepts | None) -> Refused:
        """No node suits: see whether others have to go."""
        diagnosis = board.diagnose(accepts)
        if why := why_not_eligible(self.info, self._on_promised(diagnosis)):
            kept = self.promised.name if self.promised is not None else ""
            return self._refused(diagnosis, f"preemption: {why}", nominated=kept)
        search = Search(self.info, board, len(self.cluster), self._victims, self.around.budgets, accepts)
        found = preempt(search, diagnosis.resolvable)
        if isinstance(found, str):
            return self._refused(diagnosis, f"preemption: {found}")
        return self._refused(diagnosis, nominated=found.node.name, candidate=found)

    def _refused(
        self, diagnosis: Diagnosis, after: str = "", *, nominated: str = "", candidate: Candidate | None = None
    ) -> Refused:
        message = fit_error(diagnosis.nodes, diagnosis.reasons, after=after)
        demoted = self._demote(candidate.node) if candidate is not None else ()
        if nominated:
            self.cluster.promise(self.pod["metadata"]["uid"], self.info.shape, name=nominated)
        return Refused(self.info, message, diagnosis.plugins, nominated, candidate, demoted)

    def _demote(self, node: NodeInfo) -> Sequence[str]:
        """Take the promise of the node from less important pods, which look for another sooner (prepareCandidate)."""
        priority = self.info.shape.priority
        lesser = [uid for uid, shape in node.nominated.items() if shape.priority < priority]
        for uid in lesser:
            self.cluster.take_back_promise(uid)
        return lesser

    def _on_promised(self, diagnosis: Diagnosis) -> Iterable[Victim]:
        if self.promised is None or self.promised not in diagnosis.resolvable:
            return ()
        return self._victims(self.promised)

    def _victims(self, node: NodeInfo) -> Iterator[Victim]:
        for pod in self.around.pods_on(node.name):
            placed = self.cluster.placed(pod["metadata"]["uid"])
            if placed is not None and placed.node is node:
                yield Victim(pod, placed.info)
