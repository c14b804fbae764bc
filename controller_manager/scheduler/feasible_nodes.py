"""Feasible nodes and their scores for pods with the same scheduling requirements, updated incrementally.

Nodes with equal taints, preferences and domains share a bucket, where the filters and scores that depend on those are
evaluated once for all of them, and which is ordered by free resources. A decision looks at the first node of each
bucket. So its time grows with the number of buckets, not of nodes, and all nodes count, where upstream takes a sample.

For example, of 1,000 nodes in zones a and b, 10 in b have a taint PreferNoSchedule. For a pod with a spread constraint
over zones there are three buckets, each a heap whose first entry is the node with the best score:

    (zone a, no disliked taint)   500 nodes: n17 (93), n4 (91), …
    (zone b, no disliked taint)   490 nodes: n802 (95), …
    (zone b, 1 disliked taint)     10 nodes: n999 (97), …

Placing a pod compares n17, n802 and n999 with what their zones and taints add; the node that gets it moves within its
bucket, and no other node is looked at.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import compress, count
from typing import NamedTuple, TypeAlias

from controller_manager.scheduler.node_affinity import count_prefer_no_schedule, has_untolerated_taint
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_affinity import (
    DomainCount,
    Namespaces,
    NodeGroup,
    TopologyCriteria,
    TopologyRules,
    Totals,
)
from controller_manager.scheduler.pod_info import PodInfo, PodRequirements
from controller_manager.scheduler.status import NODE_AFFINITY, NODE_UNSCHEDULABLE, TAINT_TOLERATION, Status
from controller_manager.scheduler.topology import SpreadConstraint

NodeFilter: TypeAlias = Callable[[NodeInfo], Status | None]
"""A filter of one pod alone, such as its volumes: returns why a node does not suit, None if it does."""

_OTHER_NAME = Status((f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY}]",), NODE_AFFINITY)
_CORDONED = Status(("node(s) were unschedulable",), NODE_UNSCHEDULABLE)
_TAINTED = Status(("node(s) had untolerated taint(s)",), TAINT_TOLERATION)
_OTHER_LABELS = Status(("node(s) didn't match Pod's node affinity/selector",), NODE_AFFINITY)

_MAX_OUTDATED = 16
_MAX_CACHED = 4096


class _BucketKey(NamedTuple):
    """The properties that nodes of a bucket share: disliked taints, weight of the preferences, and domains."""

    disliked: int
    preferred: int
    parts: tuple[str | int | None, ...]


class _Entry(NamedTuple):
    """A node in a bucket's heap, the best first; it is out of date if its serial is not the node's current one."""

    score: int
    pods: int
    order: int
    serial: int
    state: "_NodeState"

    @property
    def is_current(self) -> bool:
        """True if the entry is not out of date."""
        return self.state.serial == self.serial


@dataclass(slots=True)
class _Bucket:
    key: _BucketKey
    entries: list[_Entry] = field(default_factory=list)
    size: int = 0

    def push(self, entry: _Entry) -> None:
        """Add a node, and drop entries that are out of date when there are too many of them."""
        if len(self.entries) > _MAX_OUTDATED + 4 * self.size:
            self.entries = [known for known in self.entries if known.is_current]
            heapify(self.entries)
        heappush(self.entries, entry)

    def best(self, volume_filter: NodeFilter | None) -> _Entry | None:
        """Return the best node that the filter of the pod's volumes accepts, None if it accepts none."""
        while not self.entries[0].is_current:
            heappop(self.entries)
        if volume_filter is None or volume_filter(self.entries[0].state.node) is None:
            return self.entries[0]
        current = sorted(entry for entry in self.entries if entry.is_current)
        return next((entry for entry in current if volume_filter(entry.state.node) is None), None)


