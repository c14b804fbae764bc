"""The nodes that suit a pod's claims: by volumes that are bound already, and those that are still to be found or made.

From plugins/volumebinding, plugins/volumezone and plugins/volumerestrictions, and the search for a volume from
component-helpers/storage/volume/pv_helpers.go. Storage capacity, limits per node and CSI migration are not regarded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from apiserver.api.nodes import REGION, ZONE
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.volumes import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_name,
    class_of,
    is_bound,
    is_reserved_for,
    mismatch_reason,
    modes_of,
    requested_size,
    selector_matches,
    size_of,
)
from controller_manager.scheduler.node_affinity import NodeTerm, node_terms
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.status import VOLUME_BINDING, VOLUME_RESTRICTIONS, VOLUME_ZONE, Status

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONES = (ZONE, REGION)

_IN_USE = Status(
    ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
    VOLUME_RESTRICTIONS,
    resolvable=True,
)
_NODE_AFFINITY_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
_NOT_FOUND = "node(s) didn't find available persistent volumes to bind"
_VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_OTHER_ZONE = Status(("node(s) had no available volume zone",), VOLUME_ZONE)
_UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class StorageListers:
    """Looks up claims, volumes and storage classes.

    Attributes:
        claim: by key.
        volume, storage_class: by name.
        candidates: returns the volumes that a claim may get, as far as an index tells: the free ones of its class, and
            those whose claimRef names it.
        uses: the pods that use a claim, by the claim's key.
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
    """The writes that bind a pod's claims on a node.

    Attributes:
        volumes: claims, each with the existing volume that it gets.
        provisions: claims that a volume has to be provisioned for.
    """

    volumes: Sequence[tuple[Obj, Obj]] = ()
    provisions: Sequence[Obj] = ()

    @property
    def claims(self) -> list[Obj]:
        """All claims."""
        return [*(claim for claim, _ in self.volumes), *self.provisions]


@dataclass(frozen=True, slots=True)
class CandidateVolume:
    """A volume that a pod has, or that a claim may get.

    Attributes:
        terms: a node has to match one of these to use the volume; None if all nodes can.
    """

    volume: Obj
    terms: tuple[NodeTerm, ...] | None

    def is_reachable_from(self, node: NodeInfo) -> bool:
        """Return True if the node can use the volume (CheckNodeAffinity)."""
        return self.terms is None or any(term.matches(node.labels, node.name) for term in self.terms)


