"""`mockube up` has two processes: what starts the second, keeps it alive, and ends it."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

Refused = Callable[..., str]
Wait = Callable[[Callable[[], Any]], Any]


def children(process: int) -> list[int]:
    output = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in output.stdout.split()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def is_alive(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_it_says_when_the_controllers_are_at_work_and_where_their_metrics_are(up: Any) -> None:
    server = up("--store", "memory", "--nodes", "2", controllers=True)
    line = server.greeting.splitlines()[-1]
    words = r"The controllers and 2 simulated nodes are at work after \d+\.\d\d s; metrics at (http://127\.0\.0\.1:\d+/metrics)\."
    match = re.fullmatch(words, line)
    assert match, line
    metrics = urllib.request.urlopen(match[1]).read().decode()
    assert 'workqueue_depth{name="deployment"} 0.0' in metrics
    assert re.search(
        r'^rest_client_requests_total\{code="201",host="127\.0\.0\.1:\d+",method="POST"\} [1-9]', metrics, re.MULTILINE
    )
    for page in ("healthz", "livez", "readyz"):
        assert urllib.request.urlopen(match[1].replace("metrics", page)).read() == b"ok"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nodes", "1"], "The controllers and 1 simulated node are at work"),
        (["--nodes", "0"], "The controllers are at work"),
        (["--controllers", "*,-kubelet"], "The controllers are at work"),
        (["--controllers", "*,-scheduler"], "The controllers and 3 simulated nodes are at work"),
    ],
)
def test_it_tells_of_the_nodes_that_it_simulates(up: Any, arguments: list[str], words: str) -> None:
    server = up("--store", "memory", *arguments, controllers=True)
    assert server.greeting.splitlines()[-1].startswith(f"{words} after ")


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_both_with_exit_code_0_and_nothing_to_say(up: Any, name: signal.Signals) -> None:
    server = up("--store", "memory", controllers=True)
    (manager,) = children(server.process.pid)
    assert server.stop(name) == (0, "", "")
    assert not is_alive(manager)


def test_a_manager_that_dies_is_started_again(up: Any, wait_for: Wait) -> None:
    server = up("--store", "memory", controllers=True)
    (first,) = children(server.process.pid)
    os.kill(first, signal.SIGKILL)
    (second,) = wait_for(lambda: [each for each in children(server.process.pid) if each != first])
    assert "at work" in server.process.stdout.readline()
    code, _, said = server.stop()
    assert code == 0
    assert 'msg="controller_manager ended with exit code -9 and is started again in 0.5 s"' in said
    assert not is_alive(second)


def test_a_manager_does_not_outlive_a_server_that_is_killed(up: Any, wait_for: Wait) -> None:
    server = up("--store", "memory", controllers=True)
    (manager,) = children(server.process.pid)
    server.stop(signal.SIGKILL)
    wait_for(lambda: not is_alive(manager))


def test_a_manager_that_cannot_run_as_asked_ends_the_command_and_says_why(environment: dict[str, str]) -> None:
    asked = ["up", "--store", "memory", "--port", "0", "--controllers", "*,-schedular"]
    ended = subprocess.run(
        [sys.executable, "-m", "mockube", *asked],
        capture_output=True,
        text=True,
        env=environment,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith('controller_manager: --controllers: "-schedular" is no controller; these are: ')
    assert ended.stderr.count("\n") == 1


def test_the_server_alone_has_one_process(up: Any) -> None:
    assert children(up("--store", "memory").process.pid) == []


def manager(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the message of `python -m controller_manager` with arguments that it refuses."""
    ended = subprocess.run(
        [sys.executable, "-m", "controller_manager", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kubeconfig", "/nowhere"], "--kubeconfig: /nowhere is not a file"),
        (["--controllers", "*,-deploymnet"], '--controllers: "-deploymnet" is no controller; these are: '),
        (["--concurrent-deployment-syncs", "0"], "--concurrent-deployment-syncs: 0 workers do nothing: give 1 or more"),
        (["--compatibility", "1.2"], "--compatibility: 1.2 is not one of 1.20, 1.30, 1.35"),
        (["--root-ca-file", "/nowhere"], "--root-ca-file: /nowhere cannot be read: "),
        (["--leader-elect-renew-deadline", "20s"], "--leader-elect-lease-duration must be greater than"),
        (["--leader-elect-retry-period", "soon"], '"soon" is no duration: give one such as 30s, 5m or 1h30m'),
        (["--metrics-bind-address", "here"], '"here" is no address: give HOST:PORT, such as 127.0.0.1:10252, or 0'),
        (["--leader-elect=maybe"], '"maybe" is neither true nor false'),
    ],
)
def test_settings_that_cannot_be_used_are_refused(arguments: list[str], said: str) -> None:
    code, errors = manager(*arguments)
    assert code == 2
    assert said in errors.splitlines()[-1]
    assert "Traceback" not in errors


def test_without_a_kubeconfig_outside_a_pod_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    code, errors = manager()
    assert (code, errors.count("\n")) == (2, 1)
    assert "--kubeconfig" in errors


def test_an_address_that_is_taken_is_reported(up: Any, tmp_path: Path) -> None:
    server = up("--store", "memory", "--data-dir", tmp_path)
    port = re.search(r":(\d+)$", server.url)
    assert port
    code, errors = manager("--kubeconfig", server.kubeconfig, "--metrics-bind-address", f"127.0.0.1:{port[1]}")
    assert code == 2
    assert errors == (
        f"controller_manager: --metrics-bind-address: 127.0.0.1:{port[1]} cannot be had: "
        "Address already in use; give another port, or 0\n"
    )


def test_a_second_cluster_takes_another_port_for_its_metrics(up: Any, tmp_path: Path) -> None:
    port = "127.0.0.1:10252/"
    for name in ("first", "second"):
        asked = ("--store", "memory", "--port", str(free_port()), "--data-dir", tmp_path / name)
        last = up(*asked, controllers=True)
    assert port not in last.greeting


@pytest.mark.parametrize(
    ("arguments", "resources"), [([], ["clonesets", "statefulsets", "uniteddeployments"]), (["--no-kruise"], [])]
)
def test_the_command_has_openkruises_workloads_unless_it_is_told_not_to(
    up: Any, kubectl_at: Any, arguments: list[str], resources: list[str]
) -> None:
    server = up("--store", "memory", *arguments, controllers=True)
    names = kubectl_at(Path(server.kubeconfig)).output("api-resources --api-group=apps.kruise.io -o name").split()
    assert names == [f"{name}.apps.kruise.io" for name in resources]
