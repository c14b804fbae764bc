"""Advanced StatefulSets that update pods as they are: the same pods, one container started again."""

import pytest
from in_place_pods import GATE, identity, lifecycle, state_of

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Update
from controller_manager.reconcile.kinds import POD

IN_PLACE = {"podUpdatePolicy": "InPlaceIfPossible"}


def identities(cluster):
    return sorted(identity(pod) for pod in cluster.all(POD))


def events_of(runs):
    return [event for ran in runs for event in ran.events]


def two_containers(template, *images):
    containers = [{"name": name, "image": image} for name, image in zip(("main", "side"), images, strict=True)]
    return template(containers=containers)


@pytest.mark.parametrize("policy", ["InPlaceIfPossible", "InPlaceOnly"])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_new_image_starts_one_container_again_and_the_pod_is_the_same(in_place, template, policy, parallel):
    cluster = in_place(policy=policy, parallel=parallel, template=two_containers(template, "web:1", "log:1"))
    before, statuses = identities(cluster), [pod["status"]["containerStatuses"] for pod in cluster.all(POD)]
    cluster.edit(template=two_containers(template, "web:2", "log:1"))
    runs = cluster.settle()
    assert identities(cluster) == before
    for pod, (_, former_side) in zip(cluster.all(POD), statuses, strict=True):
        main, side = pod["status"]["containerStatuses"]
        assert (main["image"], main["restartCount"]) == ("docker.io/library/web:2", 1)
        assert side == former_side
    assert not any(ran.made or ran.deleted for ran in runs)
    assert cluster.status["currentRevision"] == cluster.status["updateRevision"]
    assert (cluster.status["updatedReadyReplicas"], cluster.down) == (3, [])
    assert cluster.run().quiet


def test_pods_are_updated_from_the_highest_ordinal_down_and_events_tell_of_each(in_place, template):
    cluster = in_place()
    cluster.edit(template=template("web:2"))
    message = "Normal SuccessfulUpdatePodInPlace: successfully update pod web-{} in-place(revision {})"
    events = events_of(cluster.settle())
    assert events == [message.format(number, cluster.status["updateRevision"]) for number in (2, 1, 0)]


def test_a_pod_goes_through_updating_and_is_not_ready_until_its_container_runs(in_place, template):
    cluster = in_place(replicas=1)
    cluster.edit(template=template("web:2"))
    cluster.run()
    pod = cluster.pod("web-0")
    assert (state_of(pod, GATE), state_of(pod, "Ready"), lifecycle(pod)) == ("False", "False", "Updating")
    assert pod["metadata"]["labels"]["controller-revision-hash"] == cluster.status["updateRevision"]
    assert cluster.status["currentReplicas"] == 0
    cluster.run()
    assert (cluster.status["updatedReplicas"], cluster.status["availableReplicas"]) == (1, 0)
    cluster.work()
    cluster.run()
    pod = cluster.pod("web-0")
    assert (state_of(pod, GATE), lifecycle(pod)) == ("True", "Normal")
    cluster.work()
    assert state_of(cluster.pod("web-0"), "Ready") == "True"


def test_no_more_are_updated_at_a_time_than_may_be_unavailable(in_place, template):
    cluster = in_place(parallel=True, replicas=6, rolling={"maxUnavailable": 2})
    cluster.edit(template=template("web:2"))
    most: list[int] = []
    for _ in range(200):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            break
        most = max(most, cluster.down, key=len)
    assert len(most) == 2
    assert set(cluster.images.values()) == {"web:2"}


def test_a_partition_and_reserved_ordinals_hold(in_place, template):
    cluster = in_place(replicas=4, reserveOrdinals=["1-2"], rolling={"partition": 3})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {0: "web:1", 3: "web:1", 4: "web:1", 5: "web:2"}


def test_while_it_is_paused_what_has_begun_comes_to_its_end(in_place, template):
    cluster = in_place()
    cluster.edit(template=template("web:2"))
    cluster.run()
    cluster.rolling(paused=True)
    cluster.settle()
    assert (cluster.images, cluster.down) == ({0: "web:1", 1: "web:1", 2: "web:2"}, [])


def test_min_ready_seconds_are_waited_for_between_two_pods(in_place, template):
    cluster = in_place(replicas=2, rolling={"minReadySeconds": 10})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:2"}
    cluster.rest()
    assert set(cluster.images.values()) == {"web:2"}


# -- grace -------------------------------------------------------------------------------------------------------------


def test_a_pod_is_unready_for_its_grace_before_its_image_changes(in_place, template):
    cluster = in_place(replicas=2, grace=30)
    before = identities(cluster)
    cluster.edit(template=template("web:2"))
    assert cluster.run().later == [30.0]
    cluster.settle()
    assert (cluster.images, cluster.down) == ({0: "web:1", 1: "web:1"}, [1])
    cluster.tick(29)
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:1"}
    cluster.tick(1)
    cluster.settle()
    assert (cluster.images, cluster.down) == ({0: "web:1", 1: "web:2"}, [0])
    cluster.rest()
    assert (cluster.images, identities(cluster)) == ({0: "web:2", 1: "web:2"}, before)
    assert cluster.run().quiet


