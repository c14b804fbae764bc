"""The claims of pods' ephemeral volumes, which belong to their pod and go with it (pkg/controller/volume/ephemeral)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from controller_manager.reconcile.contract import (
    WARNING,
    Change,
    Create,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Spec,
    Watch,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of, is_deleting, owner_reference
from controller_manager.reconcile.kinds import CLAIM, POD
from controller_manager.reconcile.volumes import PODS_BY_CLAIM, claim_name


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod that has ephemeral volumes.

    Attributes:
        volumes: those of its volumes that are ephemeral.
        claims: the claims that there are for them, by the volume's name.
    """

    pod: Obj
    volumes: Sequence[Obj]
    claims: Mapping[str, Obj]


def observe(listers: Listers, key: Key) -> Observed | None:
    """The ephemeral volumes of a pod, None where it is gone or on its way out."""
    pod = listers[POD].get(key)
    if pod is None or is_deleting(pod):
        return None
    volumes = _ephemeral(pod)
    found = {each["name"]: listers[CLAIM].get(f"{namespace_of(pod)}/{claim_name(pod, each)}") for each in volumes}
    return Observed(pod, volumes, {name: claim for name, claim in found.items() if claim is not None})


def _ephemeral(pod: Obj) -> Sequence[Obj]:
    return [each for each in pod["spec"].get("volumes") or () if each.get("ephemeral") is not None]


def pod_came(_: Listers, change: Change) -> Iterable[Key]:
    """A new pod that has ephemeral volumes."""
    if change.old is None and change.new is not None and _ephemeral(change.new):
        yield key_of(change.new)


def claim_went(listers: Listers, change: Change) -> Iterable[Key]:
    """The pods whose claim went, and is to be made again."""
    if change.new is None:
        for pod in listers[POD].by(PODS_BY_CLAIM.name, key_of(change.obj)):
            if _ephemeral(pod):
                yield key_of(pod)


def plan(seen: Observed, now: float) -> Plan:
    """Make the claims that are missing (handleVolume).

    Raises:
        ApiError: one of them could not be made, or somebody else's claim has its name; an event has said so.
    """
    del now
    for volume in seen.volumes:
        try:
            yield from _make(seen, volume)
        except ApiError as error:
            yield RecordEvent(seen.pod, "FailedBinding", f"ephemeral volume {volume['name']}: {error.message}", WARNING)
            raise


def _make(seen: Observed, volume: Obj) -> Plan:
    pod, name = seen.pod, claim_name(seen.pod, volume)
    claim = seen.claims.get(volume["name"])
    if claim is None:
        try:
            yield Create(CLAIM, _claim(pod, name, volume["ephemeral"]["volumeClaimTemplate"]))
        except ApiError as error:
            raise error.worded(f"create PVC {name}: {error.message}") from error
    elif (controller_of(claim) or {}).get("uid") != pod["metadata"]["uid"]:
        why = f"PVC {key_of(claim)} was not created for pod {key_of(pod)} (pod is not owner)"
        raise ApiError(409, "Conflict", why)


def _claim(pod: Obj, name: str, template: Obj) -> Obj:
    given = template.get("metadata") or {}
    meta = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    meta |= {"name": name, "namespace": namespace_of(pod), "ownerReferences": [owner_reference(POD, pod)]}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]}


SPEC = Spec(
    name="ephemeral-volume",
    watches=(Watch(POD, pod_came), Watch(CLAIM, claim_went)),
    observe=observe,
    reconcile=plan,
    source="ephemeral_volume",
    flag="ephemeralvolume",
    indexes=(PODS_BY_CLAIM,),
    queue="ephemeral_volume",
)
