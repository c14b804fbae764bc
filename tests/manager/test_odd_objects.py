"""Odd objects and odd ways, by the thousand: no controller stumbles, and healthy workloads roll out.

They are the same in every run, as far as two processes can be. `FUZZ_SEED=N FUZZ_WRITES=N pytest …` tries others.
"""

import asyncio
import base64
import copy
import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from patience import SECONDS

Write = Callable[..., str]

SEED = int(os.environ.get("FUZZ_SEED", "3"))
WRITES = int(os.environ.get("FUZZ_WRITES", "3000"))
TABLE = yaml.safe_load(Path(__file__).with_name("odd_objects.yaml").read_text())
KINDS, METADATA = TABLE["kinds"], TABLE["metadata"]
WEIGHTS = [kind["weight"] for kind in KINDS.values()]
BIG = "x" * 250_000
MANY = [{"name": f"c{number}", "image": "nginx:1"} for number in range(100)]
NAMES, NAMESPACES, AT_ONCE, MOVES = 12, 3, 8, 100
SECRET = "hush-hush-hush"
MERGE = {"Content-Type": "application/merge-patch+json"}


# -- objects


@dataclass
class ObjectMaker:
    """Makes odd objects, the same from the same seed.

    Attributes:
        uids: of objects that there are or were.
    """

    fate: random.Random
    uids: list[str] = field(default_factory=lambda: ["x"])

    def obj(self, kind: Any, name: str, namespace: str) -> Any:
        """An object that is odd in up to four ways, not always such that a server takes it."""
        made = copy.deepcopy(kind["plain"])
        made.setdefault("metadata", {})["name"] = name
        places = [*leaves(kind["spec"])]
        for path, values in self.fate.sample(places, min(len(places), self.fate.randrange(4))):
            put(made, path, self.fate.choice(values))
        if self.fate.random() < 0.5:
            path, values = self.fate.choice([*leaves(METADATA)])
            put(made, path, self.fate.choice(values))
        return self.filled(made, namespace)

    def status(self, kind: Any) -> Any:
        """An odd status."""
        return self.filled(self._some(kind["status"]), "")

    def change(self, kind: Any, namespace: str) -> Any:
        """A merge patch of one place."""
        path, values = self.fate.choice([*leaves(kind["spec"]), *leaves(METADATA)])
        made: Any = {}
        put(made, path, self.fate.choice(values))
        return self.filled(made, namespace)

    def _some(self, table: dict[str, list[Any]]) -> Any:
        places = self.fate.sample([*table], self.fate.randrange(1, min(4, len(table) + 1)))
        return {path: copy.deepcopy(self.fate.choice(table[path])) for path in places}

    def filled(self, value: Any, namespace: str) -> Any:
        """The same with words replaced that stand for something."""
        match value:
            case dict():
                return {key: self.filled(each, namespace) for key, each in value.items()}
            case list():
                return [self.filled(each, namespace) for each in value]
            case "OWNER":
                return self.fate.choice(self.uids)
            case _:
                words: Any = {"BIG": BIG, "MANY": MANY, "NAMESPACE": namespace}
                return words.get(value, value) if isinstance(value, str) else value


def leaves(table: dict[str, Any], prefix: str = "") -> list[tuple[str, list[Any]]]:
    """The dotted paths of a table of tables, and what may stand there."""
    leaf_fields: list[tuple[str, list[Any]]] = []
    for path, values in table.items():
        leaf_fields += leaves(values, f"{prefix}{path}.") if isinstance(values, dict) else [(f"{prefix}{path}", values)]
    return leaf_fields


