"""Any graph of owners, deleted in any way, with caches that lag: what is owned stays, and nothing is left behind."""

import copy
from collections import deque
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api.errors import conflict, not_found
from controller_manager.controllers.garbagecollector.controller import SPEC
from controller_manager.controllers.garbagecollector.graph import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from controller_manager.reconcile.contract import Delete, Enqueue, Get, Patch, Requeue
from controller_manager.reconcile.kinds import CONFIG_MAP, POD, Served
from controller_manager.runtime.cache import Caches

KINDS = (CONFIG_MAP, POD)
VERBS = frozenset({"delete", "list", "watch"})
NOBODY = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "uid-nobody"}
WHO = st.integers(0, 5)
OWNERS = st.lists(st.tuples(WHO, st.booleans()), max_size=2)
STEP = st.one_of(
    st.tuples(st.just("create"), WHO, OWNERS),
    st.tuples(st.just("own"), WHO, OWNERS),
    st.tuples(st.just("delete"), WHO, st.sampled_from(["Background", "Foreground", "Orphan"])),
    st.tuples(st.just("deliver"), st.integers(0, 1), st.none()),
    st.tuples(st.just("work"), st.integers(0, 9), st.none()),
)


class Cluster:
    """A server, caches that lag behind it, and a collector that runs one key at a time.

    Attributes:
        store: key → object, of both kinds, whose names never clash.
        unheard: for each kind, what its cache has not heard of.
        due: the keys that wait.
    """

    def __init__(self) -> None:
        self.store: dict[str, Any] = {}
        self.unheard: dict[Any, deque[Any]] = {kind: deque() for kind in KINDS}
        self.due: dict[str, Any] = {}
        self.numbers = count(1)
        self.world = Caches()
        self.world.served = Served(dict.fromkeys(KINDS, VERBS), KINDS)
        self.world.prepare_for(SPEC)
        for kind in KINDS:
            self.world.get_or_create(kind).replace((), 0)

    # -- people

    def create(self, who, owners):
        kind, key = kind_and_key(who)
        if key not in self.store:
            meta = {"namespace": "ns", "name": f"x{who}", "uid": f"uid-{next(self.numbers)}"}
            obj = {"apiVersion": "v1", "kind": kind.kind, "metadata": meta}
            self.write(kind, key, obj, {"ownerReferences": self.references(owners)})

    def own(self, who, owners):
        kind, key = kind_and_key(who)
        if key in self.store:
            self.write(kind, key, self.store[key], {"ownerReferences": self.references(owners)})

    def references(self, owners):
        references = {}
        for who, blocking in owners:
            kind, key = kind_and_key(who)
            owner = self.store.get(key)
            about = {"apiVersion": "v1", "kind": kind.kind, "name": f"x{who}"}
            reference = about | {"uid": owner["metadata"]["uid"]} if owner else NOBODY
            references[reference["uid"]] = reference | {"blockOwnerDeletion": blocking}
        return list(references.values())

    def delete(self, who, propagation):
        kind, key = kind_and_key(who)
        if key in self.store:
            self.remove(kind, key, propagation)

    # -- the server

    def write(self, kind, key, obj, change):
        meta = obj["metadata"] | change | {"resourceVersion": str(next(self.numbers))}
        kept = {name: value for name, value in meta.items() if value}
        if kept.get("deletionTimestamp") and not kept.get("finalizers"):
            self.store.pop(key)
            self.unheard[kind].append(("remove", obj | {"metadata": kept}))
            return obj
        self.store[key] = obj | {"metadata": kept}
        self.unheard[kind].append(("put", self.store[key]))
        return self.store[key]

    def remove(self, kind, key, propagation):
        obj = self.store[key]
        finalizers = {"Foreground": [FOREGROUND_FINALIZER], "Orphan": [ORPHAN_FINALIZER]}.get(propagation, [])
        return self.write(kind, key, obj, {"deletionTimestamp": "2027-01-15T08:00:00Z", "finalizers": finalizers})

    def ask(self, request):
        obj = self.store.get(request.key)
        if obj is None:
            return not_found("", request.kind.plural, request.key)
        match request:
            case Get():
                return obj
            case Delete(uid=uid, resource_version=revision):
                if uid != obj["metadata"]["uid"] or (revision and revision != obj["metadata"]["resourceVersion"]):
                    return conflict("", "Object", name=request.key, why="it has changed")
                assert not self.is_owned(obj), f"{request.key} is deleted although somebody owns it"
                return self.remove(request.kind, request.key, request.propagation)
            case Patch():
                return self.patch(request, obj)

    def patch(self, request, obj):
        change = copy.deepcopy(request.body["metadata"])
        if change.pop("uid") != obj["metadata"]["uid"]:
            return conflict("", "Object", name=request.key, why="it is another")
        if change.get("resourceVersion", "") not in ("", obj["metadata"]["resourceVersion"]):
            return conflict("", "Object", name=request.key, why="it has changed")
        if "ownerReferences" in change:
            change["ownerReferences"] = merged(obj, change["ownerReferences"])
        return self.write(request.kind, request.key, obj, change)

    def is_owned(self, obj):
        """Return whether an owner of it exists that does not wait for its dependents (foreground deletion)."""
        uids = {stored["metadata"]["uid"]: stored["metadata"] for stored in self.store.values()}
        owners = [uids.get(reference["uid"]) for reference in obj["metadata"].get("ownerReferences", ())]
        return any(owner is not None and FOREGROUND_FINALIZER not in owner.get("finalizers", ()) for owner in owners)

    # -- the manager

    def deliver(self, which, _):
        kind = KINDS[which]
        if self.unheard[kind]:
            word, obj = self.unheard[kind].popleft()
            getattr(self.world[kind], word)(obj)
            self.due |= dict.fromkeys(self.world.view("ownership").take_marked())

    def work(self, which, _, rehearse):
        if not self.due:
            return
        key = list(self.due)[which % len(self.due)]
        del self.due[key]
        seen = SPEC.observe(self.world, key)
        if seen is None:
            return
        done = rehearse(SPEC.reconcile(seen, 0.0), self.ask)
        for wake in done.of(Enqueue):
            self.due |= dict.fromkeys(wake.keys)
        if done.error is not None or done.of(Requeue):
            self.due[key] = None

    def rest(self, rehearse):
        """Everything is heard of and worked on, until nothing is left to do."""
        for _ in range(500):
            for which in range(len(KINDS)):
                while self.unheard[KINDS[which]]:
                    self.deliver(which, None)
            if not self.due:
                return
            self.work(0, None, rehearse)
        raise AssertionError(f"it never ends: {list(self.due)}")


