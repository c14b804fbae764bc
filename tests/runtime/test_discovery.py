"""Discovery: both its forms, kinds that come and go, and which of them are followed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from apiserver.api.meta import Obj
from controller_manager.reconcile.kinds import EVERYTHING, LEASE, NAMESPACE, POD, REPLICA_SET, Kind, Served
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.discovery import NEVER_COLLECTED, Discoverer, discover
from controller_manager.runtime.kubeconfig import ClientConfig
from mockube.cluster import Cluster

HPA = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
GIZMO = Kind("example.com", "v1", "Gizmo", "gizmos")
DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
OTHER = Kind("example.com", "v1", "Other", "others")
OLD_GIZMO = Kind("example.com", "v1beta1", "Gizmo", "gizmos")


class OldForm:
    """A client that asks for no aggregated discovery, as a server may not have it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get_json(self, path, **_):
        return await self._client.get_json(path)


@pytest.fixture
async def client(kube_cluster_session: Cluster) -> AsyncIterator[Client]:
    cluster = kube_cluster_session
    async with Client(ClientConfig(cluster.url, cluster.ca_file.read_bytes(), cluster.token), Clock()) as client:
        yield client


class Documents:
    """A server of documents that a test gives and changes; a number is an answer of that code."""

    client: Client

    def __init__(self) -> None:
        self.documents = {"/api": {"kind": "APIVersions", "versions": []}, "/apis": aggregated(GIZMO)}
        self.requests: list[tuple[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, request.headers["Accept"]))
        document = self.documents.get(request.path, 404)
        if isinstance(document, int):
            return web.Response(status=document)
        return web.json_response(document)


@pytest.fixture
async def documents(aiohttp_server):
    documents = Documents()
    app = web.Application()
    app.router.add_get("/{path:.*}", documents.answer)
    server = await aiohttp_server(app)
    async with Client(ClientConfig(str(server.make_url("")).rstrip("/")), Clock()) as client:
        documents.client = client
        yield documents


def aggregated(*kinds: Kind, freshness: str = "Current", verbs=("delete", "list", "watch")):
    groups: dict[str, list[Any]] = {}
    for kind in kinds:
        resource = {
            "resource": kind.plural,
            "responseKind": {"group": "", "version": "", "kind": kind.kind},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "verbs": list(verbs),
        }
        version = {"version": kind.version, "freshness": freshness, "resources": [resource]}
        groups.setdefault(kind.group, []).append(version)
    items = [{"metadata": {"name": group}, "versions": versions} for group, versions in groups.items()]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


async def test_both_forms_of_discovery_tell_the_same(client):
    new, old = await discover(client), await discover(OldForm(client))
    assert new.verbs == old.verbs
    assert new.preferred == old.preferred
    assert new.failures == old.failures == {}


async def test_kinds_are_known_by_any_version_and_each_is_preferred_in_one(client):
    served = await discover(client)
    assert served.find_kind("v1", "Pod") == POD
    assert served.find_kind("autoscaling/v1", "HorizontalPodAutoscaler") != HPA
    assert [kind for kind in served.preferred if kind.plural == HPA.plural] == [HPA]
    assert served.find_kind("apps/v1", "Pod") is None
    collected = list(served.supporting("delete", "list", "watch"))
    assert NAMESPACE in collected
    assert not {"tokenreviews.authentication.k8s.io", "componentstatuses"} & {str(kind) for kind in collected}


async def test_a_version_that_cannot_be_asked_for_is_told_and_others_are_known(documents):
    entry = {"name": "gizmos", "kind": "Gizmo", "namespaced": True, "verbs": ["list"]}
    group = {
        "name": "example.com",
        "versions": [{"version": "v1beta1"}, {"version": "v1"}],
        "preferredVersion": {"version": "v1"},
    }
    documents.documents |= {
        "/apis": {"kind": "APIGroupList", "groups": [group, {"name": "bad.com", "versions": [{"version": "v1"}]}]},
        "/apis/example.com/v1": {"resources": [entry, entry | {"name": "gizmos/status"}]},
        "/apis/example.com/v1beta1": {"resources": [entry]},
        "/apis/bad.com/v1": 403,
    }
    served = await discover(documents.client)
    assert served == Served(
        {GIZMO: frozenset({"list"}), OLD_GIZMO: frozenset({"list"})},
        (GIZMO,),
        {"bad.com/v1": "the server does not allow this request"},
    )


