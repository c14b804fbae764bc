"""The status of an Advanced StatefulSet, its revisions, and sets with which nothing can be done."""

from typing import Any

import pytest

from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CONTROLLER_REVISION
from controller_manager.reconcile.revisions import new_revision, template_data

REQUIRED = ("availableReplicas", "currentReplicas", "readyReplicas", "replicas", "updatedReplicas")


def test_all_that_the_definition_requires_is_told_from_the_first_time_on(new_cluster):
    cluster = new_cluster(replicas=0)
    cluster.run()
    assert {name: cluster.status.get(name) for name in REQUIRED} == dict.fromkeys(REQUIRED, 0)
    assert (cluster.status["collisionCount"], cluster.status["labelSelector"]) == (0, "app=web")
    assert "updatedReadyReplicas" not in cluster.status


def test_pods_are_counted_by_revision_readiness_and_availability(settled_cluster, template):
    cluster = settled_cluster(
        replicas=4, parallel=True, rolling={"partition": 2, "maxUnavailable": 2, "minReadySeconds": 10}
    )
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.take_down("web-0", "web-3")
    cluster.settle()
    counted = {name: number for name, number in cluster.status.items() if name.endswith("Replicas")}
    assert counted == {
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "updatedReadyReplicas": 1,
    }
    assert cluster.status["replicas"] == 4
    cluster.tick(10)
    cluster.settle()
    assert (cluster.status["availableReplicas"], cluster.status["updatedAvailableReplicas"]) == (2, 1)


def test_a_selector_is_told_as_text(settled_cluster):
    expression = {"key": "tier", "operator": "NotIn", "values": ["x", "y"]}
    cluster = settled_cluster(replicas=0, selector={"matchLabels": {"app": "web"}, "matchExpressions": [expression]})
    assert cluster.status["labelSelector"] == "app=web,tier notin (x,y)"


def test_an_update_is_complete_when_all_pods_that_there_are_are_updated_and_ready_be_they_fewer(
    settled_cluster, template
):
    cluster = settled_cluster(replicas=2)
    cluster.edit(template=template("web:2"))
    images: list[Any] = []
    while cluster.status["currentRevision"] != cluster.status.get("updateRevision") or not images:
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
            images.append(cluster.images)
        else:
            cluster.work()
    assert {0: "web:1", 1: "web:2"} in images
    assert cluster.images == {0: "web:2", 1: "web:2"}
    assert (cluster.status["replicas"], cluster.status["currentReplicas"], cluster.down) == (1, 1, [0])


def test_without_replicas_an_update_is_complete_at_once(settled_cluster, template):
    cluster = settled_cluster(replicas=0)
    cluster.edit(template=template("web:2"))
    cluster.run()
    assert (
        cluster.status["currentRevision"]
        == cluster.status["updateRevision"]
        == cluster.revisions[-1]["metadata"]["name"]
    )


def test_under_on_delete_an_update_is_never_complete(settled_cluster, template):
    cluster = settled_cluster(updateStrategy={"type": "OnDelete"})
    cluster.edit(template=template("web:2"))
    cluster.terminate("web-0")
    cluster.terminate("web-1")
    cluster.terminate("web-2")
    cluster.settle()
    assert cluster.status["currentRevision"] != cluster.status["updateRevision"]
    assert (cluster.status["updatedReplicas"], cluster.status["currentReplicas"]) == (3, 0)


def test_the_scale_of_a_set_that_is_deleted_is_told_and_nothing_else_is_done(settled_cluster):
    cluster = settled_cluster()
    stamped = cluster.set | {"metadata": cluster.set["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    cluster.server.store(ADVANCED_STATEFUL_SET, stamped)
    cluster.terminate("web-1")
    cluster.work()
    ran = cluster.run()
    assert (ran.made, ran.deleted, cluster.status["replicas"]) == ([], [], 2)
    assert cluster.run().quiet


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
def test_what_cannot_work_is_reported_and_nothing_is_done(new_cluster, spec, why):
    cluster = new_cluster(**spec)
    ran = cluster.run()
    assert (ran.requests, ran.error, len(ran.events)) == ([], None, 1)
    assert ran.events[0].startswith(f"Warning FailedCreate: create Pod in StatefulSet web failed error: {why}")


def test_a_set_that_is_gone_is_nobodys_concern(settled_cluster):
    cluster = settled_cluster()
    cluster.server.drop(ADVANCED_STATEFUL_SET, "ns/web")
    cluster.deliver_all()
    assert cluster.run().quiet


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_a_template_that_comes_back_takes_its_revision_again(settled_cluster, template):
    cluster = settled_cluster(replicas=1)
    first = cluster.status["updateRevision"]
    for image in ("web:2", "web:1"):
        cluster.edit(template=template(image))
        cluster.settle()
    assert cluster.status["updateRevision"] == first
    assert [revision["revision"] for revision in cluster.revisions] == [2, 3]
    assert cluster.revisions[-1]["metadata"]["name"] == first


def test_old_revisions_are_kept_up_to_a_limit(settled_cluster, template):
    cluster = settled_cluster(replicas=1, revisionHistoryLimit=2)
    for number in range(2, 7):
        cluster.edit(template=template(f"web:{number}"))
        cluster.settle()
    assert [revision["revision"] for revision in cluster.revisions] == [4, 5, 6]


def test_revisions_are_owned_and_hold_the_template(settled_cluster, template):
    cluster = settled_cluster(replicas=1)
    [revision] = cluster.revisions
    [owner] = revision["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("apps.kruise.io/v1beta1", "StatefulSet", True)
    assert revision["data"] == {"spec": {"template": template() | {"$patch": "replace"}}}


def test_a_name_that_is_taken_is_counted_and_another_found(new_cluster):
    cluster = new_cluster(replicas=1)
    parent = cluster.set
    data = template_data(parent["spec"]["template"])
    taken = new_revision(parent, data, reference={"uid": "other", "controller": True}, number=1, collisions=0)
    other = taken | {"data": template_data({"spec": {}})}
    cluster.server.store(CONTROLLER_REVISION, other)
    cluster.settle()
    assert cluster.status["collisionCount"] == 1
    assert cluster.status["updateRevision"] != taken["metadata"]["name"]
