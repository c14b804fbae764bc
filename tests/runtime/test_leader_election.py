"""Leader election of several candidates on one real server; each has a clock of its own, as real ones do."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Delete, Get, Patch
from controller_manager.reconcile.kinds import LEASE
from controller_manager.runtime import leader_election
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_recorder import Recorder
from controller_manager.runtime.kubeconfig import ClientConfig
from controller_manager.runtime.leader_election import LeaderElector, LeaseLostError, new_identity

KEY = "kube-system/kube-controller-manager"


@pytest.fixture
def candidate(client, hasty):
    """candidate(name): an elector with its clock, and a recorder that only collects."""

    def make(name, *, by=None):
        clock = type(hasty)()
        recorder = Recorder(by or client, clock)
        elector: Any = LeaderElector(by or client, recorder, clock, lease=KEY, identity=name)
        elector.clock, elector.recorder = clock, recorder
        return elector

    return make


@pytest.fixture
def lease(client):
    async def get():
        return (await client.perform(Get(LEASE, KEY)))["spec"]

    return get


def events_of(elector):
    return [(said.reason, said.message) for lane in elector.recorder._lanes.values() for said in lane.waiting]


async def test_the_first_candidate_makes_the_lease(candidate, lease):
    one = candidate("one")
    await one.acquire()
    assert one.is_leader
    assert one.clock.slept == []
    assert await lease() == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.000000Z",
        "renewTime": "2027-01-15T08:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert events_of(one) == [("LeaderElection", "one became leader")]


async def test_a_leader_renews_every_two_seconds(candidate, lease):
    one = candidate("one")
    await one.acquire()

    async def enough():
        if one.clock.passed >= 10:
            raise asyncio.CancelledError

    one.clock.meanwhile = enough
    with pytest.raises(asyncio.CancelledError):
        await one.keep_renewing()
    assert one.clock.slept == [2] * 5
    held = await lease()
    assert held["renewTime"] == "2027-01-15T08:00:08.000000Z"
    assert held["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert held["leaseTransitions"] == 0


async def test_another_takes_over_when_the_leader_has_been_silent_for_the_leases_time(candidate, lease):
    one, two = candidate("one"), candidate("two")
    one.clock.passed = 1_000_000.0  # what its clock says is of no interest to others
    await one.acquire()

    async def renew():
        if two.clock.passed < 60:
            one.clock.passed += 1
            assert await one._try_acquire_or_renew()

    two.clock.meanwhile = renew
    await two.acquire()
    assert 60 - 4.4 + 15 <= two.clock.passed <= 60 + 15 + 2 * 4.4
    assert all(2 <= pause <= 4.4 for pause in two.clock.slept)
    held = await lease()
    assert (held["holderIdentity"], held["leaseTransitions"]) == ("two", 1)
    assert held["acquireTime"] == held["renewTime"]
    assert events_of(two) == [("LeaderElection", "two became leader")]


async def test_who_is_overtaken_learns_of_it_and_writes_nothing_more(candidate, lease):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    await two.acquire()
    with pytest.raises(LeaseLostError, match=f"the lease {KEY} is held by two"):
        await one.keep_renewing()
    assert one.clock.slept == [2]
    assert not one.is_leader
    assert one.holder == "two"
    assert (await lease())["holderIdentity"] == "two"
    assert events_of(one) == [("LeaderElection", "one became leader"), ("LeaderElection", "one stopped leading")]


async def test_a_leader_is_safe_until_its_last_renewal_is_as_old_as_the_deadline(candidate):
    one = candidate("one")
    assert not one.is_safe()
    await one.acquire()
    one.clock.passed += 9.9
    assert one.is_safe()
    one.clock.passed += 0.1
    assert not one.is_safe()
    assert await one._try_acquire_or_renew()
    assert one.is_safe()
    await one.release()
    assert not one.is_safe()


async def test_who_released_its_lease_is_not_safe_for_a_moment(candidate):
    one = candidate("one")
    await one.acquire()
    assert one.is_safe()
    await one.release()
    assert not one.is_safe()


async def test_a_released_lease_is_free_at_once(candidate, lease):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    await one.release()
    held = await lease()
    assert "holderIdentity" not in held
    assert held["leaseDurationSeconds"] == 1
    await two.acquire()
    assert two.clock.slept == []
    assert (await lease())["leaseTransitions"] == 1
    await one.release()
    assert (await lease())["holderIdentity"] == "two"


async def test_a_lease_is_released_that_a_last_renewal_changed_whose_answer_nobody_waited_for(candidate, lease):
    one, the_same = candidate("one"), candidate("one")
    await one.acquire()
    the_same.clock.passed = 1
    await the_same.acquire()
    assert (await lease())["renewTime"] == "2027-01-15T08:00:01.000000Z"
    await one.release()
    assert "holderIdentity" not in await lease()


async def test_a_leader_that_comes_back_has_its_lease_still(candidate, lease):
    one = candidate("one")
    await one.acquire()
    await candidate("one").acquire()
    assert (await lease())["leaseTransitions"] == 0


async def test_a_lease_that_somebody_changed_or_deleted_is_kept_all_the_same(candidate, client, lease):
    one = candidate("one")
    await one.acquire()
    await client.perform(Patch(LEASE, KEY, {"metadata": {"labels": {"a": "b"}}}))
    assert await one._try_acquire_or_renew()
    await client.perform(Delete(LEASE, KEY))
    assert await one._try_acquire_or_renew()
    assert (await lease())["holderIdentity"] == "one"


async def test_of_two_that_try_at_once_one_leads(candidate, client):
    one, two = candidate("one"), candidate("two")
    assert sorted(await asyncio.gather(one._try_acquire_or_renew(), two._try_acquire_or_renew())) == [False, True]
    await client.perform(Delete(LEASE, KEY))


@pytest.mark.parametrize("code", [500, 403, 0])
async def test_a_leader_whose_server_fails_gives_up_before_others_take_over(serve, candidate, hasty, code):
    fails: list[Any] = []

    async def handle(request):
        if fails and not code:
            request.transport.abort()
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=code or 500 if fails else 201 if body else 404)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        fails.append(True)
        with pytest.raises(LeaseLostError):
            await one.keep_renewing()
        await one.release()
    assert 2 + 8 <= one.clock.passed < 15


async def test_a_candidate_outlives_a_server_that_fails(serve, candidate, hasty):
    answers = [500, 403, 404]

    async def handle(request):
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=answers.pop(0) if answers else 201)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
    assert len(one.clock.slept) == 2


async def test_a_server_that_does_not_answer_is_no_yes(serve, candidate, hasty):
    async def handle(_):
        await asyncio.Event().wait()

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        one._election_times = type(one._election_times)(lease_duration=0.03, renew_deadline=0.02, retry_period=0.01)
        assert not await one._try_acquire_or_renew()


async def test_a_server_that_does_not_answer_keeps_nobody_from_ending(serve, candidate, hasty, monkeypatch):
    async def handle(request):
        if request.method == "PUT":
            await asyncio.Event().wait()
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=201 if body else 404)

    monkeypatch.setattr(leader_election, "RELEASE_TIMEOUT", 0.01)
    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        await one.release()


class SilentClient(Client):
    """Of a server that never answers."""

    async def perform(self, *_):
        await asyncio.Event().wait()


@pytest.fixture
def unanswered():
    """An elector whose server never answers, on the clock of the loop."""
    clock = Clock()
    silent = SilentClient(ClientConfig("http://127.0.0.1:1"), clock)
    return LeaderElector(silent, Recorder(silent, clock), clock, lease=KEY, identity="one")


@pytest.mark.looptime
async def test_a_try_without_an_answer_ends_after_half_the_time_to_renew(unanswered):
    """So that within that time there is another one."""
    began = asyncio.get_running_loop().time()
    assert not await unanswered._try_acquire_or_renew()
    assert asyncio.get_running_loop().time() - began == pytest.approx(5)


@pytest.mark.looptime
async def test_a_release_without_an_answer_ends_after_two_seconds(unanswered):
    unanswered._observe({"spec": {"holderIdentity": "one"}})
    began = asyncio.get_running_loop().time()
    await unanswered.release()
    assert asyncio.get_running_loop().time() - began == pytest.approx(2)


def test_no_two_processes_have_one_name():
    assert new_identity() != new_identity()
    assert new_identity().partition("_")[2].count("-") == 4


async def test_errors_of_the_release_are_no_errors_of_the_manager(serve, candidate, hasty):
    async def handle(request):
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=201 if request.method == "POST" else 404)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        await one.release()
        with pytest.raises(ApiError):
            await client.perform(Get(LEASE, KEY))


@pytest.mark.parametrize("code", [403, 500])
async def test_a_write_that_is_refused_is_not_followed_by_another_within_one_try(serve, candidate, hasty, code):
    kept, writes = {}, []

    async def handle(request):
        if request.method == "POST":
            kept.update(await request.json())
        if request.method == "PUT":
            writes.append(await request.json())
            return web.json_response({}, status=code)
        return web.json_response(kept, status=200 if kept else 404)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        assert not await one._try_acquire_or_renew()
        assert len(writes) == 1
        await one.release()
        assert len(writes) == 2


async def test_a_lease_that_is_gone_is_made_once_more(serve, candidate, hasty):
    """By a server that makes none when one is to be updated."""
    made = []

    async def handle(request):
        if request.method != "POST":
            return web.json_response({}, status=404)
        made.append(await request.json())
        return web.json_response(made[-1], status=201)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        assert await one._try_acquire_or_renew()
    namespace, name = KEY.split("/")
    for lease in made:
        lease.pop("spec")
        assert lease == {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
        }
    assert len(made) == 2


# -- by which moment times are counted


@pytest.fixture
def slow_server(serve):
    """slow_server(seconds): a server that keeps a lease, and whose answers to writes take time on a candidate's clock.

    Gives the way to it, and a list to which a test adds the candidate.
    """

    async def start(seconds):
        kept: dict[str, Any] = {}
        candidates: list[Any] = []

        async def handle(request):
            if request.can_read_body:
                kept.update(await request.json())
                for one in candidates:
                    one.clock.passed += seconds
            return web.json_response(kept, status=200 if kept else 404)

        return await serve(handle), candidates

    return start


async def test_the_safe_time_counts_from_the_question_and_not_from_the_answer(slow_server, candidate, hasty):
    access, candidates = await slow_server(4)
    async with Client(access, hasty) as client:
        one = candidate("one", by=client)
        candidates.append(one)
        await one.acquire()
        assert one.clock.passed == 4
        one.clock.passed = 9.9
        assert one.is_safe()
        one.clock.passed = 10
        assert not one.is_safe()
        assert await one._try_acquire_or_renew()
        assert one.clock.passed == 14
        one.clock.passed = 19.9
        assert one.is_safe()
        one.clock.passed = 20
        assert not one.is_safe()


async def test_a_renewal_that_took_longer_than_it_holds_makes_nobody_safe(slow_server, candidate, hasty):
    access, candidates = await slow_server(10)
    async with Client(access, hasty) as client:
        one = candidate("one", by=client)
        candidates.append(one)
        await one.acquire()
        assert one.is_leader
        assert not one.is_safe()


async def test_a_renewal_without_an_answer_and_a_look_at_it_make_nobody_safe(serve, candidate, hasty):
    """The lease that was seen says that the leader has it, but nobody knows since when on the leader's clock."""
    kept: dict[str, Any] = {}
    answers = [201]

    async def handle(request):
        if not request.can_read_body:
            return web.json_response(kept, status=200 if kept else 404)
        kept.update(await request.json())
        return web.json_response(kept, status=answers.pop(0) if answers else 500)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        one.clock.passed = 9.0
        assert not await one._try_acquire_or_renew()
        answers += [409]  # so that it looks at the lease, which its write before has changed
        assert not await one._try_acquire_or_renew()
        assert one.is_leader
        assert one.is_safe()
        one.clock.passed = 10.0
        assert not one.is_safe()


