"""What an Advanced StatefulSet tells of itself, its revisions, and what it does where nothing can be done."""

from typing import Any

import pytest

from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CONTROLLER_REVISION
from controller_manager.reconcile.revisions import new_revision, template_data

REQUIRED = ("availableReplicas", "currentReplicas", "readyReplicas", "replicas", "updatedReplicas")


def test_all_that_the_definition_requires_is_told_from_the_first_time_on(new_cluster):
    found = new_cluster(replicas=0)
    found.run()
    assert {name: found.status.get(name) for name in REQUIRED} == dict.fromkeys(REQUIRED, 0)
    assert (found.status["collisionCount"], found.status["labelSelector"]) == (0, "app=web")
    assert "updatedReadyReplicas" not in found.status


def test_pods_are_counted_by_revision_readiness_and_availability(cluster, template):
    found = cluster(replicas=4, parallel=True, rolling={"partition": 2, "maxUnavailable": 2, "minReadySeconds": 10})
    found.edit(template=template("web:2"))
    found.settle()
    found.take_down("web-0", "web-3")
    found.settle()
    counted = {name: number for name, number in found.status.items() if name.endswith("Replicas")}
    assert counted == {
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "updatedReadyReplicas": 1,
    }
    assert found.status["replicas"] == 4
    found.tick(10)
    found.settle()
    assert (found.status["availableReplicas"], found.status["updatedAvailableReplicas"]) == (2, 1)


def test_a_selector_is_told_as_text(cluster):
    expression = {"key": "tier", "operator": "NotIn", "values": ["x", "y"]}
    found = cluster(replicas=0, selector={"matchLabels": {"app": "web"}, "matchExpressions": [expression]})
    assert found.status["labelSelector"] == "app=web,tier notin (x,y)"


def test_an_update_is_complete_when_all_pods_that_there_are_are_updated_and_ready_be_they_fewer(cluster, template):
    found = cluster(replicas=2)
    found.edit(template=template("web:2"))
    told: list[Any] = []
    while found.status["currentRevision"] != found.status.get("updateRevision") or not told:
        found.deliver_all()
        if found.queue:
            found.run()
            told.append(found.images)
        else:
            found.work()
    assert {0: "web:1", 1: "web:2"} in told
    assert found.images == {0: "web:2", 1: "web:2"}
    assert (found.status["replicas"], found.status["currentReplicas"], found.down) == (1, 1, [0])


def test_without_replicas_an_update_is_complete_at_once(cluster, template):
    found = cluster(replicas=0)
    found.edit(template=template("web:2"))
    found.run()
    assert found.status["currentRevision"] == found.status["updateRevision"] == found.revisions[-1]["metadata"]["name"]


def test_under_on_delete_an_update_is_never_complete(cluster, template):
    found = cluster(updateStrategy={"type": "OnDelete"})
    found.edit(template=template("web:2"))
    found.terminate("web-0")
    found.terminate("web-1")
    found.terminate("web-2")
    found.settle()
    assert found.status["currentRevision"] != found.status["updateRevision"]
    assert (found.status["updatedReplicas"], found.status["currentReplicas"]) == (3, 0)


def test_the_scale_of_a_set_that_is_deleted_is_told_and_nothing_else_is_done(cluster):
    found = cluster()
    stamped = found.set | {"metadata": found.set["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    found.server.store(ADVANCED_STATEFUL_SET, stamped)
    found.terminate("web-1")
    found.work()
    ran = found.run()
    assert (ran.made, ran.deleted, found.status["replicas"]) == ([], [], 2)
    assert found.run().quiet


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
            '"Like" is not a valid label selector',
        ),
        ({"selector": {}}, "empty selector is invalid for statefulset"),
        ({"selector": {"matchLabels": {"app": "other"}}}, "`selector` does not match template `labels`"),
        ({"template": {}}, "spec.template is no template of a pod"),
    ],
)
def test_what_cannot_work_is_told_of_and_nothing_is_done(new_cluster, spec, why):
    found = new_cluster(**spec)
    ran = found.run()
    assert (ran.requests, ran.error, len(ran.events)) == ([], None, 1)
    assert ran.events[0].startswith(f"Warning FailedCreate: create Pod in StatefulSet web failed error: {why}")


def test_a_set_that_is_gone_is_nobodys_concern(cluster):
    found = cluster()
    found.server.drop(ADVANCED_STATEFUL_SET, "ns/web")
    found.deliver_all()
    assert found.run().quiet


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_a_template_that_comes_back_takes_its_revision_again(cluster, template):
    found = cluster(replicas=1)
    first = found.status["updateRevision"]
    for image in ("web:2", "web:1"):
        found.edit(template=template(image))
        found.settle()
    assert found.status["updateRevision"] == first
    assert [revision["revision"] for revision in found.revisions] == [2, 3]
    assert found.revisions[-1]["metadata"]["name"] == first


def test_old_revisions_are_kept_up_to_a_limit(cluster, template):
    found = cluster(replicas=1, revisionHistoryLimit=2)
    for number in range(2, 7):
        found.edit(template=template(f"web:{number}"))
        found.settle()
    assert [revision["revision"] for revision in found.revisions] == [4, 5, 6]


def test_revisions_are_owned_and_hold_the_template(cluster, template):
    found = cluster(replicas=1)
    [revision] = found.revisions
    [owner] = revision["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("apps.kruise.io/v1beta1", "StatefulSet", True)
    assert revision["data"] == {"spec": {"template": template() | {"$patch": "replace"}}}


def test_a_name_that_is_taken_is_counted_and_another_found(new_cluster):
    found = new_cluster(replicas=1)
    parent = found.set
    data = template_data(parent["spec"]["template"])
    taken = new_revision(parent, data, reference={"uid": "other", "controller": True}, number=1, collisions=0)
    other = taken | {"data": template_data({"spec": {}})}
    found.server.store(CONTROLLER_REVISION, other)
    found.settle()
    assert found.status["collisionCount"] == 1
    assert found.status["updateRevision"] != taken["metadata"]["name"]
