"""Which nodes suit a pod, and in which words the others are refused."""

from collections import Counter

import pytest

from controller_manager.reconcile.kinds import POD
from controller_manager.scheduler.resources import DEFAULT_REQUESTS, in_order, pod_requests
from controller_manager.scheduler.status import fit_error

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
PREFER_NOT = {"key": "slow", "effect": "PreferNoSchedule"}


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*names):
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


def port(number, **more):
    return {"container": {"ports": [{"containerPort": 80, "hostPort": number, **more}]}}


CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
LABELS = "node(s) didn't match Pod's node affinity/selector"
PORTS = "node(s) didn't have free ports for the requested pod ports"


@pytest.mark.parametrize(
    ("node", "pod", "reasons"),
    [
        ({}, {}, None),
        ({"unschedulable": True}, {}, [CORDONED]),
        ({"unschedulable": True, "taints": [TAINT]}, {}, [CORDONED]),
        ({"unschedulable": True}, {"tolerations": [{"operator": "Exists"}]}, None),
        (
            {"unschedulable": True},
            {
                "tolerations": [
                    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
                ]
            },
            None,
        ),
        ({"taints": [TAINT]}, {}, [TAINTED]),
        ({"taints": [PREFER_NOT]}, {}, None),
        ({"taints": [TAINT | {"effect": "NoExecute"}]}, {}, [TAINTED]),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}, None),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "dedicated", "value": "gpu"}]}, None),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "x"}]}, [TAINTED]),
        (
            {"taints": [TAINT]},
            {"tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}]},
            [TAINTED],
        ),
        (
            {"taints": [TAINT | {"value": "10"}]},
            {"tolerations": [{"key": "dedicated", "operator": "Gt", "value": "9"}]},
            None,
        ),
        (
            {"taints": [TAINT | {"value": "10"}]},
            {"tolerations": [{"key": "dedicated", "operator": "Lt", "value": "9"}]},
            [TAINTED],
        ),
        ({"labels": {"disk": "ssd"}}, {"nodeSelector": {"disk": "ssd"}}, None),
        ({"labels": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}}, [LABELS]),
        ({"labels": {"disk": "ssd"}}, {"affinity": required(expression("disk", "In", "ssd", "nvme"))}, None),
        ({"labels": {"disk": "ssd"}}, {"affinity": required(expression("disk", "NotIn", "ssd"))}, [LABELS]),
        ({}, {"affinity": required(expression("disk", "NotIn", "ssd"))}, None),
        ({}, {"affinity": required(expression("disk", "Exists"))}, [LABELS]),
        ({}, {"affinity": required(expression("disk", "DoesNotExist"))}, None),
        ({"labels": {"cores": "8"}}, {"affinity": required(expression("cores", "Gt", "4"))}, None),
        ({"labels": {"cores": "8"}}, {"affinity": required(expression("cores", "Lt", "8"))}, [LABELS]),
        ({"labels": {"a": "1"}}, {"affinity": required(expression("b", "Exists"), expression("a", "Exists"))}, None),
        (
            {"labels": {"a": "1"}},
            {"affinity": required(expression("a", "Exists")), "nodeSelector": {"a": "2"}},
            [LABELS],
        ),
        ({}, {"affinity": required({})}, [LABELS]),
        ({}, {"affinity": required()}, [LABELS]),
        ({}, {"affinity": required(expression("a", "Near"))}, [LABELS]),
        ({}, {"affinity": required(named("node"))}, None),
        ({}, {"affinity": required(named("other"))}, ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]),
        ({}, {"affinity": required(named("other"), expression("a", "DoesNotExist"))}, None),
        ({"cpu": "1"}, {"cpu": "1"}, None),
        ({"cpu": "1"}, {"cpu": "1001m"}, ["Insufficient cpu"]),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}, ["Insufficient cpu", "Insufficient memory"]),
        ({"pods": 0}, {}, ["Too many pods"]),
        ({"pods": 0, "cpu": "1"}, {"cpu": "2"}, ["Too many pods", "Insufficient cpu"]),
        ({}, {"extended": {"example.com/gpu": "1"}}, ["Insufficient example.com/gpu"]),
        ({"extended": {"example.com/gpu": "2"}}, {"extended": {"example.com/gpu": "2"}}, None),
        (
            {"extended": {"ephemeral-storage": "1Gi"}},
            {"extended": {"ephemeral-storage": "2Gi"}},
            ["Insufficient ephemeral-storage"],
        ),
        (
            {"extended": {"hugepages-2Mi": "4Mi"}},
            {"extended": {"hugepages-2Mi": "8Mi"}},
            ["Insufficient hugepages-2Mi"],
        ),
    ],
)
def test_a_node_suits_or_is_refused_by_the_first_that_objects(make_cluster, board_of, make_pod, node, pod, reasons):
    cluster = make_cluster({"node": node})
    status = board_of(cluster, make_pod(**pod)).status(cluster.nodes["node"])
    assert (None if status is None else list(status.reasons)) == reasons
    assert (board_of(cluster, make_pod(**pod)).best_node() is None) == (reasons is not None)


