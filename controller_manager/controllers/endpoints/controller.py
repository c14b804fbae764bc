"""Endpoints of Services that select pods, for clients that do not read EndpointSlices (pkg/controller/endpoint)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of
from controller_manager.controllers.endpoints.selected_pods import MIN_INTERVAL, SELECTORS, pod_changed, selected_pods
from controller_manager.controllers.endpoints.services import LEADER, ServiceSelectors, TriggerTimes, selector_of
from controller_manager.controllers.endpoints.subsets import endpoints_of, subsets_of
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
    ControllerSpec,
    Create,
    Delete,
    Enqueue,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Update,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.deletion import delete_if_exists
from controller_manager.reconcile.kinds import ENDPOINTS, POD, SERVICE

TRIGGER_TIMES = "endpoints-trigger-times"
"""The name of the view TriggerTimes."""
START_KEY = ""
"""The key under which a manager that starts looks for Endpoints whose Service is gone."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A Service, its pods, and the existing Endpoints."""

    service: Obj
    pods: Sequence[Obj]
    endpoints: Obj | None
    times: TriggerTimes


@dataclass(frozen=True, slots=True)
class StaleEndpoints:
    """Endpoints whose Service is gone."""

    endpoints: Obj


@dataclass(frozen=True, slots=True)
class StaleKeys:
    """The keys of all Endpoints whose Service is gone."""

    keys: Sequence[Key]


def observe(listers: Listers, key: Key) -> Observed | StaleEndpoints | StaleKeys | None:
    """Return the Service of that key and its pods, or its Endpoints if it is gone; None if there is nothing to do."""
    if key == START_KEY:
        return StaleKeys(
            [key_of(endpoint_object) for endpoint_object in listers[ENDPOINTS] if _is_stale(listers, endpoint_object)]
        )
    service, endpoints = listers[SERVICE].get(key), listers[ENDPOINTS].get(key)
    if service is None:
        return StaleEndpoints(endpoints) if endpoints is not None else None
    if not selector_of(service):
        return None
    return Observed(service, selected_pods(listers, service), endpoints, listers.view(TRIGGER_TIMES))


def _is_stale(listers: Listers, endpoints: Obj) -> bool:
    """Return whether the Service is gone; Endpoints used for leader election never had one."""
    elects = LEADER in annotations_of(endpoints)
    return not elects and listers[SERVICE].get(key_of(endpoints)) is None


def endpoints_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Return the Service of deleted Endpoints; other changes to Endpoints stay until the Service's next sync."""
    return (key_of(change.obj),) if change.new is None else ()


def reconcile(observed: Observed | StaleEndpoints | StaleKeys, now: float) -> Plan:
    """Write the Endpoints of a Service if they change, and delete those whose Service is gone (syncService).

    Raises:
        ApiError: they could not be written; an event was recorded.
    """
    del now
    match observed:
        case StaleKeys(keys=keys):
            yield Enqueue(keys)
        case StaleEndpoints(endpoints=endpoints):
            yield from delete_if_exists(Delete(ENDPOINTS, key_of(endpoints), uid=endpoints["metadata"]["uid"]))
        case Observed():
            yield from _write(observed)


def _write(observed: Observed) -> Plan:
    service, changed_at = observed.service, observed.times.record(observed.service, observed.pods)
    desired = endpoints_of(service, subsets_of(service, observed.pods), observed.endpoints, changed_at=changed_at)
    if desired is None:
        return
    is_new = observed.endpoints is None
    try:
        yield Create(ENDPOINTS, desired) if is_new else Update(ENDPOINTS, desired)
    except ApiError as error:
        if is_new and is_namespace_terminating(error):
            return
        attempt = "create endpoint for service" if is_new else "update endpoint"
        reason = "FailedToCreateEndpoint" if is_new else "FailedToUpdateEndpoint"
        yield RecordEvent(desired, reason, f"Failed to {attempt} {key_of(service)}: {error.message}", WARNING)
        raise


SPEC = ControllerSpec(
    name="endpoint",
    account="endpoint-controller",
    watches=(Watch(SERVICE, enqueue_self), Watch(POD, pod_changed), Watch(ENDPOINTS, endpoints_changed)),
    observe=observe,
    reconcile=reconcile,
    source="endpoint-controller",
    flag="endpoint",
    retries=15,
    min_interval=MIN_INTERVAL,
    periodic_keys=(START_KEY,),
    views={SELECTORS: ServiceSelectors, TRIGGER_TIMES: TriggerTimes},
    view_kinds={SELECTORS: (SERVICE,), TRIGGER_TIMES: (SERVICE,)},
)
