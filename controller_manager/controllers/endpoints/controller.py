"""Endpoints of Services that select pods: what EndpointSlices tell, for older readers (pkg/controller/endpoint)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of
from controller_manager.controllers.endpoints.selected_pods import PACE, SELECTORS, pod_changed, selected_pods
from controller_manager.controllers.endpoints.services import Selectors, TriggerTimes, selector_of
from controller_manager.controllers.endpoints.subsets import endpoints_of, subsets_of
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
    Create,
    Delete,
    Enqueue,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Spec,
    Update,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.deletion import remove
from controller_manager.reconcile.kinds import ENDPOINTS, POD, SERVICE

TIMES = "endpoints-trigger-times"
"""The view that is a TriggerTimes."""
START = ""
"""The key under which a manager that starts looks for Endpoints of Services that are gone."""

_LEADER = "control-plane.alpha.kubernetes.io/leader"


@dataclass(frozen=True, slots=True)
class Observed:
    """A Service, its pods, and the Endpoints that there are."""

    service: Obj
    pods: Sequence[Obj]
    endpoints: Obj | None
    times: TriggerTimes


@dataclass(frozen=True, slots=True)
class Leftover:
    """Endpoints of a Service that is gone."""

    endpoints: Obj


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The keys of all of these."""

    keys: Sequence[Key]


def observe(listers: Listers, key: Key) -> Observed | Leftover | Leftovers | None:
    """The Service of that key and its pods, or its Endpoints if it is gone; None where nothing is to be done."""
    if key == START:
        return Leftovers([key_of(each) for each in listers[ENDPOINTS] if _is_left_over(listers, each)])
    service, endpoints = listers[SERVICE].get(key), listers[ENDPOINTS].get(key)
    if service is None:
        return Leftover(endpoints) if endpoints is not None else None
    if not selector_of(service):
        return None
    return Observed(service, selected_pods(listers, service), endpoints, listers.view(TIMES))


def _is_left_over(listers: Listers, endpoints: Obj) -> bool:
    """Whether the Service is gone; Endpoints by which somebody elects a leader never had one."""
    elects = _LEADER in annotations_of(endpoints)
    return not elects and listers[SERVICE].get(key_of(endpoints)) is None


def endpoints_changed(_: Listers, change: Change) -> Iterable[Key]:
    """The Service of Endpoints that went; what somebody makes of them otherwise stays until the next change."""
    return (key_of(change.obj),) if change.new is None else ()


def plan(seen: Observed | Leftover | Leftovers, now: float) -> Plan:
    """Write the Endpoints of a Service if they change, delete those of one that is gone (syncService).

    Raises:
        ApiError: they could not be written; an event has said so.
    """
    del now
    match seen:
        case Leftovers(keys=keys):
            yield Enqueue(keys)
        case Leftover(endpoints=endpoints):
            yield from remove(Delete(ENDPOINTS, key_of(endpoints), uid=endpoints["metadata"]["uid"]))
        case Observed():
            yield from _write(seen)


def _write(seen: Observed) -> Plan:
    service, changed_at = seen.service, seen.times.look(seen.service, seen.pods)
    wanted = endpoints_of(service, subsets_of(service, seen.pods), seen.endpoints, changed_at=changed_at)
    if wanted is None:
        return
    is_new = seen.endpoints is None
    try:
        yield Create(ENDPOINTS, wanted) if is_new else Update(ENDPOINTS, wanted)
    except ApiError as error:
        if is_new and is_namespace_terminating(error):
            return
        done = "create endpoint for service" if is_new else "update endpoint"
        reason = "FailedToCreateEndpoint" if is_new else "FailedToUpdateEndpoint"
        yield RecordEvent(wanted, reason, f"Failed to {done} {key_of(service)}: {error.message}", WARNING)
        raise


SPEC = Spec(
    name="endpoint",
    watches=(Watch(SERVICE, enqueue_self), Watch(POD, pod_changed), Watch(ENDPOINTS, endpoints_changed)),
    observe=observe,
    reconcile=plan,
    source="endpoint-controller",
    flag="endpoint",
    retries=15,
    min_interval=PACE,
    periodic=(START,),
    views={SELECTORS: Selectors, TIMES: TriggerTimes},
    feeds={SELECTORS: (SERVICE,), TIMES: (SERVICE,)},
)
