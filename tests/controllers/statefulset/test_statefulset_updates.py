"""Rows S7 to S14, S25, S27 to S29, S34, S35: rolling updates, their partitions and budgets."""

from dataclasses import replace

import pytest

from controller_manager.reconcile.profile import NEWEST, PROFILES

PARALLEL = {"podManagementPolicy": "Parallel"}


def rolling(**fields):
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": 0} | fields}


def test_an_update_goes_one_by_one_from_the_highest_ordinal_down(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("v2"))

    deleted = [name for ran in cluster.settle() for name in ran.deleted]

    assert deleted == ["web-2", "web-1", "web-0"]
    assert set(cluster.images().values()) == {"v2"}
    assert (
        cluster.status["currentRevision"]
        == cluster.status["updateRevision"]
        == cluster.revisions[-1]["metadata"]["name"]
    )


def test_an_update_waits_until_the_new_pod_is_ready(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-2"]
    assert (cluster.status["currentReplicas"], cluster.status.get("updatedReplicas")) == (2, None)
    assert cluster.run().quiet
    cluster.gone("web-2")
    assert cluster.run().made == ["web-2"]
    assert cluster.run().deleted == []
    cluster.ready("web-2")
    assert cluster.run().deleted == ["web-1"]
    assert (cluster.status["currentReplicas"], cluster.status["updatedReplicas"]) == (1, 1)


def test_s7_a_partition_updates_only_what_is_at_or_above_it(settled_cluster, template):
    cluster = settled_cluster(updateStrategy=rolling(partition=2))
    before = cluster.status["currentRevision"]
    cluster.edit(template=template("v2"))

    cluster.settle()

    assert cluster.images() == {"web-0": "v1", "web-1": "v1", "web-2": "v2"}
    assert cluster.status["currentRevision"] == before != cluster.status["updateRevision"]
    assert (cluster.status["currentReplicas"], cluster.status["updatedReplicas"]) == (2, 1)


def test_s8_a_deleted_pod_comes_back_at_the_revision_of_its_side_of_the_partition(settled_cluster, template):
    cluster = settled_cluster(updateStrategy=rolling(partition=2))
    cluster.edit(template=template("v2"))
    cluster.settle()
    cluster.terminate("web-0", "web-2")

    cluster.settle()

    assert cluster.images() == {"web-0": "v1", "web-1": "v1", "web-2": "v2"}


def test_s9_a_partition_of_all_updates_nothing_and_new_pods_below_it_are_old(settled_cluster, template):
    cluster = settled_cluster(updateStrategy=rolling(partition=5))
    cluster.edit(template=template("v2"))
    cluster.settle()
    assert set(cluster.images().values()) == {"v1"}

    cluster.edit(replicas=6)
    cluster.settle()

    assert cluster.images() == dict.fromkeys([f"web-{n}" for n in range(5)], "v1") | {"web-5": "v2"}


def test_s10_a_partition_lowered_in_phases(settled_cluster, template):
    cluster = settled_cluster(updateStrategy=rolling(partition=3))
    cluster.edit(template=template("v2"))
    cluster.settle()
    order = []
    for partition in (1, 0):
        assert cluster.status["currentRevision"] != cluster.status["updateRevision"]
        cluster.edit(updateStrategy=rolling(partition=partition))
        order.append([name for ran in cluster.settle() for name in ran.deleted])

    assert order == [["web-2", "web-1"], ["web-0"]]
    assert cluster.status["currentRevision"] == cluster.status["updateRevision"]


def test_s11_on_delete_waits_for_a_person(settled_cluster, template):
    cluster = settled_cluster(updateStrategy={"type": "OnDelete"})
    before = cluster.status["currentRevision"]
    cluster.edit(template=template("v2"))
    assert [name for ran in cluster.settle() for name in ran.deleted] == []

    cluster.terminate("web-1")
    cluster.settle()

    assert cluster.images() == {"web-0": "v1", "web-1": "v2", "web-2": "v1"}
    assert cluster.status["currentRevision"] == before


def test_the_partition_counts_whatever_the_strategy(settled_cluster, template):
    cluster = settled_cluster(updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 2}})
    cluster.edit(template=template("v2"))
    cluster.settle()
    cluster.terminate("web-1", "web-2")

    cluster.settle()

    assert cluster.images() == {"web-0": "v1", "web-1": "v1", "web-2": "v2"}


