"""Failures with one definition are retried and do not affect the others; late events undo nothing."""

import asyncio

import pytest
from patience import SECONDS

from apiserver.api.errors import internal
from apiserver.config import Config
from apiserver.controllers import crd, crd_finalizer
from apiserver.registry.rest import update

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "widgets.example.com"
PLACE = f"{CRDS}/{NAME}"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
A_WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(crd, "BASE_DELAY", 0.01)
    monkeypatch.setattr(crd, "MAX_DELAY", 0.05)


@pytest.fixture
def other(customs):
    """Defines another kind, which is served although something is wrong with the first."""

    async def define(plural="wodgets"):
        return await customs.define(plural=plural, kind=plural.title(), names={"shortNames": [], "categories": []})

    return define


@pytest.fixture
def broken(monkeypatch, caplog):
    """Has something of the registrar's fail for the first definition, until the list of what failed is cleared.

    That, and nothing else, is logged.
    """

    def break_it(name, failure):
        work, trouble = getattr(crd, name), ["begins"]

        def failing(*given, **more):
            if trouble and any(NAME in str(each) for each in given):
                trouble.append(name)
                raise failure
            return work(*given, **more)

        monkeypatch.setattr(crd, name, failing)
        return trouble

    yield break_it
    words = {record.getMessage().partition(":")[0] for record in caplog.get_records("call")}
    assert words == {f"the definition {NAME} cannot be judged yet"}


@pytest.mark.parametrize(
    "what",
    [
        ("modify", internal("etcdserver: request timed out")),
        ("structural_condition", RuntimeError("a schema that nobody thought of")),
        ("served_resources", RuntimeError("names that nobody thought of")),
    ],
)
async def test_a_definition_that_cannot_be_judged_is_judged_again_and_holds_up_no_other(
    api, definition, customs, other, broken, what
):
    trouble = broken(*what)
    assert (await api.post(CRDS, definition())).code == 201
    await other()
    async with asyncio.timeout(SECONDS):
        while len(trouble) < 4:
            await api.get("/livez")
    await other("wedgets")
    assert (await api.get(HERE)).code == 404
    assert customs.condition((await api.get(PLACE)).json, "Established").get("status") != "True"
    trouble.clear()
    await customs.established(NAME)
    assert (await api.post(HERE, A_WIDGET)).code == 201


async def test_a_definition_that_was_served_is_served_on_while_it_cannot_be_judged(api, customs, broken, caplog):
    made = await customs.define()
    trouble = broken("modify", internal("away"))
    names = {"spec": {"names": made["spec"]["names"] | {"shortNames": ["wi"]}}}
    await api.patch(PLACE, names)
    async with asyncio.timeout(SECONDS):
        while len(trouble) < 3:
            assert (await api.get(HERE)).code == 200
    trouble.clear()
    await customs.until(NAME, lambda reply: reply.json["status"]["acceptedNames"].get("shortNames") == ["wi"])


async def test_a_definition_that_cannot_be_loaded_keeps_no_server_from_its_start(opened, definition, broken, tmp_path):
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    good = definition(plural="wodgets", kind="Wodget", names={"shortNames": [], "categories": []})
    async with opened(config) as api:
        for made, path in ((definition(), HERE), (good, HERE.replace("widgets", "wodgets"))):
            assert (await api.post(CRDS, made)).code == 201
            while (await api.get(path)).code != 200:
                pass
    trouble = broken("served_resources", RuntimeError("odd"))
    async with opened(config) as api:
        assert (await api.get(HERE.replace("widgets", "wodgets"))).code == 200
        assert (await api.get(HERE)).code == 404
        assert len(trouble) > 1
        trouble.clear()
        async with asyncio.timeout(SECONDS):
            while (await api.get(HERE)).code != 200:
                pass


class Gate:
    """Holds up the first write of the first definition's status."""

    def __init__(self, modify):
        self.modify, self.reached, self.opened = modify, asyncio.Event(), asyncio.Event()

    async def __call__(self, registry, target, *rest):
        if target.name == NAME:
            self.reached.set()
            await self.opened.wait()
        return await self.modify(registry, target, *rest)


@pytest.mark.parametrize("anew", [False, True])
async def test_events_that_come_after_a_newer_state_is_known_undo_nothing(
    api, definition, customs, other, monkeypatch, anew
):
    gate = Gate(update.modify)
    monkeypatch.setattr(crd, "modify", gate)
    assert (await api.post(CRDS, definition())).code == 201
    await gate.reached.wait()
    registry, both = api.running.registry, definition()
    first = both["spec"]["versions"][0]
    both["spec"]["versions"].append(first | {"name": "v2", "storage": False})
    if anew:
        await registry.storage.store.delete(f"{crd.PREFIX}{NAME}", expect=None)
        assert (await api.post(CRDS, both)).code == 201
    else:
        assert (await api.patch(PLACE, {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await api.patch(PLACE, {"spec": {"versions": both["spec"]["versions"]}})).code == 200
    served = []
    registry.customs.on_change(lambda: served.append({kind.resource.version for kind in registry.customs}))
    gate.opened.set()
    await customs.established(NAME)
    await other()
    assert {"v1", "v2"} in served
    assert all(each == {"v1", "v2"} for each in served[served.index({"v1", "v2"}) :])


async def test_who_stops_the_emptying_of_definitions_waits_for_its_end(api, customs, monkeypatch):
    made = await customs.define()
    begun, ended = asyncio.Event(), []

    async def slow(*_):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleared up")

    monkeypatch.setattr(crd_finalizer, "delete_all", slow)
    registry = api.running.registry
    finalizer = crd_finalizer.CRDFinalizer(registry, registry.table.find(crd.GROUP, crd.VERSION, crd.PLURAL))
    monkeypatch.setattr(crd_finalizer.CRDFinalizer, "start", lambda *_: None)  # the server's own stays away
    await api.delete(PLACE)
    monkeypatch.undo()
    monkeypatch.setattr(crd_finalizer, "delete_all", slow)
    finalizer.start(made)
    await begun.wait()
    await finalizer.stop()
    assert ended == ["cleared up"]
