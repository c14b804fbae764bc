"""What is written of claims and volumes: their phases, and to whom they are bound; nothing where they tell it."""

from collections.abc import Generator
from typing import Any

from apiserver.api.meta import Obj
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import WARNING, Action, Plan, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM, VOLUME
from controller_manager.reconcile.volumes import bound_claim, bound_volume, claim_status, unbound_volume, volume_status

Written = Generator[Action, Any, Obj]
"""Steps of a plan that give the object as stored."""


def bind(volume: Obj, claim: Obj, now: float) -> Plan:
    """Bind a volume and a claim to each other, the volume first (pv_controller.go bind).

    Raises:
        ApiError: one of them could not be written; whoever tries again goes on from there.
    """
    bound = bound_volume(volume, claim)
    if bound is not volume:
        bound = yield Update(VOLUME, bound)
    bound = yield from to_phase(bound, "Bound", now)
    full = bound_claim(claim, bound)
    if full is not claim:
        full = yield Update(CLAIM, full)
    yield from claim_to_phase(full, "Bound", bound)


def unbind(volume: Obj, now: float) -> Plan:
    """Let a volume go that is bound to a claim that has another (unbindVolume)."""
    unbound = yield Update(VOLUME, unbound_volume(volume))
    yield from to_phase(unbound, "Available", now)


def to_phase(volume: Obj, phase: str, now: float) -> Written:
    """Put a volume into a phase (updateVolumePhase)."""
    status = volume_status(volume, phase, now=now)
    if status == volume.get("status"):
        return volume
    stored: Obj = yield Update(VOLUME, volume | {"status": status}, "status")
    return stored


def fail(volume: Obj, reason: str, message: str, now: float) -> Plan:
    """Let a volume fail, and tell why, once (updateVolumePhaseWithEvent)."""
    if phase_of(volume) != "Failed":
        status = volume_status(volume, "Failed", now=now, message=message)
        yield Update(VOLUME, volume | {"status": status}, "status")
        yield RecordEvent(volume, reason, message, WARNING)


def claim_to_phase(claim: Obj, phase: str, volume: Obj | None = None) -> Written:
    """Put a claim into a phase, with what its volume offers (updateClaimStatus)."""
    status = claim_status(claim, phase, volume)
    if status == claim.get("status"):
        return claim
    stored: Obj = yield Update(CLAIM, claim | {"status": status}, "status")
    return stored


def lose(claim: Obj, reason: str, message: str) -> Plan:
    """Say that a claim has lost its volume for good, once (updateClaimStatusWithEvent)."""
    if phase_of(claim) != "Lost":
        yield from claim_to_phase(claim, "Lost")
        yield RecordEvent(claim, reason, message, WARNING)
