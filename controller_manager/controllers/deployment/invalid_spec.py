"""Errors in a Deployment's spec that the API server accepts, but on which the controller cannot act."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import SelectorError, label_selector_of
from controller_manager.controllers.deployment.rolling import RECREATE, ROLLING, limits_of, strategy_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import TRUE, deployment_condition
from controller_manager.reconcile.replicas import REPLICA_FAILURE

SELECTOR, STRATEGY = "InvalidSelector", "InvalidStrategy"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the controller cannot act: the reason and the message of an Event and a condition."""

    reason: str
    message: str


def fault_of(deployment: Obj) -> Fault | None:
    """Return what is wrong with a Deployment's spec, or None if the controller can act on it.

    Upstream logs a selector that it cannot parse, and retries an unknown strategy until it gives up.
    """
    try:
        label_selector_of(deployment["spec"].get("selector"))
    except SelectorError as error:
        return Fault(SELECTOR, str(error))
    if (strategy := strategy_of(deployment)) not in (RECREATE, ROLLING):
        return Fault(STRATEGY, f"unexpected deployment strategy type: {strategy}")
    try:
        limits_of(deployment)
    except ValueError as error:
        return Fault(STRATEGY, str(error))
    return None


def is_reported(deployment: Obj, fault: Fault) -> bool:
    """Return whether the Deployment's status has the condition for this fault already."""
    condition = conditions.condition_of(deployment, REPLICA_FAILURE) or {}
    return (condition.get("reason"), condition.get("message")) == (fault.reason, fault.message)


def with_fault(deployment: Obj, fault: Fault, now: float) -> Obj:
    """Return the Deployment with a condition for the fault, and with its newest generation observed."""
    status = deployment.get("status") or {}
    others = conditions.without_condition(status.get("conditions") or (), REPLICA_FAILURE)
    condition = deployment_condition(REPLICA_FAILURE, TRUE, now, reason=fault.reason, message=fault.message)
    changes = {"observedGeneration": deployment["metadata"].get("generation", 0), "conditions": [*others, condition]}
    return deployment | {"status": status | changes}


def without_fault(old: list[Obj]) -> list[Obj]:
    """Return the conditions without one for a fault that has been corrected."""
    return [condition for condition in old if condition.get("reason") not in (SELECTOR, STRATEGY)]
