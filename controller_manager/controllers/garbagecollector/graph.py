"""The graph of owner references, and the keys that each change of it makes the garbage collector check.

The graph stores owners, not objects: an object without dependents costs nothing, and a dependent costs one name in a
set. The contents of objects are read from the caches when a key is processed
(pkg/controller/garbagecollector/graph_builder.go keeps a node for every object instead).
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, group_version

ORPHAN_FINALIZER, FOREGROUND_FINALIZER = "orphan", "foregroundDeletion"
"""The finalizers with which a deleted object waits for the garbage collector (metav1.FinalizerOrphanDependents, …)."""

UID_PREFIX = "uid/"
"""The prefix of the keys of owners not seen: "uid/<uid>"; all other keys are items: "pods/ns/name"."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The coordinates in an owner reference; `namespace` is that of the dependent."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The key of the object, as caches and requests use it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def text(self, uid: str) -> str:
        """Return the identity as upstream's messages print it (objectReference.String)."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {uid}]"


def identity_of(reference: Obj, namespace: str) -> Identity:
    """Return the identity that a reference of an object in a namespace names."""
    return Identity(reference["apiVersion"], reference["kind"], namespace, reference["name"])


@dataclass(slots=True)
class Owner:
    """An object to which owner references point.

    Attributes:
        dependents: the keys of the items that refer to it.
        item: its own key while a cache has it, else "".
        seen: the identity with which it was seen.
        waiting: True while it is being deleted in the foreground, and waits for its dependents.
        absent: the identities with which the server does not know it.
    """

    dependents: set[str] = field(default_factory=set)
    item: str = ""
    seen: Identity | None = None
    waiting: bool = False
    absent: set[Identity] = field(default_factory=set)

    def matches(self, reference: Obj, namespace: str) -> bool:
        """Return whether the owner was seen with the identity that the reference gives."""
        seen = self.seen
        return (
            seen is not None
            and seen.name == reference["name"]
            and seen.kind == reference["kind"]
            and _is_of_one_group(seen.api_version, reference["apiVersion"])
            and (not seen.namespace or seen.namespace == namespace)
        )


class Graph:
    """Owners and their dependents; a kind is any object whose str() is its resource's name.

    Attributes:
        owners: by uid; only objects to which references point.
    """

    def __init__(self) -> None:
        self.owners: dict[str, Owner] = {}
        self._marked: dict[str, None] = {}

    def take_marked(self) -> Collection[str]:
        """Return the keys marked since the last call, each once."""
        marked = self._marked
        if marked:
            self._marked = {}
        return marked

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Handle an object that was added (old is None), changed, or deleted (new is None)."""
        if new is None:
            if old is not None:
                self._remove(kind, old)
        elif old is None:
            self._add(kind, new)
        elif not _is_same(old["metadata"], new["metadata"]):
            self._update(kind, old["metadata"], new)

    def record_owner(self, kind: object, obj: Obj) -> Owner | None:
        """Record an owner's identity and state; return its entry, or None if nothing refers to it."""
        meta = obj["metadata"]
        owner = self.owners.get(meta["uid"])
        if owner is not None:
            owner.item = item_of(kind, meta)
            owner.seen = Identity(obj["apiVersion"], obj["kind"], meta.get("namespace") or "", meta["name"])
            owner.absent.discard(owner.seen)
            owner.waiting = waiting_finalizer(meta) == FOREGROUND_FINALIZER
        return owner

    def _add(self, kind: object, obj: Obj) -> None:
        meta = obj["metadata"]
        references = meta.get("ownerReferences")
        if references:
            item = item_of(kind, meta)
            for reference in references:
                self._add_reference(item, meta.get("namespace") or "", reference)
        self._mark_affected(kind, obj)

    def _update(self, kind: object, before: Obj, obj: Obj) -> None:
        meta = obj["metadata"]
        item = item_of(kind, meta)
        removed = {reference["uid"]: reference for reference in before.get("ownerReferences") or ()}
        for reference in meta.get("ownerReferences") or ():
            known = removed.pop(reference["uid"], None)
            if known != reference:
                owner = self._add_reference(item, meta.get("namespace") or "", reference)
                if known is not None and blocks_owner_deletion(known) and not blocks_owner_deletion(reference):
                    self._mark_owner(owner)
        for reference in removed.values():
            self._remove_reference(item, reference)
        self._mark_affected(kind, obj)

    def _remove(self, kind: object, obj: Obj) -> None:
        meta = obj["metadata"]
        references = meta.get("ownerReferences")
        if references:
            item = item_of(kind, meta)
            for reference in references:
                self._remove_reference(item, reference)
        owner = self.owners.get(meta["uid"])
        if owner is not None:
            if owner.seen is not None:
                owner.absent.add(owner.seen)  # its deletion was seen, so that the server need not be asked
            owner.item, owner.seen, owner.waiting = "", None, False
            self._marked[UID_PREFIX + meta["uid"]] = None

    def _add_reference(self, item: str, namespace: str, reference: Obj) -> Owner:
        uid = reference["uid"]
        owner = self.owners.get(uid)
        if owner is None:
            owner = self.owners[uid] = Owner()
        owner.dependents.add(item)
        if owner.waiting:
            self._marked[item] = None
        elif not owner.matches(reference, namespace):
            self._marked[UID_PREFIX + uid] = None
        return owner

    def _remove_reference(self, item: str, reference: Obj) -> None:
        uid = reference["uid"]
        owner = self.owners.get(uid)
        if owner is not None:
            self._mark_owner(owner)
            owner.dependents.discard(item)
            if not owner.dependents:
                del self.owners[uid]

    def _mark_owner(self, owner: Owner) -> None:
        if owner.waiting:
            self._marked[owner.item] = None

    def _mark_affected(self, kind: object, obj: Obj) -> None:
        """Mark the keys affected by an object that was added or changed: its dependents and itself."""
        meta = obj["metadata"]
        uid = meta["uid"]
        if uid in self.owners:
            self._update_owner(kind, obj, self.owners[uid])
        if "deletionTimestamp" in meta and waiting_finalizer(meta):
            self._marked[item_of(kind, meta)] = None

    def _update_owner(self, kind: object, obj: Obj, owner: Owner) -> None:
        known, waited = owner.seen, owner.waiting
        self.record_owner(kind, obj)
        if known is None:
            self._marked[UID_PREFIX + obj["metadata"]["uid"]] = None  # dependents may have given it another identity
        if owner.waiting and not waited:
            self._marked.update(dict.fromkeys(owner.dependents))


def item_of(kind: object, meta: Obj) -> str:
    """Return the key of an object: "deployments.apps/default/web", "nodes/node-1"."""
    namespace = meta.get("namespace")
    return f"{kind}/{namespace}/{meta['name']}" if namespace else f"{kind}/{meta['name']}"


def blocks_owner_deletion(reference: Obj) -> bool:
    """Return whether the reference blocks the deletion of its owner."""
    return bool(reference.get("blockOwnerDeletion"))


def waiting_finalizer(meta: Obj) -> str:
    """Return the finalizer with which a deleted object waits for the garbage collector, or "" if it does not wait."""
    if not meta.get("deletionTimestamp"):
        return ""
    finalizers = meta.get("finalizers") or ()
    return next((finalizer for finalizer in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER) if finalizer in finalizers), "")


def _is_of_one_group(one: str, other: str) -> bool:
    return one == other or group_version(one)[0] == group_version(other)[0]


def _is_same(before: Obj, after: Obj) -> bool:
    """Return whether nothing changed that matters to the graph or the collector."""
    return (
        before.get("ownerReferences") == after.get("ownerReferences")
        and before.get("deletionTimestamp") == after.get("deletionTimestamp")
        and before.get("finalizers") == after.get("finalizers")
    )
