"""CloneSets that update pods as they are: the same pods, one container started again, and not ready meanwhile."""

import orjson
import pytest
from in_place_pods import GATE, identity, lifecycle, state_of

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Update
from controller_manager.reconcile.kinds import POD

STATE, GRACE = "apps.kruise.io/inplace-update-state", "apps.kruise.io/inplace-update-grace"


def two_containers(template, *images, **more):
    containers = [{"name": name, "image": image} for name, image in zip(("main", "side"), images, strict=True)]
    return template(**more) | {"spec": {"restartPolicy": "Always", "containers": containers}}


@pytest.mark.parametrize("policy", ["InPlaceIfPossible", "InPlaceOnly"])
def test_a_new_image_starts_one_container_again_and_the_pod_is_the_same(in_place, template, policy):
    cluster = in_place(policy=policy, replicas=3, template=two_containers(template, "web:1", "log:1"))
    before = cluster.pods
    cluster.edit(template=two_containers(template, "web:2", "log:1"))
    runs = cluster.settle()
    assert list(map(identity, cluster.pods)) == list(map(identity, before))
    for old, new in zip(before, cluster.pods, strict=True):
        (main, side), (former_main, former_side) = (
            new["status"]["containerStatuses"],
            old["status"]["containerStatuses"],
        )
        assert (main["image"], main["restartCount"]) == ("docker.io/library/web:2", 1)
        assert main["imageID"] != former_main["imageID"]
        assert main["containerID"] != former_main["containerID"]
        assert side == former_side
    assert cluster.images == {"web:2": 3}
    assert cluster.available == 3
    assert cluster.status["updatedReadyReplicas"] == 3
    assert not any(ran.made or ran.deleted for ran in runs)
    assert cluster.run().quiet


def test_events_tell_of_each_pod(in_place, template):
    cluster = in_place(replicas=2)
    cluster.edit(template=template("web:2"))
    events = [event for ran in cluster.settle() for event in ran.events]
    revision = cluster.status["updateRevision"]
    message = "SuccessfulUpdatePodInPlace: successfully update pod {} in-place(revision {})"
    assert sorted(events) == [message.format(name, revision) for name in cluster.names]


def test_a_pod_goes_through_updating_and_is_not_ready_until_its_container_runs(in_place, template):
    cluster = in_place(replicas=1, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("web:2"))
    cluster.run()
    [pod] = cluster.pods
    assert (state_of(pod, GATE), state_of(pod, "Ready"), lifecycle(pod)) == ("False", "False", "Updating")
    assert pod["metadata"]["labels"]["controller-revision-hash"] == cluster.status["updateRevision"]
    assert pod["metadata"]["labels"]["pod-template-hash"] == cluster.status["updateRevision"].removeprefix("web-")
    assert orjson.loads(pod["metadata"]["annotations"][STATE])["revision"] == cluster.status["updateRevision"]
    cluster.run()
    assert state_of(cluster.pods[0], GATE) == "False"  # the container was not started again yet
    cluster.work()
    [pod] = cluster.pods
    assert (state_of(pod, "ContainersReady"), state_of(pod, "Ready")) == ("True", "False")
    cluster.run()
    [pod] = cluster.pods
    assert (state_of(pod, GATE), lifecycle(pod)) == ("True", "Normal")
    cluster.work()
    assert state_of(cluster.pods[0], "Ready") == "True"


def test_no_more_pods_are_down_than_may_be(in_place, template):
    cluster = in_place(replicas=10, rolling={"maxUnavailable": 3})
    cluster.edit(template=template("web:2"))
    lowest = 10
    for _ in range(200):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            break
        lowest = min(lowest, cluster.available)
    assert lowest == 7
    assert cluster.images == {"web:2": 10}


def test_a_partition_holds_for_updates_in_place(in_place, template):
    cluster = in_place(replicas=5, rolling={"partition": 3})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 3, "web:2": 2}


