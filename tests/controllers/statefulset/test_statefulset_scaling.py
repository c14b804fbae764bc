"""Rows S1 to S6, S24, S26: pods made, waited for and deleted in the order of their ordinals."""

import pytest

from controller_manager.reconcile.profile import PROFILES

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


def test_a_pod_carries_its_identity(settled_cluster):
    pod = settled_cluster(replicas=2).pod("web-1")

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


def test_before_1_27_pods_have_no_index_label_and_ordinals_begin_at_zero(settled_cluster):
    cluster = settled_cluster(replicas=1, ordinals={"start": 5}, profile=PROFILES["1.20"])

    assert cluster.pods == ["web-0"]
    assert "apps.kubernetes.io/pod-index" not in cluster.pod("web-0")["metadata"]["labels"]


def test_s3_a_scale_down_waits_until_the_pod_above_is_gone(settled_cluster):
    cluster = settled_cluster()
    cluster.edit(replicas=1)

    assert cluster.run().deleted == ["web-2"]
    assert cluster.run().deleted == []
    cluster.gone("web-2")
    assert cluster.run().deleted == ["web-1"]
    cluster.gone("web-1")
    assert cluster.run().deleted == []


def test_s4_a_scale_down_stops_while_a_lower_pod_is_unhealthy(settled_cluster):
    cluster = settled_cluster()
    cluster.unready("web-0")
    cluster.edit(replicas=1)

    assert cluster.run().deleted == []
    cluster.ready("web-0")
    assert cluster.run().deleted == ["web-2"]


def test_s4_parallel_goes_on_scaling_down(settled_cluster):
    cluster = settled_cluster(**PARALLEL)
    cluster.unready("web-0")
    cluster.edit(replicas=1)

    assert cluster.run().deleted == ["web-2", "web-1"]
    assert cluster.run().deleted == []


def test_s5_the_only_unhealthy_pod_is_deleted(settled_cluster):
    cluster = settled_cluster()
    cluster.unready("web-2")
    cluster.edit(replicas=1)

    assert cluster.run().deleted == ["web-2"]


def test_a_scale_down_waits_for_an_unhealthy_condemned_pod_below(settled_cluster):
    cluster = settled_cluster()
    cluster.unready("web-1", "web-2")
    cluster.edit(replicas=1)

    assert cluster.run().deleted == []
    cluster.ready("web-1")
    assert cluster.run().deleted == ["web-2"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_s6_an_ended_pod_is_deleted_and_made_again_under_its_name_and_with_its_claim(settled_cluster, phase):
    cluster = settled_cluster(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    uid = cluster.claim("data-web-1")["metadata"]["uid"]
    cluster.phase("web-1", phase)

    ran = cluster.run()
    assert (ran.deleted, ran.made) == (["web-1"], [])
    assert ran.events == ["SuccessfulDelete: delete Pod web-1 in StatefulSet web successful"]
    ran = cluster.run()
    assert (ran.made, ran.claimed) == (["web-1"], [])
    assert cluster.claim("data-web-1")["metadata"]["uid"] == uid
    assert cluster.pod("web-1")["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    ]


def test_s6_an_ended_pod_that_is_on_its_way_out_is_left_alone(settled_cluster):
    cluster = settled_cluster()
    cluster.terminate("web-1")
    cluster.phase("web-1", "Failed")

    assert cluster.run().deleted == []


def test_s6_in_1_20_a_failed_pod_is_replaced_in_one_pass_with_an_event(settled_cluster):
    cluster = settled_cluster(profile=PROFILES["1.20"])
    cluster.phase("web-1", "Failed")

    ran = cluster.run()

    assert (ran.deleted, ran.made) == (["web-1"], ["web-1"])
    assert ran.events[0] == "RecreatingFailedPod: StatefulSet ns/web is recreating failed Pod web-1"
    assert ran.types[0] == "Warning"


def test_in_1_20_a_succeeded_pod_stays(settled_cluster):
    cluster = settled_cluster(profile=PROFILES["1.20"])
    cluster.phase("web-1", "Succeeded")

    assert cluster.run().deleted == []


def test_a_gap_is_filled_before_anything_else(settled_cluster):
    cluster = settled_cluster()
    cluster.terminate("web-1")
    cluster.gone("web-1")
    cluster.edit(replicas=2)

    ran = cluster.run()

    assert (ran.made, ran.deleted) == (["web-1"], [])


def test_s24_ordinals_may_start_above_zero(settled_cluster):
    cluster = settled_cluster(ordinals={"start": 5})

    assert cluster.pods == ["web-5", "web-6", "web-7"]


def test_s24_when_the_start_goes_down_what_is_new_below_comes_first(settled_cluster):
    cluster = settled_cluster(ordinals={"start": 5})
    cluster.edit(ordinals={"start": 4})

    ran = cluster.run()
    assert (ran.made, ran.deleted) == (["web-4"], [])
    cluster.ready("web-4")
    assert cluster.run().deleted == ["web-7"]
    cluster.settle()
    assert cluster.pods == ["web-4", "web-5", "web-6"]


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


def test_s26_before_1_25_nobody_waits(settled_cluster):
    cluster = settled_cluster(minReadySeconds=10, profile=PROFILES["1.20"])

    assert len(cluster.pods) == 3
    assert cluster.status["readyReplicas"] == 3
    assert "availableReplicas" not in cluster.status
