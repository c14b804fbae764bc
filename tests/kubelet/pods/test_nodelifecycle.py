"""Nodes that are silent are given up; nodes have the taints that follow from their state."""

import pytest

from apiserver.api.errors import not_found
from controller_manager.controllers.nodelifecycle.controller import SPEC
from controller_manager.reconcile.contract import Batch, Patch, RequeueAfter, Update
from controller_manager.reconcile.kinds import LEASE, NODE, POD
from controller_manager.reconcile.times import format_micro_time, format_time

GRACE, DOUBT = 50, 5


def lease(renewed):
    return {
        "metadata": {"name": "node-1", "namespace": "kube-node-lease", "resourceVersion": "700"},
        "spec": {"renewTime": format_micro_time(renewed)},
    }


def taint(key, effect, **more):
    return {"key": f"node.kubernetes.io/{key}", "effect": effect} | more


@pytest.fixture
def new_cluster(make_node, make_world, rehearse, now):
    """node-1, and another that is ready; look(after, …) looks at node-1 so many seconds later, twice where in doubt."""

    class Cluster:
        def __init__(self, node=None, *, others_ready="True", pods=()):
            nodes = [node or make_node(), make_node("node-2", ready=others_ready)]
            self.world = make_world(SPEC, {NODE: nodes, POD: pods, LEASE: [lease(now)]})

        def look(self, after, answers=lambda _: None):
            done = self.glance(after, answers)
            return self.glance(after, answers) if done.actions in ([RequeueAfter(DOUBT)], [RequeueAfter(6)]) else done

        def glance(self, after, answers=lambda _: None):
            done = rehearse(
                SPEC.reconcile(SPEC.observe(self.world, "node-1"), now + after), lambda r: answers(r) or answer(r)
            )
            for update in done.of(Update):
                self.world[NODE].put(update.obj)
            return done

        def renew(self, at):
            self.world[LEASE].put(lease(now + at))

    def answer(request):
        return {} if isinstance(request, Patch) else None

    return Cluster


def test_a_new_node_is_an_event_once(new_cluster):
    cluster = new_cluster()
    assert cluster.look(0).events == ["RegisteredNode: Node node-1 event: Registered Node node-1 in Controller"]
    assert cluster.look(1).events == []


def test_a_node_that_renews_its_lease_is_left_alone(new_cluster):
    cluster = new_cluster()
    assert cluster.look(0).of(RequeueAfter) == [RequeueAfter(GRACE)]
    cluster.renew(45)
    done = cluster.look(50)
    assert (done.requests(), done.of(RequeueAfter)) == ([], [RequeueAfter(45)])


def test_a_node_that_is_silent_is_given_up(new_cluster, now):
    cluster = new_cluster()
    cluster.look(0)
    assert cluster.look(49).requests() == []
    done = cluster.look(50)
    update, patch = done.requests()
    assert [(each["type"], each["status"], each["reason"]) for each in update.obj["status"]["conditions"]] == [
        ("Ready", "Unknown", "NodeStatusUnknown"),
        ("MemoryPressure", "Unknown", "NodeStatusNeverUpdated"),
        ("DiskPressure", "Unknown", "NodeStatusNeverUpdated"),
        ("PIDPressure", "Unknown", "NodeStatusNeverUpdated"),
    ]
    ready = update.obj["status"]["conditions"][0]
    assert (ready["message"], ready["lastTransitionTime"]) == (
        "Kubelet stopped posting node status.",
        format_time(now + 50),
    )
    assert done.events == ["NodeNotReady: Node node-1 status is now: NodeNotReady"]
    assert patch.body == {
        "metadata": {"resourceVersion": "800"},
        "spec": {
            "taints": [
                taint("unreachable", "NoSchedule", timeAdded=format_time(now + 50)),
                taint("unreachable", "NoExecute", timeAdded=format_time(now + 50)),
            ]
        },
    }


def test_a_silence_counts_from_the_last_heartbeat(new_cluster):
    cluster = new_cluster()
    cluster.look(0)
    cluster.renew(20)
    assert cluster.look(50).of(RequeueAfter) == [RequeueAfter(20)]
    assert cluster.look(70).of(Update)


def test_a_lease_from_the_future_or_from_long_ago_is_dated_when_it_was_seen(new_cluster):
    cluster = new_cluster()
    cluster.look(0)
    cluster.renew(4000)
    assert cluster.look(30).of(RequeueAfter) == [RequeueAfter(GRACE)]
    cluster.renew(-4000)
    assert cluster.look(60).of(RequeueAfter) == [RequeueAfter(20)]


