from typing import Any

import pytest

from apiserver.endpoints.tables import printer_of

RUNNING = {"running": {"startedAt": "2024-01-01T00:10:00Z"}}
DELETED = {"deletionTimestamp": "2024-01-01T00:50:00Z"}


def container(
    state: Any, *, name: str = "c", restarts: int = 0, last: str | None = None, **fields: Any
) -> dict[str, Any]:
    ended = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": last}}} if last else {}
    return {"name": name, "restartCount": restarts, "state": state, **ended, **fields}


def terminated(code: int = 0, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def pod(*statuses: Any, init: Any = (), sidecars: Any = (), metadata: Any = None, **status: Any) -> dict[str, Any]:
    names = [s["name"] for s in init] or []
    return {
        "metadata": metadata or {},
        "spec": {
            "containers": [{"name": s["name"]} for s in statuses] or [{"name": "c"}],
            "initContainers": [{"name": n, **({"restartPolicy": "Always"} if n in sidecars else {})} for n in names],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": list(statuses),
            "initContainerStatuses": list(init),
            **status,
        },
    }


READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("given", "ready", "status", "restarts"),
    [
        pytest.param(pod(phase="Pending"), "0/1", "Pending", "0", id="fresh"),
        pytest.param(pod(phase="Failed", reason="Evicted"), "0/1", "Evicted", "0", id="its own reason"),
        pytest.param(pod(container(RUNNING, ready=True)), "1/1", "Running", "0", id="ready"),
        pytest.param(pod(container(RUNNING, ready=False)), "0/1", "Running", "0", id="not ready"),
        pytest.param(pod(container(waiting("ErrImagePull"))), "0/1", "ErrImagePull", "0", id="waiting"),
        pytest.param(pod(container({"waiting": {}})), "0/1", "Running", "0", id="waiting without a reason"),
        pytest.param(pod(container(terminated(1, "Error"))), "0/1", "Error", "0", id="ended with a reason"),
        pytest.param(pod(container(terminated(3))), "0/1", "ExitCode:3", "0", id="ended with a code"),
        pytest.param(pod(container(terminated(137, signal=9))), "0/1", "Signal:9", "0", id="ended by a signal"),
        pytest.param(
            pod(container(waiting("ContainerCreating")), container(waiting("ImagePullBackOff"), name="d")),
            "0/2",
            "ContainerCreating",
            "0",
            id="the first container's reason wins",
        ),
        pytest.param(
            pod(container(terminated(0, "Completed")), container(RUNNING, name="d", ready=True)),
            "1/2",
            "NotReady",
            "0",
            id="one has completed",
        ),
        pytest.param(
            pod(container(terminated(0, "Completed")), container(RUNNING, name="d", ready=True), conditions=READY),
            "1/2",
            "Running",
            "0",
            id="one has completed and the pod is ready",
        ),
        pytest.param(
            pod(container(terminated(0, "Completed")), container(terminated(2, "Error"), name="d")),
            "0/2",
            "Completed",
            "0",
            id="a completion before a failure",
        ),
        pytest.param(
            pod(container(terminated(2, "Error")), container(terminated(0, "Completed"), name="d")),
            "0/2",
            "Error",
            "0",
            id="a failure before a completion",
        ),
        pytest.param(
            pod(
                container(terminated(0, "Completed")),
                container(RUNNING, name="d", ready=True),
                container(terminated(2), name="e"),
            ),
            "1/3",
            "NotReady",
            "0",
            id="a failure after what has completed and what still runs",
        ),
        pytest.param(pod(container(terminated(0, "Completed"))), "0/1", "Completed", "0", id="completed"),
        pytest.param(
            pod(container(RUNNING, ready=True, restarts=2, last="2024-01-01T00:57:00Z")),
            "1/1",
            "Running",
            "2 (3m ago)",
            id="restarted",
        ),
        pytest.param(
            pod(
                container(RUNNING, restarts=2, last="2024-01-01T00:50:00Z"),
                container(RUNNING, name="d", restarts=1, last="2024-01-01T00:59:00Z"),
            ),
            "0/2",
            "Running",
            "3 (60s ago)",
            id="restarts are added, and the last one counts",
        ),
        pytest.param(pod(container(RUNNING, restarts=4)), "0/1", "Running", "4", id="restarted at some time"),
        pytest.param(
            pod(
                phase="Pending",
                conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            ),
            "0/1",
            "SchedulingGated",
            "0",
            id="held by a scheduling gate",
        ),
        pytest.param(
            pod(container(RUNNING, ready=True), metadata=DELETED), "1/1", "Terminating", "0", id="being deleted"
        ),
        pytest.param(
            pod(container(RUNNING), metadata=DELETED, reason="NodeLost"), "0/1", "Unknown", "0", id="on a lost node"
        ),
        pytest.param(
            pod(container(terminated(0, "Completed")), metadata=DELETED, phase="Succeeded"),
            "0/1",
            "Completed",
            "0",
            id="ended and being deleted",
        ),
    ],
)
def test_a_pods_state_is_told_from_its_containers(
    printed: Any, given: dict[str, Any], ready: str, status: str, restarts: str
) -> None:
    row = printed("", "Pod", given)
    assert (row["Ready"], row["Status"], row["Restarts"]) == (ready, status, restarts)


