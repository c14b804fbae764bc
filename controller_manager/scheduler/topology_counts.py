"""Counts over domains: how many pods that matter are on the nodes that share the value of a label."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_info import PodInfo
from controller_manager.scheduler.topology import Company

_REMEMBERED = 4096


class Tally(Protocol):
    """Counts something on a node."""

    def __call__(self, node: NodeInfo, /) -> int:
        """How much of it there is."""

    def weight(self, info: PodInfo, /) -> int:
        """What one pod of a kind counts."""


@dataclass(frozen=True, slots=True)
class PodTally:
    """Counts pods that a test lets through.

    Attributes:
        test: of what kind they are; asked once for each.
        with_leaving: whether those count that are being deleted.
    """

    test: Callable[[PodInfo], int]
    with_leaving: bool
    _known: dict[PodInfo, int]

    @classmethod
    def of(cls, test: Callable[[PodInfo], int], *, with_leaving: bool) -> "PodTally":
        """One that has seen no pod yet."""
        return cls(test, with_leaving, {})

    def __call__(self, node: NodeInfo, /) -> int:
        """The sum of what the test gives for each of the pods."""
        known, total = self._known, 0
        for info, count in node.present.items():
            weight = known.get(info)
            if weight is None:
                weight = self.weight(info)
            if weight:
                total += weight * count
        if node.leaving and not self.with_leaving:
            total -= sum(self.weight(info) * count for info, count in node.leaving.items())
        return total

    def weight(self, info: PodInfo, /) -> int:
        """What the test gives."""
        weight = self._known.get(info)
        if weight is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            weight = self._known[info] = int(self.test(info))
        return weight


@dataclass(frozen=True, slots=True)
class CompanyTally:
    """Counts pods by what they want of others, each with a weight."""

    weights: Mapping[Company, int]

    def __call__(self, node: NodeInfo, /) -> int:
        """The sum of their weights."""
        if not node.companies:
            return 0
        return sum(count * self.weights.get(company, 0) for company, count in node.companies.items())

    def weight(self, info: PodInfo, /) -> int:
        """The weight of what the pod wants."""
        return self.weights.get(info.company, 0)


@dataclass(frozen=True, slots=True)
class SumTally:
    """The sum of several."""

    parts: tuple[Tally, ...]

    def __call__(self, node: NodeInfo, /) -> int:
        """Their sum."""
        return sum(part(node) for part in self.parts)

    def weight(self, info: PodInfo, /) -> int:
        """The sum of the weights; where that is 0 a pod makes no difference."""
        return sum(part.weight(info) for part in self.parts)


class Domains:
    """The domains that nodes make by a label, and a count for each.

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
        """Whether anything is counted at all, in any domain."""
        return any(level for level in self._levels)

    def join(self, value: str) -> None:
        """A node is in the domain."""
        members = self._members.get(value, 0)
        self._members[value] = members + 1
        if not members:
            self.totals[value] = 0
            self._shift(0, 1)

    def leave(self, value: str) -> None:
        """A node is in the domain no longer; what it counted has been taken away."""
        members = self._members[value] - 1
        if members:
            self._members[value] = members
        else:
            del self._members[value]
            self._shift(self.totals.pop(value), -1)

    def add(self, value: str, change: int) -> None:
        """The count of a domain changes."""
        before = self.totals[value]
        self.totals[value] = before + change
        self._shift(before, -1)
        self._shift(before + change, 1)

    @property
    def least(self) -> int:
        """The lowest count of all domains."""
        return min(self._levels, default=0)

    def _shift(self, level: int, change: int) -> None:
        """So many more domains have that count: there are few counts, and often very many domains."""
        left = self._levels.get(level, 0) + change
        if left:
            self._levels[level] = left
        else:
            del self._levels[level]
