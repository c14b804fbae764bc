"""Rows A3 to A6, and those of a StatefulSet: which pods are updated or given up, how many at a time."""

import pytest


def given_up(runs):
    """The pods that were deleted, run by run."""
    return [ran.deleted for ran in runs if ran.deleted]


def updated(settled_cluster, template, **spec):
    """A set whose template has just changed."""
    cluster = settled_cluster(**spec)
    cluster.edit(template=template("web:2"))
    return cluster


# -- how many at a time ------------------------------------------------------------------------------------------------


def test_an_update_goes_one_by_one_from_the_highest_ordinal_down(settled_cluster, template):
    cluster = updated(settled_cluster, template)
    assert given_up(cluster.settle()) == [["web-2"], ["web-1"], ["web-0"]]
    assert set(cluster.images.values()) == {"web:2"}
    assert cluster.run().quiet


def test_a3_as_many_go_together_as_may_be_unavailable(settled_cluster, template):
    cluster = updated(settled_cluster, template, parallel=True, replicas=5, rolling={"maxUnavailable": 2})
    assert cluster.run().deleted == ["web-4", "web-3"]
    most = 2
    for _ in range(100):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            break
        most = max(most, 5 - len(cluster.ordinals) + len(cluster.down))
    assert (most, set(cluster.images.values())) == (2, {"web:2"})


@pytest.mark.parametrize(
    ("budget", "first"), [("40%", 2), ("39%", 1), ("10%", 1), (0, 1), ("100%", 5), (9, 5), (None, 1)]
)
def test_it_is_a_number_or_a_share_rounded_down_and_one_at_least(settled_cluster, template, budget, first):
    cluster = updated(settled_cluster, template, parallel=True, replicas=5, rolling={"maxUnavailable": budget})
    assert len(cluster.run().deleted) == first


def test_an_invalid_percentage_is_an_error_and_no_event(settled_cluster, template):
    cluster = settled_cluster()
    cluster.rolling(maxUnavailable="many")
    ran = cluster.run()
    assert (ran.deleted, ran.events, ran.error.code) == ([], [], 422)
    assert "not a percentage" in ran.error.message
    assert cluster.status["observedGeneration"] == 2


def test_an_update_waits_for_min_ready_seconds(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=2, rolling={"minReadySeconds": 10})
    cluster.settle()
    assert (cluster.images, cluster.down) == ({0: "web:1", 1: "web:2"}, [1])
    cluster.tick(10)
    assert cluster.run().deleted == ["web-0"]


def test_more_than_five_minutes_are_not_waited_for(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=2, rolling={"minReadySeconds": 900})
    cluster.settle()
    cluster.tick(300)
    assert cluster.run().deleted == ["web-0"]


def test_a_pod_that_somebody_deletes_costs_budget(settled_cluster, template):
    cluster = updated(settled_cluster, template, parallel=True, replicas=5, rolling={"maxUnavailable": 2})
    cluster.terminate("web-0")
    assert cluster.run().deleted == ["web-4"]


def test_pods_that_do_not_exist_yet_cost_budget(settled_cluster, template):
    cluster = settled_cluster(parallel=True, replicas=3, rolling={"maxUnavailable": 2})
    cluster.edit(replicas=5, template=template("web:2"))
    assert (cluster.run().made, cluster.run().deleted) == (["web-3", "web-4"], [])
    cluster.settle()
    assert set(cluster.images.values()) == {"web:2"}


# -- what is broken ----------------------------------------------------------------------------------------------------


def test_a6_a_broken_old_pod_above_a_healthy_one_is_replaced_without_budget(settled_cluster, template):
    cluster = settled_cluster(parallel=True, replicas=5, rolling={"maxUnavailable": 1})
    cluster.take_down("web-0", "web-3", "web-4")
    cluster.edit(template=template("web:2"))
    assert given_up(cluster.settle()) == [["web-4", "web-3"]]
    assert cluster.images == {0: "web:1", 1: "web:1", 2: "web:1", 3: "web:2", 4: "web:2"}


