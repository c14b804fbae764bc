"""The graph of owners: which keys a change makes due, and that it remembers owners alone."""

import pytest

from controller_manager.controllers.garbagecollector.graph import Graph, Identity, waiting_finalizer
from controller_manager.controllers.garbagecollector.patches import (
    owners_deletion_merge_patch,
    owners_deletion_patch,
    propagation_of,
    unblocking_patch,
)
from controller_manager.reconcile.kinds import NODE, POD, REPLICA_SET

FOREGROUND = {"deletionTimestamp": "2027-01-15T08:00:00Z", "finalizers": ["foregroundDeletion"]}
ORPHAN = {"deletionTimestamp": "2027-01-15T08:00:00Z", "finalizers": ["orphan"]}


def refer(name="rs", *, blocks=True, kind="ReplicaSet", api_version="apps/v1", uid=""):
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid or f"uid-{name}"}
    return reference | ({"blockOwnerDeletion": True} if blocks else {})


def pod(name="pod", *owners, namespace="ns", **meta):
    references = {"ownerReferences": list(owners)} if owners else {}
    head = {"namespace": namespace, "name": name, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head | references | meta}


def replica_set(name="rs", *owners, **meta):
    return pod(name, *owners, **meta) | {"apiVersion": "apps/v1", "kind": "ReplicaSet"}


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def seen(graph):
    """A graph that has seen a ReplicaSet and its pod."""
    graph.apply_change(REPLICA_SET, None, replica_set())
    graph.apply_change(POD, None, pod("pod", refer()))
    graph.record_owner(REPLICA_SET, replica_set())
    graph.take_marked()
    return graph


def due(graph, *changes):
    graph.take_marked()
    for kind, old, new in changes:
        graph.apply_change(kind, old, new)
    return list(graph.take_marked())


def test_who_owns_nobody_and_is_owned_by_nobody_leaves_no_trace(graph):
    assert due(graph, (POD, None, pod()), (POD, pod(), pod(labels={"a": "b"})), (POD, pod(), None)) == []
    assert graph.owners == {}


def test_an_owner_that_was_not_seen_is_to_be_confirmed_once_for_all_its_dependents(graph):
    assert due(graph, (POD, None, pod("a", refer())), (POD, None, pod("b", refer()))) == ["uid/uid-rs"]


def test_an_owner_whose_end_was_seen_needs_no_confirmation_until_it_is_there_again(seen):
    assert due(seen, (REPLICA_SET, replica_set(), None)) == ["uid/uid-rs"]
    owner = seen.owners["uid-rs"]
    assert owner.absent == {Identity("apps/v1", "ReplicaSet", "ns", "rs")}
    assert due(seen, (REPLICA_SET, None, replica_set())) == ["uid/uid-rs"]
    assert owner.absent == set()


def test_a_dependent_of_an_owner_that_is_there_makes_nothing_due(seen):
    assert due(seen, (POD, None, pod("b", refer()))) == []


def test_a_change_of_status_or_labels_makes_nothing_due(seen):
    assert due(seen, (POD, pod("pod", refer()), pod("pod", refer(), labels={"a": "b"}))) == []


