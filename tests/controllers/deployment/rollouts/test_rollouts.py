"""Whole rollouts with the real controllers of Deployments and ReplicaSets, from row to row of section 8."""

import pytest

from apiserver.api.errors import forbidden, internal, unavailable
from controller_manager.reconcile.contract import Update
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET

KINDS = (DEPLOYMENT, REPLICA_SET, POD)


def available(cluster):
    return cluster.deployment["status"].get("availableReplicas", 0)


def tells(request, replica_set):
    """Return whether a request updates the status of that ReplicaSet."""
    status = isinstance(request, Update) and request.subresource == "status"
    return status and request.obj["metadata"]["uid"] == replica_set["metadata"]["uid"]


def half_rolled(make_cluster, **spec):
    """A rollout to pods that never get ready, as far as it goes: eight old ones, five new."""
    cluster = make_cluster("web:1", surge=3, unavailable=2, **spec)
    cluster.settle()
    cluster.set_image("web:bad")
    cluster.settle()
    return cluster


def test_a_rollout_replaces_all_pods_and_a_quiet_cluster_writes_nothing(make_cluster):
    cluster = make_cluster("web:1")
    cluster.settle()
    cluster.set_image("web:2")
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:2": 10}
    assert cluster.progress == "True/NewReplicaSetAvailable"
    cluster.writes.clear()
    for kind in (DEPLOYMENT, REPLICA_SET):
        cluster.caches.get_or_create(kind).resync()
    cluster.sleep(10_000)
    cluster.settle()
    assert cluster.writes == []


def test_d6_a_rollout_to_broken_pods_stops_times_out_and_takes_nothing_back(make_cluster):
    cluster = half_rolled(make_cluster)
    assert cluster.sizes == {"web:1": 8, "web:bad": 5}
    assert available(cluster) == 8
    cluster.sleep(600)
    cluster.settle()
    assert cluster.progress == "True/ReplicaSetUpdated"
    cluster.sleep(1)
    cluster.settle()
    assert cluster.progress == "False/ProgressDeadlineExceeded"
    assert cluster.sizes == {"web:1": 8, "web:bad": 5}


def test_d7_undo_ends_a_rollout_that_was_stuck(make_cluster):
    cluster = half_rolled(make_cluster)
    cluster.set_image("web:1")
    cluster.settle()
    assert cluster.sizes == {"web:1": 10, "web:bad": 0}
    assert cluster.revisions == [3, 2]
    assert cluster.progress == "True/NewReplicaSetAvailable"


def test_undo_counts_on_no_pod_of_a_set_that_has_yet_to_tell_how_many_it_lost(make_cluster):
    cluster = make_cluster("web:1", surge=3, unavailable=2)
    cluster.settle()
    cluster.set_image("web:bad")
    cluster.settle()
    for pod in cluster.pods(of=cluster.sets[1]["metadata"]["name"])[:4]:
        cluster.set_ready(pod)
    for _ in range(8):  # the status of web:1 stays what it is, and its pods go
        cluster.server.refuse = lambda request: unavailable("later") if tells(request, cluster.sets[0]) else None
        for kind in KINDS:
            cluster.deliver(kind)
        for name in ("replicaset", "deployment"):
            cluster.run(name)
    assert cluster.sizes == {"web:1": 4, "web:bad": 9}
    cluster.set_image("web:1")
    for _ in range(8):
        cluster.deliver(DEPLOYMENT)
        cluster.deliver(REPLICA_SET)
        cluster.run("deployment")
    assert cluster.sizes == {"web:1": 5, "web:bad": 8}
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert cluster.sizes == {"web:1": 10, "web:bad": 0}


def test_to_and_fro_takes_no_pod_for_one_that_its_set_has_just_deleted(make_cluster):
    """A set's status is as of before the pods went that the same run deleted: it names its size, and counts them."""

    def heard(*names):
        for name in names:
            for kind in KINDS:
                cluster.deliver(kind)
            cluster.run(name)

    cluster = make_cluster("web:1", replicas=1, surge=1, unavailable=0)
    cluster.settle()
    cluster.set_image("web:2")
    heard("deployment", "replicaset")
    cluster.work()
    heard("replicaset", "deployment")
    first, second = (replica_set["metadata"]["name"] for replica_set in cluster.sets)
    while cluster.pods(of=first):
        heard("replicaset")
    assert cluster.sizes == {"web:1": 0, "web:2": 1}
    assert cluster.sets[0]["status"]["availableReplicas"] == 1
    cluster.set_image("web:1")
    heard("deployment", "deployment", "deployment")
    assert cluster.sizes == {"web:1": 1, "web:2": 1}
    assert len(cluster.pods(of=second)) == 1
    cluster.settle()
    assert cluster.sizes == {"web:1": 1, "web:2": 0}


