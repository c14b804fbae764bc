"""The children that a parent adopts and releases, and the meaning of refusals (controller_ref_manager.go)."""

import pytest

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.selectors import label_selector_of
from controller_manager.reconcile.contract import MERGE_PATCH, STRATEGIC_PATCH, Get, Patch
from controller_manager.reconcile.controller_ref import (
    Parent,
    adopt_and_release,
    controller_of,
    owner_reference,
    recheck_deletion,
    resolve_controller,
)
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET
from controller_manager.runtime.cache import Caches

SELECTOR = label_selector_of({"matchLabels": {"app": "web"}})


def parent(**meta):
    meta = {"name": "web", "namespace": "ns", "uid": "uid-web"} | meta
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta}


def child(name="p", *, owner=None, app="web", **meta):
    """A pod; `owner` is the uid of the ReplicaSet that controls it."""
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-n"}
    owners = [other] + ([reference(owner)] if owner else [])
    known = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "7", "labels": {"app": app}}
    return {"metadata": known | {"ownerReferences": owners} | meta}


def reference(uid="uid-web", name="web"):
    more = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid} | more


class Server:
    """Answers a reconcile: the parent as it is now, children as they are changed, or a refusal of some."""

    def __init__(self, live=None, **refusals):
        self.live = live or parent()
        self.refusals = refusals
        self.requests = []

    def answer(self, request):
        self.requests.append(request)
        if isinstance(request, Get):
            return self.live
        refused = self.refusals.get(request.key.partition("/")[2])
        if isinstance(refused, list):
            refused = refused.pop(0) if refused else None
        return refused or {"metadata": {"name": request.key.partition("/")[2], "adopted": True}}

    @property
    def patches(self):
        return [request for request in self.requests if isinstance(request, Patch)]


def run(plan, server):
    """Carry out a reconcile and return its result."""
    try:
        action = next(plan)
        while True:
            answer = server.answer(action)
            action = plan.throw(answer) if isinstance(answer, ApiError) else plan.send(answer)
    except StopIteration as stopped:
        return stopped.value


def claimed(children, server=None, *, obj=None, **more):
    """The names of the children that a parent claims."""
    claims = adopt_and_release(Parent(REPLICA_SET, obj or parent(), SELECTOR, **more), POD, children)
    return [each["metadata"]["name"] for each in run(claims, server or Server())]


GOING = {"deletionTimestamp": "2027-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("children", "obj", "owned", "asked"),
    [
        ([child(owner="uid-web")], parent(), ["p"], []),
        ([child(owner="uid-web")], parent(**GOING), ["p"], []),
        ([child(owner="uid-web", **GOING)], parent(), ["p"], []),
        ([child(owner="another")], parent(), [], []),
        ([child(owner="another", app="other")], parent(), [], []),
        ([child()], parent(), ["p"], ["get", "p"]),
        ([child("a"), child("b")], parent(), ["a", "b"], ["get", "a", "b"]),
        ([child()], parent(**GOING), [], []),
        ([child(**GOING)], parent(), [], []),
        ([child(app="other")], parent(), [], []),
        ([child(owner="uid-web", app="other")], parent(), [], ["p"]),
        ([child(owner="uid-web", app="other")], parent(**GOING), [], []),
        ([child("a", owner="uid-web", app="other"), child("b")], parent(), ["b"], ["a", "get", "b"]),
    ],
)
def test_children_are_kept_adopted_let_go_or_left_alone(children, obj, owned, asked):
    server = Server()
    assert claimed(children, server, obj=obj) == owned
    requests = ["get" if isinstance(each, Get) else each.key.removeprefix("ns/") for each in server.requests]
    assert requests == asked


def test_a_child_that_a_parent_does_not_admit_is_none_of_its_own():
    server = Server()
    children = [child("a"), child("b"), child("c", owner="uid-web")]
    assert claimed(children, server, admits=lambda each: each["metadata"]["name"] == "a") == ["a"]
    assert [patch.key for patch in server.patches] == ["ns/a", "ns/c"]