@pytest.mark.parametrize(
    ("stranger", "named"),
    [
        (pod("b", refer(kind="Deployment")), "another kind"),
        (pod("b", refer("other", uid="uid-rs")), "another name"),
        (pod("b", refer(api_version="extensions/v1beta1")), "another group"),
        (pod("b", refer(), namespace="elsewhere"), "another namespace"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_owner_that_is_named_otherwise_than_it_is_has_to_be_confirmed(seen, stranger, named):
    assert due(seen, (POD, None, stranger)) == ["uid/uid-rs"], named


def test_another_version_of_the_same_group_names_the_same_owner(seen):
    assert due(seen, (POD, None, pod("b", refer(api_version="apps/v1beta2")))) == []


def test_an_owner_that_comes_after_its_dependents_is_compared_with_what_they_say(graph):
    graph.apply_change(POD, None, pod("a", refer(kind="Deployment")))
    assert due(graph, (REPLICA_SET, None, replica_set())) == ["uid/uid-rs"]


def test_an_owner_that_goes_is_confirmed_before_its_dependents_are_judged(seen):
    assert due(seen, (REPLICA_SET, replica_set(), None)) == ["uid/uid-rs"]


def test_an_owner_that_waits_for_its_dependents_makes_them_due_and_itself(seen):
    assert due(seen, (REPLICA_SET, replica_set(), replica_set(**FOREGROUND))) == [
        "pods/ns/pod",
        "replicasets.apps/ns/rs",
    ]


def test_a_dependent_that_comes_while_its_owner_waits_is_due(seen):
    waiting = (REPLICA_SET, replica_set(), replica_set(**FOREGROUND))
    assert due(seen, waiting, (POD, None, pod("late", refer())))[-1] == "pods/ns/late"


def test_an_owner_that_is_found_waiting_at_the_start_is_due(graph):
    assert due(graph, (REPLICA_SET, None, replica_set(**FOREGROUND))) == ["replicasets.apps/ns/rs"]


def test_an_orphaning_owner_is_due_and_its_dependents_are_not(seen):
    assert due(seen, (REPLICA_SET, replica_set(), replica_set(**ORPHAN))) == ["replicasets.apps/ns/rs"]


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (None, "the dependent goes"),
        (pod("pod"), "it is released"),
        (pod("pod", refer(blocks=False)), "it blocks no more"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_waiting_owner_is_due_when_a_dependent_lets_it_go(seen, after, why):
    seen.apply_change(REPLICA_SET, replica_set(), replica_set(**FOREGROUND))
    assert "replicasets.apps/ns/rs" in due(seen, (POD, pod("pod", refer()), after)), why


def test_the_last_dependent_takes_the_memory_of_its_owner_along(seen):
    seen.apply_change(POD, pod("pod", refer()), None)
    assert seen.owners == {}


def test_an_object_of_the_cluster_has_a_key_without_a_namespace(graph):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"} | FOREGROUND}
    assert due(graph, (NODE, None, node)) == ["nodes/n"]


@pytest.mark.parametrize(
    ("meta", "work"),
    [
        ({}, ""),
        ({"finalizers": ["orphan"]}, ""),
        (FOREGROUND, "foregroundDeletion"),
        (ORPHAN, "orphan"),
        (ORPHAN | {"finalizers": ["foregroundDeletion", "orphan"]}, "orphan"),
        (ORPHAN | {"finalizers": ["example.com/mine"]}, ""),
    ],
)
def test_a_deleted_object_waits_for_the_collector_by_its_finalizers(meta, work):
    assert waiting_finalizer(meta) == work


@pytest.mark.parametrize(
    ("finalizers", "propagation"),
    [
        ([], "Background"),
        (["a/b"], "Background"),
        (["a/b", "orphan"], "Orphan"),
        (["foregroundDeletion"], "Foreground"),
    ],
)
def test_an_item_is_deleted_as_its_finalizers_say(finalizers, propagation):
    assert propagation_of({"finalizers": finalizers}) == propagation


def test_references_are_taken_out_by_uid_or_all_others_are_said_again():
    meta = pod("pod", refer("a"), refer("b"), resourceVersion="7")["metadata"]
    assert owners_deletion_patch(meta, ["uid-a"]) == {
        "metadata": {"uid": "uid-pod", "ownerReferences": [{"$patch": "delete", "uid": "uid-a"}]}
    }
    assert owners_deletion_merge_patch(meta, ["uid-a"]) == {
        "metadata": {"uid": "uid-pod", "resourceVersion": "7", "ownerReferences": [refer("b")]}
    }


def test_references_that_block_are_said_not_to():
    meta = pod("pod", refer("a"), refer("b", blocks=False))["metadata"]
    assert unblocking_patch(meta)["metadata"]["ownerReferences"] == [refer("a") | {"blockOwnerDeletion": False}]
