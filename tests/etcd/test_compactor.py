"""Old history of a cluster is compacted by one of the servers that use it, by none where another has done so."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from etcd.access import ClusterConfig
from etcd.cluster import Cluster
from etcd.compactor import Compactor
from etcd.store import Compacted, StoreError

ALL = {"key": "AA==", "limit": 1}


@pytest.fixture
async def own(clusters: Any, tmp_path: Any) -> AsyncIterator[Any]:
    """An etcd of this test's own, since compaction is of everything in it."""
    with clusters.running(tmp_path / "etcd") as etcd:
        yield etcd


@pytest.fixture
async def member(own: Any) -> AsyncIterator[Cluster]:
    cluster = Cluster(ClusterConfig([own.url]))
    yield cluster
    await cluster.close()


async def revision(member: Cluster) -> int:
    return int((await member.read("/kv/range", ALL))["header"]["revision"])


async def is_readable(member: Cluster, at: int) -> bool:
    try:
        await member.read("/kv/range", ALL | {"revision": str(at)})
    except Compacted:
        return False
    return True


async def write(member: Cluster, number: int) -> None:
    for _ in range(number):
        await member.write("/kv/put", {"key": "YQ==", "value": "YQ=="})


async def test_history_is_kept_for_one_interval_and_gone_after_the_next(member: Cluster) -> None:
    compactor = Compactor(member, interval=60)
    await write(member, 5)
    await compactor.compact_once()
    first = await revision(member)
    assert await is_readable(member, 2), "the first time nothing is known of the age of anything"
    await write(member, 5)
    await compactor.compact_once()
    assert not await is_readable(member, first - 2)
    assert await is_readable(member, first)
    assert await is_readable(member, await revision(member) - 1)


async def test_of_several_servers_one_compacts_and_the_others_note_it(member: Cluster) -> None:
    compactors = [Compactor(member, interval=60) for _ in range(3)]
    for compactor in compactors:
        await compactor.compact_once()
    for _ in range(4):
        before = await revision(member)
        await write(member, 5)
        for compactor in compactors:
            await compactor.compact_once()
        assert await is_readable(member, before), "however many there are, what is young stays"
    assert not await is_readable(member, 3)


async def test_one_that_takes_over_from_a_server_that_has_ended_compacts_too(member: Cluster) -> None:
    first, second = Compactor(member, interval=60), Compactor(member, interval=60)
    for _ in range(3):
        await write(member, 3)
        await first.compact_once()
    await second.compact_once()
    old = await revision(member)
    await write(member, 3)
    await second.compact_once()
    await write(member, 3)
    await second.compact_once()
    assert not await is_readable(member, old - 1)


async def test_a_store_compacts_by_itself_and_goes_on_while_etcd_is_away(
    own: Any, opened: Callable[..., Awaitable[Any]], member: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(own.url, access=ClusterConfig(compaction=0.2))
    await store.put("/a", b"1")
    old = store.revision
    own.kill()
    while "etcd could not be compacted" not in caplog.text:
        with pytest.raises(StoreError):
            await store.sync_read()
    own.start()
    while True:
        try:
            if not await is_readable(member, old - 1):
                break
        except StoreError:
            continue
    assert store.get("/a").value == b"1"
