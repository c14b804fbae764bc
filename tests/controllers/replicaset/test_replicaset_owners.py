"""ReplicaSets: the pods that they own, and the ReplicaSets that a change of a pod enqueues."""

from typing import Any

import pytest
from triggers import woken

from apiserver.api.errors import invalid, not_found
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.reconcile.contract import STRATEGIC_PATCH, Change, Create, Delete, Get, Patch, Update
from controller_manager.reconcile.kinds import POD, REPLICA_SET

SPEC = replicaset.SPEC
KEY = "default/web"


# -- whose pods --------------------------------------------------------------------------------------------------------


def test_r10_a_pod_whose_labels_changed_is_released_and_replaced(do, a_set, a_pod, pods):
    done = do(
        a_set(2), [*pods("a"), a_pod("b", labels={"app": "other"})], lambda r: {} if isinstance(r, Patch) else None
    )
    (patch,) = done.of(Patch)
    assert (patch.key, patch.content_type) == ("default/b", STRATEGIC_PATCH)
    assert patch.body == {"metadata": {"uid": "uid-b", "ownerReferences": [{"$patch": "delete", "uid": "set"}]}}
    assert (len(done.of(Create)), done.of(Delete)) == (1, [])


def alive(owner, adopted=()):
    """A server that knows the set, and pods once they are adopted."""
    known = {f"default/{pod['metadata']['name']}": pod for pod in adopted}
    return lambda r: owner if isinstance(r, Get) else known[r.key] if isinstance(r, Patch) else None


def test_r11_all_matching_orphans_are_adopted_and_the_excess_deleted(do, a_set, a_pod, deleted):
    orphans = [a_pod("a", owner=""), a_pod("b", owner="", ready=60), a_pod("c", owner="", phase="Failed")]
    done = do(a_set(1), orphans, alive(a_set(1), orphans))
    assert [patch.key for patch in done.of(Patch)] == ["default/a", "default/b"]
    assert done.of(Patch)[0].body["metadata"]["ownerReferences"][0]["uid"] == "set"
    assert len(done.of(Get)) == 1
    assert deleted(done) == ["b"]


@pytest.mark.parametrize("live", [{"deleting": True}, {"uid": "another"}])
def test_r12_an_orphan_is_not_adopted_by_a_set_that_is_really_going(do, a_set, pods, live):
    done = do(a_set(1), pods("a", owner=""), lambda r: a_set(1, **live) if isinstance(r, Get) else None)
    assert done.of(Patch) == done.of(Create) == []
    assert done.error is not None


def test_a_set_that_is_being_deleted_makes_adopts_and_deletes_nothing(do, a_set, a_pod, pods, status_of):
    done = do(a_set(2, deleting=True), [*pods("a", "b", "c"), a_pod("d", owner="")])
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 3


def test_r13_a_pod_that_another_controls_is_neither_touched_nor_counted(do, a_set, pods, status_of):
    done = do(a_set(0), pods("a", "b", owner="somebody"))
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 0


@pytest.mark.parametrize(
    "error",
    [not_found("", "pods", "a"), invalid("", "Pod", name="a", errors=[])],
)
def test_r14_a_release_that_finds_nothing_to_release_is_no_error(do, a_set, pods, refusing, error):
    done = do(a_set(0), pods("a", labels={"app": "other"}), refusing(Patch, error=error))
    assert done.error is None


def test_r17_two_sets_with_one_selector_keep_to_their_own_pods(do, a_set, pods, status_of):
    other = a_set(2, name="other", uid="other")
    done = do([a_set(2), other], [*pods("a", "b"), *pods("x", "y", owner="other")])
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 2


# -- what wakes it -----------------------------------------------------------------------------------------------------


OWNED: dict[str, Any] = {"ready": None}
ORPHAN: dict[str, Any] = {"owner": ""}
READY: dict[str, Any] = {}
DELETED = {"meta": {"deletionTimestamp": "x"}}
WAKES = [
    ("a pod that comes", None, OWNED, [KEY]),
    ("a pod that goes", OWNED, None, [KEY]),
    ("a pod that comes while it is deleted", None, OWNED | DELETED, [KEY]),
    ("a pod that becomes ready", OWNED, READY, [KEY]),
    ("a pod that is being deleted", OWNED, OWNED | DELETED, [KEY]),
    ("a pod that ends", OWNED, OWNED | {"phase": "Failed"}, [KEY]),
    ("a pod with other labels", OWNED, OWNED | {"labels": {}}, [KEY]),
    ("a pod that is released", OWNED, ORPHAN, [KEY]),
    ("a pod that is adopted", ORPHAN, OWNED, [KEY]),
    ("a pod that another took", OWNED, {"owner": "other"}, [KEY]),
    ("an orphan that matches", None, ORPHAN, [KEY]),
    ("an orphan that now matches", ORPHAN | {"labels": {}}, ORPHAN, [KEY]),
    ("an orphan that became ready", ORPHAN | {"ready": None}, ORPHAN, []),
    ("an orphan that goes", ORPHAN, None, []),
    ("an orphan that is being deleted", None, ORPHAN | DELETED, []),
    ("an orphan that does not match", None, ORPHAN | {"labels": {"app": "x"}}, []),
    ("a pod that was bound", OWNED | {"node": ""}, OWNED, []),
    ("a pod of a former set of that name", None, {"owner": "former"}, []),
    ("a pod of another kind of owner", None, {"kind": "StatefulSet"}, []),
]


def changes(a_pod, *facts):
    """A change of the pod "a" between such facts, None for where it is not."""
    old, new = (None if each is None else made(a_pod, **each) for each in facts)
    return Change(old, new)


def made(a_pod, meta=None, **facts):
    pod = a_pod("a", **facts)
    return pod | {"metadata": pod["metadata"] | (meta or {})}


@pytest.mark.parametrize(("old", "new", "keys"), [row[1:] for row in WAKES], ids=[row[0] for row in WAKES])
def test_a_pod_wakes_the_sets_that_it_concerns(make_world, a_set, a_pod, old, new, keys):
    world = make_world(SPEC, {REPLICA_SET: [a_set()], POD: []})
    assert woken(SPEC, world, POD, changes(a_pod, old, new)) == keys


def test_a_resync_wakes_nobody(make_world, a_set, a_pod):
    pod = a_pod("a")
    world = make_world(SPEC, {REPLICA_SET: [a_set()], POD: []})
    assert woken(SPEC, world, POD, Change(pod, pod)) == []
