"""Simulated nodes: made once, kept alive, and left as people want them."""

import pytest

from apiserver.api.errors import already_exists, not_found
from controller_manager.kubelet.node.controller import SPEC, START_KEY
from controller_manager.reconcile.contract import Change, Create, Patch, RecordEvent, RequeueAfter, Settings, Update
from controller_manager.reconcile.kinds import LEASE, NODE
from controller_manager.reconcile.nodes import renewal_period
from controller_manager.reconcile.times import format_micro_time, format_time

THREE = Settings(nodes=3)


@pytest.fixture
def made(reconcile):
    """The nodes that are made at a start, where some are there already."""
    return lambda *there, settings=THREE: [
        create.obj for create in reconcile(SPEC, START_KEY, {NODE: list(there)}, settings=settings).of(Create)
    ]


@pytest.fixture
def reported(made, now):
    """A node as it was made."""
    node = made()[0]
    meta = {"uid": "uid-node-1", "resourceVersion": "800", "creationTimestamp": format_time(now)}
    return {"apiVersion": "v1", "kind": "Node"} | node | {"metadata": node["metadata"] | meta}


def lease(name="node-1", *, renewed):
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": format_micro_time(renewed)}
    return {"metadata": {"name": name, "namespace": "kube-node-lease", "resourceVersion": "700"}, "spec": spec}


# -- the start ---------------------------------------------------------------------------------------------------------


def test_three_nodes_in_three_zones_are_made(made):
    nodes = made()
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2", "node-3"]
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert zones == ["local-a", "local-b", "local-c"]
    assert [node["spec"]["podCIDR"] for node in nodes] == ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"]
    addresses = [node["status"]["addresses"] for node in nodes]
    assert addresses[1] == [
        {"type": "InternalIP", "address": "172.18.0.3"},
        {"type": "Hostname", "address": "node-2"},
    ]


def test_a_node_has_what_real_nodes_have(made):
    node = made()[0]
    assert node["metadata"]["labels"] == {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "node-1",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "simulated",
        "topology.kubernetes.io/region": "local",
        "topology.kubernetes.io/zone": "local-a",
        "mockube.io/simulated": "true",
    }
    status = node["status"]
    assert status["capacity"] == {
        "cpu": "32",
        "memory": "256Gi",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }
    assert status["allocatable"] == status["capacity"]
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert status["nodeInfo"]["kubeletVersion"] == "v1.37.0"
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}


def test_settings_say_how_big_nodes_are(made):
    [node] = made(settings=Settings(nodes=1, node_cpu="4", node_memory="8192Mi", node_pods=500, node_version="v1.34.1"))
    assert {name: node["status"]["capacity"][name] for name in ("cpu", "memory", "pods")} == {
        "cpu": "4",
        "memory": "8Gi",
        "pods": "500",
    }
    assert node["spec"]["podCIDR"] == "10.244.0.0/22"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.1"


def test_nodes_that_are_there_are_taken_over(made, make_node):
    nodes = made(make_node("node-2"))
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-3"]
    assert [node["spec"]["podCIDR"] for node in nodes] == ["10.244.1.0/24", "10.244.2.0/24"]


def test_a_node_that_came_meanwhile_is_taken_over_too(reconcile):
    done = reconcile(SPEC, START_KEY, {}, lambda _: already_exists("", "nodes", "node-1"), settings=THREE)
    assert (done.error, done.events) == (None, [])


def test_a_start_is_an_event(reconcile):
    done = reconcile(SPEC, START_KEY, {}, settings=Settings(nodes=2))
    assert [(event.reason, event.message, event.component, event.host) for event in done.of(RecordEvent)] == [
        ("Starting", "Starting kubelet.", "kubelet", "node-1"),
        ("Starting", "Starting kubelet.", "kubelet", "node-2"),
    ]


def test_nodes_are_made_at_the_start_alone(make_world, make_node):
    assert (SPEC.periodic_keys, SPEC.sync_period) == ((START_KEY,), 0)
    [trigger] = [watch.trigger for watch in SPEC.watches if watch.trigger]
    assert list(trigger(make_world(SPEC), Change(make_node(), None))) == []


# -- every day ---------------------------------------------------------------------------------------------------------


