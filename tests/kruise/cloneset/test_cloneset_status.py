"""What a CloneSet tells of itself: counts, revisions, conditions; and the revisions that it keeps."""

import pytest

from controller_manager.reconcile.kinds import CLONE_SET, CONTROLLER_REVISION


def progress(found):
    told = found.condition("Progressing")
    return told and (told["status"], told["reason"], told["message"])


# -- counts ------------------------------------------------------------------------------------------------------------


def test_pods_are_counted_by_revision_readiness_and_availability(cluster, template):
    found = cluster(replicas=4, rolling={"partition": 2}, minReadySeconds=10)
    found.edit(template=template("web:2"))
    for _ in range(3):
        found.settle()
        found.tick(10)
    found.settle()
    old = next(pod for pod in found.pods if pod["spec"]["containers"][0]["image"] == "web:1")
    found.take_down(old["metadata"]["name"])
    found.settle()
    status = found.status
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


def test_what_is_none_is_left_out_or_told_as_upstream(new_cluster):
    found = new_cluster(replicas=0)
    found.run()
    name = found.revisions[0]["metadata"]["name"]
    assert found.status == {
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


def test_the_update_revision_is_current_once_all_pods_are_of_it_ready_or_not(cluster, template):
    found = cluster(replicas=2, rolling={"maxUnavailable": "100%", "partition": 1})
    former = found.status["currentRevision"]
    found.edit(template=template("unready.mockube.io/web:2"))
    found.settle()
    assert found.status["currentRevision"] == former != found.status["updateRevision"]
    found.rolling(partition=0)
    found.settle()
    assert found.available == 0
    assert found.status["currentRevision"] == found.status["updateRevision"] != former


def test_a_quiet_set_writes_nothing(cluster):
    assert cluster(replicas=5).run().quiet


def test_a_status_that_others_wrote_meanwhile_is_written_nevertheless(cluster):
    found = cluster(replicas=2)
    found.deliver_all()
    found.edit(replicas=3)
    found.server.store(CLONE_SET, found.set)
    ran = found.run(fresh=False)
    assert ran.error is None


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_each_template_is_a_revision_and_one_that_comes_back_keeps_its_name(cluster, template):
    found = cluster(replicas=1)
    first = found.revisions[0]["metadata"]["name"]
    found.edit(template=template("web:2"))
    found.settle()
    found.edit(template=template("web:1"))
    found.settle()
    assert [revision["revision"] for revision in found.revisions] == [2, 3]
    assert found.revisions[-1]["metadata"]["name"] == first == found.status["updateRevision"]
    assert found.revisions[0]["metadata"]["labels"]["app"] == "web"
    [owner] = found.revisions[0]["metadata"]["ownerReferences"]
    assert owner["kind"] == "CloneSet"


def test_a_change_that_is_not_of_the_template_makes_no_revision(cluster):
    found = cluster(replicas=2)
    found.edit(replicas=3, minReadySeconds=5)
    found.rolling(partition=1)
    found.settle()
    assert len(found.revisions) == 1


def test_old_revisions_go_beyond_the_limit_but_none_that_a_pod_is_of(cluster, template):
    found = cluster(replicas=2, revisionHistoryLimit=1, rolling={"partition": 1})
    for number in range(2, 7):
        found.edit(template=template(f"web:{number}"))
        found.settle()
    kept = [revision["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for revision in found.revisions]
    assert kept == ["web:1", "web:5", "web:6"]
    found.rolling(partition=0)
    found.settle()
    assert [revision["revision"] for revision in found.revisions] == [5, 6]


def test_a_name_that_another_revision_has_is_counted_as_a_collision(new_cluster, cluster, template):
    other = cluster(replicas=1)
    name = other.revisions[0]["metadata"]["name"]
    found = new_cluster(replicas=1)
    stranger = {"metadata": {"name": name}, "data": {"spec": {"template": template("else:1")}}, "revision": 1}
    found.server.store(CONTROLLER_REVISION, stranger)
    found.settle()
    assert found.status["collisionCount"] == 1
    assert found.status["updateRevision"] != name


# -- progress ----------------------------------------------------------------------------------------------------------


def test_without_a_deadline_nothing_is_told_of_progress(cluster):
    found = cluster(replicas=2, progressDeadlineSeconds=60)
    assert found.condition("Progressing")
    found.edit(progressDeadlineSeconds=2**31 - 1)
    found.settle()
    assert "conditions" not in found.status


def test_progress_goes_from_updated_to_available(new_cluster):
    found = new_cluster(replicas=2, progressDeadlineSeconds=60)
    found.run()
    assert progress(found) == ("True", "CloneSetUpdated", "CloneSet is progressing")
    found.settle()
    assert progress(found) == ("True", "CloneSetAvailable", "CloneSet is available")


@pytest.mark.parametrize(
    ("rolling", "told"),
    [
        ({"paused": True}, ("True", "CloneSetPaused", "CloneSet is paused")),
        (
            {"partition": 2},
            ("True", "ProgressPartitionAvailable", "CloneSet has been paused due to partition ready"),
        ),
    ],
)
def test_an_update_that_is_held_back_is_not_late(cluster, template, rolling, told):
    found = cluster(replicas=3, progressDeadlineSeconds=60, rolling=rolling)
    found.edit(template=template("web:2"))
    found.settle()
    found.tick(1000)
    found.settle()
    assert progress(found) == told


def test_an_update_that_does_not_end_is_late_after_its_deadline_and_may_still_end(cluster, template):
    found = cluster(replicas=3, progressDeadlineSeconds=60)
    found.edit(template=template("unready.mockube.io/web:2"))
    found.settle()
    assert progress(found)[1] == "CloneSetUpdated"  # whatever time has passed since it became available
    began = found.condition("Progressing")["lastTransitionTime"]
    found.tick(59)
    found.settle()
    assert progress(found)[1] == "CloneSetUpdated"
    found.tick(2)
    found.settle()
    name = found.status["updateRevision"]
    late = ("False", "ProgressDeadlineExceeded", f"CloneSet revision {name} has timed out progressing")
    assert progress(found) == late
    assert found.condition("Progressing")["lastTransitionTime"] > began
    assert found.run().quiet
    found.edit(template=template("web:3"))
    found.settle()
    assert progress(found)[1] == "CloneSetAvailable"
