"""Preemption: on which node the fewest and least important pods would have to go (plugins/defaultpreemption)."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.conditions import TRUE, condition_of
from controller_manager.reconcile.pods import DISRUPTION_TARGET
from controller_manager.reconcile.selectors import lenient_selector
from controller_manager.reconcile.times import seconds
from controller_manager.scheduler.feasible_nodes import Accepts, Board
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.status import NO_VICTIMS, NOT_HELPFUL, Status, fit_error

_CANDIDATES = 100
_PERCENT = 10
_OFFSET = 2**31
_NO_VICTIMS = Status((NO_VICTIMS,))

TERMINATING = "not eligible due to a terminating pod on the nominated node."
NEVER = "not eligible due to preemptionPolicy=Never."
BY_SCHEDULER = "PreemptionByScheduler"
"""The reason of the condition DisruptionTarget on victims."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that may have to go."""

    pod: Obj
    info: PodInfo

    @property
    def importance(self) -> tuple[int, float]:
        """The most important the smallest: by priority, then by how long it has run (util.MoreImportantPod)."""
        return -self.info.shape.priority, _started(self.pod)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and who has to go there, the most important first.

    Attributes:
        violations: how many of them no disruption budget allows to go.
    """

    node: NodeInfo
    victims: Sequence[Victim]
    violations: int

    @property
    def cost(self) -> tuple[int, int, int, int, float]:
        """The best candidate is the smallest (pickOneNodeForPreemption)."""
        highest = self.victims[0].info.shape.priority
        total = sum(victim.info.shape.priority + _OFFSET for victim in self.victims)
        earliest = min(_started(v.pod) for v in self.victims if v.info.shape.priority == highest)
        return self.violations, highest, total, len(self.victims), -earliest


def _started(pod: Obj) -> float:
    """When it was started; one that was not counts as the youngest (GetPodStartTime)."""
    started = (pod.get("status") or {}).get("startTime")
    return seconds(started) if started else float("inf")


@dataclass(frozen=True, slots=True)
class Search:
    """What preemption looks at.

    Attributes:
        info: the pod that wants a place.
        board: of its kind.
        nodes: how many there are.
        victims: the pods on a node, those that are of no concern too.
        budgets: gives all PodDisruptionBudgets.
        accepts: the filter of the pod's own.
    """

    info: PodInfo
    board: Board
    nodes: int
    victims: Callable[[NodeInfo], Iterable[Victim]]
    budgets: Callable[[], Sequence[Obj]]
    accepts: Accepts | None = None


@dataclass(frozen=True, slots=True)
class _Guard:
    """A disruption budget.

    Attributes:
        allowed: how many pods may go.
        awaited: names of those that were allowed to, and have yet to go.
    """

    namespace: str
    selector: LabelSelector
    allowed: int
    awaited: Collection[str]

    def counts(self, pod: Obj) -> bool:
        """Whether it is a matter of the budget that the pod goes; one without labels is never."""
        labels = labels_of(pod)
        if not labels or namespace_of(pod) != self.namespace or not self.selector.matches(labels):
            return False
        return name_of(pod) not in self.awaited


def preempt(search: Search, potential: Sequence[NodeInfo]) -> Candidate | str:
    """Who has to go, or why nobody does: "0/3 nodes are available: …".

    Args:
        search: what is looked at.
        potential: the nodes that might suit if pods went.
    """
    reasons: Counter[str] = Counter()
    found: list[Candidate] = []
    enough = max(len(potential) * _PERCENT // 100, _CANDIDATES)
    guards = cache(lambda: _guards(search.budgets()))
    for node in potential:
        tried = _try(search, node, guards)
        if isinstance(tried, Status):
            reasons.update(tried.reasons)
            continue
        found.append(tried)
        if len(found) >= enough and any(not candidate.violations for candidate in found):
            break
    if found:
        return min(found, key=lambda candidate: candidate.cost)
    if others := search.nodes - len(potential):
        reasons[NOT_HELPFUL] += others
    return fit_error(search.nodes, reasons)


def _try(search: Search, node: NodeInfo, guards: Callable[[], Sequence[_Guard]]) -> Candidate | Status:
    """Who has to go from a node: the less important pods but those for whom there is room (SelectVictimsOnNode)."""
    priority = search.info.shape.priority
    if all(kind.shape.priority >= priority for kind in node.present):
        return _NO_VICTIMS
    lesser = sorted((v for v in search.victims(node) if v.info.shape.priority < priority), key=lambda v: v.importance)
    if not lesser:
        return _NO_VICTIMS
    left = node.copy()
    for victim in lesser:
        left.remove(victim.info)
    check = partial(search.board.status, left, origin=node, accepts=search.accepts)
    if (status := check()) is not None:
        return status
    violating = _violating(lesser, guards())
    spared = [v for v in lesser if id(v) in violating] + [v for v in lesser if id(v) not in violating]
    gone = []
    for victim in spared:
        left.add(victim.info)
        if check() is not None:
            left.remove(victim.info)
            gone.append(victim)
    if not gone:
        return _NO_VICTIMS
    gone.sort(key=lambda v: v.importance)
    return Candidate(node, gone, sum(id(victim) in violating for victim in gone))


def _violating(victims: Iterable[Victim], guards: Sequence[_Guard]) -> frozenset[int]:
    """The victims, by identity, whose going some budget would not allow (filterPodsWithPDBViolation)."""
    left = [guard.allowed for guard in guards]
    found = set()
    for victim in victims:
        for index, guard in enumerate(guards):
            if guard.counts(victim.pod):
                left[index] -= 1
                if left[index] < 0:
                    found.add(id(victim))
    return frozenset(found)


def _guards(budgets: Iterable[Obj]) -> list[_Guard]:
    """The budgets that select some pods and not all."""
    made = []
    for budget in budgets:
        selector, status = lenient_selector((budget.get("spec") or {}).get("selector")), budget.get("status") or {}
        if not selector.empty and not selector.nothing:
            awaited = status.get("disruptedPods") or {}
            made.append(_Guard(namespace_of(budget), selector, status.get("disruptionsAllowed") or 0, awaited))
    return made


def why_not_eligible(info: PodInfo, victims: Iterable[Victim]) -> str:
    """Why a pod may not make others go, "" if it may (PodEligibleToPreemptOthers).

    Args:
        info: the pod that wants a place.
        victims: the pods on the node that it is promised, where that might still suit.
    """
    if not info.shape.preempts:
        return NEVER
    priority = info.shape.priority
    if any(victim.info.shape.priority < priority and _goes_for_another(victim.pod) for victim in victims):
        return TERMINATING
    return ""


def _goes_for_another(pod: Obj) -> bool:
    """Whether the pod is on its way out because of preemption (podTerminatingByPreemption)."""
    if not pod["metadata"].get("deletionTimestamp"):
        return False
    told = condition_of(pod, DISRUPTION_TARGET) or {}
    return told.get("status") == TRUE and told.get("reason") == BY_SCHEDULER
