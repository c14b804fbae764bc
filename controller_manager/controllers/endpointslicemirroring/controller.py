"""Mirrors Endpoints that users wrote for Services without a selector (pkg/controller/endpointslicemirroring).

Without this, clients that read only slices would not see such Endpoints.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.controllers.endpoints.selected_pods import MIN_INTERVAL
from controller_manager.controllers.endpointslice.filling import SliceChanges
from controller_manager.controllers.endpointslice.writes import slice_changed, slices_of, write_slices
from controller_manager.controllers.endpointslicemirroring.slices import (
    CONTROLLER,
    MAX_ENDPOINTS_PER_SUBSET,
    is_for_mirroring,
    mirror,
)
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
    ControllerSpec,
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
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, ENDPOINTS, SERVICE

SLICES_BY_ENDPOINTS = slices_of(CONTROLLER)


@dataclass(frozen=True, slots=True)
class Observed:
    """Endpoints to mirror, and the existing slices."""

    endpoints: Obj
    slices: Sequence[Obj]


@dataclass(frozen=True, slots=True)
class StaleSlices:
    """Slices whose Endpoints are gone, or no longer mirrored."""

    key: Key
    slices: Sequence[Obj]


def observe(listers: Listers, key: Key) -> Observed | StaleSlices | None:
    """Return the Endpoints of that key if they are to be mirrored, or their leftover slices; None if there are none."""
    endpoints, service = listers[ENDPOINTS].get(key), listers[SERVICE].get(key)
    slices = list(listers[ENDPOINT_SLICE].by_index(SLICES_BY_ENDPOINTS.name, key))
    if endpoints is not None and service is not None and is_for_mirroring(endpoints, service):
        return Observed(endpoints, [endpoint_slice for endpoint_slice in slices if not is_deleting(endpoint_slice)])
    return StaleSlices(key, slices) if slices else None


def service_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Yield the Endpoints of a Service that has no selector, or gained or lost one."""
    selects = [bool(service["spec"].get("selector")) for service in (change.old, change.new) if service is not None]
    if change.old is not change.new and (selects == [False] or len(set(selects)) == 2):
        yield key_of(change.obj)


def reconcile(observed: Observed | StaleSlices, now: float) -> Plan:
    """Update the slices to match the Endpoints (syncEndpoints).

    Raises:
        ApiError: the first refused write.
    """
    del now
    if isinstance(observed, StaleSlices):
        yield from write_slices(SliceChanges(deletes=list(observed.slices)), f"Endpoints {observed.key}")
        return
    endpoints = observed.endpoints
    result = mirror(endpoints, owner_reference(ENDPOINTS, endpoints), observed.slices)
    if result.skipped:
        message = (
            f"A max of {MAX_ENDPOINTS_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset. "
            f"{result.skipped} addresses were skipped"
        )
        yield RecordEvent(endpoints, "TooManyAddressesToMirror", message, WARNING)
    changes = result.changes
    creates = [] if is_deleting(endpoints) else changes.creates
    try:
        yield from write_slices(
            SliceChanges(creates, changes.updates, changes.deletes), f"Endpoints {key_of(endpoints)}"
        )
    except ApiError as error:
        if not is_namespace_terminating(error):
            raise


SPEC = ControllerSpec(
    name="endpointslicemirroring",
    account="endpointslicemirroring-controller",
    watches=(
        Watch(ENDPOINTS, enqueue_self),
        Watch(SERVICE, service_changed),
        Watch(ENDPOINT_SLICE, slice_changed(SLICES_BY_ENDPOINTS)),
    ),
    observe=observe,
    reconcile=reconcile,
    source="endpoint-slice-mirroring-controller",
    retries=15,
    min_interval=MIN_INTERVAL,
    indexes=(SLICES_BY_ENDPOINTS,),
    queue="endpoint_slice_mirroring",
)
