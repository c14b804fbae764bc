"""What a pod's claims have to say about its node: volumes that are there already, and those that are still to be found.

From plugins/volumebinding, plugins/volumezone and plugins/volumerestrictions, and the search for a volume from
component-helpers/storage/volume/pv_helpers.go. Storage capacity, limits per node and CSI migration are not regarded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.planning.conditions import phase_of
from controller_manager.planning.placement.node_affinity import NodeTerm, node_terms
from controller_manager.planning.placement.node_info import NodeInfo
from controller_manager.planning.placement.status import VOLUME_BINDING, VOLUME_RESTRICTIONS, VOLUME_ZONE, Status
from controller_manager.planning.volumes import (
    SELECTED_NODE,
    WAITS_FOR_CONSUMER,
    claim_name,
    class_of,
    has_mode,
    is_bound,
    is_for,
    modes_of,
    selects,
    size_asked,
    size_of,
)

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")

_IN_USE = Status(
    ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
    VOLUME_RESTRICTIONS,
    resolvable=True,
)
_ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
_NOT_FOUND = "node(s) didn't find available persistent volumes to bind"
_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_OTHER_ZONE = Status(("node(s) had no available volume zone",), VOLUME_ZONE)
_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class Storage:
    """Where claims, volumes and classes are found.

    Attributes:
        claim: by key.
        volume, storage_class: by name.
        candidates: the volumes that a claim may get, as far as an index tells: those of its class that are free, and
            those that name it.
        uses: the pods that use a claim, by its key.
        reserved: names of volumes that other pods are about to get.
    """

    claim: Callable[[str], Obj | None]
    volume: Callable[[str], Obj | None]
    storage_class: Callable[[str], Obj | None]
    candidates: Callable[[Obj], Iterable[Obj]]
    uses: Callable[[str], Iterable[Obj]]
    reserved: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Bindings:
    """What has to be done so that a pod's claims are bound on a node.

    Attributes:
        volumes: claims, each with the volume that it gets.
        provisions: claims for which a volume has to be made.
    """

    volumes: Sequence[tuple[Obj, Obj]] = ()
    provisions: Sequence[Obj] = ()

    @property
    def claims(self) -> list[Obj]:
        """All claims."""
        return [*(claim for claim, _ in self.volumes), *self.provisions]


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod.

    Attributes:
        bound: those that are there.
        is_lost: whether one that should be there is not.
        is_in_use: whether another pod has what only one may have.
        unbound: claims that are bound when the pod has a node.
    """

    storage: Storage
    bound: Sequence[Obj]
    is_lost: bool
    is_in_use: bool
    unbound: Sequence[Obj]

    def status(self, node: NodeInfo) -> Status | None:
        """Why a node does not suit, None if it does."""
        if self.is_in_use:
            return _IN_USE
        reasons = []
        if any(not _is_reachable(volume, node) for volume in self.bound):
            reasons.append(_ELSEWHERE)
        if self.unbound and self.bindings(node) is None:
            reasons.append(_NOT_FOUND)
        if self.is_lost:
            reasons.append(_GONE)
        if reasons:
            return Status(tuple(reasons), VOLUME_BINDING)
        return _OTHER_ZONE if any(_is_in_other_zone(volume, node) for volume in self.bound) else None

    def bindings(self, node: NodeInfo) -> Bindings | None:
        """What has to be done for the claims on a node, None where nothing helps (FindPodVolumes)."""
        if not self.unbound:
            return Bindings()
        chosen = set(self.storage.reserved)
        found, provisions = [], []
        for claim in sorted(self.unbound, key=size_asked):
            selected = annotations_of(claim).get(SELECTED_NODE)
            if selected and selected != node.name:
                return None
            volume = None if selected else self._match(claim, node, chosen)
            if volume is not None:
                chosen.add(name_of(volume))
                found.append((claim, volume))
            elif self._can_be_made(claim, node):
                provisions.append(claim)
            else:
                return None
        return Bindings(found, provisions)

    def _match(self, claim: Obj, node: NodeInfo, chosen: Collection[str]) -> Obj | None:
        """The smallest volume that fits the claim (FindMatchingVolume)."""
        candidates = []
        for volume in self.storage.candidates(claim):
            if name_of(volume) in chosen or not _suits(volume, claim) or not _is_reachable(volume, node):
                continue
            if volume["spec"].get("claimRef") is None:
                candidates.append(volume)
            elif is_for(volume, claim):
                return volume
        return min((v for v in candidates if phase_of(v) == "Available"), key=size_of, default=None)

    def _can_be_made(self, claim: Obj, node: NodeInfo) -> bool:
        """Whether a volume for the claim can be made near the node (checkVolumeProvisions)."""
        found = self.storage.storage_class(class_of(claim))
        if found is None or found.get("provisioner") in (None, "", _NO_PROVISIONER):
            return False
        topologies = found.get("allowedTopologies") or ()
        return not topologies or any(_has_labels(term, node.labels) for term in topologies)


