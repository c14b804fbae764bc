"""The metrics that controllers record, and their values."""

import pytest

from apiserver.api.errors import forbidden, not_found
from apiserver.api.meta import Obj
from controller_manager.controllers import podgc, tainteviction
from controller_manager.controllers.nodelifecycle.controller import SPEC as NODE_LIFECYCLE
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.controllers.replicaset.controller import age_ratios
from controller_manager.controllers.statefulset.metrics import allowed, unavailable
from controller_manager.reconcile.contract import Delete, Get, Patch
from controller_manager.reconcile.kinds import NODE, POD, REPLICA_SET
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric
from controller_manager.reconcile.node_metrics import EVICTIONS, zone_of
from controller_manager.reconcile.profile import PROFILES
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0


def a_pod(name="p", age=60.0, *, ready=True, node="n1", phase="Running", deleting=False, owner=""):
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": name,
        "creationTimestamp": format_time(NOW - age),
        "resourceVersion": "1",
    }
    meta |= {"labels": {"app": "web"}}
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    if owner:
        meta["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    conditions = [
        {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": format_time(NOW - age)}
    ]
    return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": phase, "conditions": conditions}}


def measured(done, metric):
    """The values of a metric with their labels, as often as they were measured."""
    return [(m.value, m.labels) for m in done.of(RecordMetric) if m.metric.name == metric.name for _ in range(m.times)]


@pytest.mark.parametrize(
    ("pods", "number", "ratios"),
    [
        ([a_pod(age=100), a_pod(age=250)], 1, [1]),
        ([a_pod(age=250), a_pod(age=100)], 1, [2]),  # whole times, as upstream divides
        ([a_pod(age=250), a_pod(age=100)], 2, [2, 1]),
        ([a_pod(age=5, ready=False), a_pod(age=90), a_pod(age=30)], 2, [3]),  # pods that are not ready do not count
        ([a_pod(age=0), a_pod(age=30)], 1, []),
        ([a_pod(ready=False)], 1, []),
        ([], 0, []),
    ],
)
def test_pods_that_go_are_so_many_times_older_than_the_youngest(pods, number, ratios):
    assert list(age_ratios(pods, number, NOW)) == ratios


@pytest.mark.parametrize(
    ("replicas", "release", "ratios"), [(1, "1.35", [(1, ()), (1, ())]), (0, "1.35", []), (1, "1.20", [])]
)
def test_a_scale_down_that_leaves_some_pods_measures_their_ages(reconcile, replicas, release, ratios):
    selector = {"matchLabels": {"app": "web"}}
    owner: Obj = {"metadata": {"name": "web", "namespace": "ns", "uid": "web", "resourceVersion": "1"}}
    owner |= {"spec": {"replicas": replicas, "selector": selector, "template": {}}, "status": {"replicas": 3}}
    objects = {REPLICA_SET: [owner], POD: [a_pod(name, owner="web") for name in "abc"]}
    done = reconcile(replicaset.SPEC, "ns/web", objects, profile=PROFILES[release])
    kept = [
        m
        for m in measured(done, replicaset.DELETION_AGE_RATIO)
        if replicaset.DELETION_AGE_RATIO.is_in(PROFILES[release])
    ]
    assert kept == ratios


def a_set(replicas=4, available=4, **strategy):
    return {"spec": {"replicas": replicas, "updateStrategy": strategy}, "status": {"availableReplicas": available}}


@pytest.mark.parametrize(
    ("parent", "may", "are"),
    [
        (a_set(), 1, 0),
        (a_set(available=1), 1, 3),
        (a_set(available=5), 1, 0),
        (a_set(rollingUpdate={"maxUnavailable": 3}), 3, 0),
        (a_set(rollingUpdate={"maxUnavailable": "50%"}), 2, 0),
        (a_set(rollingUpdate={"maxUnavailable": "10%"}), 1, 0),
        (a_set(rollingUpdate={"maxUnavailable": "odd"}), None, 0),
        ({"spec": {}}, 1, 1),
    ],
)
def test_a_stateful_set_tells_how_many_pods_may_be_and_are_unavailable(parent, may, are):
    assert (allowed(parent), unavailable(parent)) == (may, are)


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (a_pod(node="", deleting=True), "unscheduled"),
        (a_pod(deleting=True), "out-of-service"),
        (a_pod(phase="Failed"), "terminated"),
    ],
)
@pytest.mark.parametrize("error", [None, forbidden("", "pods", name="p", why="no"), not_found("", "pods", "p")])
def test_pods_that_are_cleared_away_are_counted_by_why(reconcile, make_world, pod, reason, error):
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    node = {"metadata": {"name": "n1"}, "spec": {"taints": [taint]}, "status": {}}
    objects = {POD: [pod, a_pod("old", age=1, phase="Failed")], NODE: [node]}
    settings = type("Settings", (), {"terminated_pod_gc_threshold": 1})
    world = make_world(podgc.SPEC, objects, settings=settings)
    done = reconcile(podgc.SPEC, podgc.SWEEP_KEY, world, lambda request: error if isinstance(request, Delete) else {})
    assert measured(done, podgc.FORCED_DELETIONS) == [(1, ("ns", reason))]
    assert measured(done, podgc.FAILED_DELETIONS) == ([(1, ("ns", reason))] if error else [])


