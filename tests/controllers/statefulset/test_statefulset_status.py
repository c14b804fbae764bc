"""Row S33, what the status and Events of a set tell, and what is refused."""

from typing import Any

from apiserver.api.errors import ApiError, forbidden
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import POD, STATEFUL_SET
from controller_manager.reconcile.times import format_time

PARALLEL = {"podManagementPolicy": "Parallel"}


def test_s33_a_set_that_is_being_deleted_makes_and_deletes_nothing(settled_cluster):
    cluster = settled_cluster()
    meta = {"deletionTimestamp": format_time(cluster.now), "finalizers": ["foregroundDeletion"]}
    live = cluster.objects[STATEFUL_SET]["ns/web"]
    cluster.store(STATEFUL_SET, live | {"metadata": live["metadata"] | meta})
    cluster.edit(replicas=5)
    cluster.terminate("web-0")
    cluster.gone("web-0")
    cluster.phase("web-1", "Failed")

    ran = cluster.run()

    assert [(type(r).__name__, r.kind) for r in ran.requests] == [("Update", STATEFUL_SET)]
    assert (cluster.status["replicas"], cluster.status["readyReplicas"]) == (2, 1)
    assert cluster.run().quiet


def test_a_quiet_set_writes_nothing(settled_cluster):
    cluster = settled_cluster(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])

    assert cluster.run().quiet


def test_the_status_counts_pods(settled_cluster):
    cluster = settled_cluster()
    [revision] = cluster.revisions

    assert cluster.status == {
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
    lost: list[Any] = []

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


def test_a_refused_pod_is_reported_and_the_status_is_written(make_cluster, stateful_set):
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
    assert cluster.run().names(Update, STATEFUL_SET) == []
    cluster.refuse = lambda _: None
    cluster.settle()
    assert "conditions" not in cluster.status


def test_a_selector_that_cannot_be_understood_is_reported_once(make_cluster, stateful_set):
    bad = {"matchExpressions": [{"key": "app", "operator": "Like"}]}
    cluster = make_cluster(stateful_set(selector=bad))

    ran = cluster.run()

    assert ran.events == ['InvalidSelector: Error selecting pods: "Like" is not a valid label selector operator']
    assert cluster.status["conditions"][0]["reason"] == "InvalidSelector"
    assert cluster.run().quiet


def test_events_tell_of_pods(settled_cluster, make_cluster, stateful_set):
    fresh = make_cluster(stateful_set(replicas=1))

    ran = fresh.run()
    assert ran.events == ["SuccessfulCreate: create Pod web-0 in StatefulSet web successful"]
    assert ran.types == ["Normal"]
    fresh.ready("web-0")
    fresh.edit(replicas=0)
    assert fresh.run().events == ["SuccessfulDelete: delete Pod web-0 in StatefulSet web successful"]


def test_a_pod_that_is_gone_already_is_no_failure(settled_cluster):
    cluster = settled_cluster()
    cluster.edit(replicas=2)
    cluster.deliver_all()
    del cluster.objects[POD]["ns/web-2"]

    ran = cluster.run()

    assert ran.error is None
    assert ran.events == [
        'FailedDelete: delete Pod web-2 in StatefulSet web failed error: pods "web-2" not found',
    ]


def test_only_the_pod_that_was_seen_is_deleted(settled_cluster):
    cluster = settled_cluster()
    cluster.edit(replicas=2)
    cluster.deliver_all()
    seen = cluster.pod("web-2")
    cluster.objects[POD]["ns/web-2"] = seen | {"metadata": seen["metadata"] | {"uid": "another"}}

    ran = cluster.run()

    assert ran.error.reason == "Conflict"
    assert "deletionTimestamp" not in cluster.pod("web-2")["metadata"]
