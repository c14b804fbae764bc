"""Rows S1 to S6, S21 to S24, S26, S33: pods made, waited for and deleted in the order of their ordinals."""

import pytest

from apiserver.api.errors import ApiError, forbidden
from controller_manager.planning.profile import PROFILES
from controller_manager.planning.times import stamp
from controller_manager.runtime.contract import Create, Patch, Update
from controller_manager.runtime.kinds import CONTROLLER_REVISION, POD, STATEFUL_SET

PARALLEL = {"podManagementPolicy": "Parallel"}


def test_s1_the_next_pod_is_not_made_before_the_one_below_is_ready(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set())

    assert cluster.run().made == ["web-0"]
    assert cluster.run().made == []
    cluster.unready("web-0")
    assert cluster.run().made == []
    cluster.ready("web-0")
    assert cluster.run().made == ["web-1"]


def test_s2_parallel_makes_all_in_one_pass(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(**PARALLEL))

    assert cluster.run().made == ["web-0", "web-1", "web-2"]


@pytest.mark.parametrize(("policy", "made"), [("OrderedReady", 1), ("Parallel", 500)])
def test_an_absurd_number_of_replicas_takes_no_absurd_time(make_cluster, stateful_set, policy, made):
    claims = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]}
    cluster = make_cluster(stateful_set(podManagementPolicy=policy, replicas=2**31 - 1, **claims))

    assert len(cluster.run().made) == made
    assert len(cluster.run().made) == (0 if made == 1 else 500)
    assert cluster.status["replicas"] == made


def test_s2_parallel_makes_five_hundred_at_a_time(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1200, **PARALLEL))

    assert [len(cluster.run().made) for _ in range(4)] == [500, 500, 200, 0]


def test_a_pod_carries_its_identity(cluster):
    pod = cluster(replicas=2).pod("web-1")

    revision = pod["metadata"]["labels"]["controller-revision-hash"]
    assert pod["metadata"]["generateName"] == "web-"
    assert pod["metadata"]["labels"] == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision,
    }
    assert revision.startswith("web-")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "headless")
    [owner] = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("StatefulSet", "web", True)


def test_before_1_27_pods_have_no_index_label_and_ordinals_begin_at_zero(cluster):
    found = cluster(replicas=1, ordinals={"start": 5}, profile=PROFILES["1.20"])

    assert found.pods == ["web-0"]
    assert "apps.kubernetes.io/pod-index" not in found.pod("web-0")["metadata"]["labels"]


def test_s3_a_scale_down_waits_until_the_pod_above_is_gone(cluster):
    found = cluster()
    found.edit(replicas=1)

    assert found.run().deleted == ["web-2"]
    assert found.run().deleted == []
    found.gone("web-2")
    assert found.run().deleted == ["web-1"]
    found.gone("web-1")
    assert found.run().deleted == []


def test_s4_a_scale_down_stops_while_a_lower_pod_is_unhealthy(cluster):
    found = cluster()
    found.unready("web-0")
    found.edit(replicas=1)

    assert found.run().deleted == []
    found.ready("web-0")
    assert found.run().deleted == ["web-2"]


def test_s4_parallel_goes_on_scaling_down(cluster):
    found = cluster(**PARALLEL)
    found.unready("web-0")
    found.edit(replicas=1)

    assert found.run().deleted == ["web-2", "web-1"]
    assert found.run().deleted == []


def test_s5_the_only_unhealthy_pod_is_deleted(cluster):
    found = cluster()
    found.unready("web-2")
    found.edit(replicas=1)

    assert found.run().deleted == ["web-2"]