def kind_and_key(who):
    return KINDS[who % 2], f"ns/x{who}"


def merged(obj, changes):
    """The references after a strategic merge patch."""
    by_uid = {reference["uid"]: reference for reference in obj["metadata"].get("ownerReferences", ())}
    for change in changes:
        if change.get("$patch") == "delete":
            by_uid.pop(change["uid"], None)
        else:
            by_uid[change["uid"]] = by_uid.get(change["uid"], {}) | change
    return list(by_uid.values())


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=st.lists(STEP, max_size=40))
def test_what_is_owned_stays_and_what_nobody_owns_any_more_goes(rehearse, steps):
    cluster = Cluster()
    for word, which, how in steps:
        if word == "work":
            cluster.work(which, how, rehearse)
        else:
            getattr(cluster, word)(which, how)
    cluster.rest(rehearse)
    uids = {obj["metadata"]["uid"] for obj in cluster.store.values()}
    for key, obj in cluster.store.items():
        references = obj["metadata"].get("ownerReferences", [])
        assert not references or uids & {reference["uid"] for reference in references}, f"{key} was left behind"
        assert "deletionTimestamp" not in obj["metadata"], f"{key} waits for nobody"
    graph = cluster.world.view("ownership")
    dependents = {uid: set(owner.dependents) for uid, owner in graph.owners.items()}
    expected: dict[str, set[Any]] = {}
    for key, obj in cluster.store.items():
        kind, _ = kind_and_key(int(key[-1]))
        for reference in obj["metadata"].get("ownerReferences", ()):
            expected.setdefault(reference["uid"], set()).add(f"{kind}/{key}")
    assert dependents == expected


def test_a_batch_is_asked_one_by_one(rehearse):
    """The stage answers batches of orphans as the server would."""
    cluster = Cluster()
    cluster.create(0, [])
    cluster.create(1, [(0, True)])
    cluster.create(3, [(0, False)])
    cluster.delete(0, "Orphan")
    cluster.rest(rehearse)
    assert sorted(cluster.store) == ["ns/x1", "ns/x3"]
    assert not any("ownerReferences" in obj["metadata"] for obj in cluster.store.values())
