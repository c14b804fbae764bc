"""Pods whose status, or whose end, somebody else wrote: a kubelet goes on from whatever it finds."""

from typing import Any

import pytest

from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext

NOW = 1_800_000_000.0


@pytest.fixture
def looked(make_pod, node_context):
    """Return the new status that the kubelet gives a pod with this status, or None if it stays."""

    def look(status, at=NOW, context=node_context, spec=None, meta=None):
        pod = make_pod(spec=spec, meta=meta)
        return next_step(pod | {"status": pod["status"] | status}, context, at)

    return look


def test_a_node_without_an_address_gives_none_to_the_status(looked):
    status = looked({}, context=NodeContext("node-1", "", "10.244.0.2")).status
    assert (status["podIP"], "hostIP" in status, "hostIPs" in status) == ("10.244.0.2", False, False)


def test_a_pod_of_the_hosts_network_on_a_node_without_an_address_has_none(looked):
    status = looked({}, context=NodeContext("node-1", "", ""), spec={"hostNetwork": True}).status
    assert status["phase"] == "Running"
    assert not {"podIP", "podIPs", "hostIP", "hostIPs"} & {*status}


def test_the_first_of_a_pods_addresses_is_its_address(looked):
    assert looked({"podIPs": [{"ip": "10.9.9.9"}]}).status["podIPs"] == [{"ip": "10.244.0.2"}]
    both = [{"ip": "10.244.0.2"}, {"ip": "fd00::2"}]
    assert looked({"podIP": "10.244.0.2", "podIPs": both}).status["podIPs"] == both


@pytest.mark.parametrize("grace", [2**31 - 1, 2**63 - 1])
@pytest.mark.parametrize("deleted", ["2027-01-15T07:59:59Z", "2199-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])
def test_whatever_grace_a_pod_has_its_containers_stop(looked, grace, deleted):
    step = looked({}, meta={"deletionTimestamp": deleted, "deletionGracePeriodSeconds": grace})
    assert step.delete or step.wait is not None


def test_a_deletion_without_a_grace_is_asked_for_again_unless_somebody_holds_the_pod(looked):
    meta = {"deletionTimestamp": "2027-01-15T07:59:59Z"}
    assert looked({}, meta=meta).delete
    assert not looked({}, meta=meta | {"finalizers": ["example.com/hold"]}).delete


WAITING: dict[str, Any] = {"waiting": {}}
RUNNING = {"running": {"startedAt": "2027-01-15T07:59:00Z"}}
LONG_AGO, FAR = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"state": None, "lastState": None, "restartCount": None, "image": None},
        {"state": {}, "restartCount": -5},
        {"state": {"running": None}},
        {"state": {"running": {}}, "restartCount": 2**31 - 1},
        {"state": {"running": {"startedAt": FAR}}},
        {"state": {"running": {"startedAt": LONG_AGO}, "terminated": {}, "waiting": {}}},
        {"state": {"terminated": {}}},
        {"state": {"terminated": {"exitCode": -1, "finishedAt": None}}, "restartCount": -(2**31)},
        {"state": {"terminated": {"exitCode": 1, "startedAt": FAR, "finishedAt": LONG_AGO}}, "restartCount": 1000},
        {"state": {"terminated": {"exitCode": 0, "startedAt": LONG_AGO, "finishedAt": FAR}}},
        {"state": WAITING, "lastState": {"terminated": {"exitCode": 1}}},
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {}}, "restartCount": 9},
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        {"state": {"waiting": {"reason": "ErrImagePull"}}},
        {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "?"}}},
        {"state": {"waiting": {"reason": "InvalidImageName"}}},
        {"state": {"waiting": {"reason": "PodInitializing"}}, "started": True, "ready": True},
    ],
)
@pytest.mark.parametrize("role", ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"])
@pytest.mark.parametrize("meta", [{}, {"deletionTimestamp": FAR, "deletionGracePeriodSeconds": 1, "finalizers": ["a"]}])
def test_a_container_goes_on_from_whatever_its_status_says(looked, odd, role, meta):
    others = {"initContainerStatuses": "initContainers", "ephemeralContainerStatuses": "ephemeralContainers"}
    name = "web" if role == "containerStatuses" else "other"
    spec = {others[role]: [{"name": name, "image": "x"}]} if role in others else {}
    written = {role: [{"name": name} | odd]}
    status = looked(written, spec=spec, meta=meta).status or written
    again = looked(status, spec=spec, meta=meta)
    assert again.status is None or again.status["phase"]


def test_what_a_kubelet_wrote_is_not_written_again(looked):
    written = looked({}).status
    assert looked(written, at=NOW + 5).status is None
