"""What a pod's claims have to say about its node: volumes that are there already, and those that are still to be found.

From plugins/volumebinding, plugins/volumezone and plugins/volumerestrictions, and the search for a volume from
component-helpers/storage/volume/pv_helpers.go. Storage capacity, limits per node and CSI migration are not regarded.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api import quantity
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.planning.placement.node_affinity import NodeTerm, node_terms
from controller_manager.planning.placement.node_info import NodeInfo
from controller_manager.planning.placement.status import VOLUME_BINDING, VOLUME_RESTRICTIONS, VOLUME_ZONE, Status

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
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
        uses: the pods of a namespace that have a node.
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
        for claim in sorted(self.unbound, key=_size_of_claim):
            selected = _annotations(claim).get(SELECTED_NODE)
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
            reference = volume["spec"].get("claimRef")
            if reference is None:
                candidates.append(volume)
            elif _is_for(reference, claim):
                return volume
        return min((v for v in candidates if _is_available(v)), key=_size_of_volume, default=None)

    def _can_be_made(self, claim: Obj, node: NodeInfo) -> bool:
        """Whether a volume for the claim can be made near the node (checkVolumeProvisions)."""
        found = self.storage.storage_class(class_of(claim))
        if found is None or found.get("provisioner") in (None, "", _NO_PROVISIONER):
            return False
        topologies = found.get("allowedTopologies") or ()
        return not topologies or any(_has_labels(term, node.labels) for term in topologies)


def pod_volumes(pod: Obj, storage: Storage) -> PodVolumes | str | None:
    """The volumes of a pod, None where it claims none, or why it cannot go anywhere yet (PreFilter)."""
    sources = [volume for volume in pod["spec"].get("volumes") or () if _is_claim(volume)]
    if not sources:
        return None
    bound, unbound = [], []
    is_lost = is_in_use = False
    for source in sources:
        name = _claim_name(pod, source)
        claim = storage.claim(f"{namespace_of(pod)}/{name}")
        if claim is None:
            return _missing(name, source)
        if why := _why_unusable(claim, pod, is_own=bool(source.get("ephemeral"))):
            return why
        is_in_use = is_in_use or ("ReadWriteOncePod" in _modes(claim) and _has_another_user(claim, pod, storage))
        if is_bound(claim):
            found = storage.volume(claim["spec"]["volumeName"])
            is_lost = is_lost or found is None
            bound += [found] if found is not None else []
        elif claim["spec"].get("volumeName") or not _waits_for_consumer(claim, storage):
            return _UNBOUND
        else:
            unbound.append(claim)
    return PodVolumes(storage, bound, is_lost, is_in_use, unbound)


def is_bound(claim: Obj) -> bool:
    """Whether the claim has its volume, and both know."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in _annotations(claim)


def is_given_up(claim: Obj, node: str, version: str) -> bool:
    """Whether whoever makes volumes has given up making one for the claim near that node (checkBindings).

    Args:
        claim: as it is.
        node: for which it was asked.
        version: the claim's resourceVersion before that; "" where nothing was asked.
    """
    known = claim["metadata"].get("resourceVersion")
    return bool(version) and known != version and _annotations(claim).get(SELECTED_NODE) != node


def class_of(claim: Obj) -> str:
    """The name of the storage class, "" for none."""
    return str(_annotations(claim).get(_OLD_CLASS) or (claim["spec"].get("storageClassName") or ""))


def claim_keys(pod: Obj) -> Iterator[str]:
    """The keys of the pod's claims."""
    for volume in pod["spec"].get("volumes") or ():
        if _is_claim(volume):
            yield f"{namespace_of(pod)}/{_claim_name(pod, volume)}"


# -- claims ------------------------------------------------------------------------------------------------------------


def _is_claim(volume: Obj) -> bool:
    return bool(volume.get("persistentVolumeClaim") or volume.get("ephemeral"))


def _claim_name(pod: Obj, volume: Obj) -> str:
    if source := volume.get("persistentVolumeClaim"):
        return str(source["claimName"])
    return f"{name_of(pod)}-{volume['name']}"


def _missing(name: str, volume: Obj) -> str:
    if volume.get("ephemeral"):
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _why_unusable(claim: Obj, pod: Obj, *, is_own: bool) -> str:
    name = name_of(claim)
    if (claim.get("status") or {}).get("phase") == "Lost":
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
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def _has_another_user(claim: Obj, pod: Obj, storage: Storage) -> bool:
    """Whether a pod that has a node uses the claim."""
    key = f"{namespace_of(claim)}/{name_of(claim)}"
    uid = pod["metadata"]["uid"]
    users = storage.uses(namespace_of(claim))
    return any(other["metadata"]["uid"] != uid and key in claim_keys(other) for other in users)


def _annotations(obj: Obj) -> Mapping[str, str]:
    return obj["metadata"].get("annotations") or {}


def _modes(obj: Obj) -> Sequence[str]:
    return obj["spec"].get("accessModes") or ()


def _size_of_claim(claim: Obj) -> int:
    return quantity.of((claim["spec"].get("resources") or {}).get("requests", {}).get("storage")).value


# -- volumes -----------------------------------------------------------------------------------------------------------


def _size_of_volume(volume: Obj) -> int:
    return quantity.of((volume["spec"].get("capacity") or {}).get("storage")).value


def _suits(volume: Obj, claim: Obj) -> bool:
    """Whether a volume is what the claim wants, wherever it is."""
    ours, theirs = claim["spec"], volume["spec"]
    return (
        class_of(volume) == class_of(claim)
        and (ours.get("volumeMode") or "Filesystem") == (theirs.get("volumeMode") or "Filesystem")
        and not set(_modes(claim)) - set(_modes(volume))
        and _size_of_volume(volume) >= _size_of_claim(claim)
        and not volume["metadata"].get("deletionTimestamp")
        and _selector(ours.get("selector")).matches(labels_of(volume))
    )


def _selector(selector: Obj | None) -> LabelSelector:
    try:
        return LabelSelector() if selector is None else label_selector_of(selector)
    except SelectorError:
        return LabelSelector(nothing=True)


def _is_available(volume: Obj) -> bool:
    return (volume.get("status") or {}).get("phase") == "Available"


def _is_for(reference: Obj, claim: Obj) -> bool:
    """Whether the volume is meant for the claim already (IsVolumeBoundToClaim)."""
    if reference.get("name") != name_of(claim) or reference.get("namespace") != namespace_of(claim):
        return False
    return reference.get("uid") in (None, "", claim["metadata"]["uid"])


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