async def test_a_version_that_is_stale_is_told_and_known(documents):
    documents.documents["/apis"] = aggregated(GIZMO, freshness="Stale")
    served = await discover(documents.client)
    assert served.preferred == (GIZMO,)
    assert served.failures == {"example.com/v1": "stale GroupVersion discovery: example.com/v1"}


async def test_a_server_is_asked_for_two_documents_in_the_newest_form_and_takes_what_it_knows(documents):
    group = {"name": "example.com", "versions": [{"version": "v1"}]}
    newest = (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    )
    documents.documents["/api"] = aggregated(POD)
    assert (await discover(documents.client)).preferred == (POD, GIZMO)
    assert documents.requests == [("/api", newest), ("/apis", newest)]
    documents.documents["/apis"] = {"kind": "APIGroupList", "groups": [group]}
    await discover(documents.client)
    assert documents.requests[2:] == [("/api", newest), ("/apis", newest), ("/apis/example.com/v1", "application/json")]


async def test_the_real_server_answers_in_two_documents(kube_cluster_session):
    cluster, answers = kube_cluster_session, []
    access = ClientConfig(cluster.url, cluster.ca_file.read_bytes(), cluster.token)
    async with Client(access, Clock(), observe=lambda *answer: answers.append(answer[:2])) as client:
        await discover(client)
    assert answers == [("GET", 200)] * 2


async def test_a_resource_without_a_kind_is_not_known(documents):
    document = aggregated(GIZMO, OLD_GIZMO)
    odd_ones: tuple[Obj, ...] = ({}, {"responseKind": None}, {"responseKind": {}})
    for odd in odd_ones:
        [version, _] = document["items"][0]["versions"]
        version["resources"].append({"resource": "odd", "scope": "Namespaced", "verbs": ["list"]} | odd)
    documents.documents["/apis"] = document
    assert list((await discover(documents.client)).verbs) == [GIZMO, OLD_GIZMO]


async def test_what_a_document_leaves_out_is_empty(documents):
    items = [{"metadata": {"name": "a.com"}}, {"metadata": {"name": "b.com"}, "versions": [{"version": "v1"}]}]
    documents.documents["/apis"] = {"kind": "APIGroupDiscoveryList", "items": items}
    documents.documents["/api"] = {"kind": "APIGroupDiscoveryList"}
    assert await discover(documents.client) == Served()
    documents.documents["/apis"] = aggregated(GIZMO)
    documents.documents["/apis"]["items"][0]["versions"][0]["resources"][0].pop("verbs")
    assert (await discover(documents.client)).verbs == {GIZMO: frozenset()}


async def test_the_older_form_may_leave_out_what_the_path_says(documents):
    entry = {"name": "gizmos", "kind": "Gizmo"}
    elsewhere = entry | {"group": "other.com", "version": "v2", "kind": "Scale", "name": "scales", "namespaced": True}
    documents.documents |= {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}]},
        "/apis": {"groups": [{"name": "example.com", "versions": [{"version": "v1"}]}, {"name": "empty.com"}]},
        "/apis/example.com/v1": {"resources": [entry, elsewhere]},
    }
    served = await discover(documents.client)
    assert served.verbs == {
        POD: frozenset({"list"}),
        Kind("example.com", "v1", "Gizmo", "gizmos", namespaced=False): frozenset(),
        Kind("other.com", "v2", "Scale", "scales"): frozenset(),
    }


# -- what is followed