def test_without_a_rolling_update_block_the_lowest_pods_come_back_at_the_current_revision(settled_cluster, template):
    cluster = settled_cluster(updateStrategy={"type": "RollingUpdate"})
    cluster.edit(template=template("v2"))
    assert cluster.run().deleted == ["web-2"]
    cluster.terminate("web-0")
    cluster.gone("web-0", "web-2")

    assert cluster.run().made == ["web-0"]
    assert cluster.images()["web-0"] == "v1"


@pytest.mark.parametrize("profile", [NEWEST, PROFILES["1.30"]])
def test_s12_parallel_updates_one_by_one(settled_cluster, template, profile):
    cluster = settled_cluster(profile=profile, **PARALLEL)
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-2"]
    cluster.gone("web-2")
    assert (ran := cluster.run()).made == ["web-2"]
    assert ran.deleted == cluster.run().deleted == []
    cluster.ready("web-2")
    assert cluster.run().deleted == ["web-1"]


@pytest.mark.parametrize("profile", [NEWEST, PROFILES["1.30"], PROFILES["1.20"]])
def test_s13_ordered_ready_is_stuck_with_a_broken_pod_until_somebody_deletes_it(settled_cluster, template, profile):
    cluster = settled_cluster(profile=profile)
    cluster.edit(template=template("bad"))
    cluster.settle(broken={"bad"})
    assert cluster.images() == {"web-0": "v1", "web-1": "v1", "web-2": "bad"}
    cluster.edit(template=template("v1"))

    assert [name for ran in cluster.settle(broken={"bad"}) for name in ran.deleted] == []
    cluster.terminate("web-2")
    cluster.settle(broken={"bad"})

    assert set(cluster.images().values()) == {"v1"}
    assert cluster.status["readyReplicas"] == 3


@pytest.mark.parametrize("profile", [NEWEST, PROFILES["1.30"], PROFILES["1.20"]])
def test_s14_parallel_replaces_a_broken_pod_of_another_revision(settled_cluster, template, profile):
    cluster = settled_cluster(profile=profile, **PARALLEL)
    cluster.edit(template=template("bad"))
    cluster.settle(broken={"bad"})
    assert cluster.images() == {"web-0": "v1", "web-1": "v1", "web-2": "bad"}
    cluster.edit(template=template("v1"))

    deleted = [name for ran in cluster.settle(broken={"bad"}) for name in ran.deleted]

    assert deleted == ["web-2"]
    assert cluster.status["readyReplicas"] == 3


def test_s25_the_partition_counts_from_the_start(settled_cluster, template):
    cluster = settled_cluster(ordinals={"start": 5}, updateStrategy=rolling(partition=2))
    cluster.edit(template=template("v2"))
    cluster.settle()
    cluster.terminate("web-6", "web-7")
    cluster.settle()

    assert cluster.images() == {"web-5": "v1", "web-6": "v1", "web-7": "v2"}


def test_s27_as_many_go_together_as_may_be_unavailable(settled_cluster, template):
    cluster = settled_cluster(replicas=5, updateStrategy=rolling(maxUnavailable=2))
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-4", "web-3"]
    assert cluster.run().deleted == []
    cluster.gone("web-4", "web-3")
    assert cluster.run().made == ["web-3"]
    cluster.ready("web-3")
    assert (ran := cluster.run()).made == ["web-4"]
    assert ran.deleted == []
    cluster.ready("web-4")
    assert cluster.run().deleted == ["web-2", "web-1"]


def test_s27_parallel_replaces_one_as_soon_as_another_is_ready(settled_cluster, template):
    cluster = settled_cluster(replicas=5, updateStrategy=rolling(maxUnavailable=2), **PARALLEL)
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-4", "web-3"]
    cluster.gone("web-4", "web-3")
    assert cluster.run().made == ["web-3", "web-4"]
    cluster.ready("web-3")
    assert cluster.run().deleted == ["web-2"]


def test_before_1_35_max_unavailable_is_not_heeded(settled_cluster, template):
    cluster = settled_cluster(replicas=5, updateStrategy=rolling(maxUnavailable=2), profile=PROFILES["1.30"])
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-4"]


