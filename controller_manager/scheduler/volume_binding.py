"""What a pod's claims have to say about its node: volumes that are there already, and those that are still to be found.

From plugins/volumebinding, plugins/volumezone and plugins/volumerestrictions, and the search for a volume from
component-helpers/storage/volume/pv_helpers.go. Storage capacity, limits per node and CSI migration are not regarded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.volumes import (
    SELECTED_NODE,
    WAITS_FOR_CONSUMER,
    claim_name,
    class_of,
    is_bound,
    is_for,
    mismatch,
    modes_of,
    selects,
    size_asked,
    size_of,
)
from controller_manager.scheduler.node_affinity import NodeTerm, node_terms
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.status import VOLUME_BINDING, VOLUME_RESTRICTIONS, VOLUME_ZONE, Status

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
class Offer:
    """A volume that a pod has, or that a claim may get.

    Attributes:
        terms: one of which the nodes match that can have it; None where all can.
    """

    volume: Obj
    terms: tuple[NodeTerm, ...] | None

    def reaches(self, node: NodeInfo) -> bool:
        """Whether the node can have the volume (CheckNodeAffinity)."""
        return self.terms is None or any(term.matches(node.labels, node.name) for term in self.terms)


@dataclass(frozen=True)
class Unbound:
    """A claim that is bound when its pod has a node; what there is for it is looked up when a node is asked about."""

    claim: Obj
    storage: Storage

    @cached_property
    def selected(self) -> str:
        """The node for which a volume is being made, "" where none is."""
        return annotations_of(self.claim).get(SELECTED_NODE) or ""

    @cached_property
    def offers(self) -> Sequence[Offer]:
        """The volumes that suit the claim: those that are meant for it, then free ones, the smallest first."""
        claim = self.claim
        if self.selected:
            return ()
        able = [v for v in self.storage.candidates(claim) if not mismatch(v, claim) and selects(claim, v)]
        meant = [volume for volume in able if is_for(volume, claim)]
        free = [volume for volume in able if volume["spec"].get("claimRef") is None and phase_of(volume) == "Available"]
        return [_offer(volume) for volume in (*meant, *sorted(free, key=size_of))]

    @cached_property
    def topologies(self) -> Sequence[Obj] | None:
        """Where volumes of the claim's class are made; () for everywhere, None where nobody makes any."""
        found = self.storage.storage_class(class_of(self.claim))
        if found is None or found.get("provisioner") in (None, "", _NO_PROVISIONER):
            return None
        return found.get("allowedTopologies") or ()

    def match(self, node: NodeInfo, chosen: Collection[str]) -> Obj | None:
        """The best volume that the node can have, but for those of these names (FindMatchingVolume)."""
        able = (each.volume for each in self.offers if name_of(each.volume) not in chosen and each.reaches(node))
        return next(able, None)

    def can_be_made(self, node: NodeInfo) -> bool:
        """Whether a volume can be made near the node (checkVolumeProvisions)."""
        if not self.topologies:
            return self.topologies is not None
        return any(_has_labels(term, node.labels) for term in self.topologies)


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod.

    Attributes:
        reserved: names of volumes that other pods are about to get.
        bound: those that are there.
        is_lost: whether one that should be there is not.
        is_in_use: whether another pod has what only one may have.
        unbound: claims that are bound when the pod has a node, those that ask for least first.
    """

    reserved: Collection[str]
    bound: Sequence[Offer]
    is_lost: bool
    is_in_use: bool
    unbound: Sequence[Unbound]

    def status(self, node: NodeInfo) -> Status | None:
        """Why a node does not suit, None if it does."""
        if self.is_in_use:
            return _IN_USE
        reasons = []
        if any(not found.reaches(node) for found in self.bound):
            reasons.append(_ELSEWHERE)
        if self.unbound and self.bindings(node) is None:
            reasons.append(_NOT_FOUND)
        if self.is_lost:
            reasons.append(_GONE)
        if reasons:
            return Status(tuple(reasons), VOLUME_BINDING)
        return _OTHER_ZONE if any(_is_in_other_zone(found.volume, node) for found in self.bound) else None

    def bindings(self, node: NodeInfo) -> Bindings | None:
        """What has to be done for the claims on a node, None where nothing helps (FindPodVolumes)."""
        if not self.unbound:
            return Bindings()
        chosen = set(self.reserved)
        found, provisions = [], []
        for wanting in self.unbound:
            if wanting.selected and wanting.selected != node.name:
                return None
            volume = wanting.match(node, chosen)
            if volume is not None:
                chosen.add(name_of(volume))
                found.append((wanting.claim, volume))
            elif wanting.can_be_made(node):
                provisions.append(wanting.claim)
            else:
                return None
        return Bindings(found, provisions)


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
    wanting = [Unbound(claim, storage) for claim in sorted(unbound, key=size_asked)]
    return PodVolumes(storage.reserved, [_offer(volume) for volume in bound], is_lost, is_in_use, wanting)


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


def _offer(volume: Obj) -> Offer:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return Offer(volume, None if required is None else node_terms(required))


def _is_in_other_zone(volume: Obj, node: NodeInfo) -> bool:
    """Whether a label of the volume names zones of which the node is in none."""
    labels = labels_of(volume)
    zones = {key: labels[key].split("__") for key in _ZONES if key in labels}
    return any(node.labels.get(key) not in allowed for key, allowed in zones.items())


def _has_labels(term: Obj, labels: Mapping[str, str]) -> bool:
    """Whether labels have what a term of a class's allowedTopologies names."""
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(expression["key"]) in (expression.get("values") or ()) for expression in expressions)