def test_d10_templates_of_a_pause_are_rolled_out_once_when_it_ends(make_cluster):
    cluster = make_cluster("web:1", replicas=3)
    cluster.settle()
    cluster.edit(paused=True)
    for image in ("web:2", "web:3"):
        cluster.set_image(image)
        cluster.settle()
    assert cluster.sizes == {"web:1": 3}
    assert cluster.progress == "Unknown/DeploymentPaused"
    cluster.edit(paused=False)
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:3": 3}
    assert cluster.progress == "True/NewReplicaSetAvailable"


def test_d11_and_d12_a_pause_keeps_sizes_but_for_their_part_of_a_new_one(make_cluster):
    cluster = half_rolled(make_cluster)
    cluster.edit(paused=True)
    cluster.settle()
    for pod in cluster.pods():
        cluster.set_ready(pod)
    cluster.settle()
    assert cluster.sizes == {"web:1": 8, "web:bad": 5}
    assert available(cluster) == 13
    cluster.edit(replicas=20)
    cluster.settle()
    assert cluster.sizes == {"web:1": 14, "web:bad": 9}
    cluster.edit(paused=False)
    cluster.settle()
    assert cluster.sizes == {"web:1": 13, "web:bad": 10}


def test_d17_down_to_nothing_in_the_middle_and_up_again(make_cluster):
    cluster = half_rolled(make_cluster)
    cluster.edit(replicas=0)
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:bad": 0}
    cluster.edit(replicas=6)
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:bad": 6}


def test_d18_a_new_template_and_a_new_size_together(make_cluster):
    cluster = make_cluster("web:1", replicas=4)
    cluster.settle()
    cluster.events.clear()
    cluster.set_image("web:2", replicas=8)
    cluster.settle()
    assert cluster.events[0].endswith("from 4 to 8")
    assert cluster.events[1].startswith("Scaled up replica set")
    assert cluster.sizes == {"web:1": 0, "web:2": 8}


@pytest.mark.parametrize("over", ["quota", "server"])
def test_d23_a_set_that_was_refused_is_made_once_it_may_be(make_cluster, over):
    error = forbidden("apps", "replicasets", name="web", why="exceeded quota") if over == "quota" else internal("no")
    cluster = make_cluster("web:1", replicas=3)
    cluster.server.refuse = lambda request: error if getattr(request, "obj", {}).get("kind") == "ReplicaSet" else None
    for _ in range(5):
        cluster.deliver(DEPLOYMENT)
        cluster.run("deployment")
    assert cluster.progress == "False/ReplicaSetCreateError"
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert cluster.progress == "True/NewReplicaSetAvailable"


def test_d24_a_failure_of_the_set_is_the_deployment_s_until_it_is_over(make_cluster):
    def failing():
        conditions = cluster.deployment["status"]["conditions"]
        return next((condition["message"] for condition in conditions if condition["type"] == "ReplicaFailure"), None)

    cluster = make_cluster("web:1", replicas=3)
    error = forbidden("", "pods", name="web", why="exceeded quota: tiny")
    cluster.server.refuse = lambda request: error if getattr(request, "obj", {}).get("kind") == "Pod" else None
    for _ in range(10):
        for kind in (DEPLOYMENT, REPLICA_SET):
            cluster.deliver(kind)
        cluster.run("deployment")
        cluster.run("replicaset")
    assert failing() == 'pods "web" is forbidden: exceeded quota: tiny'
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert failing() is None


def test_d28_to_recreate_waits_for_the_last_pod_to_go(make_cluster):
    cluster = make_cluster("web:1", replicas=3, strategy={"type": "Recreate"})
    cluster.settle()
    cluster.set_image("web:2")
    cluster.settle(kubelet=False)
    assert cluster.sizes == {"web:1": 0}
    cluster.work(2)
    cluster.settle(kubelet=False)
    assert cluster.sizes == {"web:1": 0}
    cluster.work(1)
    cluster.settle(kubelet=False)
    assert cluster.sizes == {"web:1": 0, "web:2": 3}


