"""EndpointSlices of Services that select pods; they are the Service's own and go with it (controller/endpointslice)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.controllers.endpoints.selected_pods import PACE, SELECTORS, pod_changed, selected_pods
from controller_manager.controllers.endpoints.services import Selectors, TriggerTimes, selector_of
from controller_manager.controllers.endpointslice.filling import MANAGED_BY, Changes
from controller_manager.controllers.endpointslice.slices import CONTROLLER, ZONE, Backing, changes_of, stamped
from controller_manager.controllers.endpointslice.writes import slice_changed, slices_of, write_slices
from controller_manager.reconcile.contract import (
    WARNING,
    Gauge,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Spec,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting, owner_reference
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE
from controller_manager.reconcile.metric_defs import Meter, Reading

TIMES = "endpointslice-trigger-times"
"""The view that is a TriggerTimes."""
SLICES = slices_of(CONTROLLER)


@dataclass(frozen=True, slots=True)
class Observed:
    """A Service, its pods, and the slices that there are."""

    backing: Backing
    slices: Sequence[Obj]
    times: TriggerTimes


# -- what is seen ------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | None:
    """The Service of that key and what is behind it, None where it is gone or somebody else tells its endpoints."""
    service = listers[SERVICE].get(key)
    if service is None or not selector_of(service):
        return None
    pods = selected_pods(listers, service)
    backing = Backing(service, owner_reference(SERVICE, service), pods, _zones(listers, pods))
    slices = [each for each in listers[ENDPOINT_SLICE].by(SLICES.name, key) if not is_deleting(each)]
    return Observed(backing, slices, listers.view(TIMES))


def _zones(listers: Listers, pods: Iterable[Obj]) -> Mapping[str, str]:
    """The zones of the nodes of pods, as far as the nodes are there."""
    names = {pod["spec"].get("nodeName") for pod in pods}
    nodes = [node for name in names if name and (node := listers[NODE].get(name)) is not None]
    return {name_of(node): labels_of(node).get(ZONE) or "" for node in nodes}


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed, now: float) -> Plan:
    """Make the slices tell what is behind the Service (syncService).

    Raises:
        ApiError: the first that stood in the way, or pods are on nodes that are not there; an event has said so.
    """
    del now
    service = seen.backing.service
    try:
        yield from _write(seen, seen.times.look(service, seen.backing.pods))
        _check_homes(seen.backing)
    except ApiError as error:
        if is_namespace_terminating(error):
            return
        why = f"Error updating Endpoint Slices for Service {key_of(service)}: {error.message}"
        yield RecordEvent(service, "FailedToUpdateEndpointSlices", why, WARNING)
        raise


def _check_homes(backing: Backing) -> None:
    """Complain of pods on nodes that are not there, so that somebody looks again."""
    why = [
        f"skipping Pod {name_of(pod)} for Service {key_of(backing.service)}: "
        f"Node {pod['spec'].get('nodeName') or ''} Not Found"
        for pod in backing.homeless
    ]
    if why:
        raise ApiError(404, "NotFound", why[0] if len(why) == 1 else f"[{', '.join(why)}]")


def _write(seen: Observed, changed_at: str) -> Plan:
    """Write what changes; no new slices for a Service that is being deleted (finalize)."""
    service, changes = seen.backing.service, changes_of(seen.backing, seen.slices)
    creates = [] if is_deleting(service) else [stamped(each, changed_at) for each in changes.creates]
    updates = [stamped(each, changed_at) for each in changes.updates]
    yield from write_slices(Changes(creates, updates, changes.deletes), f"Service {key_of(service)}")


def _slices(listers: Listers) -> Iterable[Reading]:
    return (Reading(sum(labels_of(each).get(MANAGED_BY) == CONTROLLER for each in listers[ENDPOINT_SLICE])),)


NUMBER = Gauge(Meter("endpoint_slice_controller_num_endpoint_slices", "Slices that this controller manages."), _slices)

SPEC = Spec(
    name="endpointslice",
    watches=(
        Watch(SERVICE, enqueue_self),
        Watch(POD, pod_changed),
        Watch(ENDPOINT_SLICE, slice_changed(SLICES)),
        Watch(NODE),
    ),
    observe=observe,
    reconcile=plan,
    source="endpoint-slice-controller",
    flag="service-endpoint",
    retries=15,
    min_interval=PACE,
    indexes=(SLICES,),
    views={SELECTORS: Selectors, TIMES: TriggerTimes},
    feeds={SELECTORS: (SERVICE,), TIMES: (SERVICE,)},
    queue="endpoint_slice",
    gauges=(NUMBER,),
)
