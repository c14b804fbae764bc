"""The garbage collector: the objects it deletes, their order, and the finalizers it removes."""

from typing import Any

import pytest

from apiserver.api.errors import ApiError, conflict, not_found, unknown_path, unsupported_media_type
from controller_manager.controllers.garbagecollector.controller import SPEC
from controller_manager.controllers.garbagecollector.graph import UID_PREFIX
from controller_manager.reconcile.contract import Batch, Delete, Enqueue, Get, Patch, Requeue
from controller_manager.reconcile.kinds import CONFIG_MAP, DEPLOYMENT, NODE, POD, REPLICA_SET, Kind, Served

GIZMO = Kind("example.com", "v1", "Gizmo", "gizmos")
CLUSTER_GIZMO = Kind("example.com", "v1", "ClusterGizmo", "clustergizmos", namespaced=False)
VERBS = frozenset({"delete", "list", "watch"})
SERVED = Served(dict.fromkeys((POD, REPLICA_SET, DEPLOYMENT, NODE, CONFIG_MAP, GIZMO, CLUSTER_GIZMO), VERBS))
GOING = "2027-01-15T08:00:00Z"
FOREGROUND = {"deletionTimestamp": GOING, "finalizers": ["foregroundDeletion"]}
ORPHAN = {"deletionTimestamp": GOING, "finalizers": ["example.com/mine", "orphan"]}


def refer(kind, name, *, uid="", blocks=True):
    reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid or f"uid-{name}"}
    return reference | {"blockOwnerDeletion": blocks}


def an(name, *owners, namespace="ns", **meta):
    where = {"namespace": namespace} if namespace else {}
    references = {"ownerReferences": list(owners)} if owners else {}
    return {"metadata": where | {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"} | references | meta}


class Cluster:
    """Caches, and a server that answers Gets from objects of its own."""

    def __init__(self, world, reconcile) -> None:
        self.world = world
        self.run_key = reconcile
        self.live: dict[Any, Any] = {}

    def run(self, key, answers=lambda _: None):
        return self.run_key(SPEC, key, self.world, lambda request: answers(request) or self.answer(request))

    def answer(self, request):
        if isinstance(request, Get):
            obj = self.live.get(f"{request.kind}/{request.key}")
            return obj or not_found(request.kind.group, request.kind.plural, request.key.rpartition("/")[2])
        if isinstance(request, Patch):
            return self.live.get(f"{request.kind}/{request.key}") or an(request.key.rpartition("/")[2])
        return None

    def due(self):
        return sorted(self.world.view("ownership").take_marked())


@pytest.fixture
def cluster(make_world, reconcile):
    def make(objects):
        world = make_world(SPEC, objects)
        world.served = SERVED
        return Cluster(world, reconcile)

    return make


def refuse(kind, error):
    """Answers that refuse the first request of a kind."""
    left = [error]
    return lambda request: left.pop() if isinstance(request, kind) and left else None


# -- owners that are not there


def test_an_owner_is_looked_for_in_the_caches_first(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))], REPLICA_SET: [an("rs")]})
    assert stage.due() == ["uid/uid-rs"]
    assert stage.run("uid/uid-rs").actions == []
    assert stage.run("pods/ns/p").actions == []


def test_the_server_is_asked_for_an_owner_that_no_cache_has_and_its_dependents_are_judged(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))]})
    done = stage.run("uid/uid-rs")
    assert done.actions == [Get(REPLICA_SET, "ns/rs"), Enqueue(["pods/ns/p"])]
    assert stage.run("pods/ns/p").actions == [Delete(POD, "ns/p", "uid-p", "7", "Background")]


def test_an_owner_that_the_server_knows_under_another_uid_is_not_there(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))], REPLICA_SET: [an("rs", uid="uid-new")]})
    stage.live["replicasets.apps/ns/rs"] = an("rs", uid="uid-new")
    assert stage.run("uid/uid-rs").actions[-1] == Enqueue(["pods/ns/p"])
    assert stage.run("pods/ns/p").of(Delete)


def test_an_owner_that_the_server_knows_and_no_cache_yet_is_asked_for_again(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))]})
    stage.live["replicasets.apps/ns/rs"] = an("rs")
    assert stage.run("uid/uid-rs").actions == [Get(REPLICA_SET, "ns/rs"), Requeue()]
    assert stage.run("pods/ns/p").of(Delete) == []


