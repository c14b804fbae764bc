"""Rows A1, A2, and those of a StatefulSet: which pods are made and deleted, in what order, of what ordinals."""

from typing import Any

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Delete
from controller_manager.reconcile.kinds import POD

SCALED = {"parallel": True, "scaleStrategy": {"maxUnavailable": 2}}


def made_by(runs):
    return [name for ran in runs for name in ran.made]


def deleted_by(runs):
    return [name for ran in runs for name in ran.deleted]


# -- ordinals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", [False, True])
def test_a1_reserved_ordinals_are_skipped(settled_cluster, parallel):
    cluster = settled_cluster(parallel=parallel, replicas=3, reserveOrdinals=[1])
    assert cluster.ordinals == [0, 2, 3]
    assert cluster.run().quiet


@pytest.mark.parametrize("parallel", [False, True])
def test_a2_a_pod_whose_ordinal_becomes_reserved_goes_and_another_comes_first(settled_cluster, parallel):
    cluster = settled_cluster(parallel=parallel, replicas=3, reserveOrdinals=[1])
    cluster.edit(reserveOrdinals=[1, 2])
    runs = cluster.settle()
    assert (made_by(runs), deleted_by(runs)) == (["web-4"], ["web-2"])
    assert cluster.ordinals == [0, 3, 4]


def test_in_order_the_new_pod_is_ready_before_the_reserved_one_goes(settled_cluster):
    cluster = settled_cluster(reserveOrdinals=[1])
    cluster.edit(reserveOrdinals=["1-2"])
    assert (cluster.run().made, cluster.run().deleted) == (["web-4"], [])
    cluster.settle()
    assert cluster.ordinals == [0, 3, 4]


def test_what_is_reserved_no_more_comes_back_and_the_last_one_goes(settled_cluster):
    cluster = settled_cluster(reserveOrdinals=["0-1"])
    cluster.edit(reserveOrdinals=[])
    cluster.settle()
    assert cluster.ordinals == [0, 1, 2]


def test_fewer_replicas_and_a_reserved_ordinal_delete_that_one_alone(settled_cluster):
    cluster = settled_cluster(replicas=3)
    cluster.edit(replicas=2, reserveOrdinals=[1])
    assert deleted_by(cluster.settle()) == ["web-1"]
    assert cluster.ordinals == [0, 2]


def test_ordinals_begin_where_they_are_told_to(settled_cluster):
    cluster = settled_cluster(replicas=3, ordinals={"start": 5}, reserveOrdinals=[6])
    assert cluster.ordinals == [5, 7, 8]
    cluster.edit(ordinals={"start": 4})
    cluster.settle()
    assert cluster.ordinals == [4, 5, 7]


# -- order -------------------------------------------------------------------------------------------------------------


def test_in_order_pods_come_one_by_one_each_when_the_one_before_is_ready(new_cluster):
    cluster = new_cluster(replicas=3)
    assert (cluster.run().made, cluster.run().made) == (["web-0"], [])
    cluster.work("web-0")
    assert cluster.run().made == []
    assert made_by(cluster.settle()) == ["web-1", "web-2"]


def test_in_order_the_next_pod_waits_for_min_ready_seconds(new_cluster):
    cluster = new_cluster(replicas=2, rolling={"minReadySeconds": 10})
    cluster.settle()
    assert (cluster.ordinals, cluster.run().later) == ([0], [10.0])
    cluster.tick(10)
    cluster.settle()
    assert cluster.ordinals == [0, 1]


def test_in_parallel_all_pods_come_at_once(new_cluster):
    assert new_cluster(parallel=True, replicas=5).run().made == [f"web-{number}" for number in range(5)]


@pytest.mark.parametrize(("parallel", "rounds"), [(False, [["web-2"], ["web-1"]]), (True, [["web-2", "web-1"]])])
def test_pods_go_from_the_highest_ordinal_down(settled_cluster, parallel, rounds):
    cluster = settled_cluster(parallel=parallel, replicas=3)
    cluster.edit(replicas=1)
    assert [ran.deleted for ran in cluster.settle() if ran.deleted] == rounds


