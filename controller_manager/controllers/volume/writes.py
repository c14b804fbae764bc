"""Writes of claims and volumes: their phases and bindings, without a request if nothing changes."""

from collections.abc import Generator
from typing import Any

from apiserver.api.meta import Obj
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import WARNING, Action, Plan, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM, VOLUME
from controller_manager.reconcile.volumes import bound_claim, bound_volume, claim_status, unbound_volume, volume_status

StoredObject = Generator[Action, Any, Obj]
"""A generator of actions that returns the object as stored."""


def bind_volume(volume: Obj, claim: Obj, now: float) -> Plan:
    """Bind a volume and a claim to each other, the volume first (pv_controller.go bind).

    Raises:
        ApiError: a write was refused; a retry continues from there.
    """
    bound = bound_volume(volume, claim)
    if bound is not volume:
        bound = yield Update(VOLUME, bound)
    bound = yield from set_volume_phase(bound, "Bound", now)
    updated_claim = bound_claim(claim, bound)
    if updated_claim is not claim:
        updated_claim = yield Update(CLAIM, updated_claim)
    yield from set_claim_phase(updated_claim, "Bound", bound)


def unbind_volume(volume: Obj, now: float) -> Plan:
    """Unbind a volume from a claim that is bound to another volume (unbindVolume)."""
    unbound = yield Update(VOLUME, unbound_volume(volume))
    yield from set_volume_phase(unbound, "Available", now)


def set_volume_phase(volume: Obj, phase: str, now: float) -> StoredObject:
    """Set the phase of a volume (updateVolumePhase)."""
    status = volume_status(volume, phase, now=now)
    if status == volume.get("status"):
        return volume
    stored: Obj = yield Update(VOLUME, volume | {"status": status}, "status")
    return stored


def mark_volume_failed(volume: Obj, reason: str, message: str, now: float) -> Plan:
    """Set a volume's phase to Failed and record an Event, once (updateVolumePhaseWithEvent)."""
    if phase_of(volume) != "Failed":
        status = volume_status(volume, "Failed", now=now, message=message)
        yield Update(VOLUME, volume | {"status": status}, "status")
        yield RecordEvent(volume, reason, message, WARNING)


def set_claim_phase(claim: Obj, phase: str, volume: Obj | None = None) -> StoredObject:
    """Set the phase of a claim, and its status fields from its volume (updateClaimStatus)."""
    status = claim_status(claim, phase, volume)
    if status == claim.get("status"):
        return claim
    stored: Obj = yield Update(CLAIM, claim | {"status": status}, "status")
    return stored


def mark_claim_lost(claim: Obj, reason: str, message: str) -> Plan:
    """Set a claim's phase to Lost and record an Event, once (updateClaimStatusWithEvent)."""
    if phase_of(claim) != "Lost":
        yield from set_claim_phase(claim, "Lost")
        yield RecordEvent(claim, reason, message, WARNING)
