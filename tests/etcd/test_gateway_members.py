"""The store over a cluster of three: members that are refused, killed, paused, cut off, without leader, or replaced."""

import asyncio
import shutil
from contextlib import contextmanager

import pytest
from etcd_networks import cables
from gateway_steps import answer_within
from patience import SECONDS

from etcd.access import ClusterConfig
from etcd.store import KeyValue, StoreError, Unreachable

PODS = "/registry/pods/"


def first(cluster, member) -> str:
    """The URL of a cluster with one member first."""
    return ",".join([member.url, *(each.url for each in cluster.members if each is not member)])


@contextmanager
def killed(*members):
    """While members are gone."""
    for member in members:
        member.kill()
    try:
        yield
    finally:
        for member in members:
            if member.process is None:
                member.start()
        for member in members:
            member.wait()


@contextmanager
def paused(*members):
    """While members stand still."""
    for member in members:
        member.pause()
    try:
        yield
    finally:
        for member in members:
            member.resume()
        for member in members:
            member.wait()


class Load:
    """Writers, each of a key of its own, and one watch of them all; a write that is refused is not tried again."""

    def __init__(self, store, key: str) -> None:
        self.store = store
        self.prefix = f"{PODS}{key}/"
        self.written: list[KeyValue] = []
        self.doubtful: set[bytes] = set()
        self.errors: list[StoreError] = []
        self.stopped = False
        self.watcher = store.watch(self.prefix, after=store.revision)

    async def write(self, name: str) -> None:
        number = 0
        while not self.stopped:
            number += 1
            value = f"{name} {number}".encode()
            try:
                self.written.append(await self.store.put(self.prefix + name, value))
            except Unreachable as error:
                self.errors.append(error)
                self.doubtful |= {value} if error.unknown else set()
                await asyncio.sleep(0.05)

    async def more(self, number: int, seconds: float = SECONDS) -> None:
        """Wait until as many writes more are acknowledged."""
        end = len(self.written) + number
        async with asyncio.timeout(seconds):
            while len(self.written) < end:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)

    async def check(self) -> None:
        """Check that acknowledged writes came once, in order, and besides them only doubtful ones, once too."""
        await self.store.sync_read()
        events = []
        while batch := self.watcher.next_nowait():
            events += batch
        revisions = [event.revision for event in events]
        assert revisions == sorted(set(revisions))
        came = {event.revision: event.kv for event in events}
        assert all(came.pop(kv.mod_revision) == kv for kv in self.written)
        assert {kv.value for kv in came.values()} <= self.doubtful
        assert len({kv.value for kv in came.values()}) == len(came)


async def under_load(store, key: str, health_error) -> Load:
    """Write and watch before, during and after some trouble, which is given the load."""
    load = Load(store, key)
    async with asyncio.TaskGroup() as writers:
        for number in range(6):
            writers.create_task(load.write(f"w{number}"))
        await load.more(50)
        await health_error(load)
        await load.more(50)
        load.stopped = True
    await load.check()
    return load


async def test_an_endpoint_that_refuses_is_passed_by(opened, clusters, three, access):
    store = await opened(f"http://127.0.0.1:{clusters.free_port()},{three.url}", access=access)
    kv = await store.put(PODS + "a", b"")
    await store.sync_read()
    assert store.get(PODS + "a") == kv


@pytest.mark.parametrize("role", ["leader", "follower"])
async def test_a_member_that_is_killed_under_load_is_passed_by_and_nothing_is_lost(opened, three, access, role):
    leader = three.leader()
    victim = leader if role == "leader" else next(each for each in three.members if each is not leader)
    store = await opened(first(three, victim), access=access)

    async def kill(load) -> None:
        with killed(victim):
            await load.more(50)

    load = await under_load(store, role, kill)
    assert load.written


