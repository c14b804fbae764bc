"""The namespace controller: pods first, then the rest, the conditions about remaining objects, and the end."""

from typing import Any

import pytest
from triggers import woken

from apiserver.api import errors
from controller_manager.controllers.namespace import SPEC
from controller_manager.reconcile.contract import (
    Change,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Requeue,
    RequeueAfter,
    Update,
)
from controller_manager.reconcile.kinds import CONFIG_MAP, EVERYTHING, NAMESPACE, NODE, POD, Kind, Served

GIZMO = Kind("example.com", "v1", "Gizmo", "gizmos")
ALL = frozenset({"delete", "deletecollection", "list", "watch"})
VERBS = {POD: ALL, CONFIG_MAP: ALL, NODE: ALL, GIZMO: ALL - {"deletecollection"}}
DELETED_AT = "2027-01-15T07:59:50Z"
"""Ten seconds before it is the stage's time."""


def namespace(name="ns", *, finalizers=("kubernetes",), **meta):
    head = {"name": name, "uid": "uid-ns", "resourceVersion": "3", "deletionTimestamp": DELETED_AT}
    return {"metadata": head | meta, "spec": {"finalizers": list(finalizers)}, "status": {"phase": "Terminating"}}


def an(name, **meta):
    return {"metadata": {"namespace": "ns", "name": name} | meta}


class Content:
    """A server with objects, which go when they are deleted unless they are held."""

    def __init__(self, **objects) -> None:
        self.objects = objects
        self.refusals: dict[Any, Any] = {}

    def __call__(self, request):
        for kind, error in self.refusals.items():
            if isinstance(request, kind):
                return error
        match request:
            case ListAll(kind=kind):
                return list(self.objects.get(kind.plural, ()))
            case DeleteAll(kind=kind):
                self.objects[kind.plural] = [obj for obj in self.objects[kind.plural] if self.is_held(obj)]
            case Delete(kind=kind, key=key):
                kept = [obj for obj in self.objects[kind.plural] if f"ns/{obj['metadata']['name']}" != key]
                self.objects[kind.plural] = kept
            case Update(obj=obj, subresource="status"):
                return namespace(resourceVersion="4") | {"status": obj["status"]}
        return None

    @staticmethod
    def is_held(obj):
        return bool(obj["metadata"].get("finalizers") or obj["metadata"].get("deletionGracePeriodSeconds"))


@pytest.fixture
def run(make_world, reconcile):
    def run(content, *, current=None, pods=(), served=None, **how):
        world = make_world(SPEC, {NAMESPACE: [current or namespace()], POD: pods})
        world.served = served or Served(VERBS, tuple(VERBS))
        return reconcile(SPEC, "ns", world, content, **how)

    return run


def status_updates(done):
    return [update for update in done.of(Update) if update.subresource == "status"]


def conditions_of(done):
    [update] = status_updates(done)
    conditions = update.obj["status"]["conditions"]
    return {condition["type"]: condition["message"] for condition in conditions if condition["status"] == "True"}


def test_an_empty_namespace_is_let_go_once_that_is_told(run):
    done = run(Content())
    assert [type(request) for request in done.requests()] == [ListAll, ListAll, ListAll, Update, Update]
    assert conditions_of(done) == {}
    _, update = done.of(Update)
    assert update.subresource == "finalize"
    assert update.obj["spec"] == {"finalizers": []}
    assert update.obj["metadata"]["resourceVersion"] == "4"


def test_everything_goes_in_the_background_and_what_cannot_go_at_once_one_by_one(run):
    done = run(Content(configmaps=[an("a"), an("b")], gizmos=[an("x"), an("y")]))
    assert done.of(DeleteAll) == [DeleteAll(CONFIG_MAP, "ns", propagation="Background")]
    assert done.of(Delete) == [Delete(GIZMO, f"ns/{name}", propagation="Background") for name in "xy"]
    assert done.of(Update)


def test_nothing_else_is_touched_while_a_pod_remains(run):
    stopping = an("p", deletionGracePeriodSeconds=30)
    running = stopping | {"spec": {"terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}}
    done = run(Content(pods=[stopping], configmaps=[an("a")]), pods=[running])
    assert done.of(DeleteAll) == [DeleteAll(POD, "ns", propagation="Background")]
    assert {request.kind for request in done.of(ListAll)} == {POD}
    assert conditions_of(done) == {
        "NamespaceContentRemaining": "Some resources are remaining: pods. has 1 resource instances"
    }
    assert done.of(RequeueAfter) == [RequeueAfter(16)]
    assert [update.subresource for update in done.of(Update)] == ["status"]


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"terminationGracePeriodSeconds": 5}, {"phase": "Running"}),
        ({"terminationGracePeriodSeconds": 30}, {"phase": "Succeeded"}),
    ],
    ids=["longer than it may take", "ended"],
)
def test_a_pod_that_remains_for_no_reason_is_reported_and_tried_again(run, spec, status):
    stuck = an("p", deletionGracePeriodSeconds=30)
    done = run(Content(pods=[stuck]), pods=[stuck | {"spec": spec, "status": status}])
    assert conditions_of(done)["NamespaceDeletionContentFailure"] == (
        "Failed to delete all resource types, 1 remaining: "
        "unexpected items still remain in namespace: ns for gvr: /v1, Resource=pods"
    )
    assert done.of(Requeue)
    assert done.of(RequeueAfter) == [RequeueAfter(60)]


