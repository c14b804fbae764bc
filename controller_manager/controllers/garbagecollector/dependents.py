"""What caches and the graph know of owners and of those who refer to them; asking the server is the collector's."""

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
"""The view that is a Graph."""


class Verdict(Enum):
    """What is known of an owner that a reference names (classifyReferences)."""

    SOLID = "it is there"
    WAITING = "it is there, and waits for its dependents' deletion"
    DANGLING = "it is not there"
    UNSEEN = "no cache has it"
    UNSERVED = "discovery knows no such kind, as yet"
    INVALID = "the object is of the cluster and the owner of a namespace: nothing is ever done about it"


@dataclass(frozen=True, slots=True)
class Judged:
    """A reference, and what is known of the owner that it names.

    Attributes:
        identity: whom it names; without a namespace where the kind has none.
        owner: what the graph has of it.
        kind: the owner's, None where it is not served.
        found: the owner, if a cache has it.
    """

    uid: str
    identity: Identity
    verdict: Verdict
    owner: Owner
    kind: Kind | None = None
    found: Obj | None = None


def judge(listers: Listers, uid: str, named: Identity) -> Judged:
    """What graph and caches know of an owner (isDangling, but for what the server says)."""
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
    found = cache.get(identity.key) if cache is not None else None
    if found is None or found["metadata"]["uid"] != uid:
        return Judged(uid, identity, Verdict.UNSEEN, owner, kind)
    return Judged(uid, identity, verdict_on(found), owner, kind, found)


def verdict_on(owner: Obj) -> Verdict:
    """What a reference to an owner is worth that is there."""
    return Verdict.WAITING if awaited_work(owner["metadata"]) == FOREGROUND else Verdict.SOLID


def is_elsewhere(listers: Listers, judged: Judged) -> bool:
    """Whether the owner is known in another namespace than where the reference means it to be."""
    if judged.kind is None or not judged.kind.namespaced:
        return False
    if judged.owner.seen is not None:
        return judged.owner.seen.namespace != judged.identity.namespace
    cache = listers.find(str(judged.kind)) or ()
    return any(obj["metadata"]["uid"] == judged.uid for obj in cache)


def graph_of(listers: Listers) -> Graph:
    """The graph, which hears of all changes."""
    graph: Graph = listers.view(GRAPH)
    return graph


def item_at(listers: Listers, key: Key) -> Item | None:
    """The object of a key of the graph, None where no cache has it."""
    resource, _, name = key.partition("/")
    cache = listers.find(resource)
    obj = cache.get(name) if cache is not None else None
    return Item(cache.kind, obj) if cache is not None and obj is not None else None


def dependents_of(listers: Listers, uid: str) -> Iterator[Item]:
    """Who refers to an object."""
    owner = graph_of(listers).owners.get(uid)
    for key in owner.dependents if owner is not None else ():
        item = item_at(listers, key)
        if item is not None:
            yield item


def by_name(listers: Listers, uid: str) -> Mapping[Identity, list[Item]]:
    """The dependents of an owner, by whom they take it for."""
    found: defaultdict[Identity, list[Item]] = defaultdict(list)
    for item in dependents_of(listers, uid):
        for reference in item.meta.get("ownerReferences") or ():
            if reference["uid"] == uid:
                found[identity_of(reference, namespace_of(item.obj))].append(item)
    return found


def is_blocked_by(dependent: Item, uid: str) -> bool:
    """Whether an owner that is deleted in the foreground has to wait for a dependent."""
    references = dependent.meta.get("ownerReferences") or ()
    return any(reference["uid"] == uid and blocks(reference) for reference in references)


def waits_for(listers: Listers, item: Item, uid: str) -> bool:
    """Whether an item that is deleted in the foreground waits for an object, be it by others that wait, too."""
    seen, left = set(), [item.meta["uid"]]
    while left:
        waiting = left.pop()
        if waiting == uid:
            return True
        if waiting not in seen:
            seen.add(waiting)
            blocking = (other.meta for other in dependents_of(listers, waiting) if is_blocked_by(other, waiting))
            left += [meta["uid"] for meta in blocking if awaited_work(meta) == FOREGROUND]
    return False
