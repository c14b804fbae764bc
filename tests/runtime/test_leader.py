"""Who leads, of several candidates on one real server; each has a clock of its own, as real ones do."""

import asyncio

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from controller_manager.runtime import leader
from controller_manager.runtime.client import Client
from controller_manager.runtime.contract import Delete, Get, Patch
from controller_manager.runtime.events import Recorder
from controller_manager.runtime.kinds import LEASE
from controller_manager.runtime.leader import Elector, LeadLostError, identity

KEY = "kube-system/kube-controller-manager"


@pytest.fixture
def candidate(client, hasty):
    """candidate(name): an elector with its clock, and a recorder that only collects."""

    def make(name, *, by=None):
        clock = type(hasty)()
        recorder = Recorder(by or client, clock)
        elector = Elector(by or client, recorder, clock, lease=KEY, name=name)
        elector.clock, elector.recorder = clock, recorder
        return elector

    return make


@pytest.fixture
def lease(client):
    async def get():
        return (await client.perform(Get(LEASE, KEY)))["spec"]

    return get


def told(elector):
    return [(said.reason, said.message) for lane in elector.recorder._lanes.values() for said in lane.waiting]


async def test_the_first_candidate_makes_the_lease(candidate, lease):
    one = candidate("one")
    await one.acquire()
    assert one.leads
    assert one.clock.slept == []
    assert await lease() == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.000000Z",
        "renewTime": "2027-01-15T08:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert told(one) == [("LeaderElection", "one became leader")]


async def test_a_leader_renews_every_two_seconds(candidate, lease):
    one = candidate("one")
    await one.acquire()

    async def enough():
        if one.clock.passed >= 10:
            raise asyncio.CancelledError

    one.clock.meanwhile = enough
    with pytest.raises(asyncio.CancelledError):
        await one.keep()
    assert one.clock.slept == [2] * 5
    found = await lease()
    assert found["renewTime"] == "2027-01-15T08:00:08.000000Z"
    assert found["acquireTime"] == "2027-01-15T08:00:00.000000Z"
    assert found["leaseTransitions"] == 0


async def test_another_takes_over_when_the_leader_has_been_silent_for_the_leases_time(candidate, lease):
    one, two = candidate("one"), candidate("two")
    one.clock.passed = 1_000_000.0  # what its clock says is of no interest to others
    await one.acquire()

    async def renew():
        if two.clock.passed < 60:
            one.clock.passed += 1
            assert await one._try()

    two.clock.meanwhile = renew
    await two.acquire()
    assert 60 - 4.4 + 15 <= two.clock.passed <= 60 + 15 + 2 * 4.4
    assert all(2 <= pause <= 4.4 for pause in two.clock.slept)
    found = await lease()
    assert (found["holderIdentity"], found["leaseTransitions"]) == ("two", 1)
    assert found["acquireTime"] == found["renewTime"]
    assert told(two) == [("LeaderElection", "two became leader")]


async def test_who_is_overtaken_learns_of_it_and_writes_nothing_more(candidate, lease):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    await two.acquire()
    with pytest.raises(LeadLostError, match=f"the lease {KEY} is held by two"):
        await one.keep()
    assert one.clock.slept == [2]
    assert not one.leads
    assert one.holder == "two"
    assert (await lease())["holderIdentity"] == "two"
    assert told(one) == [("LeaderElection", "one became leader"), ("LeaderElection", "one stopped leading")]


async def test_a_leader_is_safe_until_its_last_renewal_is_as_old_as_the_deadline(candidate):
    one = candidate("one")
    assert not one.is_safe()
    await one.acquire()
    one.clock.passed += 9.9
    assert one.is_safe()
    one.clock.passed += 0.1
    assert not one.is_safe()
    assert await one._try()
    assert one.is_safe()
    await one.release()
    assert not one.is_safe()


async def test_a_released_lease_is_free_at_once(candidate, lease):
    one, two = candidate("one"), candidate("two")
    await one.acquire()
    await one.release()
    found = await lease()
    assert "holderIdentity" not in found
    assert found["leaseDurationSeconds"] == 1
    await two.acquire()
    assert two.clock.slept == []
    assert (await lease())["leaseTransitions"] == 1
    await one.release()
    assert (await lease())["holderIdentity"] == "two"


async def test_a_lease_is_released_that_a_last_renewal_changed_whose_answer_nobody_waited_for(candidate, lease):
    one = candidate("one")
    await one.acquire()
    await candidate("one").acquire()
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
    assert await one._try()
    await client.perform(Delete(LEASE, KEY))
    assert await one._try()
    assert (await lease())["holderIdentity"] == "one"


async def test_of_two_that_try_at_once_one_leads(candidate, client):
    one, two = candidate("one"), candidate("two")
    assert sorted(await asyncio.gather(one._try(), two._try())) == [False, True]
    await client.perform(Delete(LEASE, KEY))


@pytest.mark.parametrize("code", [500, 403, 0])
async def test_a_leader_whose_server_fails_gives_up_before_others_take_over(serve, candidate, hasty, code):
    fails = []

    async def handle(request):
        if fails and not code:
            request.transport.abort()
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=code or 500 if fails else 201 if body else 404)

    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        fails.append(True)
        with pytest.raises(LeadLostError):
            await one.keep()
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
        one._terms = type(one._terms)(lease=0.03, renew=0.02, retry=0.01)
        assert not await one._try()


async def test_a_server_that_does_not_answer_keeps_nobody_from_ending(serve, candidate, hasty, monkeypatch):
    async def handle(request):
        if request.method == "PUT":
            await asyncio.Event().wait()
        body = await request.json() if request.can_read_body else {}
        return web.json_response(body, status=201 if body else 404)

    monkeypatch.setattr(leader, "RELEASE", 0.01)
    async with Client(await serve(handle), hasty) as client:
        one = candidate("one", by=client)
        await one.acquire()
        await one.release()


def test_no_two_processes_have_one_name():
    assert identity() != identity()
    assert identity().partition("_")[2].count("-") == 4


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
