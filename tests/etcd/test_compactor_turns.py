"""The agreement of servers before a compaction, seen in their requests to a cluster."""

import asyncio
from base64 import b64decode
from typing import Any

import pytest

from etcd.compactor import Compactor
from etcd.store import Unreachable


class Versions:
    """The part of a cluster that compactors use: its keys by name, each with a version and a value."""

    def __init__(self) -> None:
        self.keys: dict[str, tuple[int, bytes]] = {}
        self.compacted: list[int] = []
        self.revision = 10

    async def write(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        if method == "/kv/compaction":
            self.compacted.append(int(request["revision"]))
            return {"header": {}}
        assert method == "/kv/txn"
        assert set(request) == {"compare", "success", "failure"}
        [compare], [success], [failure] = request["compare"], request["success"], request["failure"]
        key = b64decode(compare["key"]).decode()
        version, _ = self.keys.get(key, (0, b""))
        assert compare["target"] == "VERSION"
        if succeeded := compare["version"] == str(version):
            self.revision += 1
            put = success["request_put"]
            self.keys[b64decode(put["key"]).decode()] = (version + 1, b64decode(put["value"]))
        assert b64decode(failure["request_range"]["key"]).decode() == key
        response = {"kvs": [{"version": str(version)}]} if key in self.keys else {}
        answer = {"header": {"revision": str(self.revision)}, "responses": [{"response_range": response}]}
        return answer | ({"succeeded": True} if succeeded else {})


@pytest.fixture
def cluster() -> Versions:
    return Versions()


async def test_the_first_turn_on_a_new_cluster_writes_the_key_of_kube_apiservers_and_compacts_nothing(cluster):
    await Compactor(cluster, 60.0).compact_once()
    assert cluster.keys == {"compact_rev_key": (1, b"0")}
    assert cluster.compacted == []


async def test_each_further_turn_compacts_to_where_the_cluster_was_at_the_turn_before(cluster):
    compactor = Compactor(cluster, 60.0)
    await compactor.compact_once()
    cluster.revision = 20
    await compactor.compact_once()
    cluster.revision = 30
    await compactor.compact_once()
    assert cluster.compacted == [11, 21]
    assert cluster.keys == {"compact_rev_key": (3, b"21")}


async def test_one_whose_turn_another_has_taken_notes_it_and_has_the_next(cluster):
    compactor = Compactor(cluster, 60.0)
    cluster.keys["compact_rev_key"] = (7, b"5")
    await compactor.compact_once()
    assert cluster.keys == {"compact_rev_key": (7, b"5")}
    assert cluster.compacted == []
    await compactor.compact_once()
    assert cluster.keys["compact_rev_key"][0] == 8
    assert cluster.compacted == [10]


async def test_where_the_key_was_deleted_the_next_turn_writes_it(cluster):
    compactor = Compactor(cluster, 60.0)
    await compactor.compact_once()
    cluster.keys.clear()
    await compactor.compact_once()
    assert (cluster.keys, cluster.compacted) == ({}, [])
    await compactor.compact_once()
    assert cluster.keys["compact_rev_key"][0] == 1
    assert cluster.compacted == [11]


async def test_a_turn_comes_after_each_interval_and_one_that_fails_is_logged(cluster, monkeypatch, caplog):
    steps: list[object] = []

    async def sleep(seconds: float) -> None:
        steps.append(seconds)

    async def once(compactor: Compactor) -> None:
        steps.append("turn")
        if steps.count("turn") == 1:
            raise Unreachable("nobody answers")
        if steps.count("turn") == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr("etcd.compactor.asyncio.sleep", sleep)
    monkeypatch.setattr(Compactor, "compact_once", once)
    with pytest.raises(asyncio.CancelledError):
        await Compactor(cluster, 60.0).run()
    assert steps == [60.0, "turn", 60.0, "turn", 60.0, "turn"]
    assert [each.getMessage() for each in caplog.records] == ["etcd could not be compacted: nobody answers"]
