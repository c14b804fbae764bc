"""What other pods have to do with where a pod goes: the rules of its own and of those that are there, and their weight.

The nodes that are equal before these rules are judged together, by their totals: for each count of the rules the number
of pods that matter in the node's domain, None where the node has no such domain.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.status import INTER_POD_AFFINITY, POD_TOPOLOGY_SPREAD, Status
from controller_manager.scheduler.topology import HOSTNAME, Company, PodTerm, SpreadConstraint
from controller_manager.scheduler.topology_counts import CompanyTally, Domains, PodTally, SumTally, Tally

Totals: TypeAlias = Sequence[int | None]
Parts: TypeAlias = Sequence[str | int | None]
"""For each count where a node stands: the value of the label, or for a count by host the total itself."""
Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
"""Namespace → its labels."""

_NO_LABEL = Status(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), POD_TOPOLOGY_SPREAD
)
_SKEWED = Status(("node(s) didn't match pod topology spread constraints",), POD_TOPOLOGY_SPREAD, resolvable=True)
_NOT_NEAR = Status(("node(s) didn't match pod affinity rules",), INTER_POD_AFFINITY)
_NOT_FAR = Status(("node(s) didn't match pod anti-affinity rules",), INTER_POD_AFFINITY, resolvable=True)
_UNWANTED = Status(("node(s) didn't satisfy existing pods anti-affinity rules",), INTER_POD_AFFINITY, resolvable=True)

_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for a pod, with everything looked up that they depend on.

    Attributes:
        spread: its constraints, its own or the default ones.
        namespace: of the pods that these count.
        needs_all: whether a node counts only if it has the labels of all of them; not for the default ones.
        company: whom the pod wants near or far.
        suits_itself: whether the pod is one of those that it wants near.
        refused: by label, the company of pods that do not want this one near.
        liked: by label, the company of pods that like this one near, and how much.
    """

    spread: tuple[SpreadConstraint, ...]
    namespace: str
    needs_all: bool
    company: Company
    suits_itself: bool
    refused: tuple[tuple[str, frozenset[Company]], ...]
    liked: tuple[tuple[str, frozenset[tuple[Company, int]]], ...]


def rules_of(
    info: PodInfo, *, default: tuple[SpreadConstraint, ...], others: Iterable[Company], namespaces: Namespaces
) -> Rules:
    """The rules for a pod.

    Args:
        info: the pod.
        default: how it is spread if it says nothing itself.
        others: what the pods want that are placed.
        namespaces: the labels of all.
    """
    labels, namespace, company = info.labels, info.namespace, info.company
    of_namespace = namespaces.get(namespace, _NO_LABELS)

    def is_meant(term: PodTerm) -> bool:
        return term.matches(labels, namespace, of_namespace=of_namespace)

    refused: dict[str, set[Company]] = {}
    liked: dict[str, dict[Company, int]] = {}
    for other in others:
        for term in filter(is_meant, other.far):
            refused.setdefault(term.topology_key, set()).add(other)
        wishes = [(term, 1) for term in other.near] + [(term, term.weight) for term in other.preferred]
        for term, weight in wishes:
            if weight and is_meant(term):
                weights = liked.setdefault(term.topology_key, {})
                weights[other] = weights.get(other, 0) + weight
    return Rules(
        info.spread or default,
        namespace if info.spread or default else "",
        bool(info.spread),
        company,
        all(map(is_meant, company.near)),
        tuple((key, frozenset(found)) for key, found in sorted(refused.items())),
        tuple((key, frozenset(found.items())) for key, found in sorted(liked.items())),
    )