@dataclass(slots=True, eq=False)
class _NodeState:
    """The state of a node for these pods.

    Attributes:
        stamp: the node's stamp when its labels and taints were evaluated.
        refusal: why the node itself does not suit.
        values: for each count the node's domain, None if it has none.
        counts_in: for each count True if the node's pods count.
        counted: for each count the number that the node adds to its domain.
        serial: the serial of its valid entry in its bucket.
    """

    node: NodeInfo
    stamp: int
    refusal: Status | None
    disliked: int
    preferred: int
    values: Sequence[str | None]
    counts_in: Sequence[bool]
    counted: list[int]
    bucket: _Bucket | None = None
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why no node suits.

    Attributes:
        nodes: the number of nodes.
        reasons: reason → number of nodes.
        plugins: the plug-ins that refused them.
        resolvable: the nodes that might suit if pods were preempted.
    """

    nodes: int
    reasons: Counter[str]
    plugins: frozenset[str]
    resolvable: Sequence[NodeInfo]


class FeasibleNodes:
    """The nodes for pods with the same requirements and the same rules.

    Attributes:
        journal_position: the position in the Cluster's journal of changes up to which this is current, -1 at first;
            set by the Cluster.
    """

    def __init__(self, requirements: PodRequirements, rules: TopologyRules, *, namespaces: Namespaces) -> None:
        self.journal_position = -1
        self._requirements = requirements
        self._criteria = TopologyCriteria(rules, namespaces)
        self._states: dict[NodeInfo, _NodeState] = {}
        self._buckets: dict[_BucketKey, _Bucket] = {}
        self._serials = count(1)
        self._affected_by: dict[PodInfo, bool] = {}
        self._spread_keys = _topology_keys(rules.spread) if rules.needs_all else {}

    def __len__(self) -> int:
        return len(self._states)

    @property
    def nodes(self) -> Iterable[NodeInfo]:
        """All nodes, including those that do not suit."""
        return self._states

    # -- keeping up

    def is_affected_by(self, info: PodInfo) -> bool:
        """Return True if pods with this PodInfo do more to a node than use its resources."""
        known = self._affected_by.get(info)
        if known is None:
            if len(self._affected_by) >= _MAX_CACHED:
                self._affected_by.clear()
            known = self._affected_by[info] = self._criteria.is_affected_by(info)
        return known

    def update(self, nodes: Mapping[NodeInfo, bool]) -> None:
        """Evaluate nodes again.

        Args:
            nodes: node → False if only its free resources have changed.
        """
        for node, whole in nodes.items():
            state = self._states.get(node)
            if state is not None and not whole and state.bucket is not None and node.has_room(self._requirements):
                self._rank(state, state.bucket)
                continue
            if state is not None and state.stamp != node.stamp:
                self._remove_node(state)
                state = None
            if not node.exists:
                continue
            if state is None:
                state = self._states[node] = self._evaluate(node)
            if state.counted:
                self._recount(state)
            self._enter_bucket(state)

    def _remove_node(self, state: _NodeState) -> None:
        del self._states[state.node]
        self._leave_bucket(state)
        for index, domain_count in enumerate(self._criteria.counts):
            if state.counts_in[index]:
                value = state.values[index]
                assert value is not None
                domain_count.domains.add_count(value, -state.counted[index])
                domain_count.domains.remove_node(value)

    def _evaluate(self, node: NodeInfo) -> _NodeState:
        """Evaluate the node itself; its pods are not counted yet."""
        requirements, counts = self._requirements, self._criteria.counts
        values = [node.labels.get(domain_count.topology_key) for domain_count in counts]
        counts_in = [self._is_counted(node, domain_count) for domain_count in counts]
        for domain_count, value, counted in zip(counts, values, counts_in, strict=True):
            if counted and value is not None:
                domain_count.domains.add_node(value)
        return _NodeState(
            node,
            node.stamp,
            self._refusal(node),
            count_prefer_no_schedule(node.taints, requirements.tolerations),
            requirements.affinity.weight(node.labels, node.name) if requirements.affinity.preferred else 0,
            values,
            counts_in,
            [0] * len(counts),
        )

    def _refusal(self, node: NodeInfo) -> Status | None:
        """Apply NodeAffinity's names, NodeUnschedulable, TaintToleration, and NodeAffinity."""
        requirements = self._requirements
        if requirements.names is not None and node.name not in requirements.names:
            return _OTHER_NAME
        if node.unschedulable and not requirements.tolerates_cordon:
            return _CORDONED
        if node.taints and has_untolerated_taint(node.taints, requirements.tolerations):
            return _TAINTED
        return None if requirements.affinity.matches(node.labels, node.name) else _OTHER_LABELS

    def _is_counted(self, node: NodeInfo, domain_count: DomainCount) -> bool:
        """Return True if the node's pods count (matchNodeInclusionPolicies, nodeLabelsMatchSpreadConstraints)."""
        if domain_count.topology_key not in node.labels:
            return False
        constraint, requirements = domain_count.spread, self._requirements
        if constraint is None:
            return True
        if any(key not in node.labels for key in self._spread_keys.get(constraint.hard, ())):
            return False
        if constraint.honors_affinity and not requirements.affinity.matches(node.labels, node.name):
            return False
        return not (constraint.honors_taints and has_untolerated_taint(node.taints, requirements.tolerations))

    def _recount(self, state: _NodeState) -> None:
        node_counts = [tally(state.node) for tally in self._criteria.tallies]
        for index, domain_count in enumerate(self._criteria.counts):
            change = node_counts[domain_count.tally] - state.counted[index]
            if change and state.counts_in[index]:
                value = state.values[index]
                assert value is not None
                domain_count.domains.add_count(value, change)
                state.counted[index] += change

    def _enter_bucket(self, state: _NodeState) -> None:
        """Move the node into its bucket, or out of all if it does not suit."""
        node = state.node
        if state.refusal is not None or not node.has_room(self._requirements):
            self._leave_bucket(state)
            return
        key = _BucketKey(state.disliked, state.preferred, self._domains_of(state))
        bucket = state.bucket
        if bucket is None or bucket.key != key:
            self._leave_bucket(state)
            bucket = self._buckets.get(key)
            if bucket is None:
                bucket = self._buckets[key] = _Bucket(key)
            bucket.size += 1
            state.bucket = bucket
        self._rank(state, bucket)

    def _rank(self, state: _NodeState, bucket: _Bucket) -> None:
        node = state.node
        state.serial = next(self._serials)
        bucket.push(_Entry(-node.score(self._requirements), node.pods, node.order, state.serial, state))

    def _domains_of(self, state: _NodeState) -> tuple[str | int | None, ...]:
        """Return the node's domains; for a count by host the count, so that hosts with equal counts share a bucket."""
        if not state.values:
            return ()
        return tuple(
            domain_count.domains.totals.get(value, 0) if domain_count.by_host and value is not None else value
            for domain_count, value in zip(self._criteria.counts, state.values, strict=True)
        )

    def _leave_bucket(self, state: _NodeState) -> None:
        state.serial = 0
        if (bucket := state.bucket) is not None:
            state.bucket = None
            bucket.size -= 1
            if not bucket.size:
                del self._buckets[bucket.key]

    # -- deciding

    def best_node(self, volume_filter: NodeFilter | None = None) -> NodeInfo | None:
        """Return the best node, None if none suits.

        Args:
            volume_filter: returns why the pod's volumes rule a node out, None if they do not.
        """
        buckets = list(self._buckets.values())
        scores = [0] * len(buckets)
        if self._criteria.can_refuse or len(buckets) > 1:
            groups = [self._group(bucket) for bucket in buckets]
            if self._criteria.can_refuse:
                suits = [self._criteria.refusal(group.totals) is None for group in groups]
                buckets, groups = list(compress(buckets, suits)), list(compress(groups, suits))
            scores = self._scores(buckets, groups)
        best: _Entry | None = None
        for bucket, liked in zip(buckets, scores, strict=True):
            entry = bucket.best(volume_filter)
            if entry is None:
                continue
            entry = entry._replace(score=entry.score - liked)
            if best is None or entry < best:
                best = entry
        return None if best is None else best.state.node

    def _group(self, bucket: _Bucket) -> NodeGroup:
        parts = bucket.key.parts
        totals = [
            part if part is None or isinstance(part, int) else domain_count.domains.totals.get(part, 0)
            for domain_count, part in zip(self._criteria.counts, parts, strict=True)
        ]
        return NodeGroup(parts, totals, bucket.size)

    def _scores(self, buckets: Sequence[_Bucket], groups: Sequence[NodeGroup]) -> list[int]:
        """Return a score for each bucket, weighted like upstream: taints 3, node preferences 2, other pods 2."""
        keys = [bucket.key for bucket in buckets]
        scores = self._criteria.scores(groups) if self._criteria.has_scores and groups else [0] * len(keys)
        if most := max((key.disliked for key in keys), default=0):
            scores = [s + 3 * (100 - 100 * key.disliked // most) for s, key in zip(scores, keys, strict=True)]
        if most := max((key.preferred for key in keys), default=0):
            scores = [s + 2 * (100 * key.preferred // most) for s, key in zip(scores, keys, strict=True)]
        return scores

    # -- explaining

    def status(
        self, node: NodeInfo, *, origin: NodeInfo | None = None, volume_filter: NodeFilter | None = None
    ) -> Status | None:
        """Return why a node does not suit, None if it does; the first plug-in that refuses decides.

        Args:
            node: one of these nodes, or a copy of it with other pods.
            origin: the node that it is a copy of.
            volume_filter: returns why the pod's volumes rule a node out, None if they do not.
        """
        state = self._states[origin or node]
        if state.refusal is not None:
            return state.refusal
        if (lacking := node.reason_not_to_fit(self._requirements)) is not None:
            return lacking
        if volume_filter is not None and (unaccepted := volume_filter(node)) is not None:
            return unaccepted
        return self._criteria.refusal(self._totals(state, node)) if state.values else None

    def _totals(self, state: _NodeState, node: NodeInfo) -> Totals:
        node_counts = [tally(node) for tally in self._criteria.tallies]
        totals: list[int | None] = []
        for index, domain_count in enumerate(self._criteria.counts):
            value = state.values[index]
            if value is None:
                totals.append(None)
            else:
                change = node_counts[domain_count.tally] - state.counted[index] if state.counts_in[index] else 0
                totals.append(domain_count.domains.totals.get(value, 0) + change)
        return totals

    def diagnose(self, volume_filter: NodeFilter | None = None) -> Diagnosis:
        """Return why the nodes do not suit."""
        reasons: Counter[str] = Counter()
        plugins: set[str] = set()
        resolvable = []
        for node in self._states:
            status = self.status(node, volume_filter=volume_filter)
            if status is None:
                continue
            reasons.update(status.reasons)
            plugins.add(status.plugin)
            if status.resolvable:
                resolvable.append(node)
        return Diagnosis(len(self._states), reasons, frozenset(plugins), resolvable)


def _topology_keys(spread: Iterable[SpreadConstraint]) -> dict[bool, list[str]]:
    """Return the topology keys of hard constraints (True) and of the others."""
    keys: dict[bool, list[str]] = {True: [], False: []}
    for constraint in spread:
        keys[constraint.hard].append(constraint.topology_key)
    return keys