@pytest.mark.parametrize(
    ("taken", "expected", "fits"),
    [
        (port(80), port(80), False),
        (port(80), port(81), True),
        (port(80), port(80, protocol="UDP"), True),
        (port(80, hostIP="10.0.0.1"), port(80, hostIP="10.0.0.2"), True),
        (port(80, hostIP="10.0.0.1"), port(80, hostIP="10.0.0.1"), False),
        (port(80, hostIP="10.0.0.1"), port(80), False),
        (port(80), port(80, hostIP="10.0.0.1"), False),
        ({}, port(80), True),
    ],
)
def test_ports_of_a_node_are_taken_once(make_cluster, board_of, make_pod, taken, expected, fits):
    cluster = make_cluster({"node": {}}, [make_pod("there", node="node", **taken)])
    status = board_of(cluster, make_pod(**expected)).status(cluster.nodes["node"])
    assert (status is None) == fits
    if status is not None:
        assert (status.reasons, status.resolvable) == ((PORTS,), True)


def test_what_pods_take_is_given_back_when_they_go(make_cluster, board_of, make_pod):
    there = make_pod("there", node="a", cpu="2", **port(80))
    cluster = make_cluster({"a": {"cpu": "2"}}, [there])
    feasible_nodes = board_of(cluster, make_pod(cpu="1", **port(80)))
    assert feasible_nodes.best_node() is None
    cluster.pod_changed(there, None)
    assert board_of(cluster, make_pod(cpu="1", **port(80))).best_node() is cluster.nodes["a"]


def test_a_resize_of_a_pod_changes_what_it_takes(make_cluster, board_of, make_pod):
    there = make_pod("there", node="a", cpu="2")
    cluster = make_cluster({"a": {"cpu": "2"}}, [there])
    resized = make_pod("there", node="a", cpu="1")
    resized["metadata"]["generation"] = 2
    cluster.pod_changed(there, resized)
    assert cluster.nodes["a"].free["cpu"] == 1000


def test_pods_whose_node_nobody_has_seen_count_when_it_comes(make_cluster, make_node, make_pod):
    cluster = make_cluster({}, [make_pod("there", node="a", cpu="1")])
    assert len(cluster) == 0
    cluster.node_changed("a", make_node("a", cpu="4"))
    assert (len(cluster), cluster.nodes["a"].free["cpu"]) == (1, 3000)