def test_in_order_nothing_goes_while_another_pod_is_not_ready(settled_cluster):
    cluster = settled_cluster(replicas=3)
    cluster.take_down("web-0")
    cluster.edit(replicas=1)
    assert deleted_by(cluster.settle()) == []


def test_in_order_the_one_condemned_pod_that_is_not_ready_goes(settled_cluster):
    cluster = settled_cluster(replicas=3)
    cluster.take_down("web-2")
    cluster.edit(replicas=2)
    assert deleted_by(cluster.settle()) == ["web-2"]


def test_in_order_a_condemned_pod_that_has_just_become_ready_is_waited_for(new_cluster):
    cluster = new_cluster(replicas=2, rolling={"minReadySeconds": 10})
    cluster.settle()
    cluster.tick(10)
    cluster.settle()
    cluster.edit(replicas=1)
    assert (cluster.ordinals, cluster.run().deleted) == ([0, 1], [])
    cluster.tick(10)
    assert cluster.run().deleted == ["web-1"]


def test_a_pod_that_failed_is_replaced_under_its_name(settled_cluster):
    cluster = settled_cluster()
    before = cluster.pod("web-1")["metadata"]["uid"]
    cluster.evict("web-1")
    runs = cluster.settle()
    assert (deleted_by(runs), made_by(runs)) == (["web-1"], ["web-1"])
    assert cluster.pod("web-1")["metadata"]["uid"] != before


# -- how many may be unavailable meanwhile -----------------------------------------------------------------------------


def test_in_parallel_pods_come_as_many_at_a_time_as_may_be_unavailable(new_cluster):
    cluster = new_cluster(replicas=5, **SCALED)
    assert (cluster.run().made, cluster.run().made) == (["web-0", "web-1"], [])
    runs: list[Any] = []
    while "web-2" not in made_by(runs):
        assert 1 in cluster.down
        cluster.work("web-1")
        runs.append(cluster.run())
    assert (made_by(runs), cluster.down) == (["web-2"], [0, 2])
    cluster.settle()
    assert cluster.ordinals == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("share", "first"), [(1, 1), ("50%", 2), ("10%", 1), (0, 1), ("100%", 5)])
def test_it_is_a_number_or_a_share_and_one_at_least(new_cluster, share, first):
    cluster = new_cluster(replicas=5, parallel=True, scaleStrategy={"maxUnavailable": share})
    assert len(cluster.run().made) == first


def test_it_does_not_matter_in_order(new_cluster):
    cluster = new_cluster(replicas=2, scaleStrategy={"maxUnavailable": 1})
    cluster.settle()
    cluster.evict("web-0")
    cluster.settle()
    assert cluster.ordinals == [0, 1]


def test_a_pod_that_failed_is_replaced_even_where_one_alone_may_be_unavailable(settled_cluster):
    cluster = settled_cluster(parallel=True, scaleStrategy={"maxUnavailable": 1})
    cluster.evict("web-0")
    cluster.evict("web-2")
    runs = cluster.settle()
    assert made_by(runs) == ["web-0", "web-2"]


def test_condemned_pods_go_whatever_may_be_unavailable(settled_cluster):
    cluster = settled_cluster(replicas=4, parallel=True, scaleStrategy={"maxUnavailable": 1})
    cluster.edit(replicas=1)
    assert cluster.run().deleted == ["web-3", "web-2", "web-1"]


def test_an_invalid_percentage_is_an_error_and_nothing_is_done(new_cluster):
    cluster = new_cluster(parallel=True, scaleStrategy={"maxUnavailable": "many"})
    ran = cluster.run()
    assert (ran.made, ran.error.code) == ([], 422)
    assert cluster.status["replicas"] == 0


# -- whose pods they are -----------------------------------------------------------------------------------------------