def test_a_scale_down_waits_for_an_unhealthy_condemned_pod_below(cluster):
    found = cluster()
    found.unready("web-1", "web-2")
    found.edit(replicas=1)

    assert found.run().deleted == []
    found.ready("web-1")
    assert found.run().deleted == ["web-2"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_s6_an_ended_pod_is_deleted_and_made_again_under_its_name_and_with_its_claim(cluster, phase):
    found = cluster(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    uid = found.claim("data-web-1")["metadata"]["uid"]
    found.phase("web-1", phase)

    ran = found.run()
    assert (ran.deleted, ran.made) == (["web-1"], [])
    assert ran.events == ["SuccessfulDelete: delete Pod web-1 in StatefulSet web successful"]
    ran = found.run()
    assert (ran.made, ran.claimed) == (["web-1"], [])
    assert found.claim("data-web-1")["metadata"]["uid"] == uid
    assert found.pod("web-1")["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    ]


def test_s6_an_ended_pod_that_is_on_its_way_out_is_left_alone(cluster):
    found = cluster()
    found.terminate("web-1")
    found.phase("web-1", "Failed")

    assert found.run().deleted == []


def test_s6_in_1_20_a_failed_pod_is_replaced_in_one_pass_with_an_event(cluster):
    found = cluster(profile=PROFILES["1.20"])
    found.phase("web-1", "Failed")

    ran = found.run()

    assert (ran.deleted, ran.made) == (["web-1"], ["web-1"])
    assert ran.events[0] == "RecreatingFailedPod: StatefulSet ns/web is recreating failed Pod web-1"
    assert ran.types[0] == "Warning"


def test_in_1_20_a_succeeded_pod_stays(cluster):
    found = cluster(profile=PROFILES["1.20"])
    found.phase("web-1", "Succeeded")

    assert found.run().deleted == []


def test_a_gap_is_filled_before_anything_else(cluster):
    found = cluster()
    found.terminate("web-1")
    found.gone("web-1")
    found.edit(replicas=2)

    ran = found.run()

    assert (ran.made, ran.deleted) == (["web-1"], [])


def test_s21_a_pod_of_another_name_is_not_adopted(cluster):
    found = cluster(replicas=1)
    for name in ("web", "web-x", "other-0", "web-00", "web-99999999999", "web-1-0"):
        found.add({"metadata": {"name": name, "labels": {"app": "web"}}, "status": {"phase": "Running"}}, POD)

    assert found.run().quiet


def test_s21_an_owned_pod_of_another_name_is_released(cluster):
    found = cluster(replicas=1)
    owners = found.pod("web-0")["metadata"]["ownerReferences"]
    meta = {"name": "web-x", "labels": {"app": "web"}, "ownerReferences": owners}
    found.add({"metadata": meta, "status": {"phase": "Running"}}, POD)

    ran = found.run()

    assert [(r.key, r.body["metadata"]["ownerReferences"][0]["$patch"]) for r in ran.requests] == [
        ("ns/web-x", "delete")
    ]


def test_a_pod_that_the_selector_no_longer_matches_is_released_and_blocks_its_ordinal(cluster):
    found = cluster(replicas=1)
    found.relabel("web-0", {"app": "other"})

    ran = found.run()

    assert [type(r) for r in ran.requests[:2]] == [Patch, Create]
    assert ran.error.reason == "AlreadyExists"
    assert not [event for event in ran.events if event.startswith("FailedCreate")]


def test_s22_an_orphan_of_the_right_name_is_adopted(cluster):
    found = cluster(replicas=2)
    pod = found.pod("web-1")
    found.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})

    ran = found.run()

    assert (ran._names(Patch, POD), ran.made) == (["web-1"], [])
    assert found.pod("web-1")["metadata"]["ownerReferences"][0]["name"] == "web"


def test_s22_an_orphan_is_not_adopted_by_a_set_that_is_gone_by_now(cluster):
    found = cluster(replicas=2)
    pod = found.pod("web-1")
    found.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    found.deliver_all()
    live = found.objects[STATEFUL_SET]["ns/web"]
    found.objects[STATEFUL_SET]["ns/web"] = live | {"metadata": live["metadata"] | {"uid": "other"}}

    ran = found.run()

    assert not ran._names(Patch, POD)
    assert ran.error is not None


def test_s23_a_pod_belongs_to_the_set_of_the_longest_name(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set("web", replicas=1), stateful_set("web-1", replicas=1))
    cluster.settle()
    pod = cluster.pod("web-1-0")
    cluster.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    cluster.deliver_all()

    assert cluster.queue == {"ns/web-1"}
    assert cluster.run("ns/web").quiet
    assert cluster.run("ns/web-1")._names(Patch, POD) == ["web-1-0"]


def test_s24_ordinals_may_start_above_zero(cluster):
    found = cluster(ordinals={"start": 5})

    assert found.pods == ["web-5", "web-6", "web-7"]


def test_s24_when_the_start_goes_down_what_is_new_below_comes_first(cluster):
    found = cluster(ordinals={"start": 5})
    found.edit(ordinals={"start": 4})

    ran = found.run()
    assert (ran.made, ran.deleted) == (["web-4"], [])
    found.ready("web-4")
    assert found.run().deleted == ["web-7"]
    found.settle()
    assert found.pods == ["web-4", "web-5", "web-6"]


def test_s26_the_next_ordinal_waits_for_min_ready_seconds(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=2, minReadySeconds=10))
    cluster.run()
    cluster.ready("web-0")

    ran = cluster.run()
    assert (ran.made, ran.later) == ([], [10.0])
    assert (cluster.status["readyReplicas"], cluster.status["availableReplicas"]) == (1, 0)
    cluster.now += 4
    assert (ran := cluster.run()).made == []
    assert ran.later == [6.0]
    cluster.now += 6
    assert cluster.run().made == ["web-1"]
    assert cluster.status["availableReplicas"] == 1