def test_what_waits_for_finalizers_is_told_and_looked_at_later(run):
    held = [an("a", finalizers=["x/y", "a/b"]), an("b", finalizers=["x/y"])]
    done = run(Content(configmaps=held))
    assert conditions_of(done) == {
        "NamespaceContentRemaining": "Some resources are remaining: configmaps. has 2 resource instances",
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining: "
            "a/b in 1 resource instances, x/y in 2 resource instances"
        ),
    }
    assert done.of(RequeueAfter) == [RequeueAfter(8)]


def test_a_refusal_is_told_and_others_go_all_the_same(run):
    content = Content(configmaps=[an("a")], gizmos=[an("x")])
    content.refusals[DeleteAll] = errors.forbidden("", "configmaps", name="", why="no")
    done = run(content)
    assert conditions_of(done) == {
        "NamespaceDeletionContentFailure": (
            "Failed to delete all resource types, 1 remaining: configmaps is forbidden: no"
        ),
    }
    assert done.of(Delete) == [Delete(GIZMO, "ns/x", propagation="Background")]
    assert done.of(Requeue)


def test_a_namespace_stays_while_it_is_not_known_what_the_server_serves(run):
    served = Served(VERBS, tuple(VERBS), {"example.com/v2": "the server is away", "a.com/v1": "no"})
    done = run(Content(), served=served)
    assert conditions_of(done) == {
        "NamespaceDeletionDiscoveryFailure": (
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: "
            "a.com/v1: no, example.com/v2: the server is away"
        )
    }
    assert [update.subresource for update in done.of(Update)] == ["status"]
    assert run(Content(), served=Served()).actions == [RequeueAfter(1.0)]


def test_a_collection_that_turns_out_to_know_no_such_verb_is_taken_for_empty(run):
    content = Content()
    content.refusals[ListAll] = errors.method_not_supported("", "x", "list")
    assert run(content).of(Update)


def test_conditions_keep_the_time_of_their_last_change_and_are_written_only_if_they_change(run):
    held = Content(configmaps=[an("a", finalizers=["x/y"])])
    first = status_updates(run(held))[0].obj["status"]["conditions"]
    current = namespace() | {"status": {"phase": "Terminating", "conditions": first}}
    assert status_updates(run(held, current=current, at=1_800_000_060.0)) == []
    after = status_updates(run(Content(), current=current, at=1_800_000_060.0))[0].obj["status"]["conditions"]
    times = {condition["type"]: condition["lastTransitionTime"] for condition in after}
    assert times["NamespaceContentRemaining"] == "2027-01-15T08:01:00Z"
    assert times["NamespaceDeletionDiscoveryFailure"] == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize(
    "current",
    [namespace(deletionTimestamp=None), namespace(finalizers=["example.com/mine"])],
    ids=["active", "waiting for others"],
)
def test_a_namespace_that_is_not_deleted_or_waits_for_others_is_left_alone(run, current):
    assert run(Content(), current=current).actions == []


def test_the_last_word_is_said_again_when_others_were_faster(run):
    content, tries = Content(), []

    def answers(request):
        if isinstance(request, Update) and request.subresource == "finalize":
            tries.append(request.obj["metadata"]["resourceVersion"])
            stale = errors.conflict("", "namespaces", name="ns", why=errors.STALE)
            return stale if len(tries) == 1 else None
        return namespace(resourceVersion="9") if isinstance(request, Get) else content(request)

    assert run(answers).error is None
    assert tries == ["4", "9"]


# -- triggers


def keys(world, kind, change):
    return woken(SPEC, world, kind, change)


def test_a_deletion_that_begins_is_heard_and_later_changes_are_not():
    active, going = namespace(deletionTimestamp=None), namespace()
    assert keys(None, NAMESPACE, Change(None, active)) == []
    assert keys(None, NAMESPACE, Change(active, going)) == ["ns"]
    assert keys(None, NAMESPACE, Change(None, going)) == ["ns"]
    assert keys(None, NAMESPACE, Change(going, namespace())) == []
    assert keys(None, NAMESPACE, Change(going, None)) == []


def test_the_last_object_of_a_kind_that_goes_is_heard_of_in_namespaces_that_go(make_world):
    pods = [{"apiVersion": "v1", "kind": "Pod"} | an(name, uid=name) for name in "ab"]
    world = make_world(SPEC, {NAMESPACE: [namespace()], POD: pods})
    world.served = Served(VERBS, tuple(VERBS))
    heard = []
    world.add_listener(EVERYTHING, lambda _: lambda change: heard.append(keys(world, EVERYTHING, change)))
    world[POD].remove(pods[0])
    world[POD].remove(pods[1])
    world[NAMESPACE].put({"apiVersion": "v1", "kind": "Namespace"} | namespace(deletionTimestamp=None))
    world[POD].put(pods[0])
    world[POD].remove(pods[0])
    assert heard == [[], ["ns"], [], [], []]
