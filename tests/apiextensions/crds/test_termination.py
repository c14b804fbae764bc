"""Deleting a definition: it is marked, its objects are deleted, it goes, and its conditions say so meanwhile."""

import copy

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.crds import termination
from apiserver.apiextensions.crds.conditions import find_condition

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
ESTABLISHED = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "m"}


def definition(*conditions: Obj, group: str = "example.com", plural: str = "widgets", **meta: object) -> Obj:
    return {
        "metadata": {"name": f"{plural}.{group}"} | meta,
        "spec": {"group": group, "names": {"plural": plural}},
        "status": {"conditions": [*conditions]},
    }


def terminating(given: Obj) -> tuple[str, str, str, str]:
    condition = find_condition(given, "Terminating")
    assert condition is not None
    return condition["status"], condition["reason"], condition["message"], condition["lastTransitionTime"]


def test_the_first_deletion_marks_a_definition():
    given = definition(ESTABLISHED, finalizers=["a/b"])
    unspoilt = copy.deepcopy(given)
    marked = termination.mark_for_deletion(given, NOW)
    assert marked is not None
    assert given == unspoilt
    assert marked["metadata"]["deletionTimestamp"] == NOW
    assert marked["metadata"]["finalizers"] == ["a/b", "customresourcecleanup.apiextensions.k8s.io"]
    words = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    assert terminating(marked) == ("True", "InstanceDeletionPending", words, NOW)
    assert termination.awaits_finalizer(marked)
    assert termination.is_terminating(marked)
    assert termination.mark_for_deletion(marked, LATER) is None


def test_a_definition_is_let_go_when_it_is_empty():
    marked = termination.mark_for_deletion(definition(ESTABLISHED, finalizers=["a/b"]), NOW)
    assert marked is not None
    begun = termination.with_deletion_in_progress(marked, LATER)
    assert terminating(begun) == ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress", NOW)
    assert termination.must_delete_instances(begun)
    gone = termination.without_finalizer(begun, LATER)
    assert terminating(gone) == ("False", "InstanceDeletionCompleted", "removed all instances", LATER)
    assert gone["metadata"]["finalizers"] == ["a/b"]
    assert not termination.awaits_finalizer(gone)


@pytest.mark.parametrize(
    ("given", "reason", "message"),
    [
        (definition(), "NeverEstablished", "resource was never established"),
        (
            definition(ESTABLISHED, group="apiregistration.k8s.io", plural="apiservices"),
            "OverlappingBuiltInResource",
            "instances overlap with built-in resources in storage",
        ),
    ],
)
def test_what_no_custom_resource_can_be_of_is_not_emptied(given, reason, message):
    assert not termination.must_delete_instances(given)
    assert terminating(termination.without_finalizer(given, NOW)) == ("False", reason, message, NOW)


def test_what_fails_is_told_and_keeps_the_definition():
    marked = termination.mark_for_deletion(definition(ESTABLISHED), NOW)
    assert marked is not None
    for failed, reason, message in (
        (
            termination.with_deletion_failed(marked, ["a", "b", "a"], LATER),
            "InstanceDeletionFailed",
            "could not issue all deletes: [a, b]",
        ),
        (
            termination.with_deletion_unconfirmed(marked, LATER),
            "InstanceDeletionCheck",
            "could not confirm zero CustomResources remaining: context deadline exceeded",
        ),
    ):
        assert terminating(failed) == ("True", reason, message, NOW)
        assert termination.awaits_finalizer(failed)
