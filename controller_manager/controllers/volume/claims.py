"""The sync of a claim: find or provision a volume for it, or mark the claim as lost.

(pkg/controller/volume/persistentvolume/pv_controller.go syncClaim) Elsewhere a provisioner beside the controller
manager creates volumes; here the provisioner of our own classes is built in, and its Events carry its name.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, conflict
from apiserver.api.meta import Obj, annotations_of, name_of
from controller_manager.controllers.volume.provisioning import (
    PROVISIONER,
    claim_with_provisioner,
    new_volume,
    provisioner_of,
    unprovisionable_reason,
)
from controller_manager.controllers.volume.writes import bind_volume, mark_claim_lost, set_claim_phase
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
    WAIT_FOR_FIRST_CONSUMER,
    class_of,
    is_reserved_for,
    mismatch_reason,
)


@dataclass(frozen=True, slots=True)
class ObservedClaim:
    """A claim, and the objects that it may be bound to or depends on.

    Attributes:
        volume: the volume that it names.
        match: the volume that suits it best, if it names none.
        storage_class: its class, if that exists.
        default: the default class, if the claim does not set storageClassName.
        node: the node that the scheduler selected for the volume, if that exists.
        pods: the names of the pods that use it and have no node yet.
    """

    claim: Obj
    volume: Obj | None = None
    match: Obj | None = None
    storage_class: Obj | None = None
    default: Obj | None = None
    node: Obj | None = None
    pods: Sequence[str] = ()


def waits_for_consumer(storage_class: Obj | None) -> bool:
    """Return whether claims of the class are bound only when a pod uses them (IsDelayBindingMode)."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER


def sync_claim(observed: ObservedClaim, now: float) -> Plan:
    """Bind a claim and a volume, or advance the claim towards that (syncClaim).

    Raises:
        ApiError: a write was refused, or the claim names a volume that is bound to another claim.
    """
    if BIND_COMPLETED in annotations_of(observed.claim):
        yield from _sync_bound(observed, now)
    elif observed.claim["spec"].get("volumeName"):
        yield from _sync_prebound(observed, now)
    elif observed.match is not None:
        yield from bind_volume(observed.match, observed.claim, now)
    else:
        yield from _sync_unbound(observed, now)


def _sync_bound(observed: ObservedClaim, now: float) -> Plan:
    """Keep a bound claim bound, or mark it as lost for good (syncBoundClaim)."""
    claim, volume = observed.claim, observed.volume
    reference = volume["spec"].get("claimRef") if volume is not None else None
    if not claim["spec"].get("volumeName"):
        message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        yield from mark_claim_lost(claim, "ClaimLost", message)
    elif volume is None:
        yield from mark_claim_lost(
            claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        )
    elif reference is None or reference.get("uid") == claim["metadata"]["uid"]:
        yield from bind_volume(volume, claim, now)
    else:
        message = "Two claims are bound to the same volume, this one is bound incorrectly"
        yield from mark_claim_lost(claim, "ClaimMisbound", message)


def _sync_prebound(observed: ObservedClaim, now: float) -> Plan:
    """Bind a claim to the volume that it names, if that is free and suits it (syncUnboundClaim)."""
    claim, volume = observed.claim, observed.volume
    if volume is None:
        yield from set_claim_phase(claim, "Pending")
    elif is_reserved_for(volume, claim):
        yield from bind_volume(volume, claim, now)
    elif volume["spec"].get("claimRef") is not None:
        yield from _report_conflict(claim, volume)
    elif reason := mismatch_reason(volume, claim):
        message = f'Cannot bind to requested volume "{name_of(volume)}": {reason}'
        yield from _keep_pending(claim, "VolumeMismatch", message, WARNING)
    else:
        yield from bind_volume(volume, claim, now)


def _report_conflict(claim: Obj, volume: Obj) -> Plan:
    name = name_of(volume)
    message = f'volume "{name}" already bound to a different claim.'
    if BOUND_BY_CONTROLLER not in annotations_of(claim):
        yield from _keep_pending(claim, "FailedBinding", message, WARNING)
        return
    yield RecordEvent(claim, "FailedBinding", message, WARNING)
    reason = f'invalid binding of claim "{key_of(claim)}" to volume "{name}": volume already claimed by another'
    raise conflict("", CLAIM.plural, name=name_of(claim), why=reason)


