"""EndpointSlices of Services that select pods; the Service owns them (pkg/controller/endpointslice)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from apiserver.api.nodes import ZONE
from controller_manager.controllers.endpoints.selected_pods import MIN_INTERVAL, SELECTORS, pod_changed, selected_pods
from controller_manager.controllers.endpoints.services import ServiceSelectors, TriggerTimes, selector_of
from controller_manager.controllers.endpointslice.filling import MANAGED_BY_LABEL, SliceChanges
from controller_manager.controllers.endpointslice.slices import (
    CONTROLLER,
    ServiceBackends,
    slice_changes,
    with_trigger_time,
)
from controller_manager.controllers.endpointslice.writes import slice_changed, slices_of, write_slices
from controller_manager.reconcile.contract import (
    WARNING,
    ControllerSpec,
    Gauge,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting, owner_reference
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE
from controller_manager.reconcile.metric_defs import MetricDef, Sample

TRIGGER_TIMES = "endpointslice-trigger-times"
"""The name of the view TriggerTimes."""
SLICES_BY_SERVICE = slices_of(CONTROLLER)


@dataclass(frozen=True, slots=True)
class Observed:
    """A Service, its pods, and the existing slices."""

    backing: ServiceBackends
    slices: Sequence[Obj]
    times: TriggerTimes


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the Service of that key and the pods behind it; None if it is gone or others write its endpoints."""
    service = listers[SERVICE].get(key)
    if service is None or not selector_of(service):
        return None
    pods = selected_pods(listers, service)
    backing = ServiceBackends(service, owner_reference(SERVICE, service), pods, _zones(listers, pods))
    slices = [
        endpoint_slice
        for endpoint_slice in listers[ENDPOINT_SLICE].by_index(SLICES_BY_SERVICE.name, key)
        if not is_deleting(endpoint_slice)
    ]
    return Observed(backing, slices, listers.view(TRIGGER_TIMES))


def _zones(listers: Listers, pods: Iterable[Obj]) -> Mapping[str, str]:
    """Return the zones of the pods' nodes, for those nodes that exist."""
    names = {pod["spec"].get("nodeName") for pod in pods}
    nodes = [node for name in names if name and (node := listers[NODE].get(name)) is not None]
    return {name_of(node): labels_of(node).get(ZONE) or "" for node in nodes}


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Update the slices to match the pods behind the Service (syncService).

    Raises:
        ApiError: the first refused write, or pods on nodes that do not exist; an event was recorded.
    """
    del now
    service = observed.backing.service
    try:
        yield from _write(observed, observed.times.record(service, observed.backing.pods))
        _check_nodes(observed.backing)
    except ApiError as error:
        if is_namespace_terminating(error):
            return
        message = f"Error updating Endpoint Slices for Service {key_of(service)}: {error.message}"
        yield RecordEvent(service, "FailedToUpdateEndpointSlices", message, WARNING)
        raise


def _check_nodes(backing: ServiceBackends) -> None:
    """Raise an error if pods are on nodes that do not exist, so that the Service is retried."""
    problems = [
        f"skipping Pod {name_of(pod)} for Service {key_of(backing.service)}: "
        f"Node {pod['spec'].get('nodeName') or ''} Not Found"
        for pod in backing.pods_on_missing_nodes
    ]
    if problems:
        raise ApiError(404, "NotFound", problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _write(observed: Observed, changed_at: str) -> Plan:
    """Write the changed slices; create none for a Service that is being deleted (finalize)."""
    service, changes = observed.backing.service, slice_changes(observed.backing, observed.slices)
    creates = (
        []
        if is_deleting(service)
        else [with_trigger_time(endpoint_slice, changed_at) for endpoint_slice in changes.creates]
    )
    updates = [with_trigger_time(endpoint_slice, changed_at) for endpoint_slice in changes.updates]
    yield from write_slices(SliceChanges(creates, updates, changes.deletes), f"Service {key_of(service)}")


def _slices(listers: Listers) -> Iterable[Sample]:
    return (
        Sample(
            sum(
                labels_of(endpoint_slice).get(MANAGED_BY_LABEL) == CONTROLLER
                for endpoint_slice in listers[ENDPOINT_SLICE]
            )
        ),
    )


NUMBER_OF_SLICES = Gauge(
    MetricDef("endpoint_slice_controller_num_endpoint_slices", "Slices that this controller manages."), _slices
)

SPEC = ControllerSpec(
    name="endpointslice",
    account="endpointslice-controller",
    watches=(
        Watch(SERVICE, enqueue_self),
        Watch(POD, pod_changed),
        Watch(ENDPOINT_SLICE, slice_changed(SLICES_BY_SERVICE)),
        Watch(NODE),
    ),
    observe=observe,
    reconcile=reconcile,
    source="endpoint-slice-controller",
    flag="service-endpoint",
    retries=15,
    min_interval=MIN_INTERVAL,
    indexes=(SLICES_BY_SERVICE,),
    views={SELECTORS: ServiceSelectors, TRIGGER_TIMES: TriggerTimes},
    view_kinds={SELECTORS: (SERVICE,), TRIGGER_TIMES: (SERVICE,)},
    queue="endpoint_slice",
    gauges=(NUMBER_OF_SLICES,),
)
