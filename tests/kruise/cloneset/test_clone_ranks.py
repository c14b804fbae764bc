"""Which pods of a CloneSet go first, are updated first, and how crowded they are where they run."""

from math import log
from typing import Any

import pytest

from controller_manager.kruise.cloneset.pods import instance_ids
from controller_manager.kruise.cloneset.ranks import in_deletion_order, in_update_order, node_ranks, spread_ranks
from controller_manager.kruise.cloneset.rolling import Diff, diff_of, limit_ready, pods_to_delete, pods_to_update
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.reconcile.kinds import NODE
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0


def a_pod(name, node="node-1", *, phase="Running", ready=60.0, age=100.0, restarts=0, cost=None):
    """A pod that is ready since so many seconds, None where it is not."""
    condition = {"type": "Ready", "status": "False" if ready is None else "True"}
    if ready:
        condition["lastTransitionTime"] = format_time(NOW - ready)
    annotations = {"controller.kubernetes.io/pod-deletion-cost": str(cost)} if cost is not None else {}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {},
            "annotations": annotations,
            "creationTimestamp": format_time(NOW - age),
        },
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "conditions": [condition], "containerStatuses": [{"restartCount": restarts}]},
    }


def a_member(name="p", *, updated=False, leaving=False, up=True, available=True, **of_the_pod):
    pod = a_pod(name, **(({} if up else {"ready": None}) | of_the_pod))
    return Member(pod, updated, leaving, up, up and available)


def members(number, prefix, **more):
    return [a_member(f"{prefix}{each}", **more) for each in range(number)]


def names(members_of_node):
    return [each.name for each in members_of_node]


def a_strategy(replicas, **more):
    known: dict[str, Any] = {
        "partition": 0,
        "max_unavailable": 1,
        "max_surge": 0,
        "scale_max_unavailable": 2**31 - 1,
        "paused": False,
        "on_delete": False,
        "policy": "ReCreate",
        "grace": 0,
        "minimum": 0,
        "reuses_claims": False,
        "named": frozenset(),
    }
    return Strategy(replicas, **(known | more))


# -- orders ------------------------------------------------------------------------------------------------------------

FIRST_AND_SECOND = [
    pytest.param({"node": ""}, {"phase": "Pending", "ready": None}, id="without a node"),
    pytest.param({"phase": "Pending"}, {"phase": "Unknown"}, id="pending"),
    pytest.param({"phase": "Unknown"}, {"phase": "Running"}, id="unknown"),
    pytest.param({"ready": None}, {}, id="not ready"),
    pytest.param({"ready": 0.0}, {"ready": 1.0}, id="ready at no time"),
    pytest.param({"ready": 10.0}, {"ready": 20.0}, id="ready lately"),
    pytest.param({"restarts": 3}, {"restarts": 2}, id="restarted often"),
    pytest.param({"age": 10.0}, {"age": 20.0}, id="young"),
]


@pytest.mark.parametrize(("first", "second"), FIRST_AND_SECOND)
def test_pods_are_updated_and_go_in_the_order_of_what_they_are_worth(first, second):
    both = [a_member("a", **second), a_member("b", **first)]
    assert names(in_update_order(both)) == names(in_deletion_order(both, {})) == ["b", "a"]


def test_pods_that_are_alike_are_told_apart_by_their_names():
    assert names(in_update_order([a_member("b"), a_member("a")])) == ["a", "b"]


def test_what_is_not_available_goes_first_whatever_it_costs():
    both = [a_member("a", cost=-5), a_member("b", available=False, cost=100)]
    assert names(in_deletion_order(both, {})) == ["b", "a"]


def test_what_costs_less_goes_first_whatever_its_node_holds():
    both = [a_member("a"), a_member("b", cost=-5)]
    assert names(in_deletion_order(both, {"uid-a": 9.0})) == ["b", "a"]


def test_what_stands_in_a_crowd_goes_first_whatever_its_age():
    both = [a_member("a", ready=1.0), a_member("b", ready=90.0)]
    assert names(in_deletion_order(both, {"uid-b": 1.0})) == ["b", "a"]


