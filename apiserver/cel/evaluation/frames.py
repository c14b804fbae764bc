"""Frames: the variables of one evaluation, and what it has cost."""

from collections.abc import Callable
from typing import Any

from apiserver.cel.values import CostExceededError


class Frame:
    """The state of one evaluation.

    Attributes:
        cost: what was spent.
        limit: what may be.
        values: the variables, each at the place that the program gave it.
    """

    __slots__ = ("cost", "limit", "values")

    def __init__(self, values: list[Any], limit: int) -> None:
        self.cost = 0
        self.limit = limit
        self.values = values

    def charge(self, cost: int) -> None:
        """Spends some of the budget.

        Raises:
            CostExceededError: there is none left.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError


Step = Callable[[Frame], Any]
"""Evaluates a node."""
