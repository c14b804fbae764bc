"""An API server in memory for objects of a few kinds, faithful as far as controllers and kubelets can tell."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import (
    Create,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Patch,
    Request,
    Update,
    key_of,
)
from controller_manager.reconcile.kinds import POD, Kind
from controller_manager.reconcile.times import format_time


class FakeServer:
    """Objects in the namespace "ns", and the log of their changes.

    Attributes:
        now: its clock.
        objects: kind → key → object.
        log: kind → each state of its objects, in order, and whether the object was still there.
        refuse: asked before each request of a controller: an ApiError is the answer.
        revision: of what was written last.
    """

    def __init__(self, kinds: Iterable[Kind], now: float) -> None:
        self.now = now
        self.objects: dict[Any, dict[str, Any]] = {kind: {} for kind in kinds}
        self.log: dict[Any, list[Any]] = {kind: [] for kind in kinds}
        self.refuse: Callable[[Any], ApiError | None] = lambda _: None
        self.revision = 100
        self._uids = 0

    def store(self, kind: Kind, obj: Obj) -> Obj:
        """Keep an object, which is new if it has no UID."""
        self.revision += 1
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, **copy.deepcopy(obj)}
        meta: Obj = {"namespace": "ns"} | obj["metadata"]
        obj["metadata"] = meta
        meta["resourceVersion"] = str(self.revision)
        if "uid" not in meta:
            self._uids += 1
            meta |= {"uid": f"uid-{self._uids}", "creationTimestamp": format_time(self.now), "generation": 1}
        self.objects[kind][key_of(obj)] = obj
        self.log[kind].append((obj, True))
        return copy.deepcopy(obj)

    def drop(self, kind: Kind, key: str) -> None:
        """Remove an object, and those that the garbage collector deletes because of that."""
        obj = self.objects[kind].pop(key)
        self.revision += 1
        self.log[kind].append((obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.revision)}}, False))
        if kind is POD:
            self.collect()

    def collect(self) -> None:
        """Do what the garbage collector would do: nothing, unless a test is about that."""

    def change(self, kind: Kind, current: Obj, new: Obj) -> Obj:
        """Store an object with a change, if it makes a difference."""
        if new == current:
            return current
        if new.get("spec") != current.get("spec"):
            new = new | {"metadata": new["metadata"] | {"generation": current["metadata"].get("generation", 0) + 1}}
        return self.store(kind, new)

    def delete(self, request: Delete, current: Obj) -> Obj | ApiError:
        """Delete an object, which stays for a while if it lingers."""
        kind, key, uid = request.kind, request.key, request.uid
        if uid and uid != current["metadata"]["uid"]:
            return conflict(kind.group, kind.plural, name=key, why="the UID in the precondition does not match")
        if not self.lingers(kind, current):
            self.drop(kind, key)
        elif not current["metadata"].get("deletionTimestamp"):
            grace = {"deletionTimestamp": format_time(self.now + 30), "deletionGracePeriodSeconds": 30}
            self.store(kind, current | {"metadata": current["metadata"] | grace})
        return {}

    def lingers(self, kind: Kind, current: Obj) -> bool:
        """Return whether an object is only marked when it is deleted: a pod that a kubelet has to stop."""
        return kind is POD and "nodeName" in current["spec"]

    def perform(self, request: Request) -> Obj | ApiError:
        """Return the answer to a controller's request: an object, or an ApiError."""
        if (refused := self.refuse(request)) is not None:
            return refused
        assert not isinstance(request, DeleteAll | ListAll), "none of the controllers here asks for collections"
        kind, stored = request.kind, self.objects[request.kind]
        key = key_of(request.obj) if isinstance(request, Create | Update) else request.key
        if isinstance(request, Create):
            if key in stored:
                return already_exists(kind.group, kind.plural, request.obj["metadata"]["name"])
            return self.store(kind, request.obj | ({"status": {"phase": "Pending"}} if kind is POD else {}))
        if key not in stored:
            return not_found(kind.group, kind.plural, key.partition("/")[2])
        answer = self._do(request, stored[key])
        return answer if isinstance(answer, ApiError) else copy.deepcopy(answer)

    def _do(self, request: Update | Patch | Delete | Get, current: Obj) -> Obj | ApiError:
        match request:
            case Update():
                return self._update(request, current)
            case Patch():
                return self.patch(request, current)
            case Delete():
                return self.delete(request, current)
            case Get():
                return current

    def _update(self, request: Update, current: Obj) -> Obj | ApiError:
        obj, kind = request.obj, request.kind
        if obj["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
            return conflict(kind.group, kind.plural, name=key_of(obj), why="the object has been modified")
        if request.subresource:
            return self.change(kind, current, current | {"status": obj["status"]})
        return self.change(kind, current, obj | ({"status": current["status"]} if "status" in current else {}))

    def patch(self, request: Patch, current: Obj) -> Obj | ApiError:
        """Merge metadata, and conditions of a status, into an object."""
        kind, meta, changes = request.kind, current["metadata"], request.body.get("metadata", {})
        if changes.get("uid", meta["uid"]) != meta["uid"]:
            return conflict(kind.group, kind.plural, name=request.key, why="the UID in the precondition does not match")
        assert "ownerReferences" not in changes or not request.subresource, "a status keeps them (podStatusStrategy)"
        new = current | {"metadata": meta | _merged(meta, changes)}
        if conditions := request.body.get("status", {}).get("conditions"):
            assert request.subresource == "status"
            known = {each["type"]: each for each in current["status"].get("conditions", ())}
            for each in conditions:
                both = known.get(each["type"], {}) | each
                known[each["type"]] = {name: value for name, value in both.items() if value is not None}
            new = new | {"status": current["status"] | {"conditions": list(known.values())}}
        return self.change(kind, current, new)


def _merged(meta: Obj, more: Obj) -> Obj:
    """Return the labels and annotations that a patch changes, and the owners, which have a merge of their own."""
    merged: Obj = {name: meta.get(name, {}) | more[name] for name in ("labels", "annotations") if name in more}
    if "ownerReferences" in more:
        named = {owner["uid"] for owner in more["ownerReferences"]}
        kept = [owner for owner in meta.get("ownerReferences") or () if owner["uid"] not in named]
        merged["ownerReferences"] = [*kept, *(owner for owner in more["ownerReferences"] if "$patch" not in owner)]
    return merged