def test_a_new_node_gets_a_lease(reported, reconcile, now):
    done = reconcile(SPEC, "node-1", {NODE: [reported]})
    [create] = done.requests()
    assert create.obj == {
        "metadata": {
            "name": "node-1",
            "namespace": "kube-node-lease",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "uid-node-1"}],
        },
        "spec": {
            "holderIdentity": "node-1",
            "leaseDurationSeconds": 40,
            "renewTime": "2027-01-15T08:00:00.000000Z",
        },
    }
    assert 8 <= done.of(RequeueAfter)[0].seconds <= 10


def test_a_lease_is_renewed_when_it_is_due_and_not_before(reported, reconcile, now):
    world = {NODE: [reported], LEASE: [lease(renewed=now)]}
    early = reconcile(SPEC, "node-1", world, at=now + 5)
    assert early.requests() == []
    assert 3 <= early.of(RequeueAfter)[0].seconds <= 5
    [patch] = reconcile(SPEC, "node-1", world, lambda _: {}, at=now + 10).requests()
    assert (patch.kind, patch.key) == (LEASE, "kube-node-lease/node-1")
    assert patch.body == {"spec": {"holderIdentity": "node-1", "renewTime": "2027-01-15T08:00:10.000000Z"}}


def test_a_lease_that_somebody_deleted_is_made_again(reported, reconcile, now):
    def answers(request):
        return not_found("coordination.k8s.io", "leases", "node-1") if isinstance(request, Patch) else None

    done = reconcile(SPEC, "node-1", {NODE: [reported], LEASE: [lease(renewed=now)]}, answers, at=now + 10)
    assert [type(request) for request in done.requests()] == [Patch, Create]


@pytest.mark.parametrize(
    ("nodes", "grace", "longest"), [(3, 50, 10), (100, 50, 10), (200, 50, 20), (1000, 50, 25), (3, 2, 1)]
)
def test_many_nodes_renew_less_often_but_twice_in_their_grace_and_not_all_at_once(nodes, grace, longest):
    periods = [renewal_period(f"node-{i}", nodes, grace=grace) for i in range(1, 101)]
    assert longest * 0.8 <= min(periods) < max(periods) <= longest
    assert len(set(periods)) > 40


def test_a_status_is_reported_every_five_minutes(reported, reconcile, now):
    world = {NODE: [reported], LEASE: [lease(renewed=now + 299)]}
    assert reconcile(SPEC, "node-1", world, at=now + 299).requests() == []
    world = {NODE: [reported], LEASE: [lease(renewed=now + 300)]}
    [update] = reconcile(SPEC, "node-1", world, at=now + 300).requests()
    ready = update.obj["status"]["conditions"][-1]
    assert (ready["lastHeartbeatTime"], ready["lastTransitionTime"]) == (format_time(now + 300), format_time(now))


def test_what_people_changed_is_kept(reported, reconcile, now):
    reported["metadata"]["labels"] |= {"topology.kubernetes.io/zone": "elsewhere", "disk": "ssd"}
    reported["spec"] |= {"unschedulable": True, "taints": [{"key": "a", "effect": "NoSchedule"}]}
    reported["status"]["capacity"]["example.com/gpu"] = "4"
    foreign = {"type": "example.com/Odd", "status": "True"}
    reported["status"]["conditions"].append(foreign)
    [update] = reconcile(SPEC, "node-1", {NODE: [reported], LEASE: [lease(renewed=now)]}).requests()
    assert isinstance(update, Update)
    assert update.obj["metadata"] == reported["metadata"]
    assert update.obj["spec"] == reported["spec"]
    assert update.obj["status"]["allocatable"]["example.com/gpu"] == "4"
    assert foreign in update.obj["status"]["conditions"]


