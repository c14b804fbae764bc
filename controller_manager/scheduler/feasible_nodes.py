"""All nodes before the eyes of pods that are alike: which suit, and the best of them, kept up to date node by node.

What is the same for many nodes is judged once for all of them. Nodes with equal taints, preferences and domains share a
bucket, in which they are ordered by what they have left; a decision looks at the first node of each bucket. So it takes
time with the number of buckets, not of nodes, and every node counts, where upstream looks at a sample of them.

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

from controller_manager.scheduler.node_affinity import disliked, untolerated
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_affinity import Count, Criteria, Group, Namespaces, Rules, Totals
from controller_manager.scheduler.pod_info import PodInfo, Shape
from controller_manager.scheduler.status import NODE_AFFINITY, NODE_UNSCHEDULABLE, TAINT_TOLERATION, Status
from controller_manager.scheduler.topology import SpreadConstraint

Accepts: TypeAlias = Callable[[NodeInfo], Status | None]
"""A filter of one pod's own, such as its volumes: why a node does not suit, None if it does."""

_NOT_NAMED = Status((f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY}]",), NODE_AFFINITY)
_CORDONED = Status(("node(s) were unschedulable",), NODE_UNSCHEDULABLE)
_TAINTED = Status(("node(s) had untolerated taint(s)",), TAINT_TOLERATION)
_OTHER_LABELS = Status(("node(s) didn't match Pod's node affinity/selector",), NODE_AFFINITY)

_SLACK = 16
_REMEMBERED = 4096


class _Key(NamedTuple):
    """What nodes of a bucket have in common: taints that are disliked, weight of what is preferred, domains."""

    disliked: int
    preferred: int
    parts: tuple[str | int | None, ...]


class _Entry(NamedTuple):
    """A node in a bucket, the best the smallest; one whose serial is not its place's any more is out of date."""

    score: int
    pods: int
    order: int
    serial: int
    place: "_Place"

    @property
    def is_current(self) -> bool:
        """Whether this is where the node is."""
        return self.place.serial == self.serial


@dataclass(slots=True)
class _Bucket:
    key: _Key
    entries: list[_Entry] = field(default_factory=list)
    size: int = 0

    def push(self, entry: _Entry) -> None:
        """Put a node in, and what is out of date out when there is too much of it."""
        if len(self.entries) > _SLACK + 4 * self.size:
            self.entries = [known for known in self.entries if known.is_current]
            heapify(self.entries)
        heappush(self.entries, entry)

    def best(self, accepts: Accepts | None) -> _Entry | None:
        """The best node that the pod's own filter lets through."""
        while not self.entries[0].is_current:
            heappop(self.entries)
        if accepts is None or accepts(self.entries[0].place.node) is None:
            return self.entries[0]
        current = sorted(entry for entry in self.entries if entry.is_current)
        return next((entry for entry in current if accepts(entry.place.node) is None), None)


@dataclass(slots=True, eq=False)
class _Place:
    """What the board knows of a node.

    Attributes:
        stamp: of the node, when its labels and taints were looked at.
        refusal: why the node itself does not suit.
        values: for each count the node's domain, None for none.
        counts_in: for each whether the node's pods count.
        counted: for each what was counted.
        serial: of its entry in its bucket.
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
        nodes: how many there are.
        reasons: how many of them have which.
        plugins: who refused them.
        resolvable: the nodes that might suit if pods went.
    """

    nodes: int
    reasons: Counter[str]
    plugins: frozenset[str]
    resolvable: Sequence[NodeInfo]


