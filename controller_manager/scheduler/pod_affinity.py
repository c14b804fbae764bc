"""Rules between pods: topology spread and the affinity of the pod and of those that run, as filters and scores.

Nodes that are equal otherwise are judged together, by their totals: for each count of the rules the number of pods in
the node's domain that matter, None if the node has no such domain.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from apiserver.api.nodes import HOSTNAME
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.status import INTER_POD_AFFINITY, POD_TOPOLOGY_SPREAD, Status
from controller_manager.scheduler.topology import PodAffinity, PodTerm, SpreadConstraint
from controller_manager.scheduler.topology_counts import AffinityTally, Domains, PodTally, SumTally, Tally

Totals: TypeAlias = Sequence[int | None]
BucketParts: TypeAlias = Sequence[str | int | None]
"""For each count a node's position: the value of the label, or for a count by host the total itself."""
Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
"""Namespace → its labels."""

_MISSING_LABEL = Status(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), POD_TOPOLOGY_SPREAD
)
_SKEWED = Status(("node(s) didn't match pod topology spread constraints",), POD_TOPOLOGY_SPREAD, resolvable=True)
_AFFINITY_NOT_MET = Status(("node(s) didn't match pod affinity rules",), INTER_POD_AFFINITY)
_ANTI_AFFINITY_NOT_MET = Status(("node(s) didn't match pod anti-affinity rules",), INTER_POD_AFFINITY, resolvable=True)
_EXISTING_ANTI_AFFINITY = Status(
    ("node(s) didn't satisfy existing pods anti-affinity rules",), INTER_POD_AFFINITY, resolvable=True
)

_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class TopologyRules:
    """The rules for a pod, with everything looked up that they depend on.

    Attributes:
        spread: topology spread constraints, the pod's own or the default ones.
        namespace: the namespace of the pods that these count.
        needs_all: True if a node counts only if it has the labels of all constraints; False for the default ones.
        pod_affinity: the pod's affinity and anti-affinity.
        matches_own_affinity: True if the pod matches its own required affinity.
        existing_anti_affinity: topology key → affinities of running pods whose required anti-affinity matches this pod.
        existing_preferred: topology key → affinities of running pods that match this pod, each with its weight.
    """

    spread: tuple[SpreadConstraint, ...]
    namespace: str
    needs_all: bool
    pod_affinity: PodAffinity
    matches_own_affinity: bool
    existing_anti_affinity: tuple[tuple[str, frozenset[PodAffinity]], ...]
    existing_preferred: tuple[tuple[str, frozenset[tuple[PodAffinity, int]]], ...]


def rules_of(
    info: PodInfo, *, default: tuple[SpreadConstraint, ...], others: Iterable[PodAffinity], namespaces: Namespaces
) -> TopologyRules:
    """Return the rules for a pod.

    Args:
        info: the pod.
        default: constraints for a pod that has none itself.
        others: the affinities of the pods on nodes.
        namespaces: the labels of all namespaces.
    """
    labels, namespace, pod_affinity = info.labels, info.namespace, info.pod_affinity
    of_namespace = namespaces.get(namespace, _NO_LABELS)

    def is_meant(term: PodTerm) -> bool:
        return term.matches(labels, namespace, of_namespace=of_namespace)

    refused: dict[str, set[PodAffinity]] = {}
    liked: dict[str, dict[PodAffinity, int]] = {}
    for other in others:
        for term in filter(is_meant, other.anti_affinity):
            refused.setdefault(term.topology_key, set()).add(other)
        weighted_terms = [(term, 1) for term in other.affinity] + [(term, term.weight) for term in other.preferred]
        for term, weight in weighted_terms:
            if weight and is_meant(term):
                weights = liked.setdefault(term.topology_key, {})
                weights[other] = weights.get(other, 0) + weight
    return TopologyRules(
        info.spread or default,
        namespace if info.spread or default else "",
        bool(info.spread),
        pod_affinity,
        all(map(is_meant, pod_affinity.affinity)),
        tuple((key, frozenset(affinities)) for key, affinities in sorted(refused.items())),
        tuple((key, frozenset(affinities.items())) for key, affinities in sorted(liked.items())),
    )