def test_a_node_that_people_made_is_filled_in(reconcile, now):
    meta = {"name": "gpu", "uid": "u", "resourceVersion": "1", "labels": {"mockube.io/simulated": "true"}}
    node = {"metadata": meta, "spec": {}, "status": {"capacity": {"cpu": "1", "example.com/gpu": "8"}}}
    [patch] = reconcile(SPEC, "gpu", {NODE: [node]}, lambda _: {}).requests()
    assert patch.body == {"spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]}}
    node["spec"] = patch.body["spec"]
    update, create = reconcile(SPEC, "gpu", {NODE: [node]}).requests()
    status = update.obj["status"]
    assert status["capacity"] == status["allocatable"] == {"cpu": "1", "example.com/gpu": "8"}
    assert status["addresses"][0] == {"type": "InternalIP", "address": "172.18.0.2"}
    assert create.obj["metadata"]["name"] == "gpu"


def test_the_server_is_told_where_kubelets_answer(reported, reconcile, now):
    settings, world = Settings(kubelet_endpoint="127.0.0.1:4567"), {NODE: [reported], LEASE: [lease(renewed=now)]}
    [patch] = reconcile(SPEC, "node-1", world, lambda _: {}, settings=settings).requests()
    assert patch.body == {"metadata": {"annotations": {"mockube.io/kubelet-endpoint": "127.0.0.1:4567"}}}
    reported["metadata"]["annotations"] |= patch.body["metadata"]["annotations"]
    assert reconcile(SPEC, "node-1", world, settings=settings).requests() == []


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        ("not-ready", "no network", "Ready False KubeletNotReady: no network"),
        (
            "pressure",
            "memory, pid",
            "MemoryPressure True KubeletHasInsufficientMemory: kubelet has insufficient memory available",
        ),
        (
            "pressure",
            "memory, pid",
            "PIDPressure True KubeletHasInsufficientPID: kubelet has insufficient PID available",
        ),
        ("pressure", "memory, pid", "DiskPressure False KubeletHasNoDiskPressure: kubelet has no disk pressure"),
        ("pressure", "disk", "DiskPressure True KubeletHasDiskPressure: kubelet has disk pressure"),
    ],
)
def test_annotations_say_how_a_node_fares(reported, reconcile, now, annotation, value, said):
    reported["metadata"]["annotations"][f"mockube.io/{annotation}"] = value
    [update] = reconcile(SPEC, "node-1", {NODE: [reported], LEASE: [lease(renewed=now)]}).requests()
    conditions = update.obj["status"]["conditions"]
    assert said in [f"{each['type']} {each['status']} {each['reason']}: {each['message']}" for each in conditions]


def test_a_change_of_readiness_is_told(reported, reconcile, now):
    reported["metadata"]["annotations"]["mockube.io/not-ready"] = "no network"
    world = {NODE: [reported], LEASE: [lease(renewed=now)]}
    assert reconcile(SPEC, "node-1", world).events == ["NodeNotReady: Node node-1 status is now: NodeNotReady"]


def test_a_node_that_was_given_up_says_that_it_is_there(reported, reconcile, now):
    for condition in reported["status"]["conditions"]:
        condition |= {"status": "Unknown", "reason": "NodeStatusUnknown"}
    done = reconcile(SPEC, "node-1", {NODE: [reported], LEASE: [lease(renewed=now)]}, at=now + 5)
    assert done.of(Update)[0].obj["status"]["conditions"][-1]["lastTransitionTime"] == format_time(now + 5)
    assert done.events == ["NodeReady: Node node-1 status is now: NodeReady"]


@pytest.mark.parametrize("node", [{"annotations": {"mockube.io/lost": "true"}}, {"simulated": False}])
def test_lost_nodes_and_others_nodes_say_nothing(make_node, reconcile, node):
    assert reconcile(SPEC, "node-1", {NODE: [make_node(**node)]}).actions == []


def test_where_no_block_is_left_a_node_is_made_without_one(made):
    one, two = made(settings=Settings(nodes=2, cluster_cidr="10.0.0.0/24"))
    assert (one["spec"]["podCIDR"], "podCIDR" in two["spec"]) == ("10.0.0.0/24", False)
    assert two["status"]["addresses"] == [{"type": "Hostname", "address": "node-2"}]


# -- what others wrote -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reported_status", [{}, {"lastHeartbeatTime": None}, {"lastHeartbeatTime": "9999-12-31T23:59:59Z"}]
)
def test_a_heartbeat_that_cannot_be_is_followed_by_a_report(reconcile, reported, reported_status, now):
    status = reported["status"]
    others = [each for each in status["conditions"] if each["type"] != "Ready"]
    node = reported | {
        "status": status | {"conditions": [*others, {"type": "Ready", "status": "True"} | reported_status]}
    }
    done = reconcile(SPEC, "node-1", {NODE: [node], LEASE: [lease(renewed=now)]})
    (update,) = done.of(Update)
    assert update.obj["status"]["conditions"][-1]["lastHeartbeatTime"] == format_time(now)


def test_a_lease_from_the_future_is_renewed(reconcile, reported, now):
    done = reconcile(SPEC, "node-1", {NODE: [reported], LEASE: [lease(renewed=now + 1e9)]}, lambda _: {})
    assert done.of(Patch)[-1].body["spec"]["renewTime"] == format_micro_time(now)