async def test_nobody_else_takes_a_lease_before_the_leader_stops_to_be_safe(candidate):
    """Whatever the leader's clock says when its answer comes, others wait longer than it goes on."""
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    assert not await two._try_acquire_or_renew()
    two.clock.passed += 14.9
    assert not await two._try_acquire_or_renew()
    one.clock.passed += 14.9
    assert not one.is_safe()
    two.clock.passed += 0.1
    assert await two._try_acquire_or_renew()


async def test_a_lease_that_changes_is_free_only_a_whole_duration_later(candidate):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    assert not await two._try_acquire_or_renew()
    two.clock.passed += 10
    one.clock.passed += 1
    assert await one._try_acquire_or_renew()
    assert not await two._try_acquire_or_renew()
    two.clock.passed += 14.9
    assert not await two._try_acquire_or_renew()


async def test_a_leader_tries_to_renew_as_long_as_a_try_ends_before_the_deadline(serve, candidate, hasty):
    """It gives up after ten seconds of trying: tries begin after 0, 2, 4, 6, 8 and 10 of them."""
    fails: list[Any] = []
    tried: list[Any] = []

    async def handle(request):
        body = await request.json() if request.can_read_body else {}
        if fails and body:
            tried.append(one.clock.passed)
        return web.json_response(body, status=500 if fails else 201 if body else 404)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        fails.append(True)
        with pytest.raises(LeaseLostError, match=f"the lease {KEY} could not be renewed within 10 s"):
            await one.keep_renewing()
    assert tried == [2, 4, 6, 8, 10, 12]


