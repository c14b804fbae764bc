"""EndpointSlices of Services that select pods; they are the Service's own and go with it (controller/endpointslice)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.planning.endpoint_slices import CONTROLLER, ZONE, Backing, changes_of, stamped
from controller_manager.planning.services import Selectors, TriggerTimes, selector_of
from controller_manager.planning.slice_filling import MANAGED_BY, SERVICE_NAME
from controller_manager.runtime.claims import is_deleting, owner_reference
from controller_manager.runtime.contract import (
    WARNING,
    Batch,
    Change,
    Create,
    Delayed,
    Delete,
    Emit,
    Gauge,
    Index,
    Key,
    Plan,
    Request,
    Spec,
    Update,
    Watch,
    World,
    is_namespace_terminating,
    itself,
    key_of,
)
from controller_manager.runtime.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE
from controller_manager.runtime.meters import Meter, Reading
from controller_manager.runtime.services import PACE, SELECTORS, pod_changed, selected_pods

TIMES = "endpointslice-trigger-times"
"""The view that is a TriggerTimes."""
AFTER_SLICE = 1.0
"""Seconds after which a Service is looked at when a slice of it has changed (endpointSliceChangeMinSyncDelay)."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A Service, its pods, and the slices that there are."""

    backing: Backing
    slices: Sequence[Obj]
    times: TriggerTimes


# -- what is seen ------------------------------------------------------------------------------------------------------


def _service_of(each: Obj) -> Iterable[str]:
    """The key of the Service of a slice that this controller manages."""
    labels = labels_of(each)
    name = labels.get(SERVICE_NAME)
    return (f"{namespace_of(each)}/{name}",) if name and labels.get(MANAGED_BY) == CONTROLLER else ()


BY_SERVICE = Index(ENDPOINT_SLICE, "service", _service_of)


def observe(world: World, key: Key) -> Observed | None:
    """The Service of that key and what is behind it, None where it is gone or somebody else tells its endpoints."""
    service = world[SERVICE].get(key)
    if service is None or not selector_of(service):
        return None
    pods = selected_pods(world, service)
    backing = Backing(service, owner_reference(SERVICE, service), pods, _zones(world, pods))
    slices = [each for each in world[ENDPOINT_SLICE].by(BY_SERVICE.name, key) if not is_deleting(each)]
    return Observed(backing, slices, world.view(TIMES))


def _zones(world: World, pods: Iterable[Obj]) -> Mapping[str, str]:
    """The zones of the nodes of pods, as far as the nodes are there."""
    names = {pod["spec"].get("nodeName") for pod in pods}
    nodes = [node for name in names if name and (node := world[NODE].get(name)) is not None]
    return {name_of(node): labels_of(node).get(ZONE) or "" for node in nodes}


def slice_changed(_: World, change: Change) -> Iterable[Delayed]:
    """The Service of a slice, and the one to which it belonged before."""
    if change.old is not change.new:
        states = [each for each in (change.old, change.new) if each is not None]
        for key in {key for each in states for key in _service_of(each)}:
            yield Delayed(key, AFTER_SLICE)


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
        yield Emit(service, "FailedToUpdateEndpointSlices", why, WARNING)
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
    """Create, update and delete slices, in this order; no new ones for a Service that is being deleted (finalize)."""
    service, changes = seen.backing.service, changes_of(seen.backing, seen.slices)
    creates = [] if is_deleting(service) else changes.creates
    about = f"EndpointSlice for Service {key_of(service)}"
    yield from _all([Create(ENDPOINT_SLICE, stamped(each, changed_at)) for each in creates], f"create {about}")
    yield from _all([Update(ENDPOINT_SLICE, stamped(each, changed_at)) for each in changes.updates], f"update {about}")
    yield from _all([_deletion(each) for each in changes.deletes], f"delete {about}")


def _deletion(each: Obj) -> Delete:
    return Delete(ENDPOINT_SLICE, key_of(each), uid=each["metadata"]["uid"])


def _all(requests: Sequence[Request], what: str) -> Plan:
    """Do all of that, and raise the first error; what is gone already is as good as deleted."""
    answers = (yield Batch(requests)) if requests else ()
    for request, answer in zip(requests, answers, strict=True):
        if isinstance(answer, ApiError) and not (isinstance(request, Delete) and answer.code == 404):
            why = f"failed to {what}: {answer.message}"
            raise ApiError(answer.code, answer.reason, why, details=answer.details)


def _slices(world: World) -> Iterable[Reading]:
    return (Reading(sum(labels_of(each).get(MANAGED_BY) == CONTROLLER for each in world[ENDPOINT_SLICE])),)


SLICES = Gauge(Meter("endpoint_slice_controller_num_endpoint_slices", "Slices that this controller manages."), _slices)

SPEC = Spec(
    name="endpointslice",
    watches=(
        Watch(SERVICE, itself),
        Watch(POD, pod_changed),
        Watch(ENDPOINT_SLICE, slice_changed),
        Watch(NODE),
    ),
    observe=observe,
    plan=plan,
    source="endpoint-slice-controller",
    flag="service-endpoint",
    retries=15,
    pace=PACE,
    indexes=(BY_SERVICE,),
    views={SELECTORS: Selectors, TIMES: TriggerTimes},
    feeds={SELECTORS: (SERVICE,), TIMES: (SERVICE,)},
    queue="endpoint_slice",
    gauges=(SLICES,),
)
