"""Who owns whom: the graph of owner references, and whom each change of it obliges the garbage collector to look at.

The graph knows owners, not objects: who nobody refers to costs nothing, and a dependent costs its name in a set. What
objects look like is asked of the caches when a key runs (pkg/controller/garbagecollector/graph_builder.go keeps a node
for every object instead).
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, group_version

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""The finalizers by which a deleted object waits for the garbage collector (metav1.FinalizerOrphanDependents, …)."""

UID = "uid/"
"""What the key of an owner who is not seen begins with: "uid/<uid>"; all other keys are items: "pods/ns/name"."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The coordinates by which an object is referred to; `namespace` is that of who refers."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Of the object, as caches and requests have it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def text(self, uid: str) -> str:
        """As upstream's messages have it (objectReference.String)."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {uid}]"


def identity_of(reference: Obj, namespace: str) -> Identity:
    """Whom a reference of an object in a namespace names."""
    return Identity(reference["apiVersion"], reference["kind"], namespace, reference["name"])


@dataclass(slots=True)
class Owner:
    """Somebody to whom references point.

    Attributes:
        dependents: the items that refer to it.
        item: itself, while a cache has it; else "".
        seen: as what it was seen.
        waiting: it is being deleted in the foreground, and waits for its dependents.
        absent: as what the server does not know it.
    """

    dependents: set[str] = field(default_factory=set)
    item: str = ""
    seen: Identity | None = None
    waiting: bool = False
    absent: set[Identity] = field(default_factory=set)

    def fits(self, reference: Obj, namespace: str) -> bool:
        """Whether the owner was seen, and as what the reference says."""
        seen = self.seen
        return (
            seen is not None
            and seen.name == reference["name"]
            and seen.kind == reference["kind"]
            and _is_of_one_group(seen.api_version, reference["apiVersion"])
            and (not seen.namespace or seen.namespace == namespace)
        )


class Graph:
    """Owners and their dependents; a kind is anything whose str() is its resource's name.

    Attributes:
        owners: by uid; those alone to whom references point.
    """

    def __init__(self) -> None:
        self.owners: dict[str, Owner] = {}
        self._due: dict[str, None] = {}

    def take(self) -> Collection[str]:
        """The keys that became due since the last call, each once."""
        due = self._due
        if due:
            self._due = {}
        return due

    def change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """An object came (old is None), changed, or went (new is None)."""
        if new is None:
            if old is not None:
                self._went(kind, old)
        elif old is None:
            self._came(kind, new)
        elif not _is_same(old["metadata"], new["metadata"]):
            self._changed(kind, old["metadata"], new)

    def saw(self, kind: object, obj: Obj) -> Owner | None:
        """Note what an owner looks like; gives it, None where nobody refers to it."""
        meta = obj["metadata"]
        owner = self.owners.get(meta["uid"])
        if owner is not None:
            owner.item = item_of(kind, meta)
            owner.seen = Identity(obj["apiVersion"], obj["kind"], meta.get("namespace") or "", meta["name"])
            owner.absent.discard(owner.seen)
            owner.waiting = awaited_work(meta) == FOREGROUND
        return owner

    def _came(self, kind: object, obj: Obj) -> None:
        meta = obj["metadata"]
        references = meta.get("ownerReferences")
        if references:
            item = item_of(kind, meta)
            for reference in references:
                self._refer(item, meta.get("namespace") or "", reference)
        self._look(kind, obj)

    def _changed(self, kind: object, before: Obj, obj: Obj) -> None:
        meta = obj["metadata"]
        item = item_of(kind, meta)
        left = {reference["uid"]: reference for reference in before.get("ownerReferences") or ()}
        for reference in meta.get("ownerReferences") or ():
            known = left.pop(reference["uid"], None)
            if known != reference:
                owner = self._refer(item, meta.get("namespace") or "", reference)
                if known is not None and blocks(known) and not blocks(reference):
                    self._unblock(owner)
        for reference in left.values():
            self._part(item, reference)
        self._look(kind, obj)

    def _went(self, kind: object, obj: Obj) -> None:
        meta = obj["metadata"]
        references = meta.get("ownerReferences")
        if references:
            item = item_of(kind, meta)
            for reference in references:
                self._part(item, reference)
        owner = self.owners.get(meta["uid"])
        if owner is not None:
            if owner.seen is not None:
                owner.absent.add(owner.seen)  # its end was seen, so that nobody has to be asked
            owner.item, owner.seen, owner.waiting = "", None, False
            self._due[UID + meta["uid"]] = None

    def _refer(self, item: str, namespace: str, reference: Obj) -> Owner:
        uid = reference["uid"]
        owner = self.owners.get(uid)
        if owner is None:
            owner = self.owners[uid] = Owner()
        owner.dependents.add(item)
        if owner.waiting:
            self._due[item] = None
        elif not owner.fits(reference, namespace):
            self._due[UID + uid] = None
        return owner

    def _part(self, item: str, reference: Obj) -> None:
        uid = reference["uid"]
        owner = self.owners.get(uid)
        if owner is not None:
            self._unblock(owner)
            owner.dependents.discard(item)
            if not owner.dependents:
                del self.owners[uid]

    def _unblock(self, owner: Owner) -> None:
        if owner.waiting:
            self._due[owner.item] = None

    def _look(self, kind: object, obj: Obj) -> None:
        """What an object that came or changed means for those who refer to it, and for itself."""
        meta = obj["metadata"]
        uid = meta["uid"]
        if uid in self.owners:
            self._look_at_owner(kind, obj, self.owners[uid])
        if "deletionTimestamp" in meta and awaited_work(meta):
            self._due[item_of(kind, meta)] = None

    def _look_at_owner(self, kind: object, obj: Obj, owner: Owner) -> None:
        known, waited = owner.seen, owner.waiting
        self.saw(kind, obj)
        if known is None:
            self._due[UID + obj["metadata"]["uid"]] = None  # somebody may have referred to it as something else
        if owner.waiting and not waited:
            self._due.update(dict.fromkeys(owner.dependents))


def item_of(kind: object, meta: Obj) -> str:
    """The key of an object: "deployments.apps/default/web", "nodes/node-1"."""
    namespace = meta.get("namespace")
    return f"{kind}/{namespace}/{meta['name']}" if namespace else f"{kind}/{meta['name']}"


def blocks(reference: Obj) -> bool:
    """Whether the owner's end has to wait for who refers so."""
    return bool(reference.get("blockOwnerDeletion"))


def awaited_work(meta: Obj) -> str:
    """The finalizer by which a deleted object waits for the garbage collector, "" where it does not wait."""
    if not meta.get("deletionTimestamp"):
        return ""
    finalizers = meta.get("finalizers") or ()
    return next((finalizer for finalizer in (ORPHAN, FOREGROUND) if finalizer in finalizers), "")


def _is_of_one_group(one: str, other: str) -> bool:
    return one == other or group_version(one)[0] == group_version(other)[0]


def _is_same(before: Obj, after: Obj) -> bool:
    """Whether nothing changed that the graph, or the collector, goes by."""
    return (
        before.get("ownerReferences") == after.get("ownerReferences")
        and before.get("deletionTimestamp") == after.get("deletionTimestamp")
        and before.get("finalizers") == after.get("finalizers")
    )