# -- what is written


async def test_what_others_keep_in_the_lease_stays(candidate, client, lease):
    one = candidate("one")
    await one.acquire()
    await client.perform(
        Patch(LEASE, KEY, {"metadata": {"labels": {"a": "b"}}, "spec": {"strategy": "OldestEmulationVersion"}})
    )
    assert await one._try_acquire_or_renew()
    stored = await client.perform(Get(LEASE, KEY))
    assert stored["metadata"]["labels"] == {"a": "b"}
    assert stored["spec"]["strategy"] == "OldestEmulationVersion"


async def test_each_change_of_the_holder_counts(candidate, lease):
    for number, name in enumerate(("one", "two", "three")):
        elector = candidate(name)
        await elector.acquire()
        assert (await lease())["leaseTransitions"] == number
        await elector.release()


async def test_a_released_lease_tells_when_it_was_released(candidate, lease):
    one = candidate("one")
    await one.acquire()
    one.clock.passed += 5
    await one.release()
    assert await lease() == {
        "leaseDurationSeconds": 1,
        "acquireTime": "2027-01-15T08:00:05.000000Z",
        "renewTime": "2027-01-15T08:00:05.000000Z",
        "leaseTransitions": 0,
    }


async def test_who_does_not_lead_releases_nothing(candidate, lease):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    assert not await two._try_acquire_or_renew()
    await two.release()
    assert (await lease())["holderIdentity"] == "one"


