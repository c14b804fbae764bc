"""Frames: the variables of one evaluation, and its cost so far."""

from collections.abc import Callable
from typing import Any

from apiserver.cel.values import CostExceededError


class Frame:
    """The state of one evaluation.

    Attributes:
        cost: the cost so far.
        limit: the highest allowed cost.
        values: the variables, each at the index that the program gave it.
    """

    __slots__ = ("cost", "limit", "values")

    def __init__(self, values: list[Any], limit: int) -> None:
        self.cost = 0
        self.limit = limit
        self.values = values

    def charge(self, cost: int) -> None:
        """Add to the cost.

        Raises:
            CostExceededError: the limit is exceeded.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError


Step = Callable[[Frame], Any]
"""Evaluates a node."""
