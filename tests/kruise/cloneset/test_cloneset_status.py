"""The status of a CloneSet: counts, revisions, conditions; and the revisions that it keeps."""

import pytest

from controller_manager.reconcile.kinds import CLONE_SET, CONTROLLER_REVISION


def progress(cluster):
    condition = cluster.condition("Progressing")
    return condition and (condition["status"], condition["reason"], condition["message"])


# -- counts ------------------------------------------------------------------------------------------------------------


def test_pods_are_counted_by_revision_readiness_and_availability(settled_cluster, template):
    cluster = settled_cluster(replicas=4, rolling={"partition": 2}, minReadySeconds=10)
    cluster.edit(template=template("web:2"))
    for _ in range(3):
        cluster.settle()
        cluster.tick(10)
    cluster.settle()
    old = next(pod for pod in cluster.pods if pod["spec"]["containers"][0]["image"] == "web:1")
    cluster.take_down(old["metadata"]["name"])
    cluster.settle()
    status = cluster.status
    assert {name: value for name, value in status.items() if name.endswith("plicas")} == {
        "replicas": 4,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "updatedReplicas": 2,
        "updatedReadyReplicas": 2,
        "updatedAvailableReplicas": 2,
        "expectedUpdatedReplicas": 2,
    }
    assert (status["observedGeneration"], status["labelSelector"], status["collisionCount"]) == (2, "app=web", 0)


def test_empty_fields_are_left_out_or_shown_as_upstream(new_cluster):
    cluster = new_cluster(replicas=0)
    cluster.run()
    name = cluster.revisions[0]["metadata"]["name"]
    assert cluster.status == {
        "observedGeneration": 1,
        "replicas": 0,
        "readyReplicas": 0,
        "availableReplicas": 0,
        "updatedReplicas": 0,
        "updatedReadyReplicas": 0,
        "updateRevision": name,
        "currentRevision": name,
        "collisionCount": 0,
        "labelSelector": "app=web",
    }


def test_the_update_revision_is_current_once_all_pods_are_of_it_ready_or_not(settled_cluster, template):
    cluster = settled_cluster(replicas=2, rolling={"maxUnavailable": "100%", "partition": 1})
    former = cluster.status["currentRevision"]
    cluster.edit(template=template("unready.mockube.io/web:2"))
    cluster.settle()
    assert cluster.status["currentRevision"] == former != cluster.status["updateRevision"]
    cluster.rolling(partition=0)
    cluster.settle()
    assert cluster.available == 0
    assert cluster.status["currentRevision"] == cluster.status["updateRevision"] != former


def test_a_quiet_set_writes_nothing(settled_cluster):
    assert settled_cluster(replicas=5).run().quiet


def test_a_status_that_others_wrote_meanwhile_is_written_nevertheless(settled_cluster):
    cluster = settled_cluster(replicas=2)
    cluster.deliver_all()
    cluster.edit(replicas=3)
    cluster.server.store(CLONE_SET, cluster.set)
    ran = cluster.run(fresh=False)
    assert ran.error is None


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_each_template_is_a_revision_and_one_that_comes_back_keeps_its_name(settled_cluster, template):
    cluster = settled_cluster(replicas=1)
    first = cluster.revisions[0]["metadata"]["name"]
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.edit(template=template("web:1"))
    cluster.settle()
    assert [revision["revision"] for revision in cluster.revisions] == [2, 3]
    assert cluster.revisions[-1]["metadata"]["name"] == first == cluster.status["updateRevision"]
    assert cluster.revisions[0]["metadata"]["labels"]["app"] == "web"
    [owner] = cluster.revisions[0]["metadata"]["ownerReferences"]
    assert owner["kind"] == "CloneSet"


def test_a_change_that_is_not_of_the_template_makes_no_revision(settled_cluster):
    cluster = settled_cluster(replicas=2)
    cluster.edit(replicas=3, minReadySeconds=5)
    cluster.rolling(partition=1)
    cluster.settle()
    assert len(cluster.revisions) == 1


def test_old_revisions_go_beyond_the_limit_but_none_that_a_pod_is_of(settled_cluster, template):
    cluster = settled_cluster(replicas=2, revisionHistoryLimit=1, rolling={"partition": 1})
    for number in range(2, 7):
        cluster.edit(template=template(f"web:{number}"))
        cluster.settle()
    kept = [revision["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for revision in cluster.revisions]
    assert kept == ["web:1", "web:5", "web:6"]
    cluster.rolling(partition=0)
    cluster.settle()
    assert [revision["revision"] for revision in cluster.revisions] == [5, 6]


def test_a_name_that_another_revision_has_is_counted_as_a_collision(new_cluster, settled_cluster, template):
    other = settled_cluster(replicas=1)
    name = other.revisions[0]["metadata"]["name"]
    cluster = new_cluster(replicas=1)
    stranger = {"metadata": {"name": name}, "data": {"spec": {"template": template("else:1")}}, "revision": 1}
    cluster.server.store(CONTROLLER_REVISION, stranger)
    cluster.settle()
    assert cluster.status["collisionCount"] == 1
    assert cluster.status["updateRevision"] != name


# -- progress ----------------------------------------------------------------------------------------------------------


def test_without_a_deadline_there_is_no_progress_condition(settled_cluster):
    cluster = settled_cluster(replicas=2, progressDeadlineSeconds=60)
    assert cluster.condition("Progressing")
    cluster.edit(progressDeadlineSeconds=2**31 - 1)
    cluster.settle()
    assert "conditions" not in cluster.status


def test_progress_goes_from_updated_to_available(new_cluster):
    cluster = new_cluster(replicas=2, progressDeadlineSeconds=60)
    cluster.run()
    assert progress(cluster) == ("True", "CloneSetUpdated", "CloneSet is progressing")
    cluster.settle()
    assert progress(cluster) == ("True", "CloneSetAvailable", "CloneSet is available")


@pytest.mark.parametrize(
    ("rolling", "condition"),
    [
        ({"paused": True}, ("True", "CloneSetPaused", "CloneSet is paused")),
        (
            {"partition": 2},
            ("True", "ProgressPartitionAvailable", "CloneSet has been paused due to partition ready"),
        ),
    ],
)
def test_an_update_that_is_held_back_is_not_late(settled_cluster, template, rolling, condition):
    cluster = settled_cluster(replicas=3, progressDeadlineSeconds=60, rolling=rolling)
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.tick(1000)
    cluster.settle()
    assert progress(cluster) == condition


def test_an_update_that_does_not_end_is_late_after_its_deadline_and_may_still_end(settled_cluster, template):
    cluster = settled_cluster(replicas=3, progressDeadlineSeconds=60)
    cluster.edit(template=template("unready.mockube.io/web:2"))
    cluster.settle()
    assert progress(cluster)[1] == "CloneSetUpdated"  # whatever time has passed since it became available
    began = cluster.condition("Progressing")["lastTransitionTime"]
    cluster.tick(59)
    cluster.settle()
    assert progress(cluster)[1] == "CloneSetUpdated"
    cluster.tick(2)
    cluster.settle()
    name = cluster.status["updateRevision"]
    late = ("False", "ProgressDeadlineExceeded", f"CloneSet revision {name} has timed out progressing")
    assert progress(cluster) == late
    assert cluster.condition("Progressing")["lastTransitionTime"] > began
    assert cluster.run().quiet
    cluster.edit(template=template("web:3"))
    cluster.settle()
    assert progress(cluster)[1] == "CloneSetAvailable"