PENDING = waiting("PodInitializing")
AGO = "2024-01-01T00:55:00Z"


@pytest.mark.parametrize(
    ("given", "ready", "status", "restarts"),
    [
        pytest.param(
            pod(init=[container(RUNNING, name="i"), container(PENDING, name="j")], phase="Pending"),
            "0/1",
            "Init:0/2",
            "0",
            id="the first one runs",
        ),
        pytest.param(
            pod(init=[container(terminated(), name="i"), container(PENDING, name="j")], phase="Pending"),
            "0/1",
            "Init:1/2",
            "0",
            id="the second one is to come",
        ),
        pytest.param(
            pod(init=[container(waiting("CrashLoopBackOff"), name="i", restarts=3, last=AGO)]),
            "0/1",
            "Init:CrashLoopBackOff",
            "3 (5m ago)",
            id="one crashes",
        ),
        pytest.param(
            pod(init=[container(terminated(1, "Error"), name="i")]), "0/1", "Init:Error", "0", id="one failed"
        ),
        pytest.param(
            pod(init=[container(terminated(2), name="i")]), "0/1", "Init:ExitCode:2", "0", id="one failed with a code"
        ),
        pytest.param(
            pod(init=[container(terminated(2, signal=15), name="i")]), "0/1", "Init:Signal:15", "0", id="one was killed"
        ),
        pytest.param(
            pod(container(RUNNING, ready=True), init=[container(terminated(), name="i", restarts=5, last=AGO)]),
            "1/1",
            "Running",
            "0",
            id="restarts of those that are through are forgotten",
        ),
        pytest.param(
            pod(
                container(RUNNING, ready=True),
                init=[container(RUNNING, name="s", started=True, ready=True, restarts=1, last=AGO)],
                sidecars=["s"],
            ),
            "2/2",
            "Running",
            "1 (5m ago)",
            id="a sidecar counts like a container",
        ),
        pytest.param(
            pod(init=[container(RUNNING, name="s", started=False)], sidecars=["s"]),
            "0/2",
            "Init:0/1",
            "0",
            id="a sidecar has to start",
        ),
        pytest.param(
            pod(
                init=[container(RUNNING, name="s", started=True, ready=True), container(PENDING, name="i")],
                sidecars=["s"],
            ),
            "1/2",
            "Init:1/2",
            "0",
            id="a sidecar is ready before the rest",
        ),
        pytest.param(
            pod(
                container(RUNNING, ready=True),
                init=[container(waiting("CrashLoopBackOff"), name="s")],
                sidecars=["s"],
                conditions=[{"type": "Initialized", "status": "True"}],
            ),
            "1/2",
            "Init:CrashLoopBackOff",
            "0",
            id="a sidecar crashes after initialization",
        ),
    ],
)
def test_init_containers_come_first(
    printed: Any, given: dict[str, Any], ready: str, status: str, restarts: str
) -> None:
    row = printed("", "Pod", given)
    assert (row["Ready"], row["Status"], row["Restarts"]) == (ready, status, restarts)


def test_the_wide_cells_of_a_pod_say_none_where_nothing_is_known(printed: Any) -> None:
    row = printed("", "Pod", {"spec": None, "status": None})
    assert list(row.values()) == ["x", "0/0", "", "0", "60m", "<none>", "<none>", "<none>", "<none>"]


def test_the_wide_cells_of_a_pod(printed: Any) -> None:
    body = {
        "spec": {
            "nodeName": "n",
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}],
        },
        "status": {
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "nominatedNodeName": "m",
            "conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
        },
    }
    assert list(printed("", "Pod", body).values())[5:] == ["10.0.0.1", "n", "m", "1/3"]


@pytest.mark.parametrize(
    ("phase", "reasons"), [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", []), ("Pending", [])]
)
def test_a_pod_that_ended_has_a_condition_in_its_row(phase: str, reasons: list[str]) -> None:
    row = printer_of("", "Pod").row({"status": {"phase": phase}})
    assert [condition["reason"] for condition in row.conditions] == reasons
    assert all(condition["type"] == "Completed" and condition["status"] == "True" for condition in row.conditions)


def test_a_row_is_compiled_once_and_told_the_time_often() -> None:
    row = printer_of("", "Pod").row(pod(metadata={"name": "x", "creationTimestamp": "1970-01-01T00:00:00Z"}))
    assert [row.cells_at(now)[4] for now in (1.0, 90.0, 7200.0)] == ["1s", "90s", "120m"]
