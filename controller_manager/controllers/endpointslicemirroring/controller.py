"""EndpointSlices of Endpoints that somebody wrote for a Service without a selector (controller/endpointslicemirroring).

Only what reads slices would know nothing of such Endpoints otherwise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.controllers.endpoints.selected_pods import PACE
from controller_manager.controllers.endpointslice.filling import Changes
from controller_manager.controllers.endpointslice.writes import slice_changed, slices_of, write_slices
from controller_manager.controllers.endpointslicemirroring.slices import CONTROLLER, LARGEST, is_for_mirroring, mirrored
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
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
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, ENDPOINTS, SERVICE

SLICES = slices_of(CONTROLLER)


@dataclass(frozen=True, slots=True)
class Observed:
    """Endpoints that are to be mirrored, and the slices that there are."""

    endpoints: Obj
    slices: Sequence[Obj]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Slices of Endpoints that are gone, or not to be mirrored any more."""

    key: Key
    slices: Sequence[Obj]


def observe(listers: Listers, key: Key) -> Observed | Leftover | None:
    """The Endpoints of that key if they are to be mirrored, or what is left of them; None where there is nothing."""
    endpoints, service = listers[ENDPOINTS].get(key), listers[SERVICE].get(key)
    slices = list(listers[ENDPOINT_SLICE].by(SLICES.name, key))
    if endpoints is not None and service is not None and is_for_mirroring(endpoints, service):
        return Observed(endpoints, [each for each in slices if not is_deleting(each)])
    return Leftover(key, slices) if slices else None


def service_changed(_: Listers, change: Change) -> Iterable[Key]:
    """The Endpoints of a Service that has no selector, or got or lost one."""
    selects = [bool(each["spec"].get("selector")) for each in (change.old, change.new) if each is not None]
    if change.old is not change.new and (selects == [False] or len(set(selects)) == 2):
        yield key_of(change.obj)


def plan(seen: Observed | Leftover, now: float) -> Plan:
    """Make the slices tell what the Endpoints tell (syncEndpoints).

    Raises:
        ApiError: the first that stood in the way.
    """
    del now
    if isinstance(seen, Leftover):
        yield from write_slices(Changes(deletes=list(seen.slices)), f"Endpoints {seen.key}")
        return
    endpoints = seen.endpoints
    found = mirrored(endpoints, owner_reference(ENDPOINTS, endpoints), seen.slices)
    if found.skipped:
        why = (
            f"A max of {LARGEST} addresses can be mirrored to EndpointSlices per Endpoints subset. "
            f"{found.skipped} addresses were skipped"
        )
        yield RecordEvent(endpoints, "TooManyAddressesToMirror", why, WARNING)
    changes = found.changes
    creates = [] if is_deleting(endpoints) else changes.creates
    try:
        yield from write_slices(Changes(creates, changes.updates, changes.deletes), f"Endpoints {key_of(endpoints)}")
    except ApiError as error:
        if not is_namespace_terminating(error):
            raise


SPEC = Spec(
    name="endpointslicemirroring",
    watches=(
        Watch(ENDPOINTS, enqueue_self),
        Watch(SERVICE, service_changed),
        Watch(ENDPOINT_SLICE, slice_changed(SLICES)),
    ),
    observe=observe,
    reconcile=plan,
    source="endpoint-slice-mirroring-controller",
    retries=15,
    min_interval=PACE,
    indexes=(SLICES,),
    queue="endpoint_slice_mirroring",
)