def test_a_broken_pod_below_a_healthy_one_is_not_reached_while_there_is_no_budget(settled_cluster, template):
    cluster = settled_cluster(parallel=True, replicas=3, rolling={"maxUnavailable": 1})
    cluster.take_down("web-0")
    cluster.edit(template=template("web:2"))
    assert given_up(cluster.settle()) == []


def test_a_broken_pod_of_the_update_revision_stops_the_update(settled_cluster, template):
    cluster = settled_cluster(parallel=True, replicas=5, rolling={"maxUnavailable": 2})
    cluster.edit(template=template("fail.mockube.io/web:2"))
    cluster.settle()
    assert cluster.images == {
        0: "web:1",
        1: "web:1",
        2: "web:1",
        3: "fail.mockube.io/web:2",
        4: "fail.mockube.io/web:2",
    }
    cluster.edit(template=template("web:3"))
    cluster.settle()
    assert cluster.images == dict.fromkeys(range(5), "web:3")


def test_in_order_a_bad_image_stops_everything_until_the_pod_is_deleted_by_hand(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("fail.mockube.io/web:2"))
    cluster.settle()
    cluster.edit(template=template("web:1"))
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:1", 2: "fail.mockube.io/web:2"}
    cluster.terminate("web-2")
    cluster.settle()
    assert cluster.images == dict.fromkeys(range(3), "web:1")


def test_an_old_pod_that_failed_is_deleted_once(settled_cluster, template):
    cluster = updated(settled_cluster, template, parallel=True)
    cluster.evict("web-2")
    assert cluster.run().deleted == ["web-2"]


# -- what holds an update back -----------------------------------------------------------------------------------------


def test_a4_while_it_is_paused_nothing_is_updated_and_scaling_goes_on(settled_cluster, template):
    cluster = updated(settled_cluster, template, parallel=True, rolling={"paused": True, "maxUnavailable": 3})
    assert given_up(cluster.settle()) == []
    cluster.edit(replicas=4)
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:1", 2: "web:1", 3: "web:2"}
    cluster.rolling(paused=False)
    cluster.settle()
    assert set(cluster.images.values()) == {"web:2"}


def test_a_partition_is_how_many_of_the_usable_ordinals_stay(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=4, reserveOrdinals=[0, 2], rolling={"partition": 2})
    before = cluster.status["currentRevision"]
    cluster.settle()
    assert cluster.images == {1: "web:1", 3: "web:1", 4: "web:2", 5: "web:2"}
    assert cluster.status["currentRevision"] == before != cluster.status["updateRevision"]
    assert (cluster.status["currentReplicas"], cluster.status["updatedReplicas"]) == (2, 2)


def test_a_pod_comes_back_at_the_revision_of_its_side_of_the_partition(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=4, reserveOrdinals=[0, 2], rolling={"partition": 2})
    cluster.settle()
    cluster.terminate("web-3")
    cluster.terminate("web-4")
    cluster.settle()
    assert cluster.images == {1: "web:1", 3: "web:1", 4: "web:2", 5: "web:2"}


def test_an_ordinal_that_is_reserved_moves_the_partition(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=3, rolling={"partition": 1})
    cluster.settle()
    cluster.edit(reserveOrdinals=[0])
    cluster.settle()
    assert cluster.images == {1: "web:2", 2: "web:2", 3: "web:2"}


def test_a_partition_of_all_updates_nothing_and_new_pods_below_it_are_old(settled_cluster, template):
    cluster = updated(settled_cluster, template, replicas=2, rolling={"partition": 3})
    assert given_up(cluster.settle()) == []
    cluster.edit(replicas=4)
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:1", 2: "web:1", 3: "web:2"}