def test_an_image_that_cannot_be_pulled_stops_the_update_and_another_repairs_it(in_place, template):
    cluster = in_place(replicas=5, rolling={"maxUnavailable": 2})
    before = cluster.names
    cluster.edit(template=template("fail.mockube.io/web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 3, "fail.mockube.io/web:2": 2}
    assert cluster.available == 3
    cluster.tick(100)
    cluster.settle()
    cluster.edit(template=template("web:3"))
    cluster.settle()
    cluster.tick(1)
    cluster.settle()
    assert cluster.images == {"web:3": 5}
    assert (cluster.names, cluster.available) == (before, 5)


def test_going_back_before_the_update_ends_brings_pods_back(in_place, template):
    cluster = in_place(replicas=2, rolling={"maxUnavailable": 2})
    cluster.edit(template=template("web:2"))
    cluster.run()
    cluster.edit(template=template("web:1"))
    cluster.settle()
    assert cluster.images == {"web:1": 2}
    assert cluster.available == 2


def test_a_container_that_is_slow_to_be_ready_keeps_its_pod_from_being_ready(in_place, template):
    cluster = in_place(replicas=1, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("slow.mockube.io/web:2"))
    cluster.settle()
    assert (state_of(cluster.pods[0], GATE), state_of(cluster.pods[0], "Ready")) == ("True", "False")
    assert cluster.available == 0
    cluster.tick(10)
    cluster.settle()
    assert cluster.available == 1


def test_metadata_changes_without_a_restart(in_place, template):
    cluster = in_place(replicas=2, template=template(labels={"tier": "a"}, annotations={"old": "x"}))
    before = cluster.names
    cluster.edit(template=template(labels={"tier": "b"}, annotations={"new": "y"}))
    cluster.settle()
    assert cluster.names == before
    for pod in cluster.pods:
        assert pod["metadata"]["labels"]["tier"] == "b"
        assert pod["metadata"]["annotations"]["new"] == "y"
        assert "old" not in pod["metadata"]["annotations"]
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    assert cluster.available == 2
    assert cluster.run().quiet


# -- where it is not possible ------------------------------------------------------------------------------------------


def test_another_change_replaces_pods_if_that_may_be(in_place, template):
    cluster = in_place(replicas=2)
    before = cluster.names
    cluster.edit(template=template("web:2", hostNetwork=True))
    runs = cluster.settle()
    assert not set(before) & set(cluster.names)
    assert cluster.images == {"web:2": 2}
    assert any(event.startswith("SuccessfulUpdatePodReCreate") for ran in runs for event in ran.events)


def test_another_change_is_refused_where_pods_must_stay(in_place, template):
    cluster = in_place(policy="InPlaceOnly", replicas=2)
    before = cluster.names
    cluster.edit(template=template("web:2", hostNetwork=True))
    ran = cluster.run()
    why = f"find Pod {before[0]} update strategy is InPlaceOnly but can not update in-place"
    assert ran.error.message in (why, why.replace(*before))
    assert cluster.condition("FailedUpdate")["message"] == ran.error.message
    assert cluster.names == before


def test_a_pod_whose_revision_is_gone_is_replaced(in_place, template):
    cluster = in_place(replicas=1)
    name = cluster.names[0]

    def of_another(pod):
        labels = pod["metadata"]["labels"] | {"controller-revision-hash": "web-gone"}
        return pod | {"metadata": pod["metadata"] | {"labels": labels}}

    cluster.pod_changes(name, of_another)
    cluster.settle()
    assert cluster.names != [name]


def test_an_update_that_is_refused_is_told_and_tried_again(in_place, template):
    cluster = in_place(replicas=1)
    cluster.edit(template=template("web:2"))
    error = ApiError(500, "InternalError", "no")
    cluster.server.refuse = lambda request: (
        error if isinstance(request, Update) and request.kind is POD and not request.subresource else None
    )
    ran = cluster.run()
    revision = cluster.revisions[-1]["metadata"]["name"]
    message = f"FailedUpdatePodInPlace: failed to update pod {cluster.names[0]} in-place(revision {revision}): no"
    assert (ran.events, ran.error) == ([message], error)
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert cluster.images == {"web:2": 1}
    assert cluster.available == 1


def test_a_pod_that_a_kubelet_wrote_meanwhile_is_updated_nevertheless(in_place, template):
    cluster = in_place(replicas=1)
    cluster.edit(template=template("web:2"))
    cluster.deliver_all()
    name = cluster.names[0]
    cluster.pod_changes(name, lambda pod: pod | {"metadata": pod["metadata"] | {"annotations": {"new": "x"}}})
    ran = cluster.run(fresh=False)
    assert ran.error is None
    cluster.settle()
    assert cluster.images == {"web:2": 1}
    assert cluster.pods[0]["metadata"]["annotations"]["new"] == "x"


# -- grace -------------------------------------------------------------------------------------------------------------


def test_a_pod_is_unready_for_its_grace_before_its_image_changes(in_place, template):
    cluster = in_place(grace=10, replicas=2, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("web:2"))
    ran = cluster.run()
    assert ran.later == [10]
    cluster.settle()
    [pod] = [pod for pod in cluster.pods if GRACE in pod["metadata"]["annotations"]]
    assert (state_of(pod, "Ready"), lifecycle(pod)) == ("False", "Updating")
    assert cluster.images == {"web:1": 2}
    cluster.tick(4)
    cluster.queue = True
    assert cluster.run().later == [6]
    cluster.tick(6)
    cluster.settle()
    assert cluster.images == {"web:1": 1, "web:2": 1}
    cluster.tick(10)
    cluster.settle()
    cluster.tick(10)
    cluster.settle()
    assert cluster.images == {"web:2": 2}
    assert cluster.available == 2
    assert not any(GRACE in pod["metadata"]["annotations"] for pod in cluster.pods)


def test_a_change_of_mind_in_the_grace_is_heeded_after_it(in_place, template):
    cluster = in_place(grace=10, replicas=1, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.edit(template=template("web:3"))
    cluster.settle()
    assert cluster.images == {"web:1": 1}
    for _ in range(3):
        cluster.tick(10)
        cluster.settle()
    assert cluster.images == {"web:3": 1}
    assert cluster.available == 1