@dataclass(slots=True)
class Count:
    """One thing that is counted by domain.

    Attributes:
        topology_key: the label that makes the domains.
        tally: which of the tallies counts.
        spread: the constraint that it is for, None for affinity.
        by_host: whether every node is a domain of its own.
        domains: the counts.
    """

    topology_key: str
    tally: int
    spread: SpreadConstraint | None = None
    by_host: bool = field(init=False)
    domains: Domains = field(default_factory=Domains)

    def __post_init__(self) -> None:
        self.by_host = self.topology_key == HOSTNAME


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are equal before the rules.

    Attributes:
        parts: where they stand.
        totals: their totals.
        size: how many they are.
    """

    parts: Parts
    totals: Totals
    size: int


class Criteria:
    """Rules at work: what has to be counted, and what follows from the totals.

    Attributes:
        tallies: what counts on a node; several counts may share one.
        counts: what is added up by domain.
        refuses: whether nodes may be refused.
        has_scores: whether some may be liked more than others.
    """

    def __init__(self, rules: Rules, namespaces: Namespaces) -> None:
        self.rules = rules
        self.tallies: list[Tally] = []
        self.counts: list[Count] = []
        self._namespaces = namespaces
        selectors = dict.fromkeys(constraint.selector for constraint in rules.spread)
        spread = {selector: self._tally(self._spread_tally(selector.matches)) for selector in selectors}
        added = [(c, self._count(c.topology_key, spread[c.selector], c)) for c in rules.spread]
        self._hard = [(constraint, index) for constraint, index in added if constraint.hard]
        self._soft = [(constraint, index) for constraint, index in added if not constraint.hard]
        self._near = self._near_counts(rules.company.near)
        self._far = [self._count(t.topology_key, self._tally(self._pod_tally([t]))) for t in rules.company.far]
        self._refused = [
            self._count(key, self._tally(CompanyTally(dict.fromkeys(found, 1)))) for key, found in rules.refused
        ]
        self._liked = self._liked_counts()
        self.refuses = bool(self._hard or self._near or self._far or self._refused)
        self.has_scores = bool(self._soft or self._liked)

    def matters(self, info: PodInfo) -> bool:
        """Whether pods of a kind make a difference to any count."""
        return any(tally.weight(info) for tally in self.tallies)

    # -- what is counted

    def _tally(self, tally: Tally) -> int:
        self.tallies.append(tally)
        return len(self.tallies) - 1

    def _count(self, key: str, tally: int, spread: SpreadConstraint | None = None) -> int:
        self.counts.append(Count(key, tally, spread))
        return len(self.counts) - 1

    def _spread_tally(self, selects: Callable[[Mapping[str, str]], bool]) -> Tally:
        namespace = self.rules.namespace
        return PodTally.of(lambda info: info.namespace == namespace and selects(info.labels), with_leaving=False)

    def _pod_tally(self, terms: Sequence[PodTerm]) -> Tally:
        """Counts pods that all of the terms mean."""
        return PodTally.of(lambda info: all(self._is_meant(term, info) for term in terms), with_leaving=True)

    def _is_meant(self, term: PodTerm, info: PodInfo) -> bool:
        of_namespace = self._namespaces.get(info.namespace, _NO_LABELS)
        return term.matches(info.labels, info.namespace, of_namespace=of_namespace)

    def _near_counts(self, terms: tuple[PodTerm, ...]) -> list[int]:
        if not terms:
            return []
        tally = self._tally(self._pod_tally(terms))
        return [self._count(term.topology_key, tally) for term in terms]

    def _liked_counts(self) -> list[int]:
        """What makes a node liked, by label: the pod's own wishes and those of the pods there."""
        parts: dict[str, list[Tally]] = {}
        for term in self.rules.company.preferred:
            parts.setdefault(term.topology_key, []).append(PodTally.of(self._liking(term), with_leaving=True))
        for key, found in self.rules.liked:
            parts.setdefault(key, []).append(CompanyTally(dict(found)))
        return [self._count(key, self._tally(SumTally(tuple(found)))) for key, found in parts.items()]

    def _liking(self, term: PodTerm) -> Callable[[PodInfo], int]:
        return lambda info: term.weight if self._is_meant(term, info) else 0

    # -- what follows

    def refusal(self, totals: Totals) -> Status | None:
        """Why nodes with these totals do not suit, None if they do (PodTopologySpread, then InterPodAffinity)."""
        for constraint, index in self._hard:
            total = totals[index]
            if total is None:
                return _NO_LABEL
            domains = self.counts[index].domains
            least = min(domains.least, total) if len(domains) >= constraint.min_domains else 0
            if total + constraint.itself - least > constraint.max_skew:
                return _SKEWED
        if self._near and not self._is_near(totals):
            return _NOT_NEAR
        if any(totals[index] for index in self._far):
            return _NOT_FAR
        return _UNWANTED if any(totals[index] for index in self._refused) else None

    def _is_near(self, totals: Totals) -> bool:
        """Whether all that must be near is; the first of pods that want each other near may go anywhere."""
        found = [totals[index] for index in self._near]
        if None in found:
            return False
        if all(found):
            return True
        return self.rules.suits_itself and not any(self.counts[index].domains for index in self._near)

    def scores(self, groups: Sequence[Group]) -> list[int]:
        """How much the nodes of each group are liked, if all of them suit: 0 to 400."""
        scores = [0] * len(groups)
        if self._soft:
            scores = _added(scores, self._spread_scores(groups))
        if self._liked:
            scores = _added(scores, self._liked_scores(groups))
        return scores

    def _spread_scores(self, groups: Sequence[Group]) -> list[int]:
        """podtopologyspread/scoring.go; a node that misses a label which its pod names is last."""
        heeded = [group for group in groups if not self._is_ignored(group)]
        weights = [(constraint, index, self._weight(index, heeded)) for constraint, index in self._soft]
        raw = {}
        for group in heeded:
            found = 0.0
            for constraint, index, weight in weights:
                if (total := group.totals[index]) is not None:
                    found += total * weight + (constraint.max_skew - 1)
            raw[id(group)] = math.floor(found + 0.5)
        if not raw:
            return [0] * len(groups)
        most, least = max(raw.values()), min(raw.values())
        return [_inverted(raw.get(id(group)), most=most, least=least) for group in groups]

    def _is_ignored(self, group: Group) -> bool:
        return self.rules.needs_all and any(group.totals[index] is None for _, index in self._soft)

    def _weight(self, index: int, groups: Sequence[Group]) -> float:
        """The weight of a domain, more where there are more of them (topologyNormalizingWeight)."""
        if self.counts[index].by_host:
            domains = sum(group.size for group in groups)
        else:
            domains = len({group.parts[index] for group in groups})
        return math.log(domains + 2)

    def _liked_scores(self, groups: Sequence[Group]) -> list[int]:
        """interpodaffinity/scoring.go."""
        raw = [sum(group.totals[index] or 0 for index in self._liked) for group in groups]
        most, least = max(raw), min(raw)
        return [int(100 * ((score - least) / (most - least))) if most > least else 0 for score in raw]


def _inverted(score: int | None, *, most: int, least: int) -> int:
    """The fewer pods, the better; None is a node that does not count."""
    if score is None:
        return 0
    return 100 * (most + least - score) // most if most else 100


def _added(scores: Sequence[int], more: Sequence[int]) -> list[int]:
    """Scores with more of them added, which count twice (the weight of both plug-ins)."""
    return [score + 2 * other for score, other in zip(scores, more, strict=True)]
