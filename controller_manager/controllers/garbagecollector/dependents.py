"""Owners and their dependents, as far as caches and the graph know them; the collector asks the server for the rest."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from apiserver.api.meta import Obj, namespace_of
from controller_manager.controllers.garbagecollector.graph import (
    FOREGROUND,
    Graph,
    Identity,
    Owner,
    awaited_work,
    blocks,
    identity_of,
)
from controller_manager.reconcile.contract import Key, Listers
from controller_manager.reconcile.deletion import Item
from controller_manager.reconcile.kinds import Kind

GRAPH = "ownership"
"""The name of the view Graph."""


class Verdict(Enum):
    """The state of an owner that a reference names (classifyReferences)."""

    SOLID = "it is there"
    WAITING = "it is there, and waits for its dependents' deletion"
    DANGLING = "it is not there"
    UNSEEN = "no cache has it"
    UNSERVED = "discovery knows no such kind, as yet"
    INVALID = "the object is of the cluster and the owner of a namespace: nothing is ever done about it"


@dataclass(frozen=True, slots=True)
class Judged:
    """A reference, and the state of the owner that it names.

    Attributes:
        identity: the owner that it names; without a namespace if the kind is cluster-scoped.
        owner: the graph's entry for it.
        kind: the owner's kind, or None if it is not served.
        owner_object: the owner itself, if a cache has it.
    """

    uid: str
    identity: Identity
    verdict: Verdict
    owner: Owner
    kind: Kind | None = None
    owner_object: Obj | None = None


def judge(listers: Listers, uid: str, named: Identity) -> Judged:
    """Return the state of an owner according to graph and caches (isDangling, except for what the server answers)."""
    owner = graph_of(listers).owners.get(uid) or Owner()
    kind = listers.served.named(named.api_version, named.kind)
    identity = named if kind is None or kind.namespaced else replace(named, namespace="")
    if not owner.absent.isdisjoint((identity, replace(named, namespace=""))):
        return Judged(uid, identity, Verdict.DANGLING, owner)
    if kind is None:
        return Judged(uid, identity, Verdict.UNSERVED, owner)
    if kind.namespaced and not identity.namespace:
        return Judged(uid, identity, Verdict.INVALID, owner)
    cache = listers.find(str(kind))
    owner_object = cache.get(identity.key) if cache is not None else None
    if owner_object is None or owner_object["metadata"]["uid"] != uid:
        return Judged(uid, identity, Verdict.UNSEEN, owner, kind)
    return Judged(uid, identity, verdict_on(owner_object), owner, kind, owner_object)


def verdict_on(owner: Obj) -> Verdict:
    """Return the verdict on an owner that exists."""
    return Verdict.WAITING if awaited_work(owner["metadata"]) == FOREGROUND else Verdict.SOLID


def is_elsewhere(listers: Listers, judged: Judged) -> bool:
    """Return whether the owner is known in another namespace than the one that the reference implies."""
    if judged.kind is None or not judged.kind.namespaced:
        return False
    if judged.owner.seen is not None:
        return judged.owner.seen.namespace != judged.identity.namespace
    cache = listers.find(str(judged.kind)) or ()
    return any(obj["metadata"]["uid"] == judged.uid for obj in cache)


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


def by_name(listers: Listers, uid: str) -> Mapping[Identity, list[Item]]:
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
    return any(reference["uid"] == uid and blocks(reference) for reference in references)


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
            pending += [meta["uid"] for meta in blocking if awaited_work(meta) == FOREGROUND]
    return False