def test_pods_of_a_node_that_is_gone_are_orphaned(reconcile):
    def answer(request):
        return not_found("", "nodes", "n1") if isinstance(request, Get) else {}

    done = reconcile(podgc.SPEC, "n1", {POD: [a_pod(), a_pod("q")]}, answer)
    assert measured(done, podgc.FORCED_DELETIONS) == [(1, ("ns", "orphaned"))] * 2


def a_node(*, taints=(), ready="Unknown", **labels):
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": format_time(NOW)}]
    meta = {"name": "n1", "labels": labels, "resourceVersion": "1", "creationTimestamp": format_time(NOW)}
    return {"metadata": meta, "spec": {"taints": list(taints)}, "status": {"conditions": conditions}}


def test_a_node_whose_pods_are_to_go_is_counted_once(reconcile):
    other = a_node(ready="True")
    other["metadata"]["name"] = "n2"
    node = a_node(**{"topology.kubernetes.io/zone": "a"})
    done = reconcile(NODE_LIFECYCLE, "n1", {NODE: [node, other]}, lambda _: {})
    assert measured(done, EVICTIONS) == [(1, ("::a",))]
    (patch,) = done.of(Patch)
    tainted = a_node(taints=patch.body["spec"]["taints"])
    assert measured(reconcile(NODE_LIFECYCLE, "n1", {NODE: [tainted, other]}, lambda _: {}), EVICTIONS) == []


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": "eu-1"}, "eu::eu-1"),
        ({"topology.kubernetes.io/zone": "x"}, "::x"),
        ({"failure-domain.beta.kubernetes.io/zone": "old", "topology.kubernetes.io/zone": "new"}, "::old"),
    ],
)
def test_a_zone_is_named_by_its_region_too(labels, zone):
    assert zone_of(a_node(**labels)) == zone


@pytest.mark.parametrize(("error", "times"), [(None, 1), (not_found("", "pods", "p"), 0)])
def test_pods_that_are_thrown_out_are_counted_with_how_late_that_was(reconcile, error, times):
    taint = {"key": "example.com/out", "effect": "NoExecute", "timeAdded": format_time(NOW - 5)}
    objects = {POD: [a_pod()], NODE: [a_node(taints=[taint])]}
    done = reconcile(tainteviction.SPEC, "ns/p", objects, lambda _: error or {})
    assert [m.metric for m in done.of(RecordMetric)] == [tainteviction.DELETIONS, tainteviction.LATENCY][: 2 * times]
    assert all(m.elapsed == (m.metric is tainteviction.LATENCY) for m in done.of(RecordMetric))


@pytest.mark.parametrize(
    ("feature", "release", "there"), [("", "1.20", True), ("ordinals", "1.20", False), ("ordinals", "1.35", True)]
)
def test_a_meter_may_be_one_of_newer_releases(feature, release, there):
    assert MetricDef("x", "", feature=feature).is_in(PROFILES[release]) == there
