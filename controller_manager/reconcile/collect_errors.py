"""Refusals that do not keep a plan from what comes after them."""

from collections.abc import Generator
from typing import Any, TypeVar

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Action

Result = TypeVar("Result")


def collect_errors(
    part: Generator[Action, Any, Result], refusals: list[ApiError]
) -> Generator[Action, Any, Result | None]:
    """What a part of a plan gives; its error is kept among the refusals, since other parts follow, and gives None."""
    try:
        return (yield from part)
    except ApiError as error:
        refusals.append(error)
        return None
