"""Validation that the kinds of workloads share: the selector, and the counts of pods in spec and status."""

from collections.abc import Callable

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, deeply_immutable, nonnegative, struct
from apiserver.api.validation.contract import Validator

_OVER_REPLICAS = "cannot be greater than status.replicas"

min_ready = struct(("minReadySeconds", nonnegative))

replicas = struct(("replicas", nonnegative))


def workload_validator(
    spec: Callable[[Obj], list[FieldError]],
    status: Callable[[Obj, Obj], list[FieldError]],
    *,
    selector_is_immutable: bool,
) -> Validator:
    """Return the validator of a kind from the checks of its spec and its status.

    Args:
        spec: checks the spec of a new object, and of a changed one.
        status: checks (new, old) at the status subresource.
        selector_is_immutable: whether an update may not change spec.selector.
    """

    def create(obj: Obj) -> FieldErrors:
        return at("spec", spec(obj.get("spec") or {}))

    def update(new: Obj, old: Obj) -> FieldErrors:
        after, before = ((obj.get("spec") or {}).get("selector") for obj in (new, old))
        return [*create(new), *(deeply_immutable("spec.selector", after, before) if selector_is_immutable else ())]

    return Validator(create=create, update=update, status_update=status)


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
