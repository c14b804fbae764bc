"""Leases that keys share: for how long one is used, by how many keys, and the requests to the cluster."""

import asyncio
from typing import Any, cast

import pytest

from etcd.cluster import Cluster
from etcd.leases import LeaseManager
from etcd.store import Unreachable


class Grants:
    """The part of a cluster that grants leases; it notes for how many seconds."""

    def __init__(self) -> None:
        self.seconds: list[int] = []
        self.error: Exception | None = None
        self.clock: Clock | None = None
        self.takes = 0.0

    async def read(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        assert method == "/lease/grant"
        assert set(request) == {"TTL"}
        await asyncio.sleep(0)
        if self.clock is not None:
            self.clock.now += self.takes
        if self.error is not None:
            raise self.error
        self.seconds.append(int(request["TTL"]))
        return {"ID": f"lease-{len(self.seconds)}", "TTL": request["TTL"]}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def grants() -> Grants:
    return Grants()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leases(grants: Grants, clock: Clock) -> LeaseManager:
    return LeaseManager(cast("Cluster", grants), clock)


@pytest.mark.parametrize(
    ("ttl", "shared_for", "granted"),
    [(3600, 60, 3661), (1200, 60, 1261), (100, 5, 106), (10, 0.5, 11), (1, 0.05, 2)],
)
async def test_a_lease_is_shared_for_a_twentieth_of_its_time_and_outlives_all_keys(
    leases, grants, clock, ttl, shared_for, granted
):
    assert await leases.lease_for(ttl) == "lease-1"
    clock.now += shared_for * 0.99
    assert await leases.lease_for(ttl) == "lease-1"
    assert grants.seconds == [granted]
    assert granted > ttl + shared_for, "the last key that gets it is not gone early"
    clock.now = 1000.0 + shared_for
    assert await leases.lease_for(ttl) == "lease-2"


async def test_a_lease_has_only_so_many_keys_as_in_a_kube_apiserver(leases, grants):
    given = [await leases.lease_for(3600) for _ in range(2001)]
    assert [given.count(f"lease-{number}") for number in (1, 2, 3)] == [1000, 1000, 1]
    assert len(grants.seconds) == 3


async def test_a_lease_has_no_more_keys_where_they_all_come_at_one_moment(leases, grants):
    given = await asyncio.gather(*(leases.lease_for(3600) for _ in range(2001)))
    assert [given.count(f"lease-{number}") for number in (1, 2, 3)] == [1000, 1000, 1]
    assert len(grants.seconds) == 3


async def test_keys_of_another_length_of_time_get_another_lease(leases, grants):
    assert [await leases.lease_for(ttl) for ttl in (3600, 100, 100, 3600)] == [
        "lease-1",
        "lease-2",
        "lease-2",
        "lease-3",
    ]
    assert grants.seconds == [3661, 106, 3661]


async def test_writers_of_one_moment_wait_for_one_grant(leases, grants):
    assert await asyncio.gather(*(leases.lease_for(3600) for _ in range(50))) == ["lease-1"] * 50
    assert len(grants.seconds) == 1


async def test_writers_of_one_moment_get_leases_of_their_own_lengths_of_time(leases, grants):
    lengths = [3600, 100, 100, 3600, 10]
    given = await asyncio.gather(*map(leases.lease_for, lengths))
    seconds = {f"lease-{number}": granted for number, granted in enumerate(grants.seconds, start=1)}
    assert [seconds[lease] for lease in given] == [3661, 106, 106, 3661, 11]


async def test_a_length_of_time_that_comes_while_another_is_granted_waits_for_its_own(leases, grants):
    first = asyncio.create_task(leases.lease_for(3600))
    await asyncio.sleep(0)
    second = asyncio.create_task(leases.lease_for(100))
    assert [await first, await second] == ["lease-1", "lease-2"]
    assert grants.seconds == [3661, 106]


async def test_a_lease_that_is_granted_slowly_is_still_given_to_who_waits(leases, grants, clock):
    grants.takes = 5.0
    grants.clock = clock
    given = await asyncio.gather(*(leases.lease_for(1) for _ in range(2)))
    assert given == ["lease-1", "lease-1"]
    assert await leases.lease_for(1) == "lease-2"


async def test_a_lease_that_is_forgotten_is_given_to_nobody_else(leases, grants):
    await leases.lease_for(3600)
    leases.discard()
    assert await leases.lease_for(3600) == "lease-2"


async def test_a_grant_that_fails_is_told_and_asked_for_again_by_the_next(leases, grants):
    grants.error = Unreachable("nobody answers")
    results = await asyncio.gather(*(leases.lease_for(3600) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in results] == ["nobody answers"] * 3
    grants.error = None
    assert await leases.lease_for(3600) == "lease-1"