@dataclass(frozen=True)
class UnboundClaim:
    """A claim that is bound when its pod has a node; volumes for it are looked up on first use."""

    claim: Obj
    storage: StorageListers

    @cached_property
    def selected_node(self) -> str:
        """The node that a volume is being provisioned for, "" if there is none."""
        return annotations_of(self.claim).get(SELECTED_NODE) or ""

    @cached_property
    def candidates(self) -> Sequence[CandidateVolume]:
        """The volumes that suit the claim: those whose claimRef names it, then free ones, the smallest first."""
        claim = self.claim
        if self.selected_node:
            return ()
        matching = [
            v for v in self.storage.candidates(claim) if not mismatch_reason(v, claim) and selector_matches(claim, v)
        ]
        named = [volume for volume in matching if is_reserved_for(volume, claim)]
        free = [
            volume for volume in matching if volume["spec"].get("claimRef") is None and phase_of(volume) == "Available"
        ]
        return [_candidate(volume) for volume in (*named, *sorted(free, key=size_of))]

    @cached_property
    def topologies(self) -> Sequence[Obj] | None:
        """The topologies that the claim's class provisions in; () for everywhere, None without a provisioner."""
        storage_class = self.storage.storage_class(class_of(self.claim))
        if storage_class is None or storage_class.get("provisioner") in (None, "", _NO_PROVISIONER):
            return None
        return storage_class.get("allowedTopologies") or ()

    def find_matching(self, node: NodeInfo, chosen: Collection[str]) -> Obj | None:
        """Return the best volume that the node can use and that is not in `chosen`, or None (FindMatchingVolume)."""
        volumes = (
            candidate.volume
            for candidate in self.candidates
            if name_of(candidate.volume) not in chosen and candidate.is_reachable_from(node)
        )
        return next(volumes, None)

    def can_be_provisioned(self, node: NodeInfo) -> bool:
        """Return True if a volume can be provisioned for the node (checkVolumeProvisions)."""
        if not self.topologies:
            return self.topologies is not None
        return any(_has_labels(term, node.labels) for term in self.topologies)


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod.

    Attributes:
        reserved: names of volumes that other pods are about to get.
        bound: volumes that its claims are bound to.
        is_lost: True if such a volume does not exist.
        is_in_use: True if another pod uses a claim with the access mode ReadWriteOncePod.
        unbound: claims that are bound when the pod has a node, those that request least first.
    """

    reserved: Collection[str]
    bound: Sequence[CandidateVolume]
    is_lost: bool
    is_in_use: bool
    unbound: Sequence[UnboundClaim]

    def status(self, node: NodeInfo) -> Status | None:
        """Return why a node does not suit, None if it does."""
        if self.is_in_use:
            return _IN_USE
        reasons = []
        if any(not candidate.is_reachable_from(node) for candidate in self.bound):
            reasons.append(_NODE_AFFINITY_CONFLICT)
        if self.unbound and self.bindings(node) is None:
            reasons.append(_NOT_FOUND)
        if self.is_lost:
            reasons.append(_VOLUME_GONE)
        if reasons:
            return Status(tuple(reasons), VOLUME_BINDING)
        return _OTHER_ZONE if any(_is_in_other_zone(candidate.volume, node) for candidate in self.bound) else None

    def bindings(self, node: NodeInfo) -> Bindings | None:
        """Return what has to be done for the claims on a node, None if they cannot be bound there (FindPodVolumes)."""
        if not self.unbound:
            return Bindings()
        chosen = set(self.reserved)
        volumes, provisions = [], []
        for unbound in self.unbound:
            if unbound.selected_node and unbound.selected_node != node.name:
                return None
            volume = unbound.find_matching(node, chosen)
            if volume is not None:
                chosen.add(name_of(volume))
                volumes.append((unbound.claim, volume))
            elif unbound.can_be_provisioned(node):
                provisions.append(unbound.claim)
            else:
                return None
        return Bindings(volumes, provisions)


def pod_volumes(pod: Obj, storage: StorageListers) -> PodVolumes | str | None:
    """Return the volumes of a pod, None if it has no claims, or why it cannot go to any node yet (PreFilter)."""
    sources = [v for v in pod["spec"].get("volumes") or () if claim_name(pod, v)]
    if not sources:
        return None
    bound, unbound = [], []
    is_lost = is_in_use = False
    for source in sources:
        name = claim_name(pod, source)
        claim = storage.claim(f"{namespace_of(pod)}/{name}")
        if claim is None:
            return _not_found(name, source)
        if reason := _claim_error(claim, pod, is_own=bool(source.get("ephemeral"))):
            return reason
        is_in_use = is_in_use or ("ReadWriteOncePod" in modes_of(claim) and _has_another_user(claim, pod, storage))
        if is_bound(claim):
            volume = storage.volume(claim["spec"]["volumeName"])
            is_lost = is_lost or volume is None
            bound += [volume] if volume is not None else []
        elif claim["spec"].get("volumeName") or not _waits_for_consumer(claim, storage):
            return _UNBOUND_IMMEDIATE
        else:
            unbound.append(claim)
    waiting = [UnboundClaim(claim, storage) for claim in sorted(unbound, key=requested_size)]
    return PodVolumes(storage.reserved, [_candidate(v) for v in bound], is_lost, is_in_use, waiting)


def binding_error(claim: Obj | None, key: str, *, node: str, version: str) -> str:
    """Return why a claim will not be bound for a node, "" if it may still be (checkBindings).

    Args:
        claim: the claim, None if it is gone.
        key: of the claim.
        node: the node that a volume was requested for.
        version: the claim's resourceVersion before that; "" if nothing was requested.
    """
    if claim is None:
        return f'failed to check provisioning pvc: persistentvolumeclaim "{key}" not found'
    known = claim["metadata"].get("resourceVersion")
    if is_bound(claim) or not version or known == version or annotations_of(claim).get(SELECTED_NODE) == node:
        return ""
    return f'provisioning failed for PVC "{name_of(claim)}"'


# -- claims ------------------------------------------------------------------------------------------------------------


def _not_found(name: str, volume: Obj) -> str:
    if volume.get("ephemeral"):
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _claim_error(claim: Obj, pod: Obj, *, is_own: bool) -> str:
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


def _waits_for_consumer(claim: Obj, storage: StorageListers) -> bool:
    name = class_of(claim)
    storage_class = storage.storage_class(name) if name else None
    return storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER


def _has_another_user(claim: Obj, pod: Obj, storage: StorageListers) -> bool:
    """Return True if another pod that has a node uses the claim."""
    key = f"{namespace_of(claim)}/{name_of(claim)}"
    uid = pod["metadata"]["uid"]
    return any(other["metadata"]["uid"] != uid and other["spec"].get("nodeName") for other in storage.uses(key))


# -- volumes -----------------------------------------------------------------------------------------------------------


def _candidate(volume: Obj) -> CandidateVolume:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return CandidateVolume(volume, None if required is None else node_terms(required))


def _is_in_other_zone(volume: Obj, node: NodeInfo) -> bool:
    """Return True if a label of the volume names zones that the node is not in."""
    labels = labels_of(volume)
    zones = {key: labels[key].split("__") for key in _ZONES if key in labels}
    return any(node.labels.get(key) not in allowed for key, allowed in zones.items())


def _has_labels(term: Obj, labels: Mapping[str, str]) -> bool:
    """Return True if labels match a term of a class's allowedTopologies."""
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(expression["key"]) in (expression.get("values") or ()) for expression in expressions)