def test_a_kind_that_discovery_does_not_know_yet_is_never_taken_for_absent(cluster):
    unknown = Kind("example.com", "v1", "Unknown", "unknowns")
    stage = cluster({POD: [an("p", refer(unknown, "x"))]})
    assert stage.run("uid/uid-x").actions == [Requeue()]
    assert stage.run("pods/ns/p").actions == [Requeue()]


def test_a_path_that_is_not_served_says_nothing_of_its_objects(cluster):
    stage = cluster({POD: [an("p", refer(GIZMO, "g"))]})
    done = stage.run("uid/uid-g", refuse(Get, unknown_path()))
    assert done.error is not None
    assert done.of(Enqueue) == []


def test_an_owner_that_goes_is_confirmed_then_its_dependents_go_without_another_question(cluster):
    stage = cluster({REPLICA_SET: [an("rs")], POD: [an(f"p{i}", refer(REPLICA_SET, "rs")) for i in range(3)]})
    stage.run("uid/uid-rs")
    stage.due()
    stage.world[REPLICA_SET].remove(an("rs"))
    assert stage.due() == ["uid/uid-rs"]
    assert sorted(stage.run("uid/uid-rs").of(Enqueue)[0].keys) == ["pods/ns/p0", "pods/ns/p1", "pods/ns/p2"]
    assert stage.run("pods/ns/p1").actions == [Delete(POD, "ns/p1", "uid-p1", "7", "Background")]


def test_an_item_with_another_owner_forgets_the_one_that_is_not_there(cluster):
    owners = [refer(REPLICA_SET, "rs"), refer(CONFIG_MAP, "config")]
    stage = cluster({POD: [an("p", *owners)], CONFIG_MAP: [an("config")]})
    [patch] = stage.run("pods/ns/p").of(Patch)
    assert patch.body == {"metadata": {"uid": "uid-p", "ownerReferences": [{"$patch": "delete", "uid": "uid-rs"}]}}


def test_a_custom_item_forgets_an_owner_by_a_merge_patch(cluster):
    owners = [refer(REPLICA_SET, "rs"), refer(CONFIG_MAP, "config")]
    stage = cluster({GIZMO: [an("g", *owners)], CONFIG_MAP: [an("config")]})
    done = stage.run("gizmos.example.com/ns/g", refuse(Patch, unsupported_media_type("no")))
    kept = {"uid": "uid-g", "resourceVersion": "7", "ownerReferences": [owners[1]]}
    assert done.of(Patch)[1].body == {"metadata": kept}


@pytest.mark.parametrize(
    ("finalizers", "propagation"),
    [(["a/b"], "Background"), (["orphan"], "Orphan"), (["foregroundDeletion"], "Foreground")],
)
def test_an_item_goes_as_its_own_finalizers_say(cluster, finalizers, propagation):
    stage = cluster({REPLICA_SET: [an("rs", refer(DEPLOYMENT, "web"), finalizers=finalizers)]})
    assert stage.run("replicasets.apps/ns/rs").of(Delete)[0].propagation == propagation