class Board:
    """The nodes for pods of one shape under the same rules.

    Attributes:
        seen: how far in the journal of changes the board has come, -1 at first; its keeper's business.
    """

    def __init__(self, shape: Shape, rules: Rules, *, namespaces: Namespaces) -> None:
        self.seen = -1
        self._shape = shape
        self._criteria = Criteria(rules, namespaces)
        self._places: dict[NodeInfo, _Place] = {}
        self._buckets: dict[_Key, _Bucket] = {}
        self._serials = count(1)
        self._matters: dict[PodInfo, bool] = {}
        self._spread_keys = _keys(rules.spread) if rules.needs_all else {}

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nodes(self) -> Iterable[NodeInfo]:
        """The nodes that it knows."""
        return self._places

    # -- keeping up

    def matters(self, info: PodInfo) -> bool:
        """Whether pods of a kind do more to a node than to take room."""
        known = self._matters.get(info)
        if known is None:
            if len(self._matters) >= _REMEMBERED:
                self._matters.clear()
            known = self._matters[info] = self._criteria.matters(info)
        return known

    def settle(self, nodes: Mapping[NodeInfo, bool]) -> None:
        """Look at nodes again.

        Args:
            nodes: False where nothing but the room has changed, by pods that do not matter otherwise.
        """
        for node, whole in nodes.items():
            place = self._places.get(node)
            if place is not None and not whole and place.bucket is not None and node.has_room(self._shape):
                self._rank(place, place.bucket)
                continue
            if place is not None and place.stamp != node.stamp:
                self._drop(place)
                place = None
            if not node.exists:
                continue
            if place is None:
                place = self._places[node] = self._survey(node)
            if place.counted:
                self._recount(place)
            self._file(place)

    def _drop(self, place: _Place) -> None:
        del self._places[place.node]
        self._take_out(place)
        for index, known in enumerate(self._criteria.counts):
            if place.counts_in[index]:
                value = place.values[index]
                assert value is not None
                known.domains.add(value, -place.counted[index])
                known.domains.leave(value)

    def _survey(self, node: NodeInfo) -> _Place:
        """What follows from the node itself; its pods are not counted yet."""
        shape, counts = self._shape, self._criteria.counts
        values = [node.labels.get(known.topology_key) for known in counts]
        counts_in = [self._is_counted(node, known) for known in counts]
        for known, value, counted in zip(counts, values, counts_in, strict=True):
            if counted and value is not None:
                known.domains.join(value)
        return _Place(
            node,
            node.stamp,
            self._refusal(node),
            disliked(node.taints, shape.tolerations),
            shape.affinity.weight(node.labels, node.name) if shape.affinity.preferred else 0,
            values,
            counts_in,
            [0] * len(counts),
        )

    def _refusal(self, node: NodeInfo) -> Status | None:
        """NodeAffinity's names, NodeUnschedulable, TaintToleration, NodeAffinity."""
        shape = self._shape
        if shape.names is not None and node.name not in shape.names:
            return _NOT_NAMED
        if node.unschedulable and not shape.ignores_cordon:
            return _CORDONED
        if node.taints and untolerated(node.taints, shape.tolerations):
            return _TAINTED
        return None if shape.affinity.matches(node.labels, node.name) else _OTHER_LABELS

    def _is_counted(self, node: NodeInfo, known: Count) -> bool:
        """Whether the node's pods count (matchNodeInclusionPolicies, nodeLabelsMatchSpreadConstraints)."""
        if known.topology_key not in node.labels:
            return False
        constraint, shape = known.spread, self._shape
        if constraint is None:
            return True
        if any(key not in node.labels for key in self._spread_keys.get(constraint.hard, ())):
            return False
        if constraint.heeds_affinity and not shape.affinity.matches(node.labels, node.name):
            return False
        return not (constraint.heeds_taints and untolerated(node.taints, shape.tolerations))

    def _recount(self, place: _Place) -> None:
        found = [tally(place.node) for tally in self._criteria.tallies]
        for index, known in enumerate(self._criteria.counts):
            change = found[known.tally] - place.counted[index]
            if change and place.counts_in[index]:
                value = place.values[index]
                assert value is not None
                known.domains.add(value, change)
                place.counted[index] += change

    def _file(self, place: _Place) -> None:
        """Put the node into the bucket where it belongs now, or into none."""
        node = place.node
        if place.refusal is not None or not node.has_room(self._shape):
            self._take_out(place)
            return
        key = _Key(place.disliked, place.preferred, self._parts(place))
        bucket = place.bucket
        if bucket is None or bucket.key != key:
            self._take_out(place)
            bucket = self._buckets.get(key)
            if bucket is None:
                bucket = self._buckets[key] = _Bucket(key)
            bucket.size += 1
            place.bucket = bucket
        self._rank(place, bucket)

    def _rank(self, place: _Place, bucket: _Bucket) -> None:
        node = place.node
        place.serial = next(self._serials)
        bucket.push(_Entry(-node.score(self._shape), node.pods, node.order, place.serial, place))

    def _parts(self, place: _Place) -> tuple[str | int | None, ...]:
        """Where the node stands; by host the total itself, so that hosts with equal totals share a bucket."""
        if not place.values:
            return ()
        return tuple(
            known.domains.totals.get(value, 0) if known.by_host and value is not None else value
            for known, value in zip(self._criteria.counts, place.values, strict=True)
        )

    def _take_out(self, place: _Place) -> None:
        place.serial = 0
        if (bucket := place.bucket) is not None:
            place.bucket = None
            bucket.size -= 1
            if not bucket.size:
                del self._buckets[bucket.key]

    # -- deciding

    def choose(self, accepts: Accepts | None = None) -> NodeInfo | None:
        """The best node, None where none suits.

        Args:
            accepts: a filter of the pod's own.
        """
        buckets = list(self._buckets.values())
        scores = [0] * len(buckets)
        if self._criteria.refuses or len(buckets) > 1:
            groups = [self._group(bucket) for bucket in buckets]
            if self._criteria.refuses:
                suits = [self._criteria.refusal(group.totals) is None for group in groups]
                buckets, groups = list(compress(buckets, suits)), list(compress(groups, suits))
            scores = self._scores(buckets, groups)
        best: _Entry | None = None
        for bucket, liked in zip(buckets, scores, strict=True):
            entry = bucket.best(accepts)
            if entry is None:
                continue
            entry = entry._replace(score=entry.score - liked)
            if best is None or entry < best:
                best = entry
        return None if best is None else best.place.node

    def _group(self, bucket: _Bucket) -> Group:
        parts = bucket.key.parts
        totals = [
            part if part is None or isinstance(part, int) else known.domains.totals.get(part, 0)
            for known, part in zip(self._criteria.counts, parts, strict=True)
        ]
        return Group(parts, totals, bucket.size)

    def _scores(self, buckets: Sequence[_Bucket], groups: Sequence[Group]) -> list[int]:
        """How much each is liked, in the weights of upstream: taints 3, preferences 2, other pods 2."""
        keys = [bucket.key for bucket in buckets]
        scores = self._criteria.scores(groups) if self._criteria.has_scores and groups else [0] * len(keys)
        if most := max((key.disliked for key in keys), default=0):
            scores = [s + 3 * (100 - 100 * key.disliked // most) for s, key in zip(scores, keys, strict=True)]
        if most := max((key.preferred for key in keys), default=0):
            scores = [s + 2 * (100 * key.preferred // most) for s, key in zip(scores, keys, strict=True)]
        return scores

    # -- explaining

    def status(
        self, node: NodeInfo, *, origin: NodeInfo | None = None, accepts: Accepts | None = None
    ) -> Status | None:
        """Why a node does not suit, None if it does; the first plug-in that refuses tells.

        Args:
            node: a node of the board, or a copy of it with other pods.
            origin: the node that it is a copy of.
            accepts: a filter of the pod's own.
        """
        place = self._places[origin or node]
        if place.refusal is not None:
            return place.refusal
        if (lacking := node.refusal(self._shape)) is not None:
            return lacking
        if accepts is not None and (unaccepted := accepts(node)) is not None:
            return unaccepted
        return self._criteria.refusal(self._totals(place, node)) if place.values else None

    def _totals(self, place: _Place, node: NodeInfo) -> Totals:
        found = [tally(node) for tally in self._criteria.tallies]
        totals: list[int | None] = []
        for index, known in enumerate(self._criteria.counts):
            value = place.values[index]
            if value is None:
                totals.append(None)
            else:
                change = found[known.tally] - place.counted[index] if place.counts_in[index] else 0
                totals.append(known.domains.totals.get(value, 0) + change)
        return totals

    def diagnose(self, accepts: Accepts | None = None) -> Diagnosis:
        """Why no node suits."""
        reasons: Counter[str] = Counter()
        plugins: set[str] = set()
        resolvable = []
        for node in self._places:
            status = self.status(node, accepts=accepts)
            if status is None:
                continue
            reasons.update(status.reasons)
            plugins.add(status.plugin)
            if status.resolvable:
                resolvable.append(node)
        return Diagnosis(len(self._places), reasons, frozenset(plugins), resolvable)


def _keys(spread: Iterable[SpreadConstraint]) -> dict[bool, list[str]]:
    """The labels of hard constraints (True) and of the others."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for constraint in spread:
        found[constraint.hard].append(constraint.topology_key)
    return found
