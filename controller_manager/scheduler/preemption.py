"""Preemption: finds the node where the fewest and least important pods must go (plugins/defaultpreemption)."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.conditions import TRUE, condition_of
from controller_manager.reconcile.pods import DISRUPTION_TARGET
from controller_manager.reconcile.selectors import lenient_selector
from controller_manager.reconcile.times import parse_time
from controller_manager.scheduler.feasible_nodes import FeasibleNodes, NodeFilter
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.status import NO_VICTIMS, NOT_HELPFUL, Status, fit_error

_MIN_CANDIDATES = 100
_MIN_CANDIDATES_PERCENT = 10
_PRIORITY_OFFSET = 2**31
_NO_VICTIMS = Status((NO_VICTIMS,))

VICTIM_TERMINATING = "not eligible due to a terminating pod on the nominated node."
PREEMPTION_NEVER = "not eligible due to preemptionPolicy=Never."
BY_SCHEDULER = "PreemptionByScheduler"
"""The reason of the condition DisruptionTarget on victims."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that may be preempted."""

    pod: Obj
    info: PodInfo

    @property
    def importance(self) -> tuple[int, float]:
        """The most important the smallest: by priority, then by how long it has run (util.MoreImportantPod)."""
        return -self.info.requirements.priority, _start_time(self.pod)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with the victims there, the most important first.

    Attributes:
        violations: the number of victims whose deletion violates a disruption budget.
    """

    node: NodeInfo
    victims: Sequence[Victim]
    violations: int

    @property
    def cost(self) -> tuple[int, int, int, int, float]:
        """A key by which the best candidate is the smallest (pickOneNodeForPreemption)."""
        highest = self.victims[0].info.requirements.priority
        total = sum(victim.info.requirements.priority + _PRIORITY_OFFSET for victim in self.victims)
        earliest = min(_start_time(v.pod) for v in self.victims if v.info.requirements.priority == highest)
        return self.violations, highest, total, len(self.victims), -earliest


def _start_time(pod: Obj) -> float:
    """Return when the pod started; infinity if it has not, so that it counts as the youngest (GetPodStartTime)."""
    started = (pod.get("status") or {}).get("startTime")
    return parse_time(started) if started else float("inf")


@dataclass(frozen=True, slots=True)
class PreemptionContext:
    """Everything that preemption looks at.

    Attributes:
        info: the pod to schedule.
        feasible_nodes: the FeasibleNodes of the pod.
        nodes: the number of nodes in the cluster.
        victims: returns the pods on a node, including those that cannot be victims.
        budgets: returns all PodDisruptionBudgets.
        volume_filter: returns why the pod's volumes rule a node out, None if they do not.
    """

    info: PodInfo
    feasible_nodes: FeasibleNodes
    nodes: int
    victims: Callable[[NodeInfo], Iterable[Victim]]
    budgets: Callable[[], Sequence[Obj]]
    volume_filter: NodeFilter | None = None


@dataclass(frozen=True, slots=True)
class _Budget:
    """A disruption budget.

    Attributes:
        allowed: how many pods may be disrupted.
        disrupted: names of pods whose disruption was allowed, and that are not gone yet.
    """

    namespace: str
    selector: LabelSelector
    allowed: int
    disrupted: Collection[str]

    def counts(self, pod: Obj) -> bool:
        """Return True if deleting the pod counts against the budget; a pod without labels never does."""
        labels = labels_of(pod)
        if not labels or namespace_of(pod) != self.namespace or not self.selector.matches(labels):
            return False
        return name_of(pod) not in self.disrupted


def preempt(search: PreemptionContext, potential: Sequence[NodeInfo]) -> Candidate | str:
    """Return the best candidate, or why there is none: "0/3 nodes are available: …".

    Args:
        search: what preemption looks at.
        potential: the nodes that might suit if pods were deleted.
    """
    reasons: Counter[str] = Counter()
    candidates: list[Candidate] = []
    enough = max(len(potential) * _MIN_CANDIDATES_PERCENT // 100, _MIN_CANDIDATES)
    guards = cache(lambda: _budgets(search.budgets()))
    for node in potential:
        result = _victims_on_node(search, node, guards)
        if isinstance(result, Status):
            reasons.update(result.reasons)
            continue
        candidates.append(result)
        if len(candidates) >= enough and any(not candidate.violations for candidate in candidates):
            break
    if candidates:
        return min(candidates, key=lambda candidate: candidate.cost)
    if others := search.nodes - len(potential):
        reasons[NOT_HELPFUL] += others
    return fit_error(search.nodes, reasons)


def _victims_on_node(
    search: PreemptionContext, node: NodeInfo, guards: Callable[[], Sequence[_Budget]]
) -> Candidate | Status:
    """Return the pods to preempt on a node: the less important ones that there is no room for (SelectVictimsOnNode)."""
    priority = search.info.requirements.priority
    if all(kind.requirements.priority >= priority for kind in node.present):
        return _NO_VICTIMS
    lesser = sorted(
        (v for v in search.victims(node) if v.info.requirements.priority < priority), key=lambda v: v.importance
    )
    if not lesser:
        return _NO_VICTIMS
    node_without = node.copy()
    for victim in lesser:
        node_without.remove_pod(victim.info)
    check = partial(search.feasible_nodes.status, node_without, origin=node, volume_filter=search.volume_filter)
    if (status := check()) is not None:
        return status
    violating = _victims_violating_budgets(lesser, guards())
    spared = [v for v in lesser if id(v) in violating] + [v for v in lesser if id(v) not in violating]
    victims = []
    for victim in spared:
        node_without.add_pod(victim.info)
        if check() is not None:
            node_without.remove_pod(victim.info)
            victims.append(victim)
    if not victims:
        return _NO_VICTIMS
    victims.sort(key=lambda v: v.importance)
    return Candidate(node, victims, sum(id(victim) in violating for victim in victims))


def _victims_violating_budgets(victims: Iterable[Victim], guards: Sequence[_Budget]) -> frozenset[int]:
    """Return the ids of the victims whose deletion violates a budget (filterPodsWithPDBViolation)."""
    allowed = [guard.allowed for guard in guards]
    violating = set()
    for victim in victims:
        for index, guard in enumerate(guards):
            if guard.counts(victim.pod):
                allowed[index] -= 1
                if allowed[index] < 0:
                    violating.add(id(victim))
    return frozenset(violating)


def _budgets(budgets: Iterable[Obj]) -> list[_Budget]:
    """Return the budgets that select some pods but not all."""
    guards = []
    for budget in budgets:
        selector, status = lenient_selector((budget.get("spec") or {}).get("selector")), budget.get("status") or {}
        if not selector.empty and not selector.nothing:
            awaited = status.get("disruptedPods") or {}
            guards.append(_Budget(namespace_of(budget), selector, status.get("disruptionsAllowed") or 0, awaited))
    return guards


def why_not_eligible(info: PodInfo, victims: Iterable[Victim]) -> str:
    """Return why a pod may not preempt others, "" if it may (PodEligibleToPreemptOthers).

    Args:
        info: the pod to schedule.
        victims: the pods on the node that it is nominated to, if that node might still suit.
    """
    if not info.requirements.may_preempt:
        return PREEMPTION_NEVER
    priority = info.requirements.priority
    if any(victim.info.requirements.priority < priority and _is_being_preempted(victim.pod) for victim in victims):
        return VICTIM_TERMINATING
    return ""


def _is_being_preempted(pod: Obj) -> bool:
    """Return True if the pod is terminating because of preemption (podTerminatingByPreemption)."""
    if not pod["metadata"].get("deletionTimestamp"):
        return False
    condition = condition_of(pod, DISRUPTION_TARGET) or {}
    return condition.get("status") == TRUE and condition.get("reason") == BY_SCHEDULER
