"""What is done about a claim: a volume is found or made for it, and one that lost its volume says so.

(pkg/controller/volume/persistentvolume/pv_controller.go syncClaim) Making volumes is the work of a provisioner beside
the controller manager elsewhere; the one of our own classes is in here, and its Events come from it by name.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, conflict
from apiserver.api.meta import Obj, annotations_of, name_of
from controller_manager.controllers.volume.provisioning import (
    PROVISIONER,
    assigned_claim,
    new_volume,
    provisioner_of,
    why_nobody,
)
from controller_manager.controllers.volume.writes import bind, claim_to_phase, lose
from controller_manager.reconcile.contract import (
    NORMAL,
    WARNING,
    Action,
    Create,
    Get,
    Plan,
    RecordEvent,
    Update,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.kinds import CLAIM, VOLUME
from controller_manager.reconcile.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAITS_FOR_CONSUMER,
    class_of,
    is_for,
    mismatch,
)


@dataclass(frozen=True, slots=True)
class ClaimSeen:
    """A claim, and what there is for it.

    Attributes:
        volume: the one that it names.
        match: the one that suits it best, if it names none.
        storage_class: its class, if that is there.
        default: the default class, if the claim says nothing of classes.
        node: the node for which the scheduler wants a volume, if that is there.
        pods: names of those that use it and have no node yet.
    """

    claim: Obj
    volume: Obj | None = None
    match: Obj | None = None
    storage_class: Obj | None = None
    default: Obj | None = None
    node: Obj | None = None
    pods: Sequence[str] = ()


def waits(storage_class: Obj | None) -> bool:
    """Whether claims of the class are bound when a pod uses them (IsDelayBindingMode)."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == WAITS_FOR_CONSUMER


def sync_claim(seen: ClaimSeen, now: float) -> Plan:
    """Bring a claim and its volume together (syncClaim).

    Raises:
        ApiError: something could not be written, or the claim has a volume that is somebody else's.
    """
    if BIND_COMPLETED in annotations_of(seen.claim):
        yield from _sync_bound(seen, now)
    elif seen.claim["spec"].get("volumeName"):
        yield from _sync_prebound(seen, now)
    elif seen.match is not None:
        yield from bind(seen.match, seen.claim, now)
    else:
        yield from _sync_unbound(seen, now)


def _sync_bound(seen: ClaimSeen, now: float) -> Plan:
    """A claim that was bound stays so, or is lost for good (syncBoundClaim)."""
    claim, volume = seen.claim, seen.volume
    reference = volume["spec"].get("claimRef") if volume is not None else None
    if not claim["spec"].get("volumeName"):
        why = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        yield from lose(claim, "ClaimLost", why)
    elif volume is None:
        yield from lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    elif reference is None or reference.get("uid") == claim["metadata"]["uid"]:
        yield from bind(volume, claim, now)
    else:
        why = "Two claims are bound to the same volume, this one is bound incorrectly"
        yield from lose(claim, "ClaimMisbound", why)


def _sync_prebound(seen: ClaimSeen, now: float) -> Plan:
    """A claim gets the volume that it names, if that is free and suits it (syncUnboundClaim)."""
    claim, volume = seen.claim, seen.volume
    if volume is None:
        yield from claim_to_phase(claim, "Pending")
    elif is_for(volume, claim):
        yield from bind(volume, claim, now)
    elif volume["spec"].get("claimRef") is not None:
        yield from _refuse_taken(claim, volume)
    elif why := mismatch(volume, claim):
        message = f'Cannot bind to requested volume "{name_of(volume)}": {why}'
        yield from _pend(claim, "VolumeMismatch", message, WARNING)
    else:
        yield from bind(volume, claim, now)


def _refuse_taken(claim: Obj, volume: Obj) -> Plan:
    name = name_of(volume)
    message = f'volume "{name}" already bound to a different claim.'
    if BOUND_BY_CONTROLLER not in annotations_of(claim):
        yield from _pend(claim, "FailedBinding", message, WARNING)
        return
    yield RecordEvent(claim, "FailedBinding", message, WARNING)
    why = f'invalid binding of claim "{key_of(claim)}" to volume "{name}": volume already claimed by another'
    raise conflict("", CLAIM.plural, name=name_of(claim), why=why)