def orphan(template, name, **labels):
    return {"metadata": {"name": name, "labels": {"app": "web"} | labels}, "spec": template()["spec"], "status": {}}


def test_an_orphan_of_an_ordinal_is_adopted(new_cluster, template):
    cluster = new_cluster(replicas=1, rolling={"partition": 1})
    cluster.server.store(POD, orphan(template, "web-0"))
    runs = cluster.settle()
    assert made_by(runs) == []
    [owner] = cluster.pod("web-0")["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["uid"]) == ("apps.kruise.io/v1beta1", "StatefulSet", "uid-1")


def test_an_orphan_of_another_name_stays_one(new_cluster, template):
    cluster = new_cluster(replicas=1)
    cluster.server.store(POD, orphan(template, "web-x"))
    cluster.server.store(POD, orphan(template, "other-1"))
    cluster.settle()
    assert not any(cluster.pod(name)["metadata"].get("ownerReferences") for name in ("web-x", "other-1"))


def test_a_pod_that_loses_its_label_is_let_go_and_its_name_is_in_the_way(settled_cluster):
    cluster = settled_cluster(replicas=1)
    cluster.mark("web-0", labels={"app": "other"})
    ran = cluster.run()
    assert cluster.pod("web-0")["metadata"]["ownerReferences"] == []
    assert (ran.made, ran.error.reason, ran.events) == (["web-0"], "AlreadyExists", [])


def test_a_pod_gets_its_label_back(settled_cluster):
    cluster = settled_cluster(replicas=1)
    cluster.mark("web-0", labels={"statefulset.kubernetes.io/pod-name": None})
    ran = cluster.run()
    assert cluster.pod("web-0")["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert ran.events == ["Normal SuccessfulUpdate: update Pod web-0 in StatefulSet web successful"]


# -- the pods that are made, and the events ----------------------------------------------------------------------------


def test_a_new_pod_has_its_identity_and_a_lifecycle(settled_cluster):
    pod = settled_cluster(replicas=1).pod("web-0")
    labels = pod["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert labels["apps.kubernetes.io/pod-index"] == "0"
    assert labels["lifecycle.apps.kruise.io/state"] == "Normal"
    assert pod["metadata"]["annotations"]["lifecycle.apps.kruise.io/timestamp"] == "2027-01-15T08:00:00Z"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "headless")


def refuse(verb, why="no"):
    def refuse(request):
        return ApiError(422, "Invalid", why) if isinstance(request, verb) and request.kind is POD else None

    return refuse


def test_a_pod_that_cannot_be_made_is_reported_by_an_event_and_a_condition(new_cluster):
    cluster = new_cluster()
    cluster.server.refuse = refuse(Create)
    ran = cluster.run()
    assert ran.events == ["Warning FailedCreate: create Pod web-0 in StatefulSet web failed error: no"]
    [condition] = cluster.status["conditions"]
    assert (condition["type"], condition["status"]) == ("FailedCreatePod", "True")
    assert condition["message"] == "StatefulPodControl failed to create Pod error: no"
    cluster.tick(5)
    cluster.server.refuse = refuse(Create, "never")
    cluster.run()
    [later] = cluster.status["conditions"]
    assert later["message"] == "StatefulPodControl failed to create Pod error: never"
    assert later["lastTransitionTime"] == condition["lastTransitionTime"]
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert (cluster.ordinals, cluster.status.get("conditions")) == ([0, 1, 2], None)


def test_a_pod_that_cannot_be_deleted_is_reported_twice(settled_cluster):
    cluster = settled_cluster(replicas=1)
    cluster.server.refuse = refuse(Delete)
    cluster.edit(replicas=0)
    ran = cluster.run()
    assert ran.events == [
        "Warning FailedDelete: delete Pod web-0 in StatefulSet web failed error: no",
        "Warning FailedDelete: failed to delete pod web-0: no",
    ]
    assert ran.error.code == 422
