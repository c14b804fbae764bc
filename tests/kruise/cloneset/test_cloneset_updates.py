"""Updates of a CloneSet that replace pods by pods of a new revision: how many at a time, which, and when not."""

import pytest

from apiserver.api.errors import ApiError
from controller_manager.kruise.cloneset.spec import partition_of, strategy_of
from controller_manager.reconcile.contract import Patch
from controller_manager.reconcile.kinds import POD


def course(cluster):
    """(available, in all) of the active pods after everything that happens, until nothing is left to do."""
    for _ in range(300):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            return
        yield cluster.available, len(cluster.pods)
    raise AssertionError("the cluster does not come to rest")


@pytest.mark.parametrize(
    ("partition", "replicas", "held"),
    [
        pytest.param("99%", 4, 3, id="C1"),
        ("100%", 4, 4),
        ("99%", 1, 1),
        ("1%", 4, 1),
        ("0%", 4, 0),
        ("50%", 5, 3),
        (2, 4, 2),
        (4, 4, 4),
        (9, 4, 4),
        (-1, 4, 0),
        (None, 4, 0),
        ("most", 4, 0),
    ],
)
def test_a_partition_holds_back_a_number_or_a_share_of_the_pods(partition, replicas, held):
    assert partition_of(partition, replicas) == held


def test_a_share_of_nearly_all_lets_one_pod_go_on(settled_cluster, template):
    """C1: partition "99%" of 4 replicas: exactly one pod is updated."""
    cluster = settled_cluster(replicas=4, rolling={"partition": "99%"})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 3, "web:2": 1}
    assert cluster.status["expectedUpdatedReplicas"] == cluster.status["updatedReplicas"] == 1


def test_no_more_pods_are_down_than_may_be(settled_cluster, template):
    """C2: 10 replicas, maxUnavailable 20 %, no surge: at most two are down at any time."""
    cluster = settled_cluster(replicas=10)
    cluster.edit(template=template("web:2"))
    seen = list(course(cluster))
    assert min(available for available, _ in seen) == 8
    assert max(total for _, total in seen) == 10
    assert cluster.images == {"web:2": 10}
    assert cluster.available == 10


def test_a_surge_stands_in_for_pods_that_go(settled_cluster, template):
    """C3: 10 replicas, maxSurge 2, maxUnavailable 0: never fewer than 10 available, never more than 12."""
    cluster = settled_cluster(replicas=10, rolling={"maxSurge": 2, "maxUnavailable": 0})
    cluster.edit(template=template("web:2"))
    assert len(cluster.run().made) == 2
    seen = list(course(cluster))
    assert min(available for available, _ in seen) == 10
    assert max(total for _, total in seen) == 12
    assert cluster.images == {"web:2": 10}


def test_a_pod_is_marked_then_deleted_then_replaced(settled_cluster, template):
    cluster = settled_cluster(replicas=3, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("web:2"))
    first, second, third = cluster.run(), cluster.run(), cluster.run()
    [patch] = [request for request in first.requests if isinstance(request, Patch)]
    name = patch.key.removeprefix("ns/")
    assert patch.body["metadata"]["labels"] == {"apps.kruise.io/specified-delete": "true"}
    revision = cluster.revisions[-1]["metadata"]["name"]
    message = f"successfully patch pod {name} specified-delete for update(revision {revision})"
    assert first.events == [f"SuccessfulUpdatePodReCreate: {message}"]
    assert second.deleted == [name]
    assert len(third.made) == 1


def test_a_pod_that_cannot_be_marked_is_told_and_tried_again(settled_cluster, template):
    cluster = settled_cluster(replicas=3)
    cluster.edit(template=template("web:2"))
    refused = ApiError(500, "InternalError", "no")
    cluster.server.refuse = lambda request: refused if isinstance(request, Patch) and request.kind is POD else None
    ran = cluster.run()
    [name] = ran.names(Patch)
    revision = cluster.revisions[-1]["metadata"]["name"]
    why = f"failed to patch pod specified-delete {name} for update(revision {revision}): no"
    assert ran.events == [f"FailedUpdatePodReCreate: {why}"]
    assert cluster.condition("FailedUpdate")["message"] == "no"
    assert ran.error is refused


def test_while_it_is_paused_nothing_is_updated_but_the_set_grows_and_shrinks(settled_cluster, template):
    """C7: paused: no update; scaling works."""
    cluster = settled_cluster(replicas=4, rolling={"paused": True, "maxSurge": 2})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 4}
    cluster.edit(replicas=6)
    cluster.settle()
    assert cluster.images == {"web:1": 4, "web:2": 2}
    cluster.edit(replicas=3)
    cluster.settle()
    assert sum(cluster.images.values()) == 3
    cluster.rolling(paused=False)
    cluster.settle()
    assert cluster.images == {"web:2": 3}


