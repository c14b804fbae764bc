"""Counts of pods per domain, which is the nodes that share the value of a label."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.topology import PodAffinity

_MAX_CACHED = 4096


class Tally(Protocol):
    """Counts something on a node."""

    def __call__(self, node: NodeInfo, /) -> int:
        """Return the count on a node."""

    def weight(self, info: PodInfo, /) -> int:
        """Return the weight of one pod with this PodInfo."""


@dataclass(frozen=True, slots=True)
class PodTally:
    """Counts pods that pass a test.

    Attributes:
        test: returns the weight of pods with a PodInfo, 0 for those that do not count; called once for each.
        with_terminating: True if pods that are being deleted count.
    """

    test: Callable[[PodInfo], int]
    with_terminating: bool
    _known: dict[PodInfo, int]

    @classmethod
    def of(cls, test: Callable[[PodInfo], int], *, with_leaving: bool) -> "PodTally":
        """Return a tally with an empty cache."""
        return cls(test, with_leaving, {})

    def __call__(self, node: NodeInfo, /) -> int:
        """Return the sum of the test's weights over the node's pods."""
        known, total = self._known, 0
        for info, count in node.present.items():
            weight = known.get(info)
            if weight is None:
                weight = self.weight(info)
            if weight:
                total += weight * count
        if node.terminating and not self.with_terminating:
            total -= sum(self.weight(info) * count for info, count in node.terminating.items())
        return total

    def weight(self, info: PodInfo, /) -> int:
        """Return the test's weight for the PodInfo."""
        weight = self._known.get(info)
        if weight is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            weight = self._known[info] = int(self.test(info))
        return weight


@dataclass(frozen=True, slots=True)
class AffinityTally:
    """Counts pods by their pod affinity, each with a weight."""

    weights: Mapping[PodAffinity, int]

    def __call__(self, node: NodeInfo, /) -> int:
        """Return the sum of the weights of the node's pods."""
        if not node.pod_affinities:
            return 0
        return sum(count * self.weights.get(pod_affinity, 0) for pod_affinity, count in node.pod_affinities.items())

    def weight(self, info: PodInfo, /) -> int:
        """Return the weight of the pod's affinity."""
        return self.weights.get(info.pod_affinity, 0)


@dataclass(frozen=True, slots=True)
class SumTally:
    """The sum of several tallies."""

    parts: tuple[Tally, ...]

    def __call__(self, node: NodeInfo, /) -> int:
        """Return the sum of the tallies' counts."""
        return sum(part(node) for part in self.parts)

    def weight(self, info: PodInfo, /) -> int:
        """Return the sum of the weights; if it is 0, a pod makes no difference."""
        return sum(part.weight(info) for part in self.parts)


class Domains:
    """The domains that nodes form by a label, and a count for each.

    Attributes:
        totals: value of the label → count.
    """

    __slots__ = ("_levels", "_members", "totals")

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self._members: dict[str, int] = {}
        self._levels: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.totals)

    def __bool__(self) -> bool:
        """Return True if any domain has a count other than 0."""
        return any(level for level in self._levels)

    def add_node(self, value: str) -> None:
        """Add a node to a domain."""
        members = self._members.get(value, 0)
        self._members[value] = members + 1
        if not members:
            self.totals[value] = 0
            self._change_level(0, 1)

    def remove_node(self, value: str) -> None:
        """Remove a node from a domain; its own count has been subtracted before."""
        members = self._members[value] - 1
        if members:
            self._members[value] = members
        else:
            del self._members[value]
            self._change_level(self.totals.pop(value), -1)

    def add_count(self, value: str, change: int) -> None:
        """Change the count of a domain."""
        before = self.totals[value]
        self.totals[value] = before + change
        self._change_level(before, -1)
        self._change_level(before + change, 1)

    @property
    def minimum(self) -> int:
        """The lowest count of all domains."""
        return min(self._levels, default=0)

    def _change_level(self, level: int, change: int) -> None:
        """Change the number of domains that have this count: there are few counts, and often very many domains."""
        left = self._levels.get(level, 0) + change
        if left:
            self._levels[level] = left
        else:
            del self._levels[level]
