"""Owners and their dependents, as far as caches and the graph know them; the collector asks the server for the rest."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from apiserver.api.meta import Obj, namespace_of
from controller_manager.controllers.garbagecollector.graph import (
    FOREGROUND_FINALIZER,
    Graph,
    Identity,
    Owner,
    blocks_owner_deletion,
    identity_of,
    waiting_finalizer,
)
from controller_manager.reconcile.contract import Key, Listers
from controller_manager.reconcile.deletion import Item
from controller_manager.reconcile.kinds import Kind

GRAPH = "ownership"
"""The name of the view Graph."""


class OwnerState(Enum):
    """The state of an owner that a reference names (classifyReferences)."""

    SOLID = "it is there"
    WAITING = "it is there, and waits for its dependents' deletion"
    DANGLING = "it is not there"
    UNSEEN = "no cache has it"
    NOT_SERVED = "discovery knows no such kind, as yet"
    INVALID = "the object is of the cluster and the owner of a namespace: nothing is ever done about it"


@dataclass(frozen=True, slots=True)
class ClassifiedReference:
    """A reference, and the state of the owner that it names.

    Attributes:
        identity: the owner that it names; without a namespace if the kind is cluster-scoped.
        owner: the graph's entry for it.
        kind: the owner's kind, or None if it is not served.
        owner_object: the owner itself, if a cache has it.
    """

    uid: str
    identity: Identity
    state: OwnerState
    owner: Owner
    kind: Kind | None = None
    owner_object: Obj | None = None


def classify(listers: Listers, uid: str, named: Identity) -> ClassifiedReference:
    """Return the state of an owner according to graph and caches (isDangling, except for what the server answers)."""
    owner = graph_of(listers).owners.get(uid) or Owner()
    kind = listers.served.find_kind(named.api_version, named.kind)
    identity = named if kind is None or kind.namespaced else replace(named, namespace="")
    if not owner.absent.isdisjoint((identity, replace(named, namespace=""))):
        return ClassifiedReference(uid, identity, OwnerState.DANGLING, owner)
    if kind is None:
        return ClassifiedReference(uid, identity, OwnerState.NOT_SERVED, owner)
    if kind.namespaced and not identity.namespace:
        return ClassifiedReference(uid, identity, OwnerState.INVALID, owner)
    cache = listers.find(str(kind))
    owner_object = cache.get(identity.key) if cache is not None else None
    if owner_object is None or owner_object["metadata"]["uid"] != uid:
        return ClassifiedReference(uid, identity, OwnerState.UNSEEN, owner, kind)
    return ClassifiedReference(uid, identity, state_of(owner_object), owner, kind, owner_object)


def state_of(owner: Obj) -> OwnerState:
    """Return the state of an owner that exists."""
    return OwnerState.WAITING if waiting_finalizer(owner["metadata"]) == FOREGROUND_FINALIZER else OwnerState.SOLID


def is_elsewhere(listers: Listers, reference: ClassifiedReference) -> bool:
    """Return whether the owner is known in another namespace than the one that the reference implies."""
    if reference.kind is None or not reference.kind.namespaced:
        return False
    if reference.owner.seen is not None:
        return reference.owner.seen.namespace != reference.identity.namespace
    cache = listers.find(str(reference.kind)) or ()
    return any(obj["metadata"]["uid"] == reference.uid for obj in cache)


def graph_of(listers: Listers) -> Graph:
    """Return the graph, which is informed of all changes."""
    graph: Graph = listers.view(GRAPH)
    return graph


def item_at(listers: Listers, key: Key) -> Item | None:
    """Return the object for a key of the graph, or None if no cache has it."""
    resource, _, name = key.partition("/")
    cache = listers.find(resource)
    obj = cache.get(name) if cache is not None else None
    return Item(cache.kind, obj) if cache is not None and obj is not None else None


def dependents_of(listers: Listers, uid: str) -> Iterator[Item]:
    """Yield the items that refer to an owner."""
    owner = graph_of(listers).owners.get(uid)
    for key in owner.dependents if owner is not None else ():
        item = item_at(listers, key)
        if item is not None:
            yield item


def dependents_by_identity(listers: Listers, uid: str) -> Mapping[Identity, list[Item]]:
    """Return dependents grouped by the identity that they give the owner."""
    dependents: defaultdict[Identity, list[Item]] = defaultdict(list)
    for item in dependents_of(listers, uid):
        for reference in item.meta.get("ownerReferences") or ():
            if reference["uid"] == uid:
                dependents[identity_of(reference, namespace_of(item.obj))].append(item)
    return dependents


def is_blocked_by(dependent: Item, uid: str) -> bool:
    """Return whether an owner that is deleted in the foreground has to wait for a dependent."""
    references = dependent.meta.get("ownerReferences") or ()
    return any(reference["uid"] == uid and blocks_owner_deletion(reference) for reference in references)


def waits_for(listers: Listers, item: Item, uid: str) -> bool:
    """Return whether an item deleted in the foreground waits for an object, directly or through others that wait."""
    visited, pending = set(), [item.meta["uid"]]
    while pending:
        waiting = pending.pop()
        if waiting == uid:
            return True
        if waiting not in visited:
            visited.add(waiting)
            blocking = (other.meta for other in dependents_of(listers, waiting) if is_blocked_by(other, waiting))
            pending += [meta["uid"] for meta in blocking if waiting_finalizer(meta) == FOREGROUND_FINALIZER]
    return False