def test_pods_that_are_down_already_are_updated_within_the_limit_and_no_others(settled_cluster, template):
    """C9: 10 pods, maxUnavailable 2, three old ones not ready: two of these go first, and no healthy one."""
    cluster = settled_cluster(replicas=10, rolling={"maxUnavailable": 2})
    broken = {cluster.names[number] for number in (2, 5, 7)}
    cluster.take_down(*broken)
    cluster.deliver_all()
    cluster.edit(template=template("web:2"))
    chosen = cluster.run().names(Patch)
    assert len(chosen) == 2
    assert set(chosen) < broken
    cluster.settle()
    assert cluster.images == {"web:2": 10}
    assert cluster.available == 10


def test_an_update_stops_where_new_pods_do_not_become_available(settled_cluster, template):
    cluster = settled_cluster(replicas=10, rolling={"maxUnavailable": 2})
    cluster.edit(template=template("unready.mockube.io/web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 8, "unready.mockube.io/web:2": 2}
    assert cluster.available == 8
    cluster.edit(template=template("web:1"))
    cluster.settle()
    assert cluster.images == {"web:1": 10}


def test_a_lower_partition_lets_more_go_on(settled_cluster, template):
    cluster = settled_cluster(replicas=6, rolling={"partition": 4, "maxUnavailable": "100%"})
    cluster.edit(template=template("web:2"))
    for partition in (4, 3, 0):
        cluster.rolling(partition=partition)
        cluster.settle()
        assert cluster.images.get("web:1", 0) == partition


def test_a_higher_partition_takes_nothing_back(settled_cluster, template):
    cluster = settled_cluster(replicas=4, rolling={"partition": 1})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.rolling(partition=3)
    cluster.settle()
    assert cluster.images == {"web:1": 1, "web:2": 3}


def test_a_pod_below_the_partition_comes_back_as_it_was(settled_cluster, template):
    cluster = settled_cluster(replicas=4, rolling={"partition": 2})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.terminate(
        next(p["metadata"]["name"] for p in cluster.pods if p["spec"]["containers"][0]["image"] == "web:1")
    )
    cluster.settle()
    assert cluster.images == {"web:1": 2, "web:2": 2}


def test_minimum_time_of_readiness_is_waited_for(settled_cluster, template):
    cluster = settled_cluster(replicas=3, minReadySeconds=10, rolling={"maxUnavailable": 1})
    cluster.edit(template=template("web:2"))
    for updated in (1, 2, 3):
        cluster.settle()
        assert cluster.images.get("web:2") == updated
        assert cluster.available == 2
        cluster.tick(10)
    cluster.settle()
    assert cluster.available == 3
    assert cluster.run().quiet


def test_on_delete_waits_for_somebody_to_delete_pods(settled_cluster, template):
    cluster = settled_cluster(replicas=3, updateStrategy={"type": "OnDelete"})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 3}
    cluster.terminate(cluster.names[0])
    cluster.settle()
    assert cluster.images == {"web:1": 2, "web:2": 1}


@pytest.mark.parametrize(
    ("strategy", "unavailable", "surge"),
    [
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}}, 2, 0),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}, 1, 2),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 2, "paused": True}}, 2, 0),
        ({"type": "RollingUpdate", "rollingUpdate": {}}, 2, 0),
        ({"type": "RollingUpdate"}, 2, 0),
        ({"type": "OnDelete"}, 1, 0),
        ({"type": "OnDelete", "rollingUpdate": {}}, 2, 0),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "some", "maxSurge": 1}}, 0, 1),
        (None, 2, 0),
    ],
)
def test_shares_are_rounded_up_but_for_unavailable_pods_beside_a_surge(clone_set, strategy, unavailable, surge):
    parsed = strategy_of(clone_set(replicas=7, updateStrategy=strategy))
    assert (parsed.max_unavailable, parsed.max_surge) == (unavailable, surge)


def test_a_label_of_the_hash_alone_says_the_revision_as_well(settled_cluster):
    cluster = settled_cluster(replicas=2)
    short = cluster.revisions[-1]["metadata"]["name"].removeprefix("web-")

    def shortened(pod):
        labels = pod["metadata"]["labels"] | {"controller-revision-hash": short}
        return pod | {"metadata": pod["metadata"] | {"labels": labels}}

    for name in cluster.names:
        cluster.pod_changes(name, shortened)
    assert cluster.run().quiet


def test_pods_without_their_hash_get_it(settled_cluster):
    cluster = settled_cluster(replicas=1)

    def without_hash(pod):
        labels = {key: value for key, value in pod["metadata"]["labels"].items() if key != "pod-template-hash"}
        return pod | {"metadata": pod["metadata"] | {"labels": labels}}

    before = cluster.pods[0]["metadata"]["labels"]
    cluster.pod_changes(cluster.names[0], without_hash)
    cluster.settle()
    assert cluster.pods[0]["metadata"]["labels"] == before