def test_a_node_that_went_is_chosen_no_more_and_forgotten_with_its_last_pod(
    make_cluster, board_of, make_node, make_pod
):
    there = make_pod("there", node="a")
    cluster = make_cluster({"a": {}, "b": {"unschedulable": True}}, [there])
    assert board_of(cluster, make_pod()).best_node().name == "a"
    cluster.node_changed("a", None)
    assert board_of(cluster, make_pod()).best_node() is None
    assert set(cluster.nodes) == {"a", "b"}
    cluster.pod_changed(there, None)
    assert set(cluster.nodes) == {"b"}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        ({"containers": []}, {}),
        (
            {"containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "500m"}}}]},
            {"cpu": 1500},
        ),
        (
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [{"resources": {"requests": {"cpu": "2", "memory": "1Ki"}}}],
            },
            {"cpu": 2000, "memory": 1024},
        ),
        (
            {
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                    {"resources": {"requests": {"cpu": "3"}}},
                ],
            },
            {"cpu": 4000},
        ),
        ({"containers": [{"resources": {"requests": {"cpu": "1"}}}], "overhead": {"cpu": "100m"}}, {"cpu": 1100}),
        (
            {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "resources": {"requests": {"cpu": "3"}}},
            {"cpu": 3000},
        ),
        ({"containers": [{"resources": {"requests": {"storage": "1Gi", "x/y": "2"}}}]}, {"x/y": 2}),
    ],
)
def test_a_pod_requests_what_it_needs_running_or_starting(spec, requests):
    assert pod_requests(spec) == requests


def test_scores_count_something_for_containers_that_request_nothing():
    spec = {"containers": [{}, {"resources": {"requests": {"cpu": "1"}}}]}
    assert pod_requests(spec, DEFAULT_REQUESTS) == {"cpu": 1100, "memory": 2 * 200 * 2**20}


def test_what_is_lacking_is_told_in_a_fixed_order():
    requests = {"b.com/x": 1, "memory": 2, "a.com/y": 3, "cpu": 4, "pods": 5, "ephemeral-storage": 0}
    assert in_order(requests) == (("cpu", 4), ("memory", 2), ("a.com/y", 3), ("b.com/x", 1))


# -- the sentence ------------------------------------------------------------------------------------------------------


def test_the_sentence_counts_and_sorts_the_reasons_as_text():
    reasons = Counter({"Insufficient cpu": 10, "node(s) were unschedulable": 2, "Too many pods": 1})
    assert fit_error(13, reasons, after="preemption: no.") == (
        "0/13 nodes are available: 1 Too many pods, 10 Insufficient cpu, 2 node(s) were unschedulable. preemption: no."
    )


@pytest.mark.parametrize(
    ("nodes", "pod", "message"),
    [
        (
            {"a": {"taints": [TAINT]}, "b": {"cpu": "1"}, "c": {"cpu": "1"}},
            {"cpu": "2"},
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
                "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"a": {"taints": [TAINT]}, "b": {"cpu": "4", "full": True}, "c": {"cpu": "4", "full": True}},
            {"cpu": "2"},
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
                "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
                "2 No preemption victims found for incoming pod."
            ),
        ),
        (
            {"a": {"taints": [TAINT]}, "b": {}, "c": {}},
            {"nodeSelector": {"shop": "open"}},
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
                "2 node(s) didn't match Pod's node affinity/selector. "
                "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"a": {"full": True}, "b": {}},
            {"cpu": "2", "affinity": required(named("a"))},
            (
                "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
                "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
                "1 Preemption is not helpful for scheduling."
            ),
        ),
        (
            {"a": {"full": True}},
            {"cpu": "2", "preemptionPolicy": "Never"},
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
        ),
    ],
)
def test_a_pod_is_told_why_no_node_suits(make_stage, make_node, make_pod, nodes, pod, message):
    full = {name for name, node in nodes.items() if node.pop("full", False)}
    stage = make_stage(*(make_node(name, **node) for name, node in nodes.items()))
    stage.put(POD, *(make_pod(f"there-{name}", node=name, cpu="4") for name in full), make_pod(**pod))
    stage.run()
    assert stage.events() == [f"FailedScheduling: {message}"]
    assert stage.condition("web")["message"] == message
