"""Removes the finalizer of deleted volumes once no claim is bound to them (pkg/controller/volume/pvprotection)."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.storage_classes import VOLUME_FINALIZER
from controller_manager.controllers.volume.protection import (
    is_deletion_candidate,
    needs_finalizer,
    with_finalizer,
    without_finalizer,
)
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import Change, ControllerSpec, Key, Listers, Plan, Update, Watch
from controller_manager.reconcile.kinds import VOLUME


@dataclass(frozen=True, slots=True)
class Observed:
    """A volume as it should be written: with the finalizer, or without it."""

    volume: Obj


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the volume to write, or None if it is gone, in use, or as it should be."""
    volume = listers[VOLUME].get(key)
    if volume is None:
        return None
    if needs_finalizer(volume, VOLUME_FINALIZER):
        return Observed(with_finalizer(volume, VOLUME_FINALIZER))
    is_free = is_deletion_candidate(volume, VOLUME_FINALIZER) and phase_of(volume) != "Bound"
    return Observed(without_finalizer(volume, VOLUME_FINALIZER)) if is_free else None


def volume_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Yield the name of a volume that should be protected or may be released."""
    if change.new is not None and (
        needs_finalizer(change.new, VOLUME_FINALIZER) or is_deletion_candidate(change.new, VOLUME_FINALIZER)
    ):
        yield name_of(change.new)


def reconcile(observed: Observed, now: float) -> Plan:
    """Write the volume.

    Raises:
        ApiError: it could not be written for a reason other than that it is gone.
    """
    del now
    try:
        yield Update(VOLUME, observed.volume)
    except ApiError as error:
        if error.code != 404:
            raise


SPEC = ControllerSpec(
    name="pv-protection",
    account="pv-protection-controller",
    watches=(Watch(VOLUME, volume_changed),),
    observe=observe,
    reconcile=reconcile,
    workers=1,
    queue="pvprotection",
)
