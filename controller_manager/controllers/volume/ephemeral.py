"""The claims of pods' ephemeral volumes, which are owned by their pod (pkg/controller/volume/ephemeral)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
    ControllerSpec,
    Create,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Watch,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of, is_deleting, owner_reference
from controller_manager.reconcile.kinds import CLAIM, POD
from controller_manager.reconcile.volumes import PODS_BY_CLAIM, claim_name


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod with ephemeral volumes.

    Attributes:
        volumes: its ephemeral volumes.
        claims: their existing claims, by the volume's name.
    """

    pod: Obj
    volumes: Sequence[Obj]
    claims: Mapping[str, Obj]


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the ephemeral volumes of a pod, or None if it is gone or being deleted."""
    pod = listers[POD].get(key)
    if pod is None or is_deleting(pod):
        return None
    volumes = _ephemeral_volumes(pod)
    claims = {
        volume["name"]: listers[CLAIM].get(f"{namespace_of(pod)}/{claim_name(pod, volume)}") for volume in volumes
    }
    return Observed(pod, volumes, {name: claim for name, claim in claims.items() if claim is not None})


def _ephemeral_volumes(pod: Obj) -> Sequence[Obj]:
    return [volume for volume in pod["spec"].get("volumes") or () if volume.get("ephemeral") is not None]


def pod_added(_: Listers, change: Change) -> Iterable[Key]:
    """Yield the key of a new pod that has ephemeral volumes."""
    if change.old is None and change.new is not None and _ephemeral_volumes(change.new):
        yield key_of(change.new)


def claim_deleted(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the keys of pods whose claim was deleted and has to be created again."""
    if change.new is None:
        for pod in listers[POD].by_index(PODS_BY_CLAIM.name, key_of(change.obj)):
            if _ephemeral_volumes(pod):
                yield key_of(pod)


def reconcile(observed: Observed, now: float) -> Plan:
    """Create the missing claims (handleVolume).

    Raises:
        ApiError: a claim could not be created, or another object's claim has its name; an event was recorded.
    """
    del now
    for volume in observed.volumes:
        try:
            yield from _ensure_claim(observed, volume)
        except ApiError as error:
            yield RecordEvent(
                observed.pod, "FailedBinding", f"ephemeral volume {volume['name']}: {error.message}", WARNING
            )
            raise


def _ensure_claim(observed: Observed, volume: Obj) -> Plan:
    pod, name = observed.pod, claim_name(observed.pod, volume)
    claim = observed.claims.get(volume["name"])
    if claim is None:
        try:
            yield Create(CLAIM, _new_claim(pod, name, volume["ephemeral"]["volumeClaimTemplate"]))
        except ApiError as error:
            raise error.with_message(f"create PVC {name}: {error.message}") from error
    elif (controller_of(claim) or {}).get("uid") != pod["metadata"]["uid"]:
        message = f"PVC {key_of(claim)} was not created for pod {key_of(pod)} (pod is not owner)"
        raise ApiError(409, "Conflict", message)


def _new_claim(pod: Obj, name: str, template: Obj) -> Obj:
    template_meta = template.get("metadata") or {}
    meta = {key: template_meta[key] for key in ("labels", "annotations") if template_meta.get(key)}
    meta |= {"name": name, "namespace": namespace_of(pod), "ownerReferences": [owner_reference(POD, pod)]}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]}


SPEC = ControllerSpec(
    name="ephemeral-volume",
    account="ephemeral-volume-controller",
    watches=(Watch(POD, pod_added), Watch(CLAIM, claim_deleted)),
    observe=observe,
    reconcile=reconcile,
    source="ephemeral_volume",
    flag="ephemeralvolume",
    indexes=(PODS_BY_CLAIM,),
    queue="ephemeral_volume",
)