@pytest.mark.parametrize(("profile", "budget"), [(NEWEST, 600), (NEWEST, "50%"), (PROFILES["1.30"], None)])
def test_pods_whose_turn_to_be_made_has_not_come_are_unavailable(settled_cluster, template, profile, budget):
    cluster = settled_cluster(replicas=3, updateStrategy=rolling(maxUnavailable=budget), profile=profile, **PARALLEL)
    cluster.edit(template=template("v2"), replicas=1500)

    assert [cluster.run().deleted, cluster.run().deleted] == [[], []]


def test_s28_parallel_replaces_broken_old_pods_without_charging_the_budget(settled_cluster, template):
    cluster = settled_cluster(replicas=5, updateStrategy=rolling(maxUnavailable=2), **PARALLEL)
    cluster.unready("web-0", "web-2")
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-2", "web-0"]
    cluster.settle()
    assert set(cluster.images().values()) == {"v2"}


def test_s28_below_the_partition_broken_pods_stay(settled_cluster, template):
    cluster = settled_cluster(replicas=5, updateStrategy=rolling(maxUnavailable=2, partition=1), **PARALLEL)
    cluster.unready("web-0", "web-2")
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-2"]


@pytest.mark.parametrize(
    ("budget", "replicas", "together"),
    [("10%", 5, 1), ("50%", 5, 2), ("100%", 5, 5), (None, 5, 1), (3, 5, 3), ("39%", 5, 1), (9, 5, 5)],
)
def test_s29_percents_are_rounded_down_but_one_may_always_go(settled_cluster, template, budget, replicas, together):
    cluster = settled_cluster(replicas=replicas, updateStrategy=rolling(maxUnavailable=budget))
    cluster.edit(template=template("v2"))

    assert len(cluster.run().deleted) == together


def test_a_budget_that_is_no_number_is_reported(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("v2"), updateStrategy=rolling(maxUnavailable="many"))

    ran = cluster.run()

    assert ran.deleted == []
    assert ran.error.code == 422
    [event] = ran.events
    assert event.startswith("InvalidMaxUnavailable: invalid maxUnavailable: ")
    assert cluster.status["conditions"][0]["reason"] == "FailedUpdate"


def test_s34_scaling_up_comes_before_the_update(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("v2"), replicas=5)
    runs = cluster.settle()

    changes = [change for ran in runs for change in (*ran.made, *(f"-{name}" for name in ran.deleted))]
    assert changes == ["web-3", "web-4", "-web-2", "web-2", "-web-1", "web-1", "-web-0", "web-0"]
    assert set(cluster.images().values()) == {"v2"}


def test_s35_without_replicas_an_update_is_complete_at_once(settled_cluster, template):
    cluster = settled_cluster(replicas=0)
    cluster.edit(template=template("v2"))
    cluster.run()

    assert (
        cluster.status["currentRevision"]
        == cluster.status["updateRevision"]
        == cluster.revisions[-1]["metadata"]["name"]
    )
    assert cluster.status["observedGeneration"] == 2


def test_an_update_waits_for_min_ready_seconds(settled_cluster, template):
    cluster = settled_cluster(replicas=2, minReadySeconds=10)
    cluster.edit(template=template("v2"))
    cluster.run()
    cluster.gone("web-1")
    cluster.run()
    cluster.ready("web-1")

    ran = cluster.run()
    assert (ran.deleted, ran.later) == ([], [10.0])
    cluster.now += 10
    assert cluster.run().deleted == ["web-0"]


def test_a_profile_may_forbid_the_budget_alone(settled_cluster, template):
    cluster = settled_cluster(updateStrategy=rolling(maxUnavailable=2), profile=replace(NEWEST, max_unavailable=False))
    cluster.edit(template=template("v2"))

    assert cluster.run().deleted == ["web-2"]


@pytest.mark.parametrize("profile", ["1.35", "1.30", "1.20"])
def test_an_old_pod_that_failed_is_deleted_once(settled_cluster, template, profile):
    cluster = settled_cluster(profile=PROFILES[profile], **PARALLEL)
    cluster.edit(template=template("v2"))
    cluster.phase("web-2", "Failed")

    ran = cluster.run()

    assert ran.deleted.count("web-2") == 1
    assert sum(event.startswith("SuccessfulDelete") for event in ran.events) == len(ran.deleted)
