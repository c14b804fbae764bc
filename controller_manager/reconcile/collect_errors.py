"""Collect errors of a part of a plan without stopping the parts after it."""

from collections.abc import Generator
from typing import Any, TypeVar

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Action

Result = TypeVar("Result")


def collect_errors(
    part: Generator[Action, Any, Result], refusals: list[ApiError]
) -> Generator[Action, Any, Result | None]:
    """Run a part of a plan and return its result; if it fails, append the error to `refusals` and return None."""
    try:
        return (yield from part)
    except ApiError as error:
        refusals.append(error)
        return None