# -- crowds ------------------------------------------------------------------------------------------------------------


def test_all_of_a_node_but_the_last_to_go_are_a_crowd():
    three = [a_member("a", ready=10.0), a_member("b", ready=30.0), a_member("c", ready=20.0), a_member("d", node="n-2")]
    three.append(a_member("e", node=""))
    assert node_ranks(three) == {"uid-a": 2.0, "uid-c": 1.0}


def test_a_zone_with_more_pods_loses_one_first():
    nodes = {f"n-{number}": {"zone": zone} for number, zone in enumerate("aaab")}
    four = [a_member(f"p{number}", node=f"n-{number}") for number in range(4)]
    ranks = spread_ranks(four, ["zone"], nodes)
    weight = log(4)
    assert ranks == {
        "uid-p0": pytest.approx(3 * weight),
        "uid-p1": pytest.approx(2 * weight),
        "uid-p2": pytest.approx(weight),
        "uid-p3": pytest.approx(weight),
    }
    assert names(in_deletion_order(four, ranks))[0] == "p0"


def test_several_domains_add_up_and_unknown_ones_count_nothing():
    nodes = {"n-1": {"kubernetes.io/hostname": "n-1", "zone": "a"}, "n-2": {"zone": "a"}}
    three = [a_member("a", node="n-1"), a_member("b", node="n-2"), a_member("c", node="n-3")]
    ranks = spread_ranks(three, ["zone", "kubernetes.io/hostname"], nodes)
    assert ranks == {
        "uid-a": pytest.approx(2 * log(3) + log(3)),
        "uid-b": pytest.approx(log(3)),
    }


def test_a_template_that_spreads_pods_has_them_deleted_where_they_crowd(settled_cluster, template):
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    cluster = settled_cluster(replicas=6, template=template(topologySpreadConstraints=[constraint]))
    for name, zone in (("node-1", "a"), ("node-2", "a"), ("node-3", "b")):
        cluster.server.store(NODE, {"metadata": {"name": name, "namespace": "", "labels": {"zone": zone}}})
    cluster.deliver_all()
    where = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.pods}
    cluster.edit(replicas=4)
    gone = [where[name] for ran in cluster.settle() for name in ran.deleted]
    assert len(gone) == 2
    assert "node-3" not in gone


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "strategy", "diff"),
    [
        ([], a_strategy(3), Diff(create=3, create_limit=3)),
        (members(3, "n", updated=True), a_strategy(3), Diff()),
        ([], a_strategy(5, partition=2), Diff(create=5, create_limit=5, create_old=2)),
        (members(2, "o"), a_strategy(5, partition=1), Diff(create=3, create_limit=3, update=1, update_limit=-2)),
        (members(5, "o"), a_strategy(5), Diff(update=5, update_limit=1)),
        (members(5, "o"), a_strategy(5, partition=4), Diff(update=1, update_limit=1)),
        (
            members(3, "o") + members(4, "n", updated=True),
            a_strategy(5),
            Diff(delete=2, delete_old=3, delete_ready_limit=3, update=1, update_limit=3),
        ),
        (members(5, "n", updated=True), a_strategy(3), Diff(delete=2, delete_ready_limit=3)),
        (members(5, "n", updated=True, up=False), a_strategy(3), Diff(delete=2)),
        (
            members(2, "n", updated=True, up=False),
            a_strategy(6, scale_max_unavailable=3),
            Diff(create=4, create_limit=1),
        ),
        (
            members(4, "o", up=False),
            a_strategy(6, scale_max_unavailable=3),
            Diff(create=2, create_limit=0, update=4, update_limit=-1),
        ),
        (
            [*members(3, "n", updated=True), a_member("x", updated=True, leaving=True)],
            a_strategy(4),
            Diff(delete_ready_limit=1),
        ),
        (members(4, "o"), a_strategy(4, max_unavailable=0, max_surge=2), Diff(create=2, create_limit=2, update=4)),
        (
            [*members(3, "o"), a_member("x", leaving=True)],
            a_strategy(4, partition=4, max_unavailable=0, max_surge=2),
            Diff(create=1, create_limit=1, create_old=1),
        ),
        (
            [*members(3, "n", updated=True), a_member("x", updated=True, leaving=True)],
            a_strategy(4, max_unavailable=0, max_surge=2),
            Diff(create=1, create_limit=1),
        ),
        (
            [*members(6, "o"), a_member("x", leaving=True)],
            a_strategy(7, max_unavailable=1, max_surge=3),
            Diff(create=3, create_limit=3, delete_ready_limit=1, update=7, update_limit=1),
        ),
    ],
)
def test_what_there_is_to_do_follows_from_what_there_is(pods, strategy, diff):
    assert diff_of(pods, strategy) == diff


