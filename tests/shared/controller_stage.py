"""Controllers without a server: real caches that are filled by hand, and reconciles with given answers.

For those that are to be seen at work, there is a client of a real server.
"""

import asyncio
import copy
import json
import ssl
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from lagging_cluster import answers_to
from patience import SECONDS

from apiserver.api.errors import ApiError
from controller_manager.reconcile import contract
from controller_manager.reconcile.contract import (
    Batch,
    Create,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Patch,
    RecordEvent,
    RequeueAfter,
    Settings,
    Update,
)
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.reconcile.profile import NEWEST, Profile
from controller_manager.runtime.cache import Caches
from mockube import Cluster

NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z: the time on the stage."""
PODS = "/api/v1/namespaces/default/pods"


@dataclass
class Rehearsal:
    """The outcome of one reconcile.

    Attributes:
        actions: everything that it yielded, in order; of a batch, the batch and not its requests.
        error: the ApiError that it ended with, None if it ended well.
    """

    actions: list[Any] = field(default_factory=list)
    error: ApiError | None = None

    def requests(self) -> list[Any]:
        """Return all requests, those in batches too."""
        requests: list[Any] = []
        for action in self.actions:
            if isinstance(action, Batch):
                requests.extend(action.requests)
            elif not isinstance(action, (RecordEvent, RequeueAfter, contract.Requeue, contract.Enqueue, RecordMetric)):
                requests.append(action)
        return requests

    def of(self, kind: type) -> list[Any]:
        """The requests (or RecordEvent, RequeueAfter, Requeue, Enqueue, RecordMetric, Batch) of a type."""
        if kind in (RecordEvent, RequeueAfter, contract.Requeue, contract.Enqueue, RecordMetric, Batch):
            return [action for action in self.actions if isinstance(action, kind)]
        return [request for request in self.requests() if isinstance(request, kind)]

    @property
    def events(self) -> list[str]:
        """Events as "Reason: message"."""
        return [f"{event.reason}: {event.message}" for event in self.of(RecordEvent)]


Answers = Callable[[Any], Any]
"""The server's answer to a request: an object, an ApiError (raised in the reconcile), or None for the usual answer."""


def rehearse(plan: Generator[Any, Any, None], answers: Answers = lambda _: None) -> Rehearsal:
    """Run a reconcile to its end; the answers are given and nothing is stored."""
    done = Rehearsal()
    names = iter(range(1, 1_000_000))

    def answer(request: Any) -> Any:
        reply = answers(request)
        return reply if reply is not None else _calm(request, names)

    reply: Any = None
    try:
        while True:
            action = plan.throw(reply) if isinstance(reply, ApiError) else plan.send(reply)
            done.actions.append(action)
            reply = None
            if isinstance(action, Batch):
                reply = answers_to(action, answer)
            elif isinstance(action, (Create, Update, Patch, Delete, DeleteAll, Get, ListAll)):
                reply = answer(action)
    except StopIteration:
        pass
    except ApiError as error:
        done.error = error
    return done


def _calm(request: Any, names: Iterable[int]) -> Any:
    match request:
        case Create(obj=obj):
            made = copy.deepcopy(obj)
            meta = made.setdefault("metadata", {})
            number = next(iter(names))
            if not meta.get("name"):
                meta["name"] = f"{meta.get('generateName', 'x-')}{number:05d}"
            return made | {"metadata": meta | {"uid": f"uid-{number}", "resourceVersion": str(1000 + number)}}
        case Update(obj=obj):
            return obj
        case ListAll():
            return []
        case Get(kind=kind, key=key) | Patch(kind=kind, key=key):
            raise AssertionError(f"the test must say what the server answers for {kind} {key}")
        case _:
            return {}


@pytest.fixture(name="rehearse")
def _rehearse() -> Callable[..., Rehearsal]:
    return rehearse


@pytest.fixture
def now() -> float:
    return NOW


@pytest.fixture
def make_world() -> Callable[..., Caches]:
    """make_world(SPEC, {POD: [pod, …], …}, profile=…, settings=…): the caches that a SPEC asks for, filled."""

    def make(
        spec: Any,
        objects: dict[Any, Iterable[Any]] | None = None,
        *,
        profile: Profile = NEWEST,
        settings: Settings | None = None,
    ) -> Caches:
        world = Caches(profile, settings or Settings())
        world.prepare_for(spec)
        for kind, of_kind in (objects or {}).items():
            world.get_or_create(kind).replace(
                ({"apiVersion": kind.api_version, "kind": kind.kind} | obj for obj in of_kind), 1
            )
        return world

    return make


@pytest.fixture
def reconcile(make_world: Callable[..., Caches], now: float) -> Callable[..., Rehearsal]:
    """reconcile(SPEC, key, objects, answers): the outcome of a controller's reconcile of a key with these objects."""

    def run(
        spec: Any, key: str, objects: Any, answers: Answers = lambda _: None, *, at: float | None = None, **more: Any
    ) -> Rehearsal:
        world = objects if isinstance(objects, Caches) else make_world(spec, objects, **more)
        seen = spec.observe(world, key)
        return Rehearsal() if seen is None else rehearse(spec.reconcile(seen, now if at is None else at), answers)

    return run


class Client:
    """A client of a real server that waits for the state of objects."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def do(self, method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            decoded = await answer.json()
            assert answer.status < 400, decoded
            return decoded

    async def run(self, name: str, *, image: str = "nginx:1.27", cpu: str = "", labels: Any = None, **spec: Any) -> Any:
        """Make a pod of one container."""
        requests = {"requests": {"cpu": cpu}} if cpu else {}
        spec = {"containers": [{"name": "web", "image": image, "resources": requests}], **spec}
        return await self.do("POST", PODS, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})

    async def until(self, collection: str, name: str, holds: Callable[[Any], Any]) -> Any:
        """Return the object of that name, or any if it is "", as soon as it satisfies a condition."""
        query = f"fieldSelector=metadata.name%3D{name}" if name else ""
        return await self._watch(collection, query, lambda word, obj: word != "DELETED" and holds(obj))

    async def until_gone(self, collection: str, name: str) -> None:
        """Return when there is no such object."""
        query = f"fieldSelector=metadata.name%3D{name}"
        listed = await self.do("GET", f"{collection}?{query}")
        if listed["items"]:
            query += f"&resourceVersion={listed['metadata']['resourceVersion']}"
            await self._watch(collection, query, lambda word, _: word == "DELETED")

    async def _watch(self, collection: str, query: str, holds: Callable[[str, Any], Any]) -> Any:
        path = f"{collection}?watch=1&timeoutSeconds={SECONDS:.0f}&{query}"
        async with asyncio.timeout(SECONDS), self._session.get(path) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if holds(event["type"], event["object"]):
                    return event["object"]
        raise AssertionError(f"it did not come so far: {path}")


@asynccontextmanager
async def at_work(*, nodes: int, controllers: str) -> AsyncIterator[Client]:
    async with Cluster(nodes=nodes, controllers=controllers) as cluster:
        headers = {"Authorization": f"Bearer {cluster.token}"}
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=cluster.ca_file))
        async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session:
            yield Client(session)


@pytest.fixture(name="at_work")
def _at_work() -> Callable[..., AbstractAsyncContextManager[Client]]:
    """at_work(nodes=…, controllers=…): a client of a real server, for as long as the context lasts."""
    return at_work