@pytest.mark.parametrize(("gone", "sizes"), [(2, {"web:1": 3}), (3, {"web:1": 0, "web:2": 3})])
def test_a_pause_in_the_middle_of_recreating_brings_back_the_set_that_is_there_last(make_cluster, gone, sizes):
    """As upstream: a paused Deployment is kept at its size, by the old set for as long as there is no new one."""
    cluster = make_cluster("web:1", replicas=3, strategy={"type": "Recreate"})
    cluster.settle()
    cluster.set_image("web:2")
    cluster.settle(kubelet=False)
    cluster.work(gone)
    cluster.settle(kubelet=False)
    cluster.edit(paused=True)
    cluster.settle()
    assert cluster.sizes == sizes
    cluster.edit(paused=False)
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:2": 3}


def test_d34_no_old_pod_goes_before_new_ones_were_ready_for_long_enough(make_cluster):
    cluster = make_cluster("web:1", replicas=4, surge=1, unavailable=0, minReadySeconds=10)
    cluster.settle()
    cluster.sleep(10)
    cluster.settle()
    cluster.set_image("web:2")
    for step in range(4):
        cluster.settle()
        assert cluster.sizes == {"web:1": 4 - step, "web:2": step + 1}
        cluster.sleep(9)
        cluster.settle()
        assert cluster.sizes == {"web:1": 4 - step, "web:2": step + 1}
        cluster.sleep(1)
    cluster.settle()
    cluster.sleep(10)
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:2": 4}


def test_d31_a_slow_rollout_that_moves_does_not_time_out(make_cluster):
    cluster = make_cluster("web:1", replicas=4, surge=1, unavailable=0, minReadySeconds=10, progressDeadlineSeconds=15)
    seen = set()
    for image in ("web:1", "web:2"):
        cluster.set_image(image)
        for _ in range(60):
            cluster.settle()
            seen.add(cluster.progress)
            cluster.sleep(1)
    assert cluster.sizes == {"web:1": 0, "web:2": 4}
    assert not any("ProgressDeadlineExceeded" in condition for condition in seen)


def test_d32_pods_that_get_ready_late_end_a_rollout_that_timed_out(make_cluster):
    cluster = half_rolled(make_cluster)
    cluster.sleep(601)
    cluster.settle()
    assert cluster.progress == "False/ProgressDeadlineExceeded"
    for _ in range(5):
        for pod in cluster.pods():
            cluster.set_ready(pod)
        cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:bad": 10}
    assert cluster.progress == "True/NewReplicaSetAvailable"


def test_d33_pods_that_crash_after_completion_are_no_lack_of_progress(make_cluster):
    cluster = make_cluster("web:1", replicas=4)
    cluster.settle()
    for pod in cluster.pods():
        cluster.set_ready(pod, "False")
    cluster.settle()
    cluster.sleep(5000)
    cluster.settle()
    conditions = {condition["type"]: condition["status"] for condition in cluster.deployment["status"]["conditions"]}
    assert conditions["Available"] == "False"
    assert cluster.progress == "True/NewReplicaSetAvailable"


def test_d44_a_controller_that_restarts_goes_on_where_it_was(make_cluster):
    cluster = make_cluster("web:1")
    cluster.settle()
    cluster.set_image("web:2")
    for _ in range(400):
        for kind in (DEPLOYMENT, REPLICA_SET):
            cluster.deliver(kind)
        cluster.run("deployment")
        cluster.start()
        cluster.run("replicaset")
        cluster.start()
        cluster.work(1)
        cluster.start()
    cluster.settle()
    assert cluster.sizes == {"web:1": 0, "web:2": 10}
    assert cluster.revisions == [1, 2]


def test_a_namespace_that_goes_away_is_left_in_peace(make_cluster):
    causes = [{"reason": "NamespaceTerminating", "message": "…", "field": "metadata.namespace"}]
    error = forbidden("apps", "replicasets", name="web", why="it is being terminated", causes=causes)
    cluster = make_cluster("web:1", replicas=3)
    cluster.server.refuse = lambda request: error if getattr(request, "obj", {}).get("kind") == "ReplicaSet" else None
    cluster.deliver(DEPLOYMENT)
    cluster.run("deployment")
    assert (cluster.events, cluster.writes) == ([], [])
