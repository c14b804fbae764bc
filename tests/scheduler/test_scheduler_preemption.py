"""Preemption: the victims of pods of higher priority, the nominated node, and the events."""

import pytest

from apiserver.api.errors import ApiError, not_found
from controller_manager.reconcile.contract import Delete, Patch, RecordEvent
from controller_manager.reconcile.kinds import DISRUPTION_BUDGET, NODE, POD

FULL = "0/1 nodes are available: 1 Insufficient cpu."


def deleted(stage):
    return [request.key.removeprefix("default/") for request in stage.of(Delete)]


def budget(allowed, app="web", **status):
    return {
        "metadata": {"name": "pdb", "namespace": "default", "uid": "uid-pdb"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed, **status},
    }


def test_a_less_important_pod_goes_and_the_node_is_promised(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    assert stage.events("high") == [f"FailedScheduling: {FULL}"]
    assert stage.pod("high")["status"]["nominatedNodeName"] == "a"
    assert stage.condition("high")["message"] == FULL
    (event,) = [emit for emit in stage.of(RecordEvent) if emit.reason == "Preempted"]
    assert (event.regarding["metadata"]["name"], event.type) == ("low", "Normal")
    assert event.message == "Preempted by pod uid-high on node a"
    (patch,) = [patch for patch in stage.of(Patch) if patch.key == "default/low"]
    assert patch.body["metadata"] == {"uid": "uid-low"}
    (target,) = patch.body["status"]["conditions"]
    assert target == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
        "lastProbeTime": None,
        "lastTransitionTime": "2027-01-15T08:00:00Z",
        "observedGeneration": 1,
    }
    (request,) = stage.of(Delete)
    assert (request.key, request.uid, request.grace_period_seconds) == ("default/low", "uid-low", None)