@dataclass(slots=True)
class DomainCount:
    """A number of pods that is counted per domain.

    Attributes:
        topology_key: the label that makes the domains.
        tally: the index of the tally that counts.
        spread: the constraint that it belongs to, None for affinity.
        by_host: True if every node is a domain of its own.
        domains: the counts per domain.
    """

    topology_key: str
    tally: int
    spread: SpreadConstraint | None = None
    by_host: bool = field(init=False)
    domains: Domains = field(default_factory=Domains)

    def __post_init__(self) -> None:
        self.by_host = self.topology_key == HOSTNAME


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are equal for the rules.

    Attributes:
        parts: their position for each count.
        totals: their total for each count.
        size: the number of nodes.
    """

    parts: BucketParts
    totals: Totals
    size: int


class TopologyCriteria:
    """Evaluates rules: keeps counts, and derives refusals and scores from totals.

    Attributes:
        tallies: count pods on a node; several counts may share one.
        counts: the sums per domain.
        can_refuse: True if the rules can refuse nodes.
        has_scores: True if the rules give scores.
    """

    def __init__(self, rules: TopologyRules, namespaces: Namespaces) -> None:
        self.rules = rules
        self.tallies: list[Tally] = []
        self.counts: list[DomainCount] = []
        self._namespaces = namespaces
        selectors = dict.fromkeys(constraint.selector for constraint in rules.spread)
        spread = {selector: self._tally(self._spread_tally(selector.matches)) for selector in selectors}
        added = [(c, self._count(c.topology_key, spread[c.selector], c)) for c in rules.spread]
        self._hard = [(constraint, index) for constraint, index in added if constraint.hard]
        self._soft = [(constraint, index) for constraint, index in added if not constraint.hard]
        self._affinity = self._affinity_counts(rules.pod_affinity.affinity)
        self._anti_affinity = [
            self._count(t.topology_key, self._tally(self._pod_tally([t]))) for t in rules.pod_affinity.anti_affinity
        ]
        self._existing_anti_affinity = [
            self._count(key, self._tally(AffinityTally(dict.fromkeys(affinities, 1))))
            for key, affinities in rules.existing_anti_affinity
        ]
        self._preferred = self._preferred_counts()
        self.can_refuse = bool(self._hard or self._affinity or self._anti_affinity or self._existing_anti_affinity)
        self.has_scores = bool(self._soft or self._preferred)

    def is_affected_by(self, info: PodInfo) -> bool:
        """Return True if pods with this PodInfo change any count."""
        return any(tally.weight(info) for tally in self.tallies)

    # -- counts

    def _tally(self, tally: Tally) -> int:
        self.tallies.append(tally)
        return len(self.tallies) - 1

    def _count(self, key: str, tally: int, spread: SpreadConstraint | None = None) -> int:
        self.counts.append(DomainCount(key, tally, spread))
        return len(self.counts) - 1

    def _spread_tally(self, selects: Callable[[Mapping[str, str]], bool]) -> Tally:
        namespace = self.rules.namespace
        return PodTally.of(lambda info: info.namespace == namespace and selects(info.labels), with_leaving=False)

    def _pod_tally(self, terms: Sequence[PodTerm]) -> Tally:
        """Return a tally of the pods that match all of the terms."""
        return PodTally.of(lambda info: all(self._is_selected(term, info) for term in terms), with_leaving=True)

    def _is_selected(self, term: PodTerm, info: PodInfo) -> bool:
        of_namespace = self._namespaces.get(info.namespace, _NO_LABELS)
        return term.matches(info.labels, info.namespace, of_namespace=of_namespace)

    def _affinity_counts(self, terms: tuple[PodTerm, ...]) -> list[int]:
        if not terms:
            return []
        tally = self._tally(self._pod_tally(terms))
        return [self._count(term.topology_key, tally) for term in terms]

    def _preferred_counts(self) -> list[int]:
        """Add the counts for preferred affinity, by topology key: the pod's own terms and those of the running pods."""
        parts: dict[str, list[Tally]] = {}
        for term in self.rules.pod_affinity.preferred:
            parts.setdefault(term.topology_key, []).append(PodTally.of(self._preferred_weight(term), with_leaving=True))
        for key, tallies in self.rules.existing_preferred:
            parts.setdefault(key, []).append(AffinityTally(dict(tallies)))
        return [self._count(key, self._tally(SumTally(tuple(tallies)))) for key, tallies in parts.items()]

    def _preferred_weight(self, term: PodTerm) -> Callable[[PodInfo], int]:
        return lambda info: term.weight if self._is_selected(term, info) else 0

    # -- filters and scores

    def refusal(self, totals: Totals) -> Status | None:
        """Return why nodes with these totals do not suit, None if they do.

        (PodTopologySpread, then InterPodAffinity)
        """
        for constraint, index in self._hard:
            total = totals[index]
            if total is None:
                return _MISSING_LABEL
            domains = self.counts[index].domains
            least = min(domains.minimum, total) if len(domains) >= constraint.min_domains else 0
            if total + constraint.selects_own_pod - least > constraint.max_skew:
                return _SKEWED
        if self._affinity and not self._is_affinity_met(totals):
            return _AFFINITY_NOT_MET
        if any(totals[index] for index in self._anti_affinity):
            return _ANTI_AFFINITY_NOT_MET
        return _EXISTING_ANTI_AFFINITY if any(totals[index] for index in self._existing_anti_affinity) else None

    def _is_affinity_met(self, totals: Totals) -> bool:
        """Return True if all required affinity is met; the first of pods that want each other near may go anywhere."""
        near_totals = [totals[index] for index in self._affinity]
        if None in near_totals:
            return False
        if all(near_totals):
            return True
        return self.rules.matches_own_affinity and not any(self.counts[index].domains for index in self._affinity)

    def scores(self, groups: Sequence[NodeGroup]) -> list[int]:
        """Return a score of each group if all of them suit: 0 to 400."""
        scores = [0] * len(groups)
        if self._soft:
            scores = _add_weighted(scores, self._spread_scores(groups))
        if self._preferred:
            scores = _add_weighted(scores, self._affinity_scores(groups))
        return scores

    def _spread_scores(self, groups: Sequence[NodeGroup]) -> list[int]:
        """Return podtopologyspread/scoring.go's scores; a node without the label of a constraint of the pod gets 0."""
        heeded = [group for group in groups if not self._is_ignored(group)]
        weights = [(constraint, index, self._weight(index, heeded)) for constraint, index in self._soft]
        raw = {}
        for group in heeded:
            score = 0.0
            for constraint, index, weight in weights:
                if (total := group.totals[index]) is not None:
                    score += total * weight + (constraint.max_skew - 1)
            raw[id(group)] = math.floor(score + 0.5)
        if not raw:
            return [0] * len(groups)
        most, least = max(raw.values()), min(raw.values())
        return [_inverted_score(raw.get(id(group)), most=most, least=least) for group in groups]

    def _is_ignored(self, group: NodeGroup) -> bool:
        return self.rules.needs_all and any(group.totals[index] is None for _, index in self._soft)

    def _weight(self, index: int, groups: Sequence[NodeGroup]) -> float:
        """Return the weight of a domain, which grows with their number (topologyNormalizingWeight)."""
        if self.counts[index].by_host:
            domains = sum(group.size for group in groups)
        else:
            domains = len({group.parts[index] for group in groups})
        return math.log(domains + 2)

    def _affinity_scores(self, groups: Sequence[NodeGroup]) -> list[int]:
        """Return interpodaffinity/scoring.go's scores."""
        raw = [sum(group.totals[index] or 0 for index in self._preferred) for group in groups]
        most, least = max(raw), min(raw)
        return [int(100 * ((score - least) / (most - least))) if most > least else 0 for score in raw]


def _inverted_score(score: int | None, *, most: int, least: int) -> int:
    """Return a score that is higher for fewer pods; 0 for None, which is a node that does not count."""
    if score is None:
        return 0
    return 100 * (most + least - score) // most if most else 100


def _add_weighted(scores: Sequence[int], more: Sequence[int]) -> list[int]:
    """Return the scores plus more scores, which count twice (the weight of both plug-ins)."""
    return [score + 2 * other for score, other in zip(scores, more, strict=True)]
