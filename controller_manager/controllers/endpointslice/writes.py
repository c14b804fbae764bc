"""Read EndpointSlices from caches and write them, for the controllers that manage some of them."""

from collections.abc import Iterable, Sequence

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, namespace_of
from controller_manager.controllers.endpointslice.filling import MANAGED_BY_LABEL, SERVICE_NAME_LABEL, SliceChanges
from controller_manager.reconcile.contract import (
    Batch,
    Change,
    Create,
    DelayedKey,
    Delete,
    Index,
    Listers,
    Plan,
    Request,
    Trigger,
    Update,
    key_of,
)
from controller_manager.reconcile.kinds import ENDPOINT_SLICE

SLICE_CHANGE_DELAY = 1.0
"""Seconds after which a Service is synced when one of its slices has changed (endpointSliceChangeMinSyncDelay)."""


def slices_of(controller: str) -> Index:
    """Return an index of the slices that a controller manages, by the key of their Service."""

    def values(endpoint_slice: Obj) -> Iterable[str]:
        labels = labels_of(endpoint_slice)
        name = labels.get(SERVICE_NAME_LABEL)
        return (
            (f"{namespace_of(endpoint_slice)}/{name}",) if name and labels.get(MANAGED_BY_LABEL) == controller else ()
        )

    return Index(ENDPOINT_SLICE, controller, values)


def slice_changed(index: Index) -> Trigger:
    """Return a trigger for the Service of an indexed slice, and for the one to which the slice belonged before."""

    def trigger(_: Listers, change: Change) -> Iterable[DelayedKey]:
        if change.old is not change.new:
            states = [state for state in (change.old, change.new) if state is not None]
            for key in {key for state in states for key in index.values(state)}:
                yield DelayedKey(key, SLICE_CHANGE_DELAY)

    return trigger


def write_slices(changes: SliceChanges, about: str) -> Plan:
    """Create, update and delete slices, in this order.

    Args:
        changes: the slices to write.
        about: the object that they belong to, for messages: "Service shop/web".

    Raises:
        ApiError: the first refusal; a slice that is gone already counts as deleted.
    """
    yield from _succeed(
        [Create(ENDPOINT_SLICE, endpoint_slice) for endpoint_slice in changes.creates],
        f"create EndpointSlice for {about}",
    )
    yield from _succeed(
        [Update(ENDPOINT_SLICE, endpoint_slice) for endpoint_slice in changes.updates],
        f"update EndpointSlice for {about}",
    )
    yield from _succeed(
        [_deletion(endpoint_slice) for endpoint_slice in changes.deletes], f"delete EndpointSlice for {about}"
    )


def _deletion(endpoint_slice: Obj) -> Delete:
    return Delete(ENDPOINT_SLICE, key_of(endpoint_slice), uid=endpoint_slice["metadata"]["uid"])


def _succeed(requests: Sequence[Request], attempt: str) -> Plan:
    answers = (yield Batch(requests)) if requests else ()
    for request, answer in zip(requests, answers, strict=True):
        if isinstance(answer, ApiError) and not (isinstance(request, Delete) and answer.code == 404):
            raise answer.with_message(f"failed to {attempt}: {answer.message}")
