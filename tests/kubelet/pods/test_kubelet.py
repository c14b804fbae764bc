"""The kubelet at work: its writes, Events and deletions, and the changes that wake it."""

import copy

import pytest
from triggers import woken

from apiserver.api.errors import conflict, not_found
from controller_manager.kubelet.pods.controller import SPEC
from controller_manager.reconcile.contract import Change, DelayedKey, Delete, RecordEvent, RequeueAfter, Update
from controller_manager.reconcile.kinds import NODE, POD

KEY = "default/web"


def keys_of(world, kind, old, new):
    """Return the keys that a change of a kind enqueues."""
    return woken(SPEC, world, kind, Change(old, new))


@pytest.fixture
def running(make_pod, make_node, reconcile, now):
    """A pod that runs, as its kubelet wrote it; **changes go into its metadata."""

    def make(*args, **more):
        pod = make_pod(*args, **more)
        done = reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]})
        return pod | done.of(Update)[0].obj

    return make


def test_a_pod_that_is_bound_is_written_once_and_reported(make_pod, make_node, reconcile):
    pod = make_pod()
    before = copy.deepcopy(pod)
    done = reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]})
    [update] = done.requests()
    assert (update.subresource, update.obj["metadata"]["resourceVersion"]) == ("status", "900")
    assert update.obj["status"]["podIP"] == "10.244.0.2"
    assert update.obj | {"spec": pod["spec"]} == pod | {"status": update.obj["status"]}
    assert "spec" not in update.obj, "it is the server that keeps it"
    assert pod == before
    assert [event.reason for event in done.of(RecordEvent)] == ["Pulled", "Created", "Started"]
    assert {(event.component, event.host, event.field_path) for event in done.of(RecordEvent)} == {
        ("kubelet", "node-1", "spec.containers{web}")
    }
    assert done.of(RequeueAfter) == []


def test_there_is_no_event_about_what_could_not_be_written(make_pod, make_node, reconcile):
    refused = conflict("", "pods", name="web", why="changed")
    done = reconcile(SPEC, KEY, {POD: [make_pod()], NODE: [make_node()]}, lambda _: refused)
    assert (done.error, done.events) == (refused, [])


def test_what_comes_later_is_waited_for(make_pod, make_node, reconcile):
    done = reconcile(SPEC, KEY, {POD: [make_pod("busybox", command=["sleep", "5"])], NODE: [make_node()]})
    assert done.of(RequeueAfter) == [RequeueAfter(5.0)]


def test_a_pod_that_runs_is_left_alone(running, make_node, reconcile, now):
    done = reconcile(SPEC, KEY, {POD: [running()], NODE: [make_node()]}, at=now + 3600)
    assert done.actions == []


@pytest.mark.parametrize(
    "node",
    [
        {"simulated": False},
        {"annotations": {"mockube.io/lost": "true"}},
        {"ready": "Unknown"},
        {"name": "node-2"},
    ],
)
def test_pods_of_other_nodes_and_of_lost_ones_are_left_alone(make_pod, make_node, reconcile, node):
    assert reconcile(SPEC, KEY, {POD: [make_pod()], NODE: [make_node(**node)]}).actions == []


@pytest.mark.parametrize("node", [{"ready": "False"}, {"ready": ""}])
def test_pods_of_nodes_that_are_not_ready_run(make_pod, make_node, reconcile, node):
    assert reconcile(SPEC, KEY, {POD: [make_pod()], NODE: [make_node(**node)]}).of(Update)


def test_a_pod_without_a_node_is_nobodys(make_pod, make_node, reconcile):
    pod = make_pod()
    del pod["spec"]["nodeName"]
    assert reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]}).actions == []