def test_an_item_that_is_being_deleted_is_left_to_its_end(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"), deletionTimestamp=GOING)]})
    assert stage.run("pods/ns/p").actions == []


# -- scopes


def test_an_owner_of_the_cluster_is_looked_for_there(cluster):
    stage = cluster({POD: [an("p", refer(NODE, "n"))], GIZMO: [an("g", refer(CLUSTER_GIZMO, "c"))]})
    assert stage.run("uid/uid-n").of(Get) == [Get(NODE, "n")]
    assert stage.run("uid/uid-c").of(Get) == [Get(CLUSTER_GIZMO, "c")]
    assert stage.run("gizmos.example.com/ns/g").of(Delete)


def test_an_item_of_the_cluster_with_an_owner_in_a_namespace_is_left_alone_for_ever(cluster):
    stage = cluster({NODE: [an("n", refer(CONFIG_MAP, "config"), namespace="")]})
    assert stage.run("uid/uid-config").actions == []
    assert stage.run("nodes/n").actions == []


@pytest.mark.parametrize("order", ["owner first", "dependent first"])
def test_an_owner_in_another_namespace_is_refused_with_an_event(cluster, order):
    there, dependent = {REPLICA_SET: [an("rs", namespace="other")]}, {POD: [an("p", refer(REPLICA_SET, "rs"))]}
    stage = cluster(there | dependent if order == "owner first" else dependent | there)
    assert stage.due() == ["uid/uid-rs"]
    done = stage.run("uid/uid-rs")
    whom = "ownerRef [apps/v1/ReplicaSet, namespace: ns, name: rs, uid: uid-rs]"
    assert done.events == [f'OwnerRefInvalidNamespace: {whom} does not exist in namespace "ns"']
    assert done.of(Enqueue) == [Enqueue(["pods/ns/p"])]
    assert stage.run("pods/ns/p").of(Delete)


def test_dependents_that_know_an_owner_rightly_stay_when_others_name_it_wrongly(cluster):
    wrong = an("b", refer(DEPLOYMENT, "rs"))
    stage = cluster({REPLICA_SET: [an("rs")], POD: [an("a", refer(REPLICA_SET, "rs")), wrong]})
    assert stage.run("uid/uid-rs").of(Enqueue) == [Enqueue(["pods/ns/b"])]
    assert stage.run("pods/ns/a").actions == []
    assert stage.run("pods/ns/b").of(Delete)


# -- foreground


def test_dependents_of_a_waiting_owner_go_first(cluster):
    stage = cluster({REPLICA_SET: [an("rs", **FOREGROUND)], POD: [an("p", refer(REPLICA_SET, "rs"))]})
    assert stage.run("replicasets.apps/ns/rs").actions == []
    assert stage.run("uid/uid-rs").of(Enqueue) == [Enqueue(["pods/ns/p"])]
    assert stage.run("pods/ns/p").actions == [Delete(POD, "ns/p", "uid-p", "7", "Background")]


def test_dependents_that_have_dependents_wait_for_those_in_turn(cluster):
    stage = cluster(
        {
            DEPLOYMENT: [an("web", **FOREGROUND)],
            REPLICA_SET: [an("rs", refer(DEPLOYMENT, "web"))],
            POD: [an("p", refer(REPLICA_SET, "rs"))],
        }
    )
    assert stage.run("replicasets.apps/ns/rs").of(Delete)[0].propagation == "Foreground"


@pytest.mark.parametrize("pods", [[], [an("p", refer(REPLICA_SET, "rs", blocks=False))]], ids=["none", "not blocking"])
def test_a_waiting_owner_that_nobody_blocks_is_let_go(cluster, pods):
    stage = cluster({REPLICA_SET: [an("rs", **FOREGROUND)], POD: pods})
    [patch] = stage.run("replicasets.apps/ns/rs").of(Patch)
    assert patch.body == {"metadata": {"uid": "uid-rs", "resourceVersion": "7", "finalizers": None}}


def test_a_circle_of_waiting_owners_is_broken(cluster):
    stage = cluster(
        {
            CONFIG_MAP: [
                an("a", refer(CONFIG_MAP, "b"), **FOREGROUND),
                an("b", refer(CONFIG_MAP, "a")),
            ]
        }
    )
    done = stage.run("configmaps/ns/b")
    assert done.of(Patch)[0].body["metadata"]["ownerReferences"] == [refer(CONFIG_MAP, "a", blocks=False)]
    assert done.of(Delete)[0].propagation == "Foreground"


def test_owners_that_wait_for_each_other_are_let_go(cluster):
    stage = cluster(
        {
            CONFIG_MAP: [
                an("a", refer(CONFIG_MAP, "c"), **FOREGROUND),
                an("b", refer(CONFIG_MAP, "a"), **FOREGROUND),
                an("c", refer(CONFIG_MAP, "b"), **FOREGROUND),
                an("waits for the circle", **FOREGROUND),
                an("in the circle", refer(CONFIG_MAP, "waits for the circle"), refer(CONFIG_MAP, "a"), **FOREGROUND),
                an("held", refer(CONFIG_MAP, "in the circle")),
            ]
        }
    )
    assert stage.run("configmaps/ns/b").of(Patch)
    assert stage.run("configmaps/ns/waits for the circle").of(Patch) == []


def test_an_item_with_a_solid_owner_is_freed_of_the_one_that_waits(cluster):
    owners = [refer(REPLICA_SET, "rs"), refer(CONFIG_MAP, "config")]
    stage = cluster({POD: [an("p", *owners)], CONFIG_MAP: [an("config")], REPLICA_SET: [an("rs", **FOREGROUND)]})
    [patch] = stage.run("pods/ns/p").of(Patch)
    assert patch.body["metadata"]["ownerReferences"] == [{"$patch": "delete", "uid": "uid-rs"}]


# -- orphans


def test_an_orphaning_owner_frees_its_dependents_and_then_itself(cluster):
    stage = cluster({REPLICA_SET: [an("rs", **ORPHAN)], POD: [an(f"p{i}", refer(REPLICA_SET, "rs")) for i in range(2)]})
    done = stage.run("replicasets.apps/ns/rs")
    batch, last = done.actions
    assert isinstance(batch, Batch)
    patches = [request for request in batch.requests if isinstance(request, Patch)]
    assert {patch.body["metadata"]["uid"] for patch in patches} == {"uid-p0", "uid-p1"}
    assert last.body["metadata"]["finalizers"] == ["example.com/mine"]


def test_an_owner_keeps_its_finalizer_while_a_dependent_cannot_be_freed(cluster):
    stage = cluster({REPLICA_SET: [an("rs", **ORPHAN)], POD: [an("p", refer(REPLICA_SET, "rs"))]})
    done = stage.run("replicasets.apps/ns/rs", refuse(Patch, ApiError(500, "InternalError", "no")))
    assert done.error is not None
    assert len(done.requests()) == 1


@pytest.mark.parametrize(
    ("error", "more"),
    [(not_found("", "pods", "p"), 0), (unsupported_media_type("no"), 1)],
    ids=["gone", "custom"],
)
def test_a_dependent_that_is_gone_or_custom_is_no_obstacle(cluster, error, more):
    stage = cluster({REPLICA_SET: [an("rs", **ORPHAN)], POD: [an("p", refer(REPLICA_SET, "rs"))]})
    done = stage.run("replicasets.apps/ns/rs", refuse(Patch, error))
    assert done.error is None
    assert len(done.of(Patch)) == 2 + more


# -- others who write


def stale(kind, name):
    return conflict(kind.group, kind.kind, name=name, why="the ResourceVersion in the precondition (7) does not match")


def test_an_item_that_changed_but_for_its_owners_is_deleted_as_it_is(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))]})
    stage.live["pods/ns/p"] = an("p", refer(REPLICA_SET, "rs"), resourceVersion="8")
    done = stage.run("pods/ns/p", refuse(Delete, stale(POD, "p")))
    assert done.of(Delete)[1] == Delete(POD, "ns/p", "uid-p", propagation="Background")
    assert done.error is None