def test_a_template_that_comes_back_during_grace_leaves_the_pod_as_it_was(in_place, template):
    cluster = in_place(replicas=1, parallel=True, grace=30)
    before = identities(cluster)
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.edit(template=template("web:1"))
    cluster.rest()
    assert (cluster.images, cluster.down, identities(cluster)) == ({0: "web:1"}, [], before)
    assert cluster.run().quiet


# -- what stands in the way --------------------------------------------------------------------------------------------


def test_in_parallel_an_image_that_cannot_be_pulled_is_repaired_by_another(in_place, template):
    cluster = in_place(parallel=True, replicas=4, rolling={"maxUnavailable": 2})
    before = identities(cluster)
    cluster.edit(template=template("fail.mockube.io/web:2"))
    cluster.settle()
    assert (cluster.down, len(set(cluster.images.values()))) == ([2, 3], 2)
    cluster.edit(template=template("web:3"))
    cluster.rest()
    assert (set(cluster.images.values()), identities(cluster), cluster.down) == ({"web:3"}, before, [])


def test_another_change_replaces_pods_if_that_may_be(in_place, template):
    cluster = in_place()
    before = identities(cluster)
    cluster.edit(template=template("web:2", hostNetwork=True))
    runs = cluster.settle()
    assert not set(identities(cluster)) & set(before)
    assert "Normal SuccessfulDelete: delete Pod web-2 in StatefulSet web successful" in events_of(runs)


def test_another_change_is_refused_where_pods_must_stay(in_place, template):
    cluster = in_place(policy="InPlaceOnly")
    before = identities(cluster)
    cluster.edit(template=template("web:2", hostNetwork=True))
    ran = cluster.run()
    assert ran.error.message == "find strategy is InPlaceOnly but Pod web-2 can not update in-place"
    assert (ran.events, identities(cluster)) == ([], before)
    assert (cluster.status["observedGeneration"], cluster.status.get("conditions")) == (2, None)


def test_a_pod_whose_revision_is_gone_is_replaced(in_place, template):
    cluster = in_place(replicas=1)
    cluster.mark("web-0", labels={"controller-revision-hash": "web-unknown"})
    assert cluster.run().deleted == ["web-0"]


def test_a_pod_that_is_being_prepared_for_its_end_is_not_updated(in_place, template):
    cluster = in_place(replicas=1)
    cluster.mark("web-0", labels={"lifecycle.apps.kruise.io/state": "PreparingDelete"})
    cluster.edit(template=template("web:2"), podManagementPolicy="Parallel")
    ran = cluster.run()
    assert ran.error.message == "not allowed to in-place update pod web-0 in state PreparingDelete"
    assert cluster.status["availableReplicas"] == 0


def test_pods_without_a_lifecycle_and_without_a_gate_are_updated_too_one_after_the_other(in_place, template):
    def bare(image):
        return template(image, readinessGates=[])

    cluster = in_place(replicas=2, parallel=True, template=bare("web:1"))
    for name in ("web-0", "web-1"):
        cluster.mark(name, labels={"lifecycle.apps.kruise.io/state": None})
    before = identities(cluster)
    cluster.edit(template=bare("web:2"))
    cluster.run()
    assert "lifecycle.apps.kruise.io/state" not in cluster.pod("web-1")["metadata"]["labels"]
    assert (cluster.images, cluster.down) == ({0: "web:1", 1: "web:2"}, [])
    assert not cluster.run().names(Update)
    cluster.settle()
    assert (cluster.images, identities(cluster), cluster.down) == ({0: "web:2", 1: "web:2"}, before, [])


def test_a_refusal_is_reported(in_place, template):
    cluster = in_place(replicas=1)
    cluster.edit(template=template("web:2"))
    cluster.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Update) and request.kind is POD else None
    )
    ran = cluster.run()
    revision = cluster.revisions[-1]["metadata"]["name"]
    why = f"Warning FailedUpdatePodInPlace: failed to update pod web-0 in-place(revision {revision}): no"
    assert (ran.events, ran.error.code) == ([why], 403)


def test_a_labelled_pod_is_replaced_and_not_updated_in_place(in_place, template):
    cluster = in_place(parallel=True, rolling={"maxUnavailable": 3})
    before = cluster.pod("web-1")["metadata"]["uid"]
    cluster.give_up("web-1")
    cluster.edit(template=template("web:2"))
    runs = cluster.settle()
    assert [ran.deleted for ran in runs if ran.deleted] == [["web-1"]]
    assert cluster.pod("web-1")["metadata"]["uid"] != before
    assert set(cluster.images.values()) == {"web:2"}
