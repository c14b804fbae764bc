"""EndpointSlices as caches have them and as they are written: for the controllers that manage some of them."""

from collections.abc import Iterable, Sequence

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, namespace_of
from controller_manager.controllers.endpointslice.filling import MANAGED_BY, SERVICE_NAME, Changes
from controller_manager.reconcile.contract import (
    Batch,
    Change,
    Create,
    Delayed,
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

AFTER_SLICE = 1.0
"""Seconds after which a Service is looked at when a slice of it has changed (endpointSliceChangeMinSyncDelay)."""


def slices_of(controller: str) -> Index:
    """The slices that a controller manages, by the key of their Service."""

    def values(each: Obj) -> Iterable[str]:
        labels = labels_of(each)
        name = labels.get(SERVICE_NAME)
        return (f"{namespace_of(each)}/{name}",) if name and labels.get(MANAGED_BY) == controller else ()

    return Index(ENDPOINT_SLICE, controller, values)


def slice_changed(index: Index) -> Trigger:
    """Wakes the Service of a slice that an index has, and the one to which it belonged before."""

    def trigger(_: Listers, change: Change) -> Iterable[Delayed]:
        if change.old is not change.new:
            states = [each for each in (change.old, change.new) if each is not None]
            for key in {key for each in states for key in index.values(each)}:
                yield Delayed(key, AFTER_SLICE)

    return trigger


def write_slices(changes: Changes, about: str) -> Plan:
    """Create, update and delete slices, in this order.

    Args:
        changes: what is to be done.
        about: what they tell of, for messages: "Service shop/web".

    Raises:
        ApiError: the first refusal; what is gone already is as good as deleted.
    """
    yield from _all([Create(ENDPOINT_SLICE, each) for each in changes.creates], f"create EndpointSlice for {about}")
    yield from _all([Update(ENDPOINT_SLICE, each) for each in changes.updates], f"update EndpointSlice for {about}")
    yield from _all([_deletion(each) for each in changes.deletes], f"delete EndpointSlice for {about}")


def _deletion(each: Obj) -> Delete:
    return Delete(ENDPOINT_SLICE, key_of(each), uid=each["metadata"]["uid"])


def _all(requests: Sequence[Request], what: str) -> Plan:
    answers = (yield Batch(requests)) if requests else ()
    for request, answer in zip(requests, answers, strict=True):
        if isinstance(answer, ApiError) and not (isinstance(request, Delete) and answer.code == 404):
            raise answer.worded(f"failed to {what}: {answer.message}")