def test_an_item_whose_owners_changed_is_judged_again(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))]})
    stage.live["pods/ns/p"] = an("p", resourceVersion="8")
    done = stage.run("pods/ns/p", refuse(Delete, stale(POD, "p")))
    assert done.error is not None
    assert len(done.of(Delete)) == 1


@pytest.mark.parametrize("error", [stale(POD, "p"), not_found("", "pods", "p")], ids=["another", "gone"])
def test_an_item_that_is_gone_or_another_is_done_with(cluster, error):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "rs"))]})
    done = stage.run("pods/ns/p", refuse(Delete, error))
    assert done.error is None
    assert len(done.of(Delete)) == 1


def test_a_finalizer_is_taken_off_what_others_write_too(cluster):
    stage = cluster({REPLICA_SET: [an("rs", **FOREGROUND)]})
    stage.live["replicasets.apps/ns/rs"] = an("rs", **FOREGROUND | {"resourceVersion": "9"})
    done = stage.run("replicasets.apps/ns/rs", refuse(Patch, stale(REPLICA_SET, "rs")))
    assert [patch.body["metadata"]["resourceVersion"] for patch in done.of(Patch)] == ["7", "9"]
    assert done.error is None


def test_names_that_try_to_be_paths_stay_names(cluster):
    stage = cluster({POD: [an("p", refer(REPLICA_SET, "a/b", uid="x/y"))]})
    assert stage.due() == [f"{UID_PREFIX}x/y"]
    assert stage.run(f"{UID_PREFIX}x/y").of(Enqueue) == [Enqueue(["pods/ns/p"])]
