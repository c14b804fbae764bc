"""Clusters where somebody else has the nodes: without kubelets, without a scheduler, with parts of the controllers."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

Write = Callable[..., str]

MERGE = {"Content-Type": "application/merge-patch+json"}
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
WORKLOADS = "/apis/apps/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PAUSE, PATIENCE = 0.1, 30
GRACE = 3


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass
class Keeper:
    """A client in the role of the scheduler and the kubelets, as kwok is.

    Attributes:
        alive: the nodes whose leases are renewed, and whose pods run.
    """

    session: aiohttp.ClientSession
    alive: list[str]

    async def do(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        async with self.session.request(method, path, json=body, headers=headers) as answer:
            reply = await answer.json()
        assert answer.status < 300 or (method, answer.status) in (("PUT", 409), ("DELETE", 404)), reply
        return reply

    async def register(self) -> None:
        for name in self.alive:
            await self.do("POST", NODES, {"metadata": {"name": name, "labels": {"type": "own"}}})
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now()[:19] + "Z"}
            capacity = {"cpu": "4", "memory": "8Gi", "pods": "20"}
            status = {"conditions": [ready], "capacity": capacity, "allocatable": capacity}
            await self.do("PATCH", f"{NODES}/{name}/status", {"status": status}, **MERGE)
            lease = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}
            await self.do("POST", LEASES, {"metadata": {"name": name}, "spec": lease})

    async def keep(self) -> None:
        """Never ends."""
        while True:
            for name in self.alive:
                await self.do("PATCH", f"{LEASES}/{name}", {"spec": {"renewTime": now()}}, **MERGE)
            for number, pod in enumerate((await self.do("GET", PODS))["items"]):
                await self._tend(pod, self.alive[number % len(self.alive)])
            await asyncio.sleep(PAUSE)

    async def _tend(self, pod: Any, node: str) -> None:
        path = f"{PODS}/{pod['metadata']['name']}"
        if "deletionTimestamp" in pod["metadata"]:
            await self.do("DELETE", path, {"gracePeriodSeconds": 0})
        elif not pod["spec"].get("nodeName"):
            binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": node}}
            await self.do("POST", f"{path}/binding", binding)
        elif pod["status"]["phase"] == "Pending":
            conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": now()[:19] + "Z"}]
            await self.do("PUT", f"{path}/status", pod | {"status": {"phase": "Running", "conditions": conditions}})

    async def until(self, path: str, done: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not done(listed := await self.do("GET", path)):  # noqa: ASYNC110 - it is the server that knows
                await asyncio.sleep(PAUSE)
        return listed


def is_available(workload: Any) -> bool:
    status, replicas = workload.get("status", {}), workload["spec"]["replicas"]
    current = status.get("observedGeneration") == workload["metadata"]["generation"]
    counts = [status.get(name, 0) for name in ("updatedReplicas", "availableReplicas", "replicas")]
    return current and counts == [replicas] * 3


def ready_of(node: Any) -> str:
    return "".join(each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready")


@pytest.mark.slow
async def test_workloads_roll_out_on_nodes_that_somebody_else_keeps(
    serve: Any, manage: Any, asking: Any, deployment: Write, stateful_set: Write
) -> None:
    server = await asyncio.to_thread(serve)
    flags = ("--controllers=*,-scheduler,-kubelet", "--leader-elect=false", f"--node-monitor-grace-period={GRACE}s")
    manager = manage(server.kubeconfig, *flags)
    await asyncio.to_thread(manager.line)
    async with asking(server.kubeconfig) as session:
        keeper = Keeper(session, ["own-1", "own-2"])
        await keeper.register()
        kept = asyncio.ensure_future(keeper.keep())
        try:
            await _live(keeper, deployment, stateful_set)
        finally:
            kept.cancel()
    assert "Traceback" not in manager.said.read_text()


async def _live(keeper: Keeper, deployment: Write, stateful_set: Write) -> None:
    web, db = f"{WORKLOADS}/deployments/web", f"{WORKLOADS}/statefulsets/db"
    await keeper.do("POST", f"{WORKLOADS}/deployments", json.loads(deployment(replicas=4)))
    await keeper.do("POST", f"{WORKLOADS}/statefulsets", json.loads(stateful_set(replicas=2)))
    await keeper.until(web, is_available)
    await keeper.until(db, is_available)
    template = {"spec": {"template": {"metadata": {"annotations": {"second": "yes"}}}}}
    for path in (web, db):
        await keeper.do("PATCH", path, template, **MERGE)
        await keeper.until(path, is_available)
    names = [node["metadata"]["name"] for node in (await keeper.do("GET", NODES))["items"]]
    assert names == ["own-1", "own-2"], "nobody simulates nodes"
    keeper.alive.remove("own-2")
    lost = await keeper.until(f"{NODES}/own-2", lambda node: ready_of(node) == "Unknown")
    assert ready_of(await keeper.do("GET", f"{NODES}/own-1")) == "True"
    lost = await keeper.until(f"{NODES}/own-2", lambda node: len(node["spec"].get("taints", ())) == 2)
    assert {taint["key"] for taint in lost["spec"]["taints"]} == {"node.kubernetes.io/unreachable"}


@pytest.mark.parametrize(
    ("controllers", "pods"),
    [
        ("deployment", 0),
        ("deployment,replicaset", 2),
        ("*,-deployment", 0),
        ("*,-garbagecollector,-namespace,-disruption,-podgc", 2),
        ("-scheduler,*", 2),
        ("*,-node", 2),
    ],
)
async def test_any_controllers_work_without_the_others(
    serve: Any, manage: Any, asking: Any, deployment: Write, controllers: str, pods: int
) -> None:
    server = await asyncio.to_thread(serve)
    manager = manage(server.kubeconfig, f"--controllers={controllers}", "--leader-elect=false")
    await asyncio.to_thread(manager.line)
    async with asking(server.kubeconfig) as session:
        keeper = Keeper(session, [])
        made = json.loads(deployment(replicas=2))
        await keeper.do("POST", f"{WORKLOADS}/deployments", made)
        if controllers != "*,-deployment":
            await keeper.until(f"{WORKLOADS}/replicasets", lambda listed: len(listed["items"]) == 1)
        listed = await keeper.until(PODS, lambda listed: len(listed["items"]) == pods)
        assert len(listed["items"]) == pods
    assert "Traceback" not in manager.said.read_text()