def pod_volumes(pod: Obj, storage: Storage) -> PodVolumes | str | None:
    """The volumes of a pod, None where it claims none, or why it cannot go anywhere yet (PreFilter)."""
    sources = [volume for volume in pod["spec"].get("volumes") or () if claim_name(pod, volume)]
    if not sources:
        return None
    bound, unbound = [], []
    is_lost = is_in_use = False
    for source in sources:
        name = claim_name(pod, source)
        claim = storage.claim(f"{namespace_of(pod)}/{name}")
        if claim is None:
            return _missing(name, source)
        if why := _why_unusable(claim, pod, is_own=bool(source.get("ephemeral"))):
            return why
        is_in_use = is_in_use or ("ReadWriteOncePod" in modes_of(claim) and _has_another_user(claim, pod, storage))
        if is_bound(claim):
            found = storage.volume(claim["spec"]["volumeName"])
            is_lost = is_lost or found is None
            bound += [found] if found is not None else []
        elif claim["spec"].get("volumeName") or not _waits_for_consumer(claim, storage):
            return _UNBOUND
        else:
            unbound.append(claim)
    return PodVolumes(storage, bound, is_lost, is_in_use, unbound)


def why_given_up(claim: Obj | None, key: str, *, node: str, version: str) -> str:
    """Why a claim will not be bound for a node, "" where it may still be (checkBindings).

    Args:
        claim: as it is, None where it is gone.
        key: of the claim.
        node: for which whoever makes volumes was asked to make one.
        version: the claim's resourceVersion before that; "" where nothing was asked.
    """
    if claim is None:
        return f'failed to check provisioning pvc: persistentvolumeclaim "{key}" not found'
    known = claim["metadata"].get("resourceVersion")
    if is_bound(claim) or not version or known == version or annotations_of(claim).get(SELECTED_NODE) == node:
        return ""
    return f'provisioning failed for PVC "{name_of(claim)}"'


# -- claims ------------------------------------------------------------------------------------------------------------


def _missing(name: str, volume: Obj) -> str:
    if volume.get("ephemeral"):
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _why_unusable(claim: Obj, pod: Obj, *, is_own: bool) -> str:
    name = name_of(claim)
    if phase_of(claim) == "Lost":
        volume = claim["spec"].get("volumeName") or ""
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim["metadata"].get("deletionTimestamp"):
        return f'persistentvolumeclaim "{name}" is being deleted'
    owners = claim["metadata"].get("ownerReferences") or ()
    if is_own and not any(o.get("controller") and o["uid"] == pod["metadata"]["uid"] for o in owners):
        of_claim, of_pod = f"{namespace_of(claim)}/{name}", f"{namespace_of(pod)}/{name_of(pod)}"
        return f"PVC {of_claim} was not created for pod {of_pod} (pod is not owner)"
    return ""


def _waits_for_consumer(claim: Obj, storage: Storage) -> bool:
    name = class_of(claim)
    found = storage.storage_class(name) if name else None
    return found is not None and found.get("volumeBindingMode") == WAITS_FOR_CONSUMER


def _has_another_user(claim: Obj, pod: Obj, storage: Storage) -> bool:
    """Whether a pod that has a node uses the claim."""
    key = f"{namespace_of(claim)}/{name_of(claim)}"
    uid = pod["metadata"]["uid"]
    return any(other["metadata"]["uid"] != uid and other["spec"].get("nodeName") for other in storage.uses(key))


# -- volumes -----------------------------------------------------------------------------------------------------------


def _suits(volume: Obj, claim: Obj) -> bool:
    """Whether a volume is what the claim wants, wherever it is."""
    return (
        class_of(volume) == class_of(claim)
        and has_mode(volume, claim)
        and not set(modes_of(claim)) - set(modes_of(volume))
        and size_of(volume) >= size_asked(claim)
        and not volume["metadata"].get("deletionTimestamp")
        and selects(claim, volume)
    )


def _is_reachable(volume: Obj, node: NodeInfo) -> bool:
    """Whether the node can have the volume (CheckNodeAffinity)."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    terms: tuple[NodeTerm, ...] = node_terms(required)
    return any(term.matches(node.labels, node.name) for term in terms)


def _is_in_other_zone(volume: Obj, node: NodeInfo) -> bool:
    """Whether a label of the volume names zones of which the node is in none."""
    labels = labels_of(volume)
    zones = {key: labels[key].split("__") for key in _ZONES if key in labels}
    return any(node.labels.get(key) not in allowed for key, allowed in zones.items())


def _has_labels(term: Obj, labels: Mapping[str, str]) -> bool:
    """Whether labels have what a term of a class's allowedTopologies names."""
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(expression["key"]) in (expression.get("values") or ()) for expression in expressions)