async def test_a_watch_moves_on_from_a_member_that_is_killed_while_nothing_is_written_here(opened, three, access):
    victim = three.members[1]
    store = await opened(first(three, victim), access=access)
    other = await opened(three.members[0].url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    with killed(victim):
        kv = await until_written(other, PODS + "a")
        events = await asyncio.wait_for(watcher.next(), SECONDS)
    assert [event.kv for event in events] == [kv]


async def until_written(store, key: str) -> KeyValue:
    """Write in spite of elections."""
    while True:
        try:
            written: KeyValue = await store.put(key, b"", expect=0)
        except Unreachable:
            await asyncio.sleep(0.05)
        else:
            return written


async def test_a_paused_member_is_passed_by_for_reads_writes_and_the_watch(opened, three, access):
    leader = three.leader()
    victim = next(each for each in three.members if each is not leader)
    store = await opened(first(three, victim), access=access)
    other = await opened(leader.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    answer_within(store, 5)
    with paused(victim):
        kv = await other.put(PODS + "a", b"")
        await store.sync_read()
        answer_within(store, None)
        assert store.get(PODS + "a") == kv
        assert [event.kv for event in watcher.next_nowait()] == [kv]
        async with asyncio.timeout(SECONDS):
            written = await store.put(PODS + "b", b"")
            assert [event.kv for event in await watcher.next()] == [written]


async def test_a_member_that_is_paused_while_nobody_asks_is_found_out_by_the_watch(opened, three, access):
    leader = three.leader()
    victim = next(each for each in three.members if each is not leader)
    store = await opened(first(three, victim), access=access)
    other = await opened(leader.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    answer_within(store, 5)
    with paused(victim):
        kv = await other.put(PODS + "a", b"")
        events = await asyncio.wait_for(watcher.next(), SECONDS)
    assert [event.kv for event in events] == [kv]


async def test_without_a_leader_everything_is_refused_soon_and_comes_back_by_itself(opened, three, access):
    survivor = three.members[0]
    store = await opened(first(three, survivor), access=access)
    kv = await store.put(PODS + "a", b"1")
    watcher = store.watch(PODS, after=store.revision)
    parked = asyncio.ensure_future(watcher.next())
    with killed(*three.members[1:]):
        await until_refused(store, "no leader")
        answer_within(store, None)  # so who waits for an answer and not for a refusal does so for ever
        async with asyncio.timeout(SECONDS):
            for work in (store.sync_read(), store.put(PODS + "b", b""), store.delete(PODS + "a")):
                assert f"{survivor.url}: etcdserver: no leader" in await refusal(work)
        answer_within(store, 5)
        assert store.get(PODS + "a") == kv
        assert not parked.done()
        assert store.health_error
    await until_written(store, PODS + "c")
    await store.sync_read()
    assert [event.key for event in await asyncio.wait_for(parked, SECONDS)] == [PODS + "c"]
    async with asyncio.timeout(SECONDS):
        while store.health_error:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def until_refused(store, words: str) -> None:
    """Ask until it is refused with such words, or, without words, until it is not refused any more."""
    async with asyncio.timeout(SECONDS):
        while (said := await refusal(store.sync_read())) or words:
            if words and words in said:
                return
            await asyncio.sleep(0.05)


async def refusal(work) -> str:
    """Why something is not done now, "" if it is."""
    try:
        await work
    except Unreachable as error:
        return str(error)
    return ""


async def test_a_member_without_a_leader_is_left_for_those_that_have_one(opened, clusters, tmp_path):
    """One of three is cut off from the other two, not from the store."""
    with cables(3) as net:
        if net is None:
            pytest.skip("no network namespaces can be made here")
        with clusters.running(tmp_path, 3, net=net) as cluster:
            members = cluster.members
            leader = cluster.leader()
            lonely = next(number for number, each in enumerate(members) if each is not leader)
            store = await opened(first(cluster, members[lonely]), access=ClusterConfig())
            other = await opened(leader.url, access=ClusterConfig())
            watcher = store.watch(PODS, after=store.revision)
            answer_within(store, 5)
            net.part(lonely, 3)
            kv = await until_written(other, PODS + "a")
            events = await asyncio.wait_for(watcher.next(), SECONDS)
            assert [event.kv for event in events] == [kv]
            await store.sync_read()  # who asked before it knew that it is alone waits until its patience is at an end
            await store.put(PODS + "b", b"")
            answer_within(store, None)
            async with asyncio.timeout(SECONDS):
                await store.sync_read()
                await store.put(PODS + "b", b"")


async def insist(member, method: str, **request) -> None:
    """Repeat a call that a member may refuse until the cluster is well again."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                await asyncio.to_thread(lambda: member.call(method, **request))
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_member_is_replaced_by_another_with_no_data(opened, clusters, tmp_path):
    """By the book: remove the dead one, add the new one, start it as one that joins."""
    with clusters.running(tmp_path, 3) as cluster:
        store = await opened(cluster.url, access=ClusterConfig())

        async def replace(load) -> None:
            dead, alive = cluster.members[0], cluster.members[1]
            dead.kill()
            cluster.leader()
            members = alive.call("cluster/member/list")["members"]
            identity = next(each["ID"] for each in members if each["name"] == dead.name)
            await insist(alive, "cluster/member/remove", ID=identity)
            shutil.rmtree(dead.folder / "data")
            dead.state = "existing"
            await load.more(20)
            await insist(alive, "cluster/member/add", peerURLs=[dead.peers[dead.name]])
            await asyncio.to_thread(dead.start)
            await asyncio.to_thread(dead.wait)
            cluster.members[1].kill()  # so the new one is needed
            await load.more(20)
            cluster.members[1].start()
            await asyncio.to_thread(cluster.members[1].wait)

        await under_load(store, "replaced", replace)
        await store.close()
        again = await opened(cluster.members[0].url, access=ClusterConfig())
        assert again.count(PODS) == 6


async def test_memory_stays_bounded_while_no_member_answers(opened, three, access, monkeypatch):
    store = await opened(three.url, access=access)
    answer_within(store, 1)
    monkeypatch.setattr("etcd.cluster.SLOT_TIMEOUT", 2.0)
    with paused(*three.members):
        asking = [asyncio.ensure_future(store.sync_read()) for _ in range(5000)]
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) < 5000 + 30  # those of the test, and few of the store's
        assert store._cluster._slots._value >= 60
        for each in asking:
            each.cancel()
        await asyncio.wait(asking)
        writes = [asyncio.ensure_future(outcome(store.put(f"{PODS}{n}", b""))) for n in range(500)]
        async with asyncio.timeout(SECONDS):
            results = await asyncio.gather(*writes)
        refused = [each for each in results if isinstance(each, Unreachable)]
        assert len(refused) == 500
        assert sum(each.unknown for each in refused) < 500
    await until_refused(store, "")
    assert store._under_way == set()


async def outcome(work) -> object:
    try:
        return await work
    except StoreError as error:
        return error