def test_a_pod_that_has_stopped_is_deleted_for_good(running, make_node, reconcile):
    pod = running()
    pod["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    done = reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]})
    assert done.requests() == [Delete(POD, KEY, uid="uid-web", grace_period_seconds=0)]
    assert done.events == ["Killing: Stopping container web"]


def test_how_a_held_pod_ended_is_written_before_it_is_deleted(running, make_node, reconcile):
    pod = running(meta={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    pod["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    update, delete = reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]}).requests()
    assert (update.obj["status"]["phase"], delete.grace_period_seconds) == ("Failed", 0)


@pytest.mark.parametrize(
    ("error", "ends_well"),
    [
        (not_found("", "pods", "web"), True),
        (conflict("", "pods", name="web", why="another"), True),
    ],
)
def test_a_pod_that_is_gone_need_not_be_deleted(running, make_node, reconcile, error, ends_well):
    pod = running()
    pod["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    done = reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node()]}, lambda _: error)
    assert (done.error is None) is ends_well


# -- what wakes it -----------------------------------------------------------------------------------------------------


def test_a_pod_that_is_bound_wakes_it(make_pod, make_node, make_world):
    world, pod = make_world(SPEC, {NODE: [make_node()]}), make_pod()
    unbound = pod | {"spec": {key: value for key, value in pod["spec"].items() if key != "nodeName"}}
    assert keys_of(world, POD, None, unbound) == []
    assert keys_of(world, POD, unbound, pod) == [KEY]


def test_its_own_writes_do_not_wake_it(make_pod, make_node, make_world, running):
    assert keys_of(make_world(SPEC, {NODE: [make_node()]}), POD, make_pod(), running()) == []


def test_after_a_start_all_pods_that_have_not_ended_are_looked_at(make_node, make_world, running):
    world = make_world(SPEC, {NODE: [make_node()]})
    assert keys_of(world, POD, None, running()) == [KEY]
    ended = running("busybox", command=["true"], spec={"restartPolicy": "Never"})
    assert ended["status"]["phase"] == "Succeeded"
    assert keys_of(world, POD, None, ended) == []


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        ({"labels": {"a": "b"}}, False),
        ({"annotations": {"a": "b"}}, True),
        ({"generation": 2}, True),
        ({"deletionTimestamp": "2027-01-15T08:00:30Z"}, True),
    ],
)
def test_changes_of_a_running_pod_wake_it_where_they_may_matter(running, make_node, make_world, change, wakes):
    old = running()
    new = old | {"metadata": old["metadata"] | change}
    assert bool(keys_of(make_world(SPEC, {NODE: [make_node()]}), POD, old, new)) is wakes


def test_a_pod_can_be_seen_going(running, make_node, make_world):
    world, old = make_world(SPEC, {NODE: [make_node()]}), running()
    begun = {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    going = old | {"metadata": old["metadata"] | begun}
    assert keys_of(world, POD, old, going) == [DelayedKey(KEY, 0.3)]
    assert keys_of(world, POD, None, going) == [KEY]


def test_a_pod_whose_set_is_about_to_open_its_gate_is_started_then_or_after_a_while(make_pod, make_node, make_world):
    world, pod = make_world(SPEC, {NODE: [make_node()]}), make_pod()
    gated = pod | {"spec": pod["spec"] | {"readinessGates": [{"conditionType": "InPlaceUpdateReady"}]}}
    assert keys_of(world, POD, None, gated) == [DelayedKey(KEY, 1.0)]
    opened = gated | {"status": {"conditions": [{"type": "InPlaceUpdateReady", "status": "True"}]}}
    assert keys_of(world, POD, gated, opened) == [KEY]
    other = pod | {"spec": pod["spec"] | {"readinessGates": [{"conditionType": "example.com/mine"}]}}
    assert keys_of(world, POD, None, other) == [KEY], "gates of others may wait for what the pod says"


def test_the_end_of_a_pods_grace_wakes_it_only_after_a_start(running, make_node, make_world):
    world, old = make_world(SPEC, {NODE: [make_node()]}), running()
    going = {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    old = old | {"metadata": old["metadata"] | going}
    over = old | {"metadata": old["metadata"] | {"deletionGracePeriodSeconds": 0}}
    assert keys_of(world, POD, old, over) == []
    assert keys_of(world, POD, None, over) == [KEY]


def test_a_condition_that_somebody_turned_wakes_it(running, make_node, make_world):
    old = running()
    conditions = [each | {"status": "False"} for each in old["status"]["conditions"]]
    new = old | {"status": old["status"] | {"conditions": conditions}}
    assert keys_of(make_world(SPEC, {NODE: [make_node()]}), POD, old, new) == [KEY]


def test_pods_that_go_and_pods_elsewhere_do_not_wake_it(running, make_node, make_world, make_pod):
    world = make_world(SPEC, {NODE: [make_node(simulated=False)]})
    assert keys_of(world, POD, running(), None) == []
    assert keys_of(world, POD, None, make_pod()) == []


def test_a_node_that_comes_back_wakes_all_its_pods(running, make_node, make_world):
    world = make_world(SPEC, {POD: [running()]})
    lost, node = make_node(annotations={"mockube.io/lost": "true"}), make_node()
    assert keys_of(world, NODE, None, node) == [KEY]
    assert keys_of(world, NODE, lost, node) == [KEY]
    assert keys_of(world, NODE, make_node(ready="Unknown"), node) == [KEY]
    assert keys_of(world, NODE, node, node) == []
    assert keys_of(world, NODE, node, lost) == []


def test_each_pod_has_an_address_of_its_own(make_pod, make_node, make_world, rehearse, now):
    pods = [make_pod(meta={"name": f"web-{i}", "uid": f"uid-{i}"}) for i in range(20)]
    world = make_world(SPEC, {POD: pods, NODE: [make_node()]})
    addresses = set()
    for pod in pods:
        done = rehearse(SPEC.reconcile(SPEC.observe(world, f"default/{pod['metadata']['name']}"), now))
        addresses.add(done.of(Update)[0].obj["status"]["podIP"])
    assert addresses == {f"10.244.0.{number}" for number in range(2, 22)}


def test_an_address_that_could_not_be_written_is_given_again(make_pod, make_node, make_world):
    world = make_world(SPEC, {POD: [make_pod()], NODE: [make_node()]})
    first, second = SPEC.observe(world, KEY), SPEC.observe(world, KEY)
    assert first.node_context.pod_ip == second.node_context.pod_ip == "10.244.0.2"