def test_s26_before_1_25_nobody_waits(cluster):
    found = cluster(minReadySeconds=10, profile=PROFILES["1.20"])

    assert len(found.pods) == 3
    assert found.status["readyReplicas"] == 3
    assert "availableReplicas" not in found.status


def test_s33_a_set_that_is_being_deleted_makes_and_deletes_nothing(cluster):
    found = cluster()
    meta = {"deletionTimestamp": stamp(found.now), "finalizers": ["foregroundDeletion"]}
    live = found.objects[STATEFUL_SET]["ns/web"]
    found.store(STATEFUL_SET, live | {"metadata": live["metadata"] | meta})
    found.edit(replicas=5)
    found.terminate("web-0")
    found.gone("web-0")
    found.phase("web-1", "Failed")

    ran = found.run()

    assert [(type(r).__name__, r.kind) for r in ran.requests] == [("Update", STATEFUL_SET)]
    assert (found.status["replicas"], found.status["readyReplicas"]) == (2, 1)
    assert found.run().quiet


def test_a_quiet_set_writes_nothing(cluster):
    found = cluster(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])

    assert found.run().quiet


def test_the_status_counts_pods(cluster):
    found = cluster()
    [revision] = found.revisions

    assert found.status == {
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": revision["metadata"]["name"],
        "updateRevision": revision["metadata"]["name"],
        "collisionCount": 0,
        "observedGeneration": 1,
    }


def test_the_status_is_written_once_more_after_a_lost_race(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=0))
    lost = []

    def race(request):
        if getattr(request, "subresource", "") == "status" and not lost:
            lost.append(request)
            live = cluster.objects[STATEFUL_SET]["ns/web"]
            cluster.store(STATEFUL_SET, live | {"metadata": live["metadata"] | {"annotations": {"by": "somebody"}}})

    cluster.refuse = race
    ran = cluster.run()

    assert ran.error is None
    assert cluster.status["observedGeneration"] == 1
    assert cluster.objects[STATEFUL_SET]["ns/web"]["metadata"]["annotations"] == {"by": "somebody"}