@pytest.mark.parametrize("seconds", [0.4, 15])
async def test_a_lease_says_at_least_one_whole_second(candidate, lease, seconds):
    one = candidate("one")
    one._election_times = type(one._election_times)(lease_duration=seconds, renew_deadline=seconds, retry_period=0.1)
    await one.acquire()
    assert (await lease())["leaseDurationSeconds"] == max(1, seconds)


async def test_events_of_the_election_are_about_the_lease(candidate, client):
    one = candidate("one")
    await one.acquire()
    [said] = [said for lane in one.recorder._lanes.values() for said in lane.waiting]
    uid = (await client.perform(Get(LEASE, KEY)))["metadata"]["uid"]
    assert (said.api_version, said.kind, said.uid) == ("coordination.k8s.io/v1", "Lease", uid)
    assert (f"{said.namespace}/{said.name}", said.component) == (KEY, "kube-controller-manager")


async def test_who_leads_is_logged_once_for_each_leader(candidate, caplog):
    caplog.set_level("INFO")
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    assert await one._try_acquire_or_renew()
    assert not await two._try_acquire_or_renew()
    assert not await two._try_acquire_or_renew()
    await one.release()
    messages = [record.getMessage() for record in caplog.records if "new leader" in record.getMessage()]
    name = f"new leader of {KEY}"
    assert messages == [f"{name}: one", f"{name}: one", f"{name}: nobody"]
