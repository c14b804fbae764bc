"""Changes at a server that has not heard yet what another one has written: they are of the newest state."""

import pytest

from apiserver.config import Config, EtcdAccess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
A = f"{CONFIG_MAPS}/a"


@pytest.fixture
async def behind(opened, shared_etcd, tmp_path, monkeypatch):
    """Two servers; the second hears late: to it "a" is as it was made until it asks, which is counted."""
    settings = Config(store=shared_etcd.url, etcd=EtcdAccess(prefix=f"/{tmp_path.name}"))
    async with opened(settings) as one, opened(settings) as other:
        await one.post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"number": "1"}})
        asked: list[int] = []
        store = other.running.registry.storage.store
        get, fresh = store.get, store.sync_read
        await fresh()
        stale = {kv.key: kv for kv in store.range("/registry/configmaps/default/").items}
        monkeypatch.setattr(store, "get", lambda key: stale.get(key) if key in stale and not asked else get(key))

        async def ask():
            await fresh()
            asked.append(1)

        monkeypatch.setattr(store, "sync_read", ask)
        yield one, other, asked


async def test_a_change_of_what_is_known_asks_nobody(behind):
    _, other, asked = behind
    assert (await other.patch(A, {"data": {"number": "2"}})).code == 200
    assert asked == []


async def test_a_change_that_is_no_change_of_a_stale_state_is_made_of_the_newest(behind):
    one, other, _ = behind
    newest = await one.patch(A, {"data": {"number": "2"}})
    changed = await other.patch(A, {"data": {"number": "1"}})
    assert (changed.code, changed.json["data"]) == (200, {"number": "1"})
    assert int(changed.version) > int(newest.version)
    assert (await one.get(A)).json["data"] == {"number": "1"}


async def test_what_a_stale_state_would_refuse_is_decided_by_the_newest(behind):
    one, other, asked = behind
    newest = (await one.patch(A, {"data": {"number": "2"}})).json
    assert (await other.put(A, newest | {"data": {"number": "3"}})).code == 200
    assert asked


async def test_a_change_of_a_state_that_only_a_server_behind_has_is_refused(behind):
    one, other, _ = behind
    stale = (await one.get(A)).json
    await one.patch(A, {"data": {"number": "2"}})
    assert (await other.put(A, stale | {"data": {"number": "3"}})).code == 409
    assert (await one.get(A)).json["data"] == {"number": "2"}


async def test_a_dry_run_is_of_the_newest_state(behind):
    one, other, _ = behind
    await one.patch(A, {"data": {"other": "2"}})
    reply = await other.patch(f"{A}?dryRun=All", {"data": {"number": "3"}})
    assert reply.json["data"] == {"number": "3", "other": "2"}


async def test_a_deletion_is_of_the_newest_state(behind):
    one, other, _ = behind
    newest = await one.patch(A, {"metadata": {"finalizers": ["example.com/wait"]}})
    reply = await other.delete(A, {"preconditions": {"resourceVersion": newest.version}})
    assert (reply.code, reply.json["metadata"]["finalizers"]) == (200, ["example.com/wait"])
    assert (await one.get(A)).json["metadata"]["deletionTimestamp"]


async def test_what_is_gone_elsewhere_is_not_found(behind):
    one, other, _ = behind
    await one.delete(A)
    assert (await other.patch(A, {"data": {"number": "2"}})).code == 404
