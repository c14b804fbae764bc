"""Nodes that are silent are given up; nodes have the taints that follow from their state."""

import pytest

from apiserver.api.errors import not_found
from controller_manager.controllers.nodelifecycle.controller import SPEC
from controller_manager.reconcile.contract import Batch, Patch, RequeueAfter, Update
from controller_manager.reconcile.kinds import LEASE, NODE, POD
from controller_manager.reconcile.times import micro_stamp, stamp

GRACE, DOUBT = 50, 5


def lease(renewed):
    return {
        "metadata": {"name": "node-1", "namespace": "kube-node-lease", "resourceVersion": "700"},
        "spec": {"renewTime": micro_stamp(renewed)},
    }


def taint(key, effect, **more):
    return {"key": f"node.kubernetes.io/{key}", "effect": effect} | more


@pytest.fixture
def cluster(make_node, make_world, rehearse, now):
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


def test_a_node_that_is_seen_first_is_told_of_once(cluster):
    found = cluster()
    assert found.look(0).events == ["RegisteredNode: Node node-1 event: Registered Node node-1 in Controller"]
    assert found.look(1).events == []


def test_a_node_that_renews_its_lease_is_left_alone(cluster):
    found = cluster()
    assert found.look(0).of(RequeueAfter) == [RequeueAfter(GRACE)]
    found.renew(45)
    done = found.look(50)
    assert (done.requests(), done.of(RequeueAfter)) == ([], [RequeueAfter(45)])


def test_a_node_that_is_silent_is_given_up(cluster, now):
    found = cluster()
    found.look(0)
    assert found.look(49).requests() == []
    done = found.look(50)
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
        stamp(now + 50),
    )
    assert done.events == ["NodeNotReady: Node node-1 status is now: NodeNotReady"]
    assert patch.body == {
        "metadata": {"resourceVersion": "800"},
        "spec": {
            "taints": [
                taint("unreachable", "NoSchedule", timeAdded=stamp(now + 50)),
                taint("unreachable", "NoExecute", timeAdded=stamp(now + 50)),
            ]
        },
    }


def test_a_silence_counts_from_the_last_heartbeat(cluster):
    found = cluster()
    found.look(0)
    found.renew(20)
    assert found.look(50).of(RequeueAfter) == [RequeueAfter(20)]
    assert found.look(70).of(Update)


def test_a_lease_from_the_future_or_from_long_ago_is_dated_when_it_was_seen(cluster):
    found = cluster()
    found.look(0)
    found.renew(4000)
    assert found.look(30).of(RequeueAfter) == [RequeueAfter(GRACE)]
    found.renew(-4000)
    assert found.look(60).of(RequeueAfter) == [RequeueAfter(20)]


@pytest.mark.parametrize("slept", [50, 75, 4000])
def test_after_a_sleep_of_the_whole_machine_no_node_is_given_up(cluster, slept):
    found = cluster()
    found.look(0)
    assert found.glance(slept).actions == [RequeueAfter(DOUBT)]
    found.renew(slept)
    assert found.glance(slept + DOUBT).actions == [RequeueAfter(GRACE - DOUBT)]
    assert found.glance(slept + GRACE).actions == [RequeueAfter(DOUBT)]
    assert found.glance(slept + GRACE + DOUBT).of(Update)


def test_a_given_up_node_is_not_given_up_again(cluster, make_node):
    found = cluster()
    found.look(0)
    found.look(50)
    done = found.look(100)
    assert (done.of(Update), done.events) == ([], [])


def test_the_pods_of_a_node_that_is_given_up_are_not_ready(cluster, make_pod, now):
    pods = [make_pod(meta={"name": name, "uid": f"uid-{name}"}) for name in ("ready", "unready")]
    pods[0]["status"]["conditions"].append({"type": "Ready", "status": "True"})
    found = cluster(pods=pods)
    found.look(0)
    done = found.look(50)
    [patch] = done.of(Batch)[0].requests
    assert (patch.key, patch.subresource) == ("default/ready", "status")
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(now + 50)}
    assert patch.body == {"metadata": {"uid": "uid-ready"}, "status": {"conditions": [condition]}}
    assert "NodeNotReady: Node is not ready" in done.events


def test_a_pod_that_is_gone_does_not_stop_the_others(cluster, make_pod):
    pod = make_pod()
    pod["status"]["conditions"].append({"type": "Ready", "status": "True"})
    found = cluster(pods=[pod])
    found.look(0)
    gone = not_found("", "pods", "web")
    assert found.look(50, lambda r: gone if r.kind == POD else None).error is None


def test_a_node_that_never_reported_is_given_up_after_a_minute(cluster, make_node):
    found = cluster(make_node(ready=""))
    assert found.look(0).of(RequeueAfter) == [RequeueAfter(60)]
    [update] = found.look(60).of(Update)
    assert {each["reason"] for each in update.obj["status"]["conditions"]} == {"NodeStatusNeverUpdated"}


@pytest.mark.parametrize(
    ("node", "wanted"),
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
def test_taints_follow_from_conditions_and_others_are_left_alone(cluster, make_node, node, wanted):
    patches = cluster(make_node(**node)).look(0).of(Patch)
    if wanted is None:
        assert patches == []
        return
    found = [{key: each[key] for key in ("key", "effect")} for each in patches[0].body["spec"]["taints"]]
    assert found == ([{"key": "mine", "effect": "NoExecute"}] if wanted == "mine" else wanted)


def test_a_cordoned_node_is_tainted_until_it_is_uncordoned(cluster, make_node):
    node = make_node()
    node["spec"]["unschedulable"] = True
    [patch] = cluster(node).look(0).of(Patch)
    [added] = patch.body["spec"]["taints"]
    assert (added["key"], added["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    [patch] = cluster(make_node(taints=[added])).look(0).of(Patch)
    assert patch.body["spec"]["taints"] == []


def test_pressure_keeps_pods_away_and_throws_none_out(cluster, make_node):
    node = make_node()
    node["status"]["conditions"].append({"type": "MemoryPressure", "status": "True"})
    [patch] = cluster(node).look(0).of(Patch)
    assert [(each["key"], each["effect"]) for each in patch.body["spec"]["taints"]] == [
        ("node.kubernetes.io/memory-pressure", "NoSchedule")
    ]


def test_nobody_is_thrown_out_where_no_node_is_ready(cluster, make_node):
    taints = [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute")]
    found = cluster(make_node(ready="Unknown", taints=taints), others_ready="Unknown")
    [patch] = found.look(0).of(Patch)
    assert patch.body["spec"]["taints"] == taints[:1]


def test_a_node_that_goes_is_forgotten(cluster, make_node):
    found = cluster()
    found.look(0)
    found.world[NODE].remove(make_node())
    assert SPEC.observe(found.world, "node-1") is None
    found.world[NODE].put(make_node())
    assert found.look(100).events == ["RegisteredNode: Node node-1 event: Registered Node node-1 in Controller"]