def _sync_unbound(observed: ObservedClaim, now: float) -> Plan:
    """Set the default class, wait for a pod, or provision a volume for a claim without a match (syncUnboundClaim)."""
    claim = observed.claim
    if observed.default is not None:
        yield Update(CLAIM, claim | {"spec": claim["spec"] | {"storageClassName": name_of(observed.default)}})
    elif waits_for_consumer(observed.storage_class) and SELECTED_NODE not in annotations_of(claim):
        yield from _report_waiting(claim, observed.pods)
    elif class_of(claim):
        yield from _provision(observed, now)
    else:
        message = "no persistent volumes available for this claim and no storage class is set"
        yield from _keep_pending(claim, "FailedBinding", message, NORMAL)


def _report_waiting(claim: Obj, pods: Sequence[str]) -> Plan:
    """Record an Event that names what the claim waits for (emitEventForUnboundDelayBindingClaim)."""
    if pods:
        waiting_pods = f"pod{'s' if len(pods) > 1 else ''} {','.join(pods)}"
        yield from _keep_pending(claim, "WaitForPodScheduled", f"waiting for {waiting_pods} to be scheduled", NORMAL)
    else:
        message = "waiting for first consumer to be created before binding"
        yield from _keep_pending(claim, "WaitForFirstConsumer", message, NORMAL)


def _keep_pending(claim: Obj, reason: str, message: str, type_: str) -> Plan:
    yield RecordEvent(claim, reason, message, type_)
    yield from set_claim_phase(claim, "Pending")


# -- provisioning ------------------------------------------------------------------------------------------------------


def _provision(observed: ObservedClaim, now: float) -> Plan:
    """Have the provisioner of the claim's class create a volume (provisionClaim, provisionClaimOperationExternal)."""
    claim, storage_class = observed.claim, observed.storage_class
    if storage_class is None:
        message = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
        yield RecordEvent(claim, "ProvisioningFailed", message, WARNING)
        return
    provisioner = provisioner_of(storage_class)
    if message := unprovisionable_reason(provisioner):
        yield RecordEvent(claim, "ProvisioningFailed", message, WARNING)
        return
    assigned = claim_with_provisioner(claim, provisioner)
    if assigned is not claim:
        assigned = yield Update(CLAIM, assigned)
    yield RecordEvent(assigned, "ExternalProvisioning", _WAITING_FOR_VOLUME.format(provisioner))
    if provisioner == PROVISIONER and not is_deleting(claim):
        yield from _create_and_bind(observed, assigned, storage_class, now)


_WAITING_FOR_VOLUME = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


def _create_and_bind(observed: ObservedClaim, claim: Obj, storage_class: Obj, now: float) -> Plan:
    """Create the volume and bind it (sig-storage-lib-external-provisioner provisionClaimOperation)."""
    selected = annotations_of(claim).get(SELECTED_NODE)
    if selected and observed.node is None:
        yield from _reset_selected_node(claim, selected)
        return
    message = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
    yield RecordEvent(claim, "Provisioning", message, component=PROVISIONER)
    volume = yield from _create_volume(claim, new_volume(claim, storage_class, observed.node if selected else None))
    message = f"Successfully provisioned volume {name_of(volume)}"
    yield RecordEvent(claim, "ProvisioningSucceeded", message, component=PROVISIONER)
    if is_reserved_for(volume, claim):
        yield from bind_volume(volume, claim, now)


def _reset_selected_node(claim: Obj, node: str) -> Plan:
    """Remove the selected node, which does not exist, so that the scheduler chooses again (rescheduleProvisioning)."""
    message = f'failed to get target node: node "{node}" not found'
    yield RecordEvent(claim, "ProvisioningFailed", message, WARNING, component=PROVISIONER)
    annotations = {name: text for name, text in annotations_of(claim).items() if name != SELECTED_NODE}
    yield Update(CLAIM, claim | {"metadata": claim["metadata"] | {"annotations": annotations}})


def _create_volume(claim: Obj, volume: Obj) -> Generator[Action, Any, Obj]:
    """Create a volume, or return the one of that name, which was created for the claim before."""
    try:
        created: Obj = yield Create(VOLUME, volume)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            existing: Obj = yield Get(VOLUME, name_of(volume))
            return existing
        message = (
            f"Error creating provisioned PV object for claim {key_of(claim)}: {error.message}. Deleting the volume."
        )
        yield RecordEvent(claim, "ProvisioningFailed", message, WARNING, component=PROVISIONER)
        raise
    return created
