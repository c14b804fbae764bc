"""What keeps a controller from acting on a Deployment at all, though the server took it."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import SelectorError, label_selector_of
from controller_manager.controllers.deployment.rolling import RECREATE, ROLLING, limits_of, strategy_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import TRUE, deployment_condition
from controller_manager.reconcile.replicas import FAILURE

SELECTOR, STRATEGY = "InvalidSelector", "InvalidStrategy"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why nothing can be done: the reason and the message of an Event and a condition."""

    reason: str
    message: str


def fault_of(deployment: Obj) -> Fault | None:
    """What is wrong with a Deployment, None where it can be acted upon.

    Upstream logs a selector that cannot be understood, and tries an unknown strategy again until it gives up.
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


def is_told(deployment: Obj, fault: Fault) -> bool:
    """Whether the Deployment's status says so already."""
    found = conditions.condition_of(deployment, FAILURE) or {}
    return (found.get("reason"), found.get("message")) == (fault.reason, fault.message)


def with_fault(deployment: Obj, fault: Fault, now: float) -> Obj:
    """The Deployment that says what is wrong with it, and that its newest generation was looked at."""
    status = deployment.get("status") or {}
    others = conditions.without(status.get("conditions") or (), FAILURE)
    told = deployment_condition(FAILURE, TRUE, now, reason=fault.reason, message=fault.message)
    seen = {"observedGeneration": deployment["metadata"].get("generation", 0), "conditions": [*others, told]}
    return deployment | {"status": status | seen}


def without_fault(known: list[Obj]) -> list[Obj]:
    """Conditions less what was wrong before, and is no longer."""
    return [found for found in known if found.get("reason") not in (SELECTOR, STRATEGY)]