def _sync_unbound(seen: ClaimSeen, now: float) -> Plan:
    """Nothing suits the claim: it gets the default class, waits for a pod, or a volume is made (syncUnboundClaim)."""
    claim = seen.claim
    if seen.default is not None:
        yield Update(CLAIM, claim | {"spec": claim["spec"] | {"storageClassName": name_of(seen.default)}})
    elif waits(seen.storage_class) and SELECTED_NODE not in annotations_of(claim):
        yield from _await_consumer(claim, seen.pods)
    elif class_of(claim):
        yield from _provision(seen, now)
    else:
        why = "no persistent volumes available for this claim and no storage class is set"
        yield from _pend(claim, "FailedBinding", why, NORMAL)


def _await_consumer(claim: Obj, pods: Sequence[str]) -> Plan:
    """Say whose turn it is (emitEventForUnboundDelayBindingClaim)."""
    if pods:
        who = f"pod{'s' if len(pods) > 1 else ''} {','.join(pods)}"
        yield from _pend(claim, "WaitForPodScheduled", f"waiting for {who} to be scheduled", NORMAL)
    else:
        why = "waiting for first consumer to be created before binding"
        yield from _pend(claim, "WaitForFirstConsumer", why, NORMAL)


def _pend(claim: Obj, reason: str, message: str, type_: str) -> Plan:
    yield RecordEvent(claim, reason, message, type_)
    yield from claim_to_phase(claim, "Pending")


# -- volumes that are made ---------------------------------------------------------------------------------------------


def _provision(seen: ClaimSeen, now: float) -> Plan:
    """Have a volume made by whoever the class names (provisionClaim, provisionClaimOperationExternal)."""
    claim, storage_class = seen.claim, seen.storage_class
    if storage_class is None:
        why = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
        yield RecordEvent(claim, "ProvisioningFailed", why, WARNING)
        return
    provisioner = provisioner_of(storage_class)
    if why := why_nobody(provisioner):
        yield RecordEvent(claim, "ProvisioningFailed", why, WARNING)
        return
    assigned = assigned_claim(claim, provisioner)
    if assigned is not claim:
        assigned = yield Update(CLAIM, assigned)
    yield RecordEvent(assigned, "ExternalProvisioning", _WAITING.format(provisioner))
    if provisioner == PROVISIONER and not is_deleting(claim):
        yield from _make(seen, assigned, storage_class, now)


_WAITING = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


def _make(seen: ClaimSeen, claim: Obj, storage_class: Obj, now: float) -> Plan:
    """Make the volume, and bind it (sig-storage-lib-external-provisioner provisionClaimOperation)."""
    selected = annotations_of(claim).get(SELECTED_NODE)
    if selected and seen.node is None:
        yield from _give_back(claim, selected)
        return
    told = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
    yield RecordEvent(claim, "Provisioning", told, component=PROVISIONER)
    volume = yield from _create(claim, new_volume(claim, storage_class, seen.node if selected else None))
    told = f"Successfully provisioned volume {name_of(volume)}"
    yield RecordEvent(claim, "ProvisioningSucceeded", told, component=PROVISIONER)
    if is_for(volume, claim):
        yield from bind(volume, claim, now)


def _give_back(claim: Obj, node: str) -> Plan:
    """Have the scheduler choose again: the node that it chose is not there (rescheduleProvisioning)."""
    why = f'failed to get target node: node "{node}" not found'
    yield RecordEvent(claim, "ProvisioningFailed", why, WARNING, component=PROVISIONER)
    annotations = {name: text for name, text in annotations_of(claim).items() if name != SELECTED_NODE}
    yield Update(CLAIM, claim | {"metadata": claim["metadata"] | {"annotations": annotations}})


def _create(claim: Obj, volume: Obj) -> Generator[Action, Any, Obj]:
    """Create a volume; one of that name was made for the claim before."""
    try:
        made: Obj = yield Create(VOLUME, volume)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            found: Obj = yield Get(VOLUME, name_of(volume))
            return found
        why = f"Error creating provisioned PV object for claim {key_of(claim)}: {error.message}. Deleting the volume."
        yield RecordEvent(claim, "ProvisioningFailed", why, WARNING, component=PROVISIONER)
        raise
    return made
