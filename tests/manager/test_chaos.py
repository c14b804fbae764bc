"""Rollouts go on while manager and server are killed again and again, and nothing is made twice."""

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

Write = Callable[..., str]

WORKLOADS = "/apis/apps/v1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"
WEB, DB = f"{WORKLOADS}/deployments/web", f"{WORKLOADS}/statefulsets/db"
MERGE = {"Content-Type": "application/merge-patch+json"}
PAUSE = 0.05
GONE = (aiohttp.ClientError, TimeoutError)
"""The errors of requests to a server that is killed."""
FOR_EVER = aiohttp.ClientTimeout(total=None)

KILLS = 20
WEB_PODS, SURGE, UNAVAILABLE = 10, 3, 2
DB_PODS = 3


@dataclass
class Api:
    """Somebody who asks until there is an answer."""

    session: aiohttp.ClientSession

    async def do(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        while True:
            with suppress(*GONE):
                async with self.session.request(method, path, json=body, headers=headers) as answer:
                    if answer.status < 500:
                        reply = await answer.json()
                        assert answer.status < 300 or (method, answer.status) == ("POST", 409), reply
                        return reply
            await asyncio.sleep(PAUSE)

    async def follow(self, path: str, see: Callable[[str, Any], None]) -> None:
        """See all changes, each once, whatever happens to the server; never return."""
        revision = (await self.do("GET", f"{path}?limit=1"))["metadata"]["resourceVersion"]
        while True:
            with suppress(*GONE):
                async with self.session.get(f"{path}?watch=1&resourceVersion={revision}", timeout=FOR_EVER) as answer:
                    assert answer.status == 200, await answer.text()
                    async for line in answer.content:
                        event = json.loads(line)
                        assert event["type"] != "ERROR", event
                        revision = event["object"]["metadata"]["resourceVersion"]
                        see(event["type"], event["object"])
            await asyncio.sleep(PAUSE)


def image_of(obj: Any) -> str:
    spec = obj["spec"].get("template", obj)["spec"]
    image: str = spec["containers"][0]["image"]
    return image


def is_available(pod: Any) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


@dataclass
class Chronicle:
    """All that a watch has seen.

    Attributes:
        sets: image → the uids of its ReplicaSets.
        wrongs: what must never be.
        up: whether all pods of the Deployment have been available once.
    """

    sets: dict[str, set[str]] = field(default_factory=dict)
    wrongs: list[str] = field(default_factory=list)
    up: bool = False
    _web: dict[str, Any] = field(default_factory=dict)
    _wanted: dict[str, int] = field(default_factory=dict)

    def see_pod(self, kind: str, pod: Any) -> None:
        meta = pod["metadata"]
        if meta["labels"]["app"] != "web":
            return
        self._web.pop(meta["uid"], None)
        if kind != "DELETED":
            self._web[meta["uid"]] = pod
        available = sum(map(is_available, self._web.values()))
        self.up = self.up or available == WEB_PODS
        if self.up and available < WEB_PODS - UNAVAILABLE:
            self.wrongs.append(f"only {available} available after {kind} {meta['name']}")

    def see_set(self, _: str, replica_set: Any) -> None:
        uids = self.sets.setdefault(image_of(replica_set), set())
        uids.add(replica_set["metadata"]["uid"])
        if len(uids) > 1:
            self.wrongs.append(f"two ReplicaSets of {image_of(replica_set)}")
        self._wanted[replica_set["metadata"]["uid"]] = replica_set["spec"]["replicas"]
        if sum(self._wanted.values()) > WEB_PODS + SURGE:
            self.wrongs.append(f"{self._wanted} pods are wanted")


@dataclass
class Cluster:
    """A server and a manager that are killed.

    Attributes:
        kills: how often each was.
    """

    serve: Callable[..., Any]
    manage: Callable[..., Any]
    fate: random.Random
    server: Any = None
    manager: Any = None
    kills: Counter[str] = field(default_factory=Counter)

    async def start_server(self) -> None:
        port = self.server.port if self.server else 0
        self.server = await asyncio.to_thread(self.serve, port=port, store="sqlite")

    async def start_manager(self) -> None:
        self.manager = self.manage(self.server.kubeconfig, "--leader-elect=false")
        await asyncio.to_thread(self.manager.line)

    async def kill_server(self) -> None:
        self.kills["server"] += 1
        self.server.running.ended(signal.SIGKILL)
        await self.start_server()

    async def kill_manager(self) -> None:
        self.kills["manager"] += 1
        self.manager.ended(signal.SIGKILL)
        await self.start_manager()

    async def suffer(self) -> None:
        """Be killed, one, the other, or both at once, so often."""
        half = KILLS // 2
        rounds = [[self.kill_server]] * half + [[self.kill_manager]] * half
        rounds += [[self.kill_server, self.kill_manager]] * half
        self.fate.shuffle(rounds)
        for kills in rounds:
            await asyncio.sleep(self.fate.uniform(0.0, 0.8))
            await asyncio.gather(*(kill() for kill in kills))


def is_rolled_out(workload: Any) -> bool:
    status, expected = workload.get("status", {}), workload["spec"]["replicas"]
    counts = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    current = status.get("currentRevision") == status.get("updateRevision")
    return (
        status.get("observedGeneration") == workload["metadata"]["generation"] and current and counts == [expected] * 3
    )


def nobody_goes(pods: Any) -> bool:
    return not any("deletionTimestamp" in pod["metadata"] for pod in pods["items"])


@dataclass
class Changer:
    """Sets new templates of both workloads, sometimes before the last one is rolled out."""

    api: Api
    fate: random.Random
    images: list[str] = field(default_factory=lambda: ["image:1"])

    async def change(self) -> None:
        self.images.append(f"image:{len(self.images) + 1}")
        template = {"spec": {"containers": [{"name": "main", "image": self.images[-1]}]}}
        for path in (WEB, DB):
            await self.api.do("PATCH", path, {"spec": {"template": template}}, **MERGE)

    async def until(self, done: Callable[[Any], bool], *paths: str) -> None:
        """Wait until something holds of each."""
        for path in paths:
            while not done(await self.api.do("GET", path)):  # noqa: ASYNC110 - it is the server that knows
                await asyncio.sleep(PAUSE)

    async def go_on(self) -> None:
        while True:
            await self.change()
            part = self.fate.choice((0.1, 0.5, 1.0))
            fewest = part * WEB_PODS
            await self.until(lambda web: web["status"].get("updatedReplicas", 0) >= fewest, WEB)  # noqa: B023 - waited for


async def whole(*work: Coroutine[Any, Any, None], until: Awaitable[None]) -> None:
    """Work that has no end, for as long as something takes."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        await until
        for task in tasks:
            task.cancel()


@pytest.mark.slow
async def test_forty_kills_during_rollouts_leave_no_trace(
    serve: Any, manage: Any, asking: Any, deployment: Write, stateful_set: Write
) -> None:
    fate = random.Random(20)
    cluster, chronicle = Cluster(serve, manage, fate), Chronicle()
    await cluster.start_server()
    await cluster.start_manager()
    async with asking(cluster.server.kubeconfig) as session:
        api = Api(session)
        changer = Changer(api, fate)
        strategy = {"rollingUpdate": {"maxSurge": SURGE, "maxUnavailable": UNAVAILABLE}}
        kept = {"revisionHistoryLimit": 1000, "image": "image:1"}
        slow = {"mockube.io/ready-after": "1s"}
        web = deployment(replicas=WEB_PODS, strategy=strategy, annotations=slow, **kept)
        db = stateful_set(replicas=DB_PODS, podManagementPolicy="Parallel", **kept)

        async def live() -> None:
            for collection, workload in ((f"{WORKLOADS}/deployments", web), (f"{WORKLOADS}/statefulsets", db)):
                await api.do("POST", collection, json.loads(workload))
            await changer.until(is_rolled_out, WEB, DB)
            await whole(changer.go_on(), until=cluster.suffer())
            await changer.change()
            await changer.until(is_rolled_out, WEB, DB)
            await changer.until(nobody_goes, PODS)

        watches = api.follow(PODS, chronicle.see_pod), api.follow(f"{WORKLOADS}/replicasets", chronicle.see_set)
        async with asyncio.timeout(240):
            await whole(*watches, until=live())
        assert cluster.kills == {"server": KILLS, "manager": KILLS}
        assert not chronicle.wrongs
        await _check_end(api, changer.images)


async def _check_end(api: Api, images: list[str]) -> None:
    """Check that the expected objects are there, and nothing else."""
    sets = (await api.do("GET", f"{WORKLOADS}/replicasets"))["items"]
    assert Counter(map(image_of, sets)) <= Counter(images), "one of each template that was ever seen"
    assert {image_of(each): each["spec"]["replicas"] for each in sets if each["spec"]["replicas"]} == {
        images[-1]: WEB_PODS
    }
    numbers = sorted(int(each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]) for each in sets)
    assert numbers == list(range(1, len(sets) + 1))
    revisions = (await api.do("GET", f"{WORKLOADS}/controllerrevisions"))["items"]
    assert sorted(each["revision"] for each in revisions) == list(range(1, len(revisions) + 1))
    assert Counter(image_of(each["data"]) for each in revisions) <= Counter(images)
    for path in (WEB, DB):
        assert not (await api.do("GET", path))["status"].get("collisionCount")
    pods = (await api.do("GET", PODS))["items"]
    assert {image_of(pod) for pod in pods} == {images[-1]}
    assert all(map(is_available, pods))
    names = [pod["metadata"]["name"] for pod in pods]
    ordinals = sorted(name for name in names if name.startswith("db-"))
    assert (ordinals, len(names)) == ([f"db-{number}" for number in range(DB_PODS)], WEB_PODS + DB_PODS)
