"""wire.md, sections 1.3 and 7.3: health, and a store that fails."""

import asyncio
from pathlib import Path

import pytest

from apiserver.config import Config

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("root", ["healthz", "livez", "readyz"])
async def test_all_is_well(api, root: str) -> None:
    plain = await api.get(f"/{root}")
    assert (plain.code, plain.text, plain.headers["Content-Type"]) == (200, "ok", "text/plain; charset=utf-8")
    verbose = await api.get(f"/{root}?verbose")
    assert verbose.text == f"[+]ping ok\n[+]log ok\n[+]etcd ok\n{root} check passed\n"


@pytest.mark.parametrize("check", ["ping", "log", "etcd"])
async def test_one_check(api, check: str) -> None:
    reply = await api.get(f"/readyz/{check}")
    assert (reply.code, reply.text) == (200, "ok")


async def test_an_unknown_check_is_404(api) -> None:
    assert (await api.get("/readyz/nonsense")).code == 404


async def test_a_check_may_be_left_out(api) -> None:
    reply = await api.get("/readyz?verbose&exclude=etcd")
    assert reply.text == "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nreadyz check passed\n"
    unknown = await api.get("/readyz?verbose=true&exclude=other")
    assert 'warn: some health checks cannot be excluded: no matches for "other"' in unknown.text


async def test_several_checks_may_be_left_out(api) -> None:
    reply = await api.get("/readyz?verbose&exclude=etcd&exclude=b&exclude=ping&exclude=a")
    assert reply.text == (
        "[+]ping excluded: ok\n[+]log ok\n[+]etcd excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "a","b"\nreadyz check passed\n'
    )


async def test_component_statuses_tell_the_state_of_the_store(opened, tmp_path: Path) -> None:
    path = "/api/v1/componentstatuses"
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with opened(Config(store=f"sqlite://{tmp_path / 'store'}")) as api:
        healthy = {"type": "Healthy", "status": "True", "message": "ok"}
        assert (await api.get(f"{path}/etcd-0")).json["conditions"] == [healthy]
        await api.running.registry.storage.store.close()
        unhealthy = {"type": "Healthy", "status": "False", "error": "the store is closed"}
        assert (await api.get(f"{path}/etcd-0")).json["conditions"] == [unhealthy]
        assert [item["conditions"] for item in (await api.get(path)).json["items"]] == [[unhealthy]]
        rows = (await api.get(path, Accept=table)).json["rows"]
        assert [row["cells"] for row in rows] == [["etcd-0", "Unhealthy", "", "the store is closed"]]


async def test_a_closed_store_fails_the_checks_and_writes_and_leaves_reads(opened, tmp_path: Path) -> None:
    async with opened(Config(store=f"sqlite://{tmp_path / 'store'}")) as api:
        await api.make("a")
        await api.running.registry.storage.store.close()
        health = await api.get("/readyz")
        assert health.code == 500
        assert health.text == "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
        one = await api.get("/readyz/etcd")
        assert (one.code, one.text) == (500, "internal server error: the store is closed\n")
        assert (await api.get("/readyz?exclude=etcd")).code == 200
        assert (await api.get(f"{CONFIG_MAPS}/a")).code == 200
        assert len((await api.get(CONFIG_MAPS)).json["items"]) == 1
        for method, path, body in (
            ("POST", CONFIG_MAPS, {"metadata": {"name": "b"}}),
            ("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a"}, "data": {"x": "y"}}),
            ("DELETE", f"{CONFIG_MAPS}/a", None),
        ):
            refused = await api.ask(method, path, body)
            assert (refused.code, refused.json["kind"], refused.json["reason"]) == (500, "Status", "InternalError")


async def test_a_watch_of_a_closed_store_ends(opened) -> None:
    async with opened() as api, api.watch(f"{CONFIG_MAPS}?watch=1") as watched:
        await api.running.registry.storage.store.close()
        assert await watched.rest() == []


@pytest.mark.parametrize("query", ["", "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"])
async def test_a_closed_store_waits_for_no_version(opened, query: str, caplog) -> None:
    async with opened() as api:
        await api.running.registry.storage.store.close()
        reply = await api.get(f"{CONFIG_MAPS}?resourceVersion=99999{query}")
        status = reply.json["object"] if query else reply.json
        assert (status["kind"], status["code"], status["reason"]) == ("Status", 500, "InternalError")
        assert not caplog.records


async def test_a_store_that_closes_ends_the_waiting(opened, caplog) -> None:
    async with opened() as api, asyncio.TaskGroup() as group:
        waiting = group.create_task(api.get(f"{CONFIG_MAPS}?resourceVersion=99999"))
        while await api.metrics("apiserver_current_inflight_requests", "readOnly") < 1:
            pass
        await api.running.registry.storage.store.close()
        assert (await waiting).code == 500
        assert not caplog.records