def test_the_condition_is_written_before_the_pod_is_deleted(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    order = [(type(action).__name__, action.key) for action in stage.done if isinstance(action, Patch | Delete)]
    assert order == [("Patch", "default/high"), ("Patch", "default/low"), ("Delete", "default/low")]


def test_the_pod_gets_its_node_when_the_victim_is_gone(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    assert stage.node_of("high") == ""
    stage.remove(POD, "default/low")
    stage.run()
    assert stage.node_of("high") == "a"


def test_no_more_pods_go_while_a_victim_is_on_its_way_out(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"), make_node("b", cpu="1"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("other", cpu="1", node="b", priority=1))
    stage.put(POD, make_pod("high", cpu="1", priority=10))
    stage.run()
    stage.put(NODE, make_node("b", cpu="1", labels={"new": "label"}))
    stage.run(at=stage.now + 5)
    assert deleted(stage) == ["low"]
    assert stage.condition("high")["message"] == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert stage.pod("high")["status"]["nominatedNodeName"] == "a"


def test_a_promised_place_is_kept_from_pods_that_are_not_more_important(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="2"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="2", node="a"), make_pod("high", cpu="2", priority=10))
    stage.run()
    stage.put(POD, make_pod("same", cpu="1", priority=10), make_pod("lower", cpu="1", priority=5))
    stage.remove(POD, "default/low")
    stage.run()
    assert [stage.node_of(name) for name in ("high", "same", "lower")] == ["a", "", ""]


def test_a_promise_that_is_told_in_the_status_holds_after_a_restart(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(POD, make_pod("high", cpu="1", priority=10, status={"nominatedNodeName": "a"}))
    stage.keys.clear()
    stage.put(POD, make_pod("lower", cpu="1", priority=5))
    cluster = stage.world.view("placement").cluster
    assert list(cluster.nodes["a"].nominated) == ["uid-high"]
    stage.put(POD, make_pod("high", cpu="1", priority=10))
    assert not cluster.nodes["a"].nominated


def test_less_important_pods_lose_their_promise_of_the_node_and_look_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("middle", cpu="1", priority=5))
    stage.run()
    assert stage.pod("middle")["status"]["nominatedNodeName"] == "a"
    stage.put(POD, make_pod("high", cpu="1", priority=10))
    stage.run()
    assert stage.pod("high")["status"]["nominatedNodeName"] == "a"
    assert "nominatedNodeName" not in stage.pod("middle")["status"]


def test_a_promise_is_withdrawn_when_the_node_is_closed(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.dies_gracefully = True
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    stage.put(NODE, make_node("a", cpu="1", unschedulable=True))
    stage.run()
    assert "nominatedNodeName" not in stage.pod("high")["status"]


@pytest.mark.parametrize(
    ("nodes", "there", "victims"),
    [
        pytest.param(
            {"a": "2", "b": "2"}, [("x", "a", "2", 5, {}), ("y", "b", "2", 1, {})], ["y"], id="the highest is lower"
        ),
        pytest.param(
            {"a": "2", "b": "2"},
            [("x", "a", "1", 5, {}), ("y", "a", "1", 5, {}), ("z", "b", "2", 5, {})],
            ["z"],
            id="fewer have to go",
        ),
        pytest.param(
            {"a": "2", "b": "2"},
            [
                ("old", "a", "2", 5, {"startTime": "2027-01-15T06:00:00Z"}),
                ("new", "b", "2", 5, {"startTime": "2027-01-15T07:00:00Z"}),
            ],
            ["new"],
            id="it runs for a shorter time",
        ),
        pytest.param(
            {"a": "3"},
            [("x", "a", "1", 1, {}), ("y", "a", "1", 3, {}), ("z", "a", "1", 2, {})],
            ["z", "x"],
            id="the more important stays where there is room",
        ),
        pytest.param({"a": "3"}, [("x", "a", "1", 50, {}), ("y", "a", "2", 1, {})], ["y"], id="others do not count"),
    ],
)
def test_as_few_and_as_unimportant_pods_as_can_be_go(make_stage, make_node, make_pod, nodes, there, victims):
    stage = make_stage(*(make_node(name, cpu=cpu) for name, cpu in nodes.items()))
    for name, node, cpu, priority, status in there:
        stage.put(POD, make_pod(name, node=node, cpu=cpu, priority=priority, status=status))
    stage.put(POD, make_pod("high", cpu="2", priority=10))
    stage.run()
    assert deleted(stage) == victims


def test_pods_that_a_budget_protects_go_last(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"), make_node("b", cpu="1"))
    stage.put(DISRUPTION_BUDGET, budget(0))
    stage.put(POD, make_pod("web", cpu="1", node="a", labels={"app": "web"}))
    stage.put(POD, make_pod("db", cpu="1", node="b", labels={"app": "db"}, priority=9))
    stage.put(POD, make_pod("high", cpu="1", priority=10))
    stage.run()
    assert deleted(stage) == ["db"]


@pytest.mark.parametrize(
    ("allowed", "disrupted", "victim"), [(0, {}, "db"), (1, {}, "web"), (0, {"web": "2027-01-15T08:00:00Z"}, "web")]
)
def test_of_pods_on_a_node_one_that_a_budget_protects_is_spared_first(
    make_stage, make_node, make_pod, allowed, disrupted, victim
):
    stage = make_stage(make_node("a", cpu="2"))
    stage.put(DISRUPTION_BUDGET, budget(allowed, disruptedPods=disrupted))
    stage.put(POD, make_pod("web", cpu="1", node="a", labels={"app": "web"}, priority=1))
    stage.put(POD, make_pod("db", cpu="1", node="a", labels={"app": "db"}, priority=2))
    stage.put(POD, make_pod("high", cpu="1", priority=10))
    stage.run()
    assert deleted(stage) == [victim]


def test_pods_go_that_break_the_anti_affinity_of_a_more_important_one(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    stage.put(POD, make_pod("db", node="a", labels={"app": "db"}), make_pod("bystander", node="a"))
    stage.put(POD, make_pod("high", priority=10, affinity=far))
    stage.run()
    assert deleted(stage) == ["db"]
    assert stage.node_of("high") == "a"


def test_pods_go_that_have_a_port_or_break_a_constraint(make_stage, make_node, make_pod):
    ports = {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}
    stage = make_stage(make_node("a"))
    stage.put(POD, make_pod("low", node="a", **ports), make_pod("high", priority=10, **ports))
    stage.run()
    assert (deleted(stage), stage.node_of("high")) == (["low"], "a")


@pytest.mark.parametrize(
    ("node", "high", "after"),
    [
        ({"unschedulable": True}, {}, "0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
        ({}, {"cpu": "9"}, "0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
        ({}, {"priority": 0}, "0/1 nodes are available: 1 No preemption victims found for incoming pod."),
        ({}, {"preemptionPolicy": "Never"}, "not eligible due to preemptionPolicy=Never."),
    ],
)
def test_nobody_goes_where_it_does_not_help(make_stage, make_node, make_pod, node, high, after):
    stage = make_stage(make_node("a", cpu="1", **node))
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", **{"cpu": "1", "priority": 10} | high))
    stage.run()
    assert not stage.of(Delete)
    assert stage.condition("high")["message"].endswith(f"preemption: {after}")
    assert "nominatedNodeName" not in stage.pod("high")["status"]


def test_a_node_where_the_pod_still_finds_no_place_says_why(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="2"))
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("same", cpu="1", node="a", priority=10))
    stage.put(POD, make_pod("high", cpu="2", priority=10))
    stage.run()
    assert stage.condition("high")["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_a_victim_that_is_gone_already_is_no_trouble(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.refuse = lambda request: not_found("", "pods", "low") if isinstance(request, Delete) else None
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    assert "Preempted" not in [emit.reason for emit in stage.of(RecordEvent)]
    assert stage.error is None


def test_a_victim_that_cannot_be_deleted_has_the_pod_tried_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    tries = []

    def once(request):
        if isinstance(request, Delete):
            tries.append(request)
            return ApiError(500, "InternalError", "no") if len(tries) == 1 else None
        return None

    stage.refuse = once
    stage.put(POD, make_pod("low", cpu="1", node="a"), make_pod("high", cpu="1", priority=10))
    stage.run()
    assert len(tries) == 2
    assert stage.node_of("high") == "a"
