"""Whatever pods have to do, and whenever the kubelet looks: nothing is done twice, and nothing is undone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext
from controller_manager.reconcile.times import format_time

START = 1_800_000_000.0
PLACE = NodeContext("node-1", "172.18.0.2", "10.244.0.2")

times = st.sampled_from(["0", "1", "5", "30s", "10m", "never"])
annotations = st.fixed_dictionaries(
    {},
    optional={
        "start-after": times,
        "ready-after": times,
        "exit-after": times,
        "exit-code": st.sampled_from(["0", "1", "137"]),
        "exit-times": st.sampled_from(["0", "1", "3"]),
        "pull-failures": st.sampled_from(["0", "1", "4"]),
        "pull-error": st.just("true"),
        "unhealthy-after": times,
        "evict-after": times,
    },
)
containers = st.fixed_dictionaries(
    {"image": st.sampled_from(["nginx:1", "busybox", "crash.mockube.io/a", "nginx:1.161", "Bad", "slow.mockube.io/a"])},
    optional={
        "command": st.sampled_from([["sleep", "7"], ["false"], ["sh", "-c", "sleep 2; exit 3"]]),
        "readinessProbe": st.just({"httpGet": {"port": 80}, "initialDelaySeconds": 4}),
        "livenessProbe": st.just({"tcpSocket": {"port": 80}, "periodSeconds": 3}),
        "startupProbe": st.just({"exec": {"command": ["true"]}, "initialDelaySeconds": 2}),
    },
)
inits = st.lists(st.tuples(containers, st.booleans()), max_size=2)


@st.composite
def pods(draw):
    wishes = {f"mockube.io/{name}": value for name, value in draw(annotations).items()}
    wishes |= {f"init-0.mockube.io/{name}": value for name, value in draw(annotations).items()}
    spec = {
        "restartPolicy": draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        "initContainers": [
            {"name": f"init-{i}"} | each | ({"restartPolicy": "Always"} if sidecar else {})
            for i, (each, sidecar) in enumerate(draw(inits))
        ],
        "containers": [{"name": f"main-{i}"} | draw(containers) for i in range(draw(st.integers(1, 2)))],
    }
    if limit := draw(st.sampled_from([None, 20])):
        spec["activeDeadlineSeconds"] = limit
    meta = {"name": "p", "namespace": "ns", "uid": "u", "generation": 1, "annotations": wishes}
    return {"metadata": meta | {"creationTimestamp": format_time(START)}, "spec": spec, "status": {"phase": "Pending"}}


def statuses(pod):
    fields = ("initContainerStatuses", "containerStatuses")
    return {each["name"]: each for field in fields for each in pod["status"].get(field) or ()}


@settings(max_examples=200, deadline=None)
@given(pod=pods(), waits=st.lists(st.sampled_from([0.1, 0.9, 1, 2.5, 11, 60, 400, 5000]), max_size=12))
def test_a_pod_goes_its_way_once(pod, waits):
    now = START + 0.3
    for wait in [0.0, *waits, *[None] * 20]:
        before = pod
        step = next_step(pod, PLACE, now)
        if step.status is not None:
            pod = pod | {"status": step.status}
        again = next_step(pod, PLACE, now)
        assert (again.status, list(again.events)) == (None, []), "the same look does nothing more"
        assert again.wait == step.wait
        check(before, pod)
        if wait is None and step.wait is None:
            break
        pause = step.wait if wait is None else wait
        assert pause is not None
        now += pause
        if wait is None:
            assert pause > 0


def check(before, after):
    """Check the invariants between two states of a pod."""
    old, new = statuses(before), statuses(after)
    assert list(old) in ([], list(new))
    for name, status in new.items():
        assert status["restartCount"] >= old.get(name, {}).get("restartCount", 0)
        assert len(status["state"]) == 1
        assert "running" in status["state"] or not status["ready"] or name.startswith("init")
    if before["status"]["phase"] in ("Succeeded", "Failed"):
        assert after == before
    if after["status"]["phase"] in ("Succeeded", "Failed"):
        assert not any("running" in status["state"] for status in new.values())
    ready = next(each["status"] for each in after["status"]["conditions"] if each["type"] == "Ready")
    mains = [status["ready"] for name, status in new.items() if name.startswith("main")]
    assert ready == "False" or all(mains)
