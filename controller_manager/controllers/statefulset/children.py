"""What belongs to a StatefulSet, be it Kubernetes' or OpenKruise's, as caches have it; and whom changes of it wake."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.claim_retention import Owners, Policy
from controller_manager.controllers.statefulset.identity import claim_names, claim_templates, set_names
from controller_manager.controllers.statefulset.ordinals import Replica, arrange, ordinal_of, pod_name
from controller_manager.reconcile.contract import ORPHANS, OWNER, Change, Key, Listers, Trigger
from controller_manager.reconcile.controller_ref import Parent, owner_reference
from controller_manager.reconcile.kinds import CLAIM, CONTROLLER_REVISION, POD, Kind

# -- what is seen ------------------------------------------------------------------------------------------------------


def pods_of(listers: Listers, parent: Obj, selector: LabelSelector) -> list[Obj]:
    """The pods that a set owns, and those that it would adopt."""
    name = name_of(parent)
    orphans = (pod for pod in listers[POD].by(ORPHANS, namespace_of(parent)) if is_named_after(name, pod))
    owned = listers[POD].by(OWNER, parent["metadata"]["uid"])
    return [*owned, *(pod for pod in orphans if selector.matches(labels_of(pod)))]


def revisions_of(listers: Listers, parent: Obj, selector: LabelSelector) -> list[Obj]:
    """The revisions that a set selects, and owns or would adopt."""
    cache = listers[CONTROLLER_REVISION]
    found = (*cache.by(OWNER, parent["metadata"]["uid"]), *cache.by(ORPHANS, namespace_of(parent)))
    return [revision for revision in found if selector.matches(labels_of(revision))]


def claims_of(listers: Listers, parent: Obj, pods: Iterable[Obj], *, wanted: Collection[int]) -> Mapping[str, Obj]:
    """The claims of a set's ordinals, and of its pods', that exist, by name.

    Args:
        listers: with a cache of claims.
        parent: the set.
        pods: its own.
        wanted: the ordinals that it asks for, ascending.
    """
    if not claim_templates(parent):
        return {}
    arranged, namespace = arrange(name_of(parent), pods, wanted), namespace_of(parent)
    names = (n for found in (*arranged.replicas, *arranged.condemned) for n in claim_names(parent, found.ordinal))
    return {n: found for n in names if (found := listers[CLAIM].get(f"{namespace}/{n}")) is not None}


def is_named_after(parent: str, pod: Obj) -> bool:
    """Whether a pod has a name that the set of a name gives."""
    return ordinal_of(parent, name_of(pod)) is not None


# -- whose it is -------------------------------------------------------------------------------------------------------


def claiming_by_name(parent: Parent) -> Parent:
    """The set as one that claims only what is named after it (getPodsForStatefulSet)."""
    name = name_of(parent.obj)
    return replace(parent, admits=lambda pod: is_named_after(name, pod))


def owners_by_policy(
    parent: Obj, reference: Obj, *, policy: Policy, wanted: Collection[int], controls: bool = True
) -> Callable[[Replica], Owners]:
    """Who may own the claims of replicas.

    Args:
        parent: the set.
        reference: by which it owns.
        policy: what it says of its claims.
        wanted: the ordinals that it asks for.
        controls: as Owners have it.
    """

    def owners(replica: Replica) -> Owners:
        absent = {"metadata": {"name": pod_name(name_of(parent), replica.ordinal), "uid": ""}}
        pod = owner_reference(POD, replica.pod or absent)
        if not controls:
            pod = plain(pod)
        return Owners(policy, reference, pod, replica.ordinal not in wanted, controls)

    return owners


def plain(reference: Obj) -> Obj:
    """The reference as that of an owner who controls nothing."""
    return {name: reference[name] for name in ("apiVersion", "kind", "name", "uid")}


# -- whom changes wake -------------------------------------------------------------------------------------------------


def adopters(kind: Kind) -> Callable[[Listers, Obj], Iterable[Key]]:
    """For an orphaned pod: the set of a kind that it is named after."""

    def found(listers: Listers, pod: Obj) -> Iterable[Key]:
        parent = name_of(pod).rpartition("-")[0]
        key = f"{namespace_of(pod)}/{parent}"
        return (key,) if listers[kind].get(key) is not None and is_named_after(parent, pod) else ()

    return found


def claim_changed(kind: Kind) -> Trigger:
    """Wakes the sets that may wait for a claim to go before they make it anew.

    Upstream waits for whatever wakes them next.
    """

    def trigger(listers: Listers, change: Change) -> Iterable[Key]:
        if change.new is not None:
            return ()
        namespace = namespace_of(change.obj)
        keys = (f"{namespace}/{name}" for name in set_names(name_of(change.obj)))
        return [key for key in keys if listers[kind].get(key) is not None]

    return trigger