@pytest.mark.parametrize("slept", [50, 75, 4000])
def test_after_a_sleep_of_the_whole_machine_no_node_is_given_up(new_cluster, slept):
    cluster = new_cluster()
    cluster.look(0)
    assert cluster.glance(slept).actions == [RequeueAfter(DOUBT)]
    cluster.renew(slept)
    assert cluster.glance(slept + DOUBT).actions == [RequeueAfter(GRACE - DOUBT)]
    assert cluster.glance(slept + GRACE).actions == [RequeueAfter(DOUBT)]
    assert cluster.glance(slept + GRACE + DOUBT).of(Update)


def test_a_given_up_node_is_not_given_up_again(new_cluster, make_node):
    cluster = new_cluster()
    cluster.look(0)
    cluster.look(50)
    done = cluster.look(100)
    assert (done.of(Update), done.events) == ([], [])


def test_the_pods_of_a_node_that_is_given_up_are_not_ready(new_cluster, make_pod, now):
    pods = [make_pod(meta={"name": name, "uid": f"uid-{name}"}) for name in ("ready", "unready")]
    pods[0]["status"]["conditions"].append({"type": "Ready", "status": "True"})
    cluster = new_cluster(pods=pods)
    cluster.look(0)
    done = cluster.look(50)
    [patch] = done.of(Batch)[0].requests
    assert (patch.key, patch.subresource) == ("default/ready", "status")
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": format_time(now + 50)}
    assert patch.body == {"metadata": {"uid": "uid-ready"}, "status": {"conditions": [condition]}}
    assert "NodeNotReady: Node is not ready" in done.events


def test_a_pod_that_is_gone_does_not_stop_the_others(new_cluster, make_pod):
    pod = make_pod()
    pod["status"]["conditions"].append({"type": "Ready", "status": "True"})
    cluster = new_cluster(pods=[pod])
    cluster.look(0)
    gone = not_found("", "pods", "web")
    assert cluster.look(50, lambda r: gone if r.kind == POD else None).error is None


def test_a_node_that_never_reported_is_given_up_after_a_minute(new_cluster, make_node):
    cluster = new_cluster(make_node(ready=""))
    assert cluster.look(0).of(RequeueAfter) == [RequeueAfter(60)]
    [update] = cluster.look(60).of(Update)
    assert {each["reason"] for each in update.obj["status"]["conditions"]} == {"NodeStatusNeverUpdated"}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, None),
        ({"ready": "False"}, [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute")]),
        ({"ready": "Unknown"}, [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")]),
        ({"taints": [taint("not-ready", "NoSchedule"), taint("unreachable", "NoExecute")]}, []),
        (
            {"ready": "False", "taints": [taint("unreachable", "NoExecute"), taint("not-ready", "NoSchedule")]},
            [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute")],
        ),
        ({"taints": [{"key": "mine", "effect": "NoExecute"}]}, None),
        ({"taints": [{"key": "mine", "effect": "NoExecute"}, taint("not-ready", "NoSchedule")]}, "mine"),
    ],
)
def test_taints_follow_from_conditions_and_others_are_left_alone(new_cluster, make_node, node, expected):
    patches = new_cluster(make_node(**node)).look(0).of(Patch)
    if expected is None:
        assert patches == []
        return
    taints = [{key: each[key] for key in ("key", "effect")} for each in patches[0].body["spec"]["taints"]]
    assert taints == ([{"key": "mine", "effect": "NoExecute"}] if expected == "mine" else expected)


def test_a_cordoned_node_is_tainted_until_it_is_uncordoned(new_cluster, make_node):
    node = make_node()
    node["spec"]["unschedulable"] = True
    [patch] = new_cluster(node).look(0).of(Patch)
    [added] = patch.body["spec"]["taints"]
    assert (added["key"], added["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    [patch] = new_cluster(make_node(taints=[added])).look(0).of(Patch)
    assert patch.body["spec"]["taints"] == []


def test_pressure_keeps_pods_away_and_throws_none_out(new_cluster, make_node):
    node = make_node()
    node["status"]["conditions"].append({"type": "MemoryPressure", "status": "True"})
    [patch] = new_cluster(node).look(0).of(Patch)
    assert [(each["key"], each["effect"]) for each in patch.body["spec"]["taints"]] == [
        ("node.kubernetes.io/memory-pressure", "NoSchedule")
    ]


def test_nobody_is_thrown_out_where_no_node_is_ready(new_cluster, make_node):
    taints = [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")]
    cluster = new_cluster(make_node(ready="Unknown", taints=taints), others_ready="Unknown")
    [patch] = cluster.look(0).of(Patch)
    assert patch.body["spec"]["taints"] == taints[:1]


def test_a_node_that_goes_is_forgotten(new_cluster, make_node):
    cluster = new_cluster()
    cluster.look(0)
    cluster.world[NODE].remove(make_node())
    assert SPEC.observe(cluster.world, "node-1") is None
    cluster.world[NODE].put(make_node())
    assert cluster.look(100).events == ["RegisteredNode: Node node-1 event: Registered Node node-1 in Controller"]
