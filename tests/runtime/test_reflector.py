"""Watchers of the real server: nothing is missed, also when it restarts."""

from contextlib import asynccontextmanager
from typing import Any

import pytest

from apiserver.api.errors import ApiError
from apiserver.app import serving
from apiserver.config import Config, check
from controller_manager.reconcile.contract import Create, Delete, Patch
from controller_manager.reconcile.kinds import CONFIG_MAP, Kind
from controller_manager.runtime import client as client_module
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.kubeconfig import ClientConfig, load_kubeconfig
from controller_manager.runtime.reflector import WatchState

WIDGET = Kind("example.com", "v1", "Widget", "widgets")


def a_map(name, **data):
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


# -- the real server


class ListingClient(Client):
    """A client of the real server as if that were too old to tell within a watch what there is."""

    async def stream(self, target, feed, *, seconds, accept="application/json"):
        if "sendInitialEvents" in target:
            raise ApiError(422, "Invalid", "sendInitialEvents is forbidden for watch")
        await super().stream(target, feed, seconds=seconds, accept=accept)


@pytest.mark.parametrize("kind_of_client", [Client, ListingClient], ids=["WatchList", "lists in pages"])
async def test_a_cache_has_what_there_was_and_what_comes(cluster, following, monkeypatch, kind_of_client):
    monkeypatch.setattr(client_module, "PAGE_SIZE", 2)
    async with kind_of_client(load_kubeconfig(cluster.kubeconfig), Clock()) as client:
        await has_what_there_was_and_what_comes(client, following)


async def has_what_there_was_and_what_comes(client, following):
    for number in range(5):
        await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
    async with following(client) as seen:
        await seen.state(WatchState.WATCHING)
        assert seen.cache.synced
        assert {f"m{number}" for number in range(5)} <= seen.names
        made = await client.perform(Create(CONFIG_MAP, a_map("late")))
        await seen.revision(made["metadata"]["resourceVersion"])
        assert "data" not in seen.cache.get("default/late")
        changed = await client.perform(Patch(CONFIG_MAP, "default/late", {"data": {"k": "v"}}))
        await seen.revision(changed["metadata"]["resourceVersion"])
        assert seen.cache.get("default/late")["data"] == {"k": "v"}
        await client.perform(Delete(CONFIG_MAP, "default/late"))
        last = await client.perform(Create(CONFIG_MAP, a_map("last")))
        await seen.revision(last["metadata"]["resourceVersion"])
        assert "late" not in seen.names


async def test_metadata_alone_can_be_followed(client, following):
    await client.perform(Create(CONFIG_MAP, a_map("a", k="v")))
    async with following(client, metadata_only=True) as seen:
        await seen.state(WatchState.WATCHING)
        obj = seen.cache.get("default/a")
        assert "data" not in obj
        assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")


async def test_a_kind_that_the_server_does_not_know_is_empty(client, following, patient):
    async with following(client, kind=WIDGET, clock=patient) as seen:
        await seen.state(WatchState.ABSENT)
        assert seen.cache.synced
        await patient.until_someone_sleeps(30)


# -- restarts


@pytest.fixture
def restarted(tmp_path, unused_tcp_port):
    """restarted(store): a server at always the same port."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t,admin,1,"system:masters"\n')
    access = ClientConfig(f"http://127.0.0.1:{unused_tcp_port}", token="t")

    @asynccontextmanager
    async def run(store):
        config = check(Config(store=store, secure_port=unused_tcp_port, token_auth_file=tokens))
        async with serving(config):
            yield access

    restarting: Any = run
    restarting.access = access
    return restarting


async def test_nothing_is_lost_or_told_twice_when_the_server_restarts(restarted, following, tmp_path, hasty):
    store = f"sqlite://{tmp_path}/data"
    async with Client(restarted.access, Clock()) as client:
        async with restarted(store):
            made = await client.perform(Create(CONFIG_MAP, a_map("before")))
        async with following(client, clock=hasty) as seen:
            await seen.state(WatchState.BROKEN)
            for number in range(3):
                async with restarted(store):
                    await seen.state(WatchState.WATCHING)
                    made = await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
                    if number:  # the first time the server stops before it sends this
                        await seen.revision(made["metadata"]["resourceVersion"])
                await seen.state(WatchState.BROKEN)
            async with restarted(store):
                await seen.state(WatchState.WATCHING)
                await seen.revision(made["metadata"]["resourceVersion"])
                assert {"before", "m0", "m1", "m2"} <= seen.names
                come = [change.new["metadata"]["name"] for change in seen.changes if change.old is None]
                assert len(come) == len(set(come))
                assert all(change.new is not None for change in seen.changes)


async def test_a_cache_tells_whether_it_hears_of_changes_as_they_happen(restarted, following, tmp_path, hasty):
    store = f"sqlite://{tmp_path}/data"
    async with Client(restarted.access, Clock()) as client, following(client, clock=hasty) as seen:
        for _ in range(2):
            async with restarted(store):
                await seen.attached()
            await seen.state(WatchState.BROKEN)
            assert seen.cache.attached is None


async def test_a_server_that_comes_back_with_other_data_is_believed(restarted, following, hasty):
    async with Client(restarted.access, Clock()) as client, following(client, clock=hasty) as seen:
        async with restarted("memory://"):
            await seen.state(WatchState.WATCHING)
            made = await client.perform(Create(CONFIG_MAP, a_map("mine")))
            await seen.revision(made["metadata"]["resourceVersion"])
        await seen.state(WatchState.BROKEN)
        async with restarted("memory://"):
            for number in range(10):  # its revisions overtake those of before
                await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
            await seen.state(WatchState.WATCHING)
            made = await client.perform(Create(CONFIG_MAP, a_map("new")))
            await seen.revision(made["metadata"]["resourceVersion"])
            assert "mine" not in seen.names
            assert {"new"} | {f"m{number}" for number in range(10)} <= seen.names