def test_an_adopted_child_is_given_as_it_was_stored_with_all_its_owners():
    server = Server()
    [adopted] = run(adopt_and_release(Parent(REPLICA_SET, parent(), SELECTOR), POD, [child()]), server)
    assert adopted["metadata"]["adopted"]
    [patch] = server.patches
    assert (patch.kind, patch.content_type) == (POD, STRATEGIC_PATCH)
    assert patch.body == {"metadata": {"uid": "uid-p", "ownerReferences": [reference()]}}


def test_a_child_is_let_go_by_taking_its_owner_alone_away():
    server = Server()
    claimed([child(owner="uid-web", app="other")], server)
    [patch] = server.patches
    gone = [{"$patch": "delete", "uid": "uid-web"}]
    assert patch.body == {"metadata": {"uid": "uid-p", "ownerReferences": gone}}


NO_STRATEGIC = errors.unsupported_media_type("not known")


@pytest.mark.parametrize(
    ("each", "owners"),
    [
        (child(), [child()["metadata"]["ownerReferences"][0], reference()]),
        (child(ownerReferences=None), [reference()]),
        (child(owner="uid-web", app="other"), [child()["metadata"]["ownerReferences"][0]]),
        (child(app="other", ownerReferences=[reference()]), None),
    ],
    ids=["adopted", "adopted alone", "let go", "let go by its only owner"],
)
def test_a_kind_without_strategic_patches_gets_all_owners_at_its_revision(each, owners):
    server = Server(p=[NO_STRATEGIC])
    claimed([each], server)
    _, patch = server.patches
    assert patch.content_type == MERGE_PATCH
    assert patch.body == {"metadata": {"uid": "uid-p", "resourceVersion": "7", "ownerReferences": owners}}


@pytest.mark.parametrize("adopts", [True, False])
@pytest.mark.parametrize("code", [404, 409, 422, 500])
def test_a_refusal_is_raised_after_all_others_were_tried_unless_the_child_is_gone(adopts, code):
    refusal = ApiError(code, "", "no")
    server = Server(a=refusal, b=ApiError(500, "", "no either"))
    how = {} if adopts else {"owner": "uid-web", "app": "other"}
    harmless = (404,) if adopts else (404, 422)
    with pytest.raises(ApiError) as caught:
        claimed([child("a", **how), child("b", **how), child("c", **how)], server)
    assert caught.value.message == ("no either" if code in harmless else "no")
    assert [patch.key for patch in server.patches] == ["ns/a", "ns/b", "ns/c"]


def test_a_child_that_is_gone_is_not_adopted():
    assert claimed([child("a"), child("b")], Server(a=errors.not_found("", "pods", "a"))) == ["b"]


@pytest.mark.parametrize(
    ("live", "why"),
    [
        (parent(uid="new"), "original ReplicaSet ns/web is gone: got uid new, wanted uid-web"),
        (parent(**GOING), "ns/web has just been deleted at 2027-01-01T00:00:00Z"),
    ],
)
def test_a_parent_that_is_not_what_it_was_adopts_nobody(live, why):
    server = Server(live)
    with pytest.raises(ApiError) as caught:
        claimed([child()], server)
    assert caught.value.code == 409
    assert caught.value.message.endswith(f'on replicasets.apps "web": {why}')
    assert server.patches == []
    assert run(recheck_deletion(REPLICA_SET, parent()), Server()) is None


def test_the_controller_of_an_object_is_the_owner_that_says_so():
    assert controller_of(child(owner="uid-web")) == reference()
    assert controller_of(child()) is None
    assert controller_of(child(ownerReferences=None)) is None
    assert owner_reference(REPLICA_SET, parent()) == reference()


@pytest.mark.parametrize(
    ("kind", "each", "is_found"),
    [
        (REPLICA_SET, child(owner="uid-web"), True),
        (REPLICA_SET, child(owner="of-a-former-one"), False),
        (REPLICA_SET, child(), False),
        (DEPLOYMENT, child(owner="uid-web"), False),
        (REPLICA_SET, child(ownerReferences=[reference(name="unknown")]), False),
        (REPLICA_SET, child(owner="uid-web", namespace="other"), False),
    ],
)
def test_a_controller_is_found_if_it_is_of_the_kind_and_still_the_one_that_is_named(kind, each, is_found):
    caches = Caches()
    for known in (REPLICA_SET, DEPLOYMENT):
        caches.get_or_create(known).put(parent())
    assert resolve_controller(caches, kind, each) == (parent() if is_found else None)