@pytest.mark.parametrize(
    ("delete", "delete_old", "limit", "gone"),
    [
        (2, 2, 9, ["o0", "o1"]),
        (3, 1, 9, ["o0", "n0", "n1"]),
        (2, 0, 9, ["n0", "n1"]),
        (3, 9, 9, ["o0", "o1", "o2"]),
        (2, 0, 1, ["n0"]),
        (2, 0, 0, []),
    ],
)
def test_older_pods_go_before_newer_ones_and_ready_ones_within_a_limit(delete, delete_old, limit, gone):
    all_members = members(3, "o") + members(3, "n", updated=True)
    diff = Diff(delete=delete, delete_old=delete_old, delete_ready_limit=limit)
    assert names(pods_to_delete(all_members, diff, lambda _: {})) == gone


def test_pods_that_are_not_ready_may_always_be_deleted():
    all_members = [a_member("a"), a_member("b", up=False), a_member("c"), a_member("d")]
    assert names(limit_ready(all_members, 2)) == ["a", "b", "c"]
    assert names(limit_ready(all_members, 0)) == ["b"]


@pytest.mark.parametrize(
    ("old", "old_down", "new", "new_down", "limit", "chosen"),
    [
        (10, 0, 0, 0, 2, 2),
        (7, 3, 0, 0, 2, 2),  # C9
        (8, 0, 0, 2, 2, 0),
        (8, 0, 1, 1, 2, 1),
        (7, 1, 1, 1, 2, 1),
        (5, 1, 4, 0, 2, 2),
        (5, 0, 5, 0, 0, 0),
    ],
)
def test_no_more_pods_are_under_way_than_may_be_unavailable(old, old_down, new, new_down, limit, chosen):
    all_members = [
        *members(old, "a"),
        *members(old_down, "b", up=False),
        *members(new, "c", updated=True),
        *members(new_down, "d", updated=True, up=False),
    ]
    taken = pods_to_update(all_members, Diff(update=old + old_down, update_limit=limit))
    assert len(taken) == chosen
    broken = [each for each in taken if not each.available]
    assert len(broken) == min(old_down, chosen)


def test_no_more_pods_are_updated_than_the_partition_lets_go():
    assert len(pods_to_update(members(5, "o"), Diff(update=2, update_limit=5))) == 2


# -- ids ---------------------------------------------------------------------------------------------------------------


def test_ids_are_of_five_letters_and_no_two_are_the_same():
    ids = instance_ids(500, taken=(), free=(), seed="x")
    assert len(set(ids)) == 500
    assert {len(each) for each in ids} == {5}
    assert set("".join(ids)) == set("bcdfghjklmnpqrstvwxz2456789")


def test_ids_that_wait_for_a_pod_come_first_and_taken_ones_never():
    one, two = instance_ids(2, taken=(), free=(), seed="x")
    assert set(instance_ids(3, taken={one, two}, free={"aaaaa"}, seed="x")) > {"aaaaa"}
    assert not {one, two} & set(instance_ids(3, taken={one, two}, free={"aaaaa"}, seed="x"))
    assert instance_ids(1, taken=(), free={"bbbbb", "aaaaa"}, seed="x") == ["aaaaa"]


def test_another_time_makes_other_ids():
    assert not set(instance_ids(5, taken=(), free=(), seed="x/1")) & set(instance_ids(5, taken=(), free=(), seed="x/2"))