def test_under_on_delete_pods_are_updated_when_somebody_deletes_them(settled_cluster, template):
    on_delete = {"type": "OnDelete", "rollingUpdate": {"partition": 2, "podUpdatePolicy": "InPlaceIfPossible"}}
    cluster = updated(settled_cluster, template, updateStrategy=on_delete)
    assert given_up(cluster.settle()) == []
    cluster.terminate("web-1")
    cluster.settle()
    assert cluster.images == {0: "web:1", 1: "web:2", 2: "web:1"}


def test_a_scale_up_and_a_new_template_at_once_scale_first(settled_cluster, template):
    cluster = settled_cluster(replicas=2)
    cluster.edit(replicas=4, template=template("web:2"))
    runs = cluster.settle()
    deeds = [("+" if ran.made else "-", *(ran.made or ran.deleted)) for ran in runs if ran.made or ran.deleted]
    assert deeds[:3] == [("+", "web-2"), ("+", "web-3"), ("-", "web-1")]
    assert set(cluster.images.values()) == {"web:2"}


def test_a_set_without_a_strategy_updates_as_if_it_had_the_defaults(settled_cluster, template):
    cluster = settled_cluster(updateStrategy={})
    cluster.edit(template=template("web:2"))
    assert given_up(cluster.settle()) == [["web-2"], ["web-1"], ["web-0"]]


# -- pods that somebody wants to go ------------------------------------------------------------------------------------


def test_a5_of_two_labelled_pods_one_goes_and_then_the_other(settled_cluster):
    cluster = settled_cluster(replicas=5, parallel=True)
    for name in ("web-1", "web-3"):
        cluster.give_up(name)
    uids = {name: cluster.pod(name)["metadata"]["uid"] for name in ("web-1", "web-3")}
    assert given_up(cluster.settle()) == [["web-3"], ["web-1"]]
    assert cluster.ordinals == [0, 1, 2, 3, 4]
    assert all(cluster.pod(name)["metadata"]["uid"] != uid for name, uid in uids.items())
    assert cluster.run().quiet


def test_a_labelled_pod_is_asked_to_go_once(settled_cluster):
    cluster = settled_cluster()
    cluster.give_up("web-1")
    ran = cluster.run()
    assert ran.events == ["Normal SuccessfulDelete: delete Pod web-1 in StatefulSet web successful"]
    assert (cluster.run().deleted, cluster.run().quiet) == ([], True)


def test_a_labelled_pod_that_is_broken_goes_though_there_is_no_budget_and_a_healthy_one_does_not(settled_cluster):
    cluster = settled_cluster(replicas=5, parallel=True, rolling={"maxUnavailable": 1})
    cluster.take_down("web-1")
    for name in ("web-1", "web-3"):
        cluster.give_up(name)
    assert given_up(cluster.settle()) == [["web-1"], ["web-3"]]


def test_a_labelled_pod_goes_before_an_outdated_one_and_takes_its_budget(settled_cluster, template):
    cluster = settled_cluster(replicas=3, parallel=True, rolling={"partition": 1})
    cluster.give_up("web-0")
    cluster.edit(template=template("web:2"))
    assert given_up(cluster.settle()) == [["web-0"], ["web-2"], ["web-1"]]
    assert cluster.images == {0: "web:1", 1: "web:2", 2: "web:2"}


def test_a_labelled_pod_waits_while_updates_are_paused(settled_cluster):
    cluster = settled_cluster(rolling={"paused": True})
    cluster.give_up("web-1")
    assert given_up(cluster.settle()) == []
    cluster.rolling(paused=False)
    assert given_up(cluster.settle()) == [["web-1"]]


def test_pods_that_go_are_counted_no_more(settled_cluster):
    cluster = settled_cluster(replicas=2, parallel=True, rolling={"partition": 1, "maxUnavailable": 2})
    cluster.edit(template=cluster.set["spec"]["template"] | {"metadata": {"labels": {"app": "web", "tier": "b"}}})
    cluster.settle()
    cluster.give_up("web-0")
    cluster.give_up("web-1")
    assert cluster.run().deleted == ["web-1", "web-0"]
    assert (cluster.status["currentReplicas"], cluster.status["updatedReplicas"]) == (0, 0)
