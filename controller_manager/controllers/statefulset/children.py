"""The pods, revisions and claims of a StatefulSet (Kubernetes' or OpenKruise's) in caches, and their triggers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.claim_retention import ClaimOwners, RetentionPolicy
from controller_manager.controllers.statefulset.identity import claim_names, claim_templates, set_names
from controller_manager.controllers.statefulset.ordinals import Replica, group_by_ordinal, ordinal_of, pod_name
from controller_manager.reconcile.contract import ORPHAN_INDEX, OWNER_INDEX, Change, Key, Listers, Trigger
from controller_manager.reconcile.controller_ref import Parent, owner_reference
from controller_manager.reconcile.kinds import CLAIM, CONTROLLER_REVISION, POD, Kind
from controller_manager.reconcile.profile import Profile


@dataclass(frozen=True, slots=True)
class Observed:
    """A set, and the objects that belong to it.

    Attributes:
        selector: of its pods and revisions.
        pods: the pods that it owns, and those that it would adopt.
        revisions: the revisions that it owns, and those that it would adopt.
        claims: the existing claims of its ordinals and of its pods' ordinals, by name.
        profile: the release whose behavior it has.
    """

    parent: Obj
    selector: LabelSelector
    pods: Sequence[Obj]
    revisions: Sequence[Obj]
    claims: Mapping[str, Obj]
    profile: Profile


# -- observe -----------------------------------------------------------------------------------------------------------


def observe_set(
    listers: Listers, parent: Obj, selector: LabelSelector, *, ordinals: Collection[int], profile: Profile
) -> Observed:
    """Return a set with the objects that belong to it.

    Args:
        listers: these have caches of pods, revisions and claims.
        parent: the set.
        selector: its selector.
        ordinals: its desired ordinals, ascending.
        profile: the release whose behavior it has.
    """
    pods = _pods_of(listers, parent, selector)
    revisions = _revisions_of(listers, parent, selector)
    claims = _claims_of(listers, parent, pods, ordinals=ordinals)
    return Observed(parent, selector, pods, revisions, claims, profile)


def _pods_of(listers: Listers, parent: Obj, selector: LabelSelector) -> list[Obj]:
    """Return the pods that a set owns, and those that it would adopt."""
    name = name_of(parent)
    orphans = (pod for pod in listers[POD].by_index(ORPHAN_INDEX, namespace_of(parent)) if is_named_after(name, pod))
    owned = listers[POD].by_index(OWNER_INDEX, parent["metadata"]["uid"])
    return [*owned, *(pod for pod in orphans if selector.matches(labels_of(pod)))]


def _revisions_of(listers: Listers, parent: Obj, selector: LabelSelector) -> list[Obj]:
    """Return the revisions that a set selects, and owns or would adopt."""
    cache = listers[CONTROLLER_REVISION]
    revisions = (
        *cache.by_index(OWNER_INDEX, parent["metadata"]["uid"]),
        *cache.by_index(ORPHAN_INDEX, namespace_of(parent)),
    )
    return [revision for revision in revisions if selector.matches(labels_of(revision))]


def _claims_of(listers: Listers, parent: Obj, pods: Iterable[Obj], *, ordinals: Collection[int]) -> Mapping[str, Obj]:
    """Return, by name, the existing claims of a set's ordinals and of its pods' ordinals."""
    if not claim_templates(parent):
        return {}
    arrangement, namespace = group_by_ordinal(name_of(parent), pods, ordinals), namespace_of(parent)
    names = (
        n for replica in (*arrangement.replicas, *arrangement.condemned) for n in claim_names(parent, replica.ordinal)
    )
    return {n: claim for n in names if (claim := listers[CLAIM].get(f"{namespace}/{n}")) is not None}


def is_named_after(parent: str, pod: Obj) -> bool:
    """Return whether a pod is named after the set of the given name."""
    return ordinal_of(parent, name_of(pod)) is not None


# -- ownership ---------------------------------------------------------------------------------------------------------


def adopting_by_name(parent: Parent) -> Parent:
    """Return the set as a parent that adopts only pods named after it (getPodsForStatefulSet)."""
    name = name_of(parent.obj)
    return replace(parent, admits=lambda pod: is_named_after(name, pod))


def owners_by_policy(
    parent: Obj, reference: Obj, *, policy: RetentionPolicy, ordinals: Collection[int], controls: bool = True
) -> Callable[[Replica], ClaimOwners]:
    """Return a function that gives the possible owners of a replica's claims.

    Args:
        parent: the set.
        reference: the owner reference to the set.
        policy: the set's retention policy.
        ordinals: the desired ordinals.
        controls: as in ClaimOwners.
    """

    def owners(replica: Replica) -> ClaimOwners:
        absent = {"metadata": {"name": pod_name(name_of(parent), replica.ordinal), "uid": ""}}
        pod = owner_reference(POD, replica.pod or absent)
        if not controls:
            pod = without_controller(pod)
        return ClaimOwners(policy, reference, pod, replica.ordinal not in ordinals, controls)

    return owners


def without_controller(reference: Obj) -> Obj:
    """Return the reference without the fields that make its owner a controller."""
    return {name: reference[name] for name in ("apiVersion", "kind", "name", "uid")}


# -- triggers ----------------------------------------------------------------------------------------------------------


def adopters(kind: Kind) -> Callable[[Listers, Obj], Iterable[Key]]:
    """Return a function that gives, for an orphaned pod, the set of a kind that it is named after."""

    def adopting_sets(listers: Listers, pod: Obj) -> Iterable[Key]:
        parent = name_of(pod).rpartition("-")[0]
        key = f"{namespace_of(pod)}/{parent}"
        return (key,) if listers[kind].get(key) is not None and is_named_after(parent, pod) else ()

    return adopting_sets


def claim_changed(kind: Kind) -> Trigger:
    """Return a trigger for the sets that may wait for a claim's deletion before they create it again.

    Upstream waits for whatever event comes next.
    """

    def trigger(listers: Listers, change: Change) -> Iterable[Key]:
        if change.new is not None:
            return ()
        namespace = namespace_of(change.obj)
        keys = (f"{namespace}/{name}" for name in set_names(name_of(change.obj)))
        return [key for key in keys if listers[kind].get(key) is not None]

    return trigger