class FakeFollow:
    """Notes which kinds are followed, and fills their caches at once."""

    def __init__(self) -> None:
        self.now: set[Kind] = set()
        self.begun: list[Kind] = []

    async def __call__(self, cache) -> None:
        self.now.add(cache.kind)
        self.begun.append(cache.kind)
        cache.replace((), 1)
        try:
            await asyncio.Event().wait()
        finally:
            self.now.discard(cache.kind)


class Turns(Clock):
    """A clock whose sleepers wake when a test says so."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.asleep = asyncio.Event()
        self._turn = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._turn.clear()
        self.asleep.set()
        await self._turn.wait()

    async def next(self) -> None:
        """Let the sleeper wake, and work until it sleeps again."""
        self.asleep.clear()
        self._turn.set()
        await self.asleep.wait()
        await asyncio.sleep(0)


@pytest.fixture
async def at_work():
    """Starts a discoverer beside the test."""
    tasks = []

    async def start(client, caches):
        clock, follows = Turns(), FakeFollow()
        discoverer = Discoverer(client, caches, clock, follows)
        tasks.append(asyncio.ensure_future(discoverer.run()))
        await clock.asleep.wait()
        await asyncio.sleep(0)
        return discoverer, clock, follows

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def caches():
    """Caches with a listener for everything."""
    caches = Caches()
    caches.get_or_create(REPLICA_SET)
    caches.add_listener(EVERYTHING, lambda _: lambda _: None)
    return caches


async def test_every_kind_but_those_that_others_follow_and_events_is_followed(client, caches, at_work):
    discoverer, _, follows = await at_work(client, caches)
    await discoverer.wait_until_ready()
    assert {POD, NAMESPACE, LEASE} <= follows.now
    assert REPLICA_SET not in follows.now
    assert not NEVER_COLLECTED & {str(kind) for kind in follows.now}


async def test_nothing_is_followed_where_nobody_wants_everything(client, at_work):
    caches = Caches()
    discoverer, _, follows = await at_work(client, caches)
    await discoverer.wait_until_ready()
    assert caches.served.find_kind("v1", "Pod") == POD
    assert follows.now == set()


async def test_custom_kinds_come_and_go(documents, caches, at_work):
    _, clock, follows = await at_work(documents.client, caches)
    assert follows.now == {GIZMO}
    documents.documents["/apis"] = aggregated()
    await clock.next()
    assert follows.now == set()
    assert caches.served.find_kind("example.com/v1", "Gizmo") is None
    documents.documents["/apis"] = aggregated(GIZMO)
    await clock.next()
    assert follows.now == {GIZMO}
    assert set(clock.slept) == {30}


async def test_a_definition_that_comes_changes_or_goes_is_looked_into_at_once(documents, caches, at_work):
    documents.documents["/apis"] = aggregated(DEFINITION)
    _, clock, follows = await at_work(documents.client, caches)
    definition = {"metadata": {"name": "gizmos.example.com", "resourceVersion": "7"}}
    for change, kind in ((caches[DEFINITION].put, {GIZMO, DEFINITION}), (caches[DEFINITION].remove, {DEFINITION})):
        documents.documents["/apis"] = aggregated(*kind)
        clock.asleep.clear()
        change(definition)
        await clock.asleep.wait()
        assert clock.slept[-1] == 0.1
        await clock.next()
        assert follows.now == kind
        for _ in range(5):
            await asyncio.sleep(0)
        assert clock.slept[-1] == 30


async def test_a_change_of_what_defines_no_kinds_is_not_looked_into(documents, caches, at_work):
    _, clock, _ = await at_work(documents.client, caches)
    caches[GIZMO].put({"metadata": {"name": "a", "namespace": "d", "resourceVersion": "7"}})
    for _ in range(5):
        await asyncio.sleep(0)
    assert clock.slept == [30]


async def test_until_the_server_has_told_something_it_is_asked_every_second(documents, caches, at_work):
    documents.documents["/apis"] = 503
    _, clock, follows = await at_work(documents.client, caches)
    await clock.next()
    assert (clock.slept, follows.now) == ([1, 1], set())
    documents.documents["/apis"] = aggregated(GIZMO)
    await clock.next()
    assert (clock.slept, follows.now) == ([1, 1, 30], {GIZMO})


async def test_looks_leave_no_waits_behind(documents, caches, at_work):
    _, clock, _ = await at_work(documents.client, caches)
    await clock.next()
    tasks = len(asyncio.all_tasks())
    for _ in range(10):
        await clock.next()
    assert len(asyncio.all_tasks()) < tasks + 10


async def test_a_kind_that_was_gone_between_two_looks_is_followed_again_if_its_watcher_waits(
    documents, caches, at_work
):
    _, clock, follows = await at_work(documents.client, caches)
    await clock.next()
    assert follows.begun == [GIZMO], "a look that finds the same begins nothing"
    caches[GIZMO].absent = True
    await clock.next()
    assert (follows.begun, follows.now) == ([GIZMO, GIZMO], {GIZMO})
    assert not caches[GIZMO].absent


@pytest.mark.parametrize(
    "other", [OLD_GIZMO, Kind("example.com", "v1", "Gizmo", "gizmos", namespaced=False)], ids=["version", "scope"]
)
async def test_a_kind_that_comes_in_another_version_or_scope_is_followed_in_that(documents, caches, at_work, other):
    _, clock, follows = await at_work(documents.client, caches)
    for kind in (other, GIZMO, other):
        documents.documents["/apis"] = aggregated(kind)
        await clock.next()
        assert follows.now == {kind}
        assert caches.find(str(kind)).kind == kind


async def test_a_kind_whose_server_is_away_is_followed_on(documents, caches, at_work):
    group = {"name": "example.com", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}
    _, clock, follows = await at_work(documents.client, caches)
    documents.documents["/apis"] = {"kind": "APIGroupList", "groups": [group]}
    documents.documents["/apis/example.com/v1"] = 503
    await clock.next()
    assert "example.com/v1" in caches.served.failures
    assert follows.now == {GIZMO}


async def test_discovery_that_fails_is_tried_again_and_what_was_known_stays(documents, caches, at_work):
    _, clock, follows = await at_work(documents.client, caches)
    documents.documents["/apis"] = 403
    await clock.next()
    assert follows.now == {GIZMO}
    assert caches.served.find_kind("example.com/v1", "Gizmo") == GIZMO


class LateFollow(FakeFollow):
    """Follows kinds, but only the first list of definitions arrives."""

    async def __call__(self, cache) -> None:
        if cache.kind == DEFINITION:
            cache.replace((), 1)
        await asyncio.Event().wait()


@pytest.mark.looptime
async def test_after_half_a_minute_it_is_begun_without_the_kinds_that_are_late(caches, caplog):
    class Server:
        async def get_json(self, path, **_):
            return aggregated(GIZMO, DEFINITION, OTHER) if path == "/apis" else aggregated()

    loop = asyncio.get_running_loop()
    discoverer = Discoverer(Server(), caches, Turns(), LateFollow())
    running = asyncio.ensure_future(discoverer.run())
    began = loop.time()
    await discoverer.wait_until_ready()
    assert loop.time() - began == pytest.approx(30)
    assert caplog.messages == ["begun without the first list of gizmos.example.com, others.example.com"]
    for kind in (GIZMO, OTHER):
        caches[kind].replace((), 1)
    await discoverer.wait_until_ready()
    assert loop.time() - began == pytest.approx(30)
    assert len(caplog.messages) == 1
    running.cancel()
    await asyncio.wait([running])


async def test_nobody_is_ready_before_the_first_look(caches):
    nobody: Any = None  # nobody is asked before the first look
    discoverer = Discoverer(nobody, caches, Turns(), LateFollow())
    waiting = asyncio.ensure_future(discoverer.wait_until_ready())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])