def put(obj: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        if not isinstance(obj.get(parent), dict):
            obj[parent] = {}
        obj = obj[parent]
    obj[last] = copy.deepcopy(value)


# -- the attack


@dataclass(frozen=True)
class Target:
    """The object that is written next."""

    plural: str
    kind: Any
    path: str
    name: str
    namespace: str

    @property
    def own(self) -> str:
        return f"{self.path}/{self.name}"


@dataclass
class Attack:
    """A client that writes whatever the server takes.

    Attributes:
        answers: (the request, the kind, the code) → how often.
    """

    session: aiohttp.ClientSession
    fate: random.Random
    answers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    namespaces: list[str] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.maker = ObjectMaker(self.fate)

    async def go(self, writes: int) -> None:
        for _ in range(NAMESPACES):
            await self._move()
        for number in range(writes // AT_ONCE):
            if number % MOVES == MOVES - 1:
                await self._move()
            await asyncio.gather(*(self._once() for _ in range(AT_ONCE)))

    async def take_nodes_away(self) -> None:
        """Delete the nodes of its making.

        Pods whose template names a node with a NoExecute taint are made and evicted again and again, upstream too.
        """
        kind = KINDS["nodes"]
        for name in self.known.get(kind["path"], ()):
            node = Target("nodes", kind, kind["path"], name, "")
            await self._free(node)
            await self._ask("delete", "nodes", "DELETE", node.own)

    async def _move(self) -> None:
        """Have another namespace, and give up the one that there was longest, with whatever goes on in it."""
        name = f"odd-{next(self.numbers)}"
        made = self.maker.obj(KINDS["namespaces"], name, "")
        if await self._ask("make", "namespaces", "POST", "/api/v1/namespaces", made) == 201:
            self.namespaces.append(name)
        if len(self.namespaces) > NAMESPACES:
            await self._ask("delete", "namespaces", "DELETE", f"/api/v1/namespaces/{self.namespaces.pop(0)}")

    async def _once(self) -> None:
        (plural,) = self.fate.choices([*KINDS], WEIGHTS)
        kind, namespace = KINDS[plural], self.fate.choice(self.namespaces)
        path = kind["path"].format(namespace=namespace)
        known = self.known.setdefault(path, [])
        do = self.fate.choices((self._make, self._report, self._change, self._remove), (6, 6, 4, 1))[0]
        name = f"odd-{self.fate.randrange(NAMES)}"
        if do != self._make and known:
            name = self.fate.choice(known)
        elif name not in known:
            known.append(name)
        await do(Target(plural, kind, path, name, namespace))

    async def _make(self, to: Target) -> None:
        obj = self.maker.obj(to.kind, to.name, to.namespace)
        code = await self._ask("make", to.plural, "POST", to.path, obj)
        if code == 409 and to.plural != "namespaces":
            await self._free(to)
            gone = {"propagationPolicy": self.fate.choice(("Background", "Background", "Orphan", "Foreground"))}
            await self._ask("delete", to.plural, "DELETE", to.own, gone | {"gracePeriodSeconds": 0})
            await self._ask("make again", to.plural, "POST", to.path, obj)

    async def _report(self, to: Target) -> None:
        if "status" in to.kind:
            status = {"status": self.maker.status(to.kind)}
            await self._ask("status", to.plural, "PATCH", f"{to.own}/status", status, **MERGE)

    async def _change(self, to: Target) -> None:
        await self._ask("change", to.plural, "PATCH", to.own, self.maker.change(to.kind, to.namespace), **MERGE)

    async def _remove(self, to: Target) -> None:
        if self.fate.random() < 0.7:
            await self._free(to)
        await self._ask("delete", to.plural, "DELETE", to.own)

    async def _free(self, to: Target) -> None:
        await self._ask("free", to.plural, "PATCH", to.own, {"metadata": {"finalizers": None}}, **MERGE)

    async def _ask(self, what: str, plural: str, method: str, path: str, body: Any = None, **headers: str) -> int:
        async with self.session.request(method, path, json=body, headers=headers) as answer:
            reply = await answer.json()
        self.answers[what, plural, answer.status] += 1
        assert answer.status < 500, (method, path, reply)
        uid = reply.get("metadata", {}).get("uid")
        if uid and len(self.maker.uids) < 500:
            self.maker.uids.append(uid)
        return answer.status


# -- what must hold


TEXT = r'(?:"(?:[^"\\]|\\.)*"|[^\s"]+)'
LINE = re.compile(rf'time="[^"]+" level=[A-Z]+ logger=[\w.]+ msg={TEXT}(?: \w+={TEXT})*')
QUIET, RATE = 1.0, 150.0
"""Seconds between two looks at the queues, and how many keys a queue at rest may be given in each of them: crash loops
go on, and what fails is tried again, but a key that wakes itself comes thousands of times."""
BACKLOG = 20_000
"""The keys that a queue may be given after the attack until it rests, however long a slow machine needs for them."""
MEMORY = 250 * 2**20
PAUSE = 0.05


@dataclass(frozen=True)
class Counts:
    """Figures of the manager's metrics: how many keys each queue was given, and the codes of all answers."""

    adds: dict[str, float]
    codes: set[str]


async def counts_at(url: str) -> Counts:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        text = await answer.text()
    adds = re.findall(r'^workqueue_adds_total{name="([^"]+)"} (\S+)$', text, re.MULTILINE)
    codes = re.findall(r'^rest_client_requests_total{code="([^"]+)"', text, re.MULTILINE)
    return Counts({name: float(value) for name, value in adds}, set(codes))


async def busy_queues(url: str) -> dict[str, float]:
    """Return the queues that do not rest after so many keys, with how many each was given; wait until all others do."""
    first = before = await counts_at(url)
    while True:
        began = time.monotonic()
        await asyncio.sleep(QUIET)
        after, seconds = await counts_at(url), time.monotonic() - began
        busy = {name for name, number in _given(before, after).items() if number > RATE * seconds}
        given = _given(first, after)
        restless = {name: given[name] for name in busy if given[name] > BACKLOG}
        if restless or not busy:
            return restless
        before = after


def _given(before: Counts, after: Counts) -> dict[str, float]:
    return {name: number - before.adds.get(name, 0.0) for name, number in after.adds.items()}


def memory_of(process: int) -> int:
    """Bytes in memory, 0 where the system does not say."""
    status = Path(f"/proc/{process}/status")
    match = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(match[1]) * 1024 if match else 0


async def come_up(session: aiohttp.ClientSession, *workloads: str) -> None:
    """Make workloads, and wait until all their pods are available.

    They are for the manager's own nodes: some of the others say that they are ready, and nobody runs anything there.
    """
    for workload in map(json.loads, workloads):
        workload["spec"]["template"]["spec"]["nodeSelector"] = {"topology.kubernetes.io/region": "local"}
        path = f"/apis/apps/v1/namespaces/default/{workload['kind'].lower()}s"
        async with session.post(path, json=workload) as answer:
            assert answer.status == 201, await answer.text()
        available = 0
        while available != workload["spec"]["replicas"]:
            await asyncio.sleep(PAUSE)
            async with session.get(f"{path}/{workload['metadata']['name']}") as answer:
                available = (await answer.json()).get("status", {}).get("availableReplicas", 0)


@pytest.mark.slow
async def test_nothing_odd_stops_the_controllers(
    serve: Any, manage: Any, asking: Any, deployment: Write, stateful_set: Write
) -> None:
    server = await asyncio.to_thread(serve)
    flags = ("--metrics-bind-address=127.0.0.1:0", "--leader-elect=false", "--node-pods=1000", "-v=1")
    manager = manage(server.kubeconfig, *flags)
    url = (await asyncio.to_thread(manager.line)).split()[-1]
    began = memory_of(manager.process.pid)
    async with asking(server.kubeconfig) as session:
        attack = Attack(session, random.Random(SEED))
        await attack.go(WRITES)
        await attack.take_nodes_away()
        made = {plural for what, plural, code in attack.answers if (what, code) == ("make", 201)}
        assert made == {*KINDS}, "of some kind the server takes nothing of what is made here"
        async with asyncio.timeout(SECONDS):
            await come_up(session, deployment(replicas=6), stateful_set(replicas=3))
    assert await busy_queues(url) == {}
    codes = (await counts_at(url)).codes
    assert not [code for code in codes if not code.isdecimal() or int(code) >= 500]
    assert memory_of(manager.process.pid) - began < MEMORY
    assert manager.ended(signal.SIGTERM) == 0
    _check_log(manager.said.read_text(), server.kubeconfig.read_text())


def _check_log(log: str, kubeconfig: str) -> None:
    """Check that a log has lines in logfmt only, and neither tracebacks nor secrets."""
    lines = log.splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert [line for line in lines if "Traceback" in line] == []
    token = yaml.safe_load(kubeconfig)["users"][0]["user"]["token"]
    for secret in (SECRET, base64.b64encode(SECRET.encode()).decode(), token):
        assert secret not in log
