"""Validation of the pod counts in the status of workloads."""

from collections.abc import Callable

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import at, nonnegative

_OVER_REPLICAS = "cannot be greater than status.replicas"


def status_update(
    *counts: str, within: tuple[str, ...] = (), unready: str = ""
) -> Callable[[Obj, Obj], list[FieldError]]:
    """Return a check of (new, old) for the status subresource.

    Args:
        counts: the fields that must not be negative, in upstream's order.
        within: the fields that must not exceed status.replicas.
        unready: the error's detail if more pods are available than ready; "" skips that check.
    """

    def check(new: Obj, old: Obj) -> list[FieldError]:
        status, before = new.get("status") or {}, old.get("status") or {}
        errors = [error for name in counts for error in at(name, nonnegative(status.get(name) or 0))]
        errors += _over(status, within)
        available = status.get("availableReplicas") or 0
        if unready and available > (status.get("readyReplicas") or 0):
            errors.append(field.invalid("availableReplicas", available, unready))
        return [*at("status", errors + _decremented(status, before))]

    return check


def _over(status: Obj, names: tuple[str, ...]) -> list[FieldError]:
    replicas = status.get("replicas") or 0
    counts = [(name, status.get(name) or 0) for name in names]
    return [field.invalid(name, count, _OVER_REPLICAS) for name, count in counts if count > replicas]


def _decremented(new: Obj, old: Obj) -> list[FieldError]:
    count, before = new.get("collisionCount"), old.get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [field.invalid("collisionCount", count or 0, "cannot be decremented")]