def test_a_refused_pod_is_told_of_and_the_status_is_written(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set())
    cluster.refuse = lambda r: (
        forbidden("", "pods", name="web-0", why="exceeded quota") if isinstance(r, Create) and r.kind is POD else None
    )

    ran = cluster.run()

    assert ran.error.code == 403
    assert ran.events == [
        'FailedCreate: create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: exceeded quota'
    ]
    assert ran.types == ["Warning"]
    assert cluster.status["observedGeneration"] == 1


def test_parallel_stops_making_pods_after_a_round_with_a_refusal(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=20, **PARALLEL))
    cluster.refuse = lambda r: ApiError(500, "InternalError", "no") if isinstance(r, Create) and r.kind is POD else None

    ran = cluster.run()

    assert ran.made == ["web-0"]
    assert ran.error.message == "no"


def test_what_the_server_finds_invalid_is_a_condition_until_it_goes_well(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1))
    cluster.refuse = lambda r: (
        ApiError(422, "Invalid", "must be no more than 63 characters")
        if isinstance(r, Create) and r.kind is POD
        else None
    )

    assert cluster.run().error.code == 422
    [condition] = cluster.status["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert cluster.run()._names(Update, STATEFUL_SET) == []
    cluster.refuse = lambda _: None
    cluster.settle()
    assert "conditions" not in cluster.status


def test_a_selector_that_cannot_be_understood_is_told_of_once(make_cluster, stateful_set):
    bad = {"matchExpressions": [{"key": "app", "operator": "Like"}]}
    cluster = make_cluster(stateful_set(selector=bad))

    ran = cluster.run()

    assert ran.events == ['InvalidSelector: Error selecting pods: "Like" is not a valid label selector operator']
    assert cluster.status["conditions"][0]["reason"] == "InvalidSelector"
    assert cluster.run().quiet


def test_events_tell_of_pods(cluster, make_cluster, stateful_set):
    fresh = make_cluster(stateful_set(replicas=1))

    ran = fresh.run()
    assert ran.events == ["SuccessfulCreate: create Pod web-0 in StatefulSet web successful"]
    assert ran.types == ["Normal"]
    fresh.ready("web-0")
    fresh.edit(replicas=0)
    assert fresh.run().events == ["SuccessfulDelete: delete Pod web-0 in StatefulSet web successful"]


def test_a_pod_that_is_gone_already_is_no_failure(cluster):
    found = cluster()
    found.edit(replicas=2)
    found.deliver_all()
    del found.objects[POD]["ns/web-2"]

    ran = found.run()

    assert ran.error is None
    assert ran.events == [
        'FailedDelete: delete Pod web-2 in StatefulSet web failed error: pods "web-2" not found',
    ]


def test_only_the_pod_that_was_seen_is_deleted(cluster):
    found = cluster()
    found.edit(replicas=2)
    found.deliver_all()
    seen = found.pod("web-2")
    found.objects[POD]["ns/web-2"] = seen | {"metadata": seen["metadata"] | {"uid": "another"}}

    ran = found.run()

    assert ran.error.reason == "Conflict"
    assert "deletionTimestamp" not in found.pod("web-2")["metadata"]


def test_orphaned_revisions_are_adopted(cluster):
    found = cluster(replicas=1)
    [revision] = found.revisions
    found.store(CONTROLLER_REVISION, revision | {"metadata": revision["metadata"] | {"ownerReferences": []}})

    ran = found.run()

    assert ran._names(Patch, CONTROLLER_REVISION) == [revision["metadata"]["name"]]
    assert len(found.revisions) == 1
    assert found.run().quiet


def test_another_controllers_revisions_and_pods_are_left_alone(cluster):
    found = cluster(replicas=1)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "x", "uid": "x", "controller": True}
    meta = {"name": "web-7", "labels": {"app": "web"}, "ownerReferences": [owner]}
    found.add({"metadata": meta, "status": {"phase": "Running"}}, POD)
    found.add({"metadata": meta | {"name": "web-abc"}, "revision": 9, "data": {}}, CONTROLLER_REVISION)

    assert found.run().quiet
