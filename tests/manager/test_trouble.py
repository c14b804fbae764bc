"""The manager copes with a server that goes away or forgets, a sleep of its own, and objects that lead nowhere."""

import asyncio
import json
import re
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiserver.app import serving
from apiserver.config import Config, check
from mockube.control_plane import control_plane

Kubectl = Any
Write = Callable[..., str]

WEB = "/apis/apps/v1/namespaces/default/deployments/web"
MERGE = {"Content-Type": "application/merge-patch+json"}

ROLLED_OUT = '.*deployment "web" successfully rolled out'
HEALTH = "get nodes -o 'jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].lastTransitionTime}'"
UIDS = "get pods -o 'jsonpath={.items[*].metadata.uid}'"


# -- a server that is away


@pytest.mark.slow
@pytest.mark.kubectl
def test_a_server_that_was_away_is_found_again_and_nothing_was_given_up(
    serve: Any, manage: Any, kubectl_at: Any, deployment: Write
) -> None:
    server = serve(store="sqlite")
    manager = manage(server.kubeconfig, "--leader-elect=false")  # a leader would end when it cannot renew its lease
    assert manager.line().startswith("ready")
    kubectl = kubectl_at(server.kubeconfig)
    kubectl.output("apply -f -", deployment(replicas=3))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    health, pods = kubectl.output(HEALTH), kubectl.output(UIDS)
    server.running.ended(signal.SIGKILL)
    time.sleep(20)  # by now the manager asks every quarter of a minute only
    serve(port=server.port, store="sqlite")
    kubectl.output("apply -f -", deployment(replicas=5))
    kubectl.says("rollout status deployment/web --timeout=300s", ROLLED_OUT)
    assert set(pods.split()) < set(kubectl.output(UIDS).split())
    assert kubectl.output(HEALTH) == health
    assert manager.ended(signal.SIGTERM) == 0


# -- a server in this process, whose history a test can compact


@dataclass(frozen=True)
class LocalServer:
    """A server on the test's own loop.

    Attributes:
        store: what it keeps.
    """

    kubectl: Kubectl
    kubeconfig: Path
    store: Any

    async def output(self, line: str, given: str = "") -> str:
        """Return what a command prints, which must succeed; it runs in a thread beside the server."""
        output: str = await asyncio.to_thread(self.kubectl.output, line, given)
        return output

    async def forget(self) -> None:
        """No watch may begin, or go on, before now."""
        await self.store.compact(self.store.revision)


@pytest.fixture
def here(tmp_path: Path, kubectl_at: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    servers = []

    @asynccontextmanager
    async def kept(config: Config) -> AsyncIterator[Any]:
        async with serving(config) as server:
            servers.append(server)
            yield server

    @asynccontextmanager
    async def run() -> AsyncIterator[LocalServer]:
        monkeypatch.setattr("mockube.control_plane.serving", kept)
        config = check(Config(secure_port=0, empties_namespaces=False))
        async with control_plane(config, tmp_path / "data") as running:
            kubectl = await asyncio.to_thread(kubectl_at, running.kubeconfig)
            yield LocalServer(kubectl, running.kubeconfig, servers[0].registry.storage.store)

    return run


@pytest.mark.kubectl
async def test_what_the_server_forgot_while_the_manager_slept_is_asked_for_again(
    here: Any, manage: Any, asking: Any, deployment: Write
) -> None:
    async with here() as server:
        manager = manage(server.kubeconfig, "-v=1")
        await asyncio.to_thread(manager.line)
        await server.output("apply -f -", deployment(replicas=3))
        await server.output("rollout status deployment/web")
        manager.send(signal.SIGSTOP)
        async with asking(server.kubeconfig) as session:
            for number in range(150):  # more than there is room for on the way to somebody who does not read
                body = {"metadata": {"annotations": {"weight": f"{number % 10}" * 250_000}}}
                async with session.patch(WEB, json=body, headers=MERGE) as answer:
                    assert answer.status == 200
        await server.output("replace -f -", deployment(image="nginx:2", replicas=5))
        await server.output("delete pods --all --force --grace-period=0 --wait=false")
        await server.output("create deployment other --image=nginx:1")
        await server.forget()
        manager.send(signal.SIGCONT)
        await server.output("rollout status deployment/web --timeout=300s")
        await server.output("rollout status deployment/other --timeout=300s")
        sets = json.loads(await server.output("get replicasets -l app=web -o json"))["items"]
        assert sorted(each["spec"]["replicas"] for each in sets) == [0, 5]
        pods = json.loads(await server.output("get pods -l app=web -o json"))["items"]
        assert len([pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]) == 5
        assert await asyncio.to_thread(manager.ended, signal.SIGTERM) == 0
    said = manager.said.read_text()
    assert "everything is asked for again" in said
    assert "Traceback" not in said


@pytest.mark.kubectl
def test_a_manager_that_slept_longer_than_nodes_may_be_silent_gives_none_up(
    serve: Any, manage: Any, kubectl_at: Any, deployment: Write
) -> None:
    """A computer that was suspended."""
    server = serve()
    manager = manage(server.kubeconfig, "--node-monitor-grace-period=2s", "--leader-elect=false")
    assert manager.line().startswith("ready")
    kubectl = kubectl_at(server.kubeconfig)
    kubectl.output("apply -f -", deployment(replicas=3))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    before = kubectl.output(HEALTH)
    manager.send(signal.SIGSTOP)
    time.sleep(3)  # by the clock, which goes on
    manager.send(signal.SIGCONT)
    kubectl.output("scale deployment web --replicas=6")
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert kubectl.output(HEALTH) == before
    assert "NotReady" not in kubectl.output("get events")


# -- objects that lead nowhere


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_workload_whose_pods_are_refused_says_so_stops_nobody_and_goes_on_when_it_can(
    kubectl: Kubectl, deployment: Write, stateful_set: Write, kind: str
) -> None:
    write = {"Deployment": deployment, "StatefulSet": stateful_set}[kind]
    name = f"{kubectl.namespace}-class"
    web = json.loads(write(name="web", replicas=1))
    web["spec"]["template"]["spec"]["priorityClassName"] = name
    kubectl.output("apply -f -", json.dumps(web))
    kubectl.output("apply -f -", write(name="well", replicas=2))
    kubectl.output(f"rollout status {kind}/well --timeout=300s")
    refusal = rf'pods "web-\S*" is forbidden: no PriorityClass with name {name} was found'
    watch = kubectl.start("get events --watch --no-headers --field-selector=reason=FailedCreate")
    assert re.search(rf" Warning +FailedCreate .*{refusal}", watch.stdout.readline())
    watch.terminate()
    watch.communicate()
    if kind == "Deployment":
        message = "-o \"jsonpath={.status.conditions[?(@.type=='ReplicaFailure')].message}\""
        assert re.fullmatch(refusal, kubectl.output(f"get {kind} web {message}"))
    kubectl.output(f"create priorityclass {name} --value=7")
    kubectl.output(f"rollout status {kind}/web --timeout=300s")
    assert "ReplicaFailure" not in kubectl.output(f"get {kind} web -o yaml")
    kubectl.output(f"delete priorityclass {name}")
