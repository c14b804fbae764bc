"""Leases that keys share: for how long one is given away, to how many, and what is asked of the cluster."""

import asyncio
from typing import Any

import pytest

from etcd.leases import MOST, REUSED, Leases
from etcd.store import Away


class Grants:
    """The part of a cluster that grants leases; it notes for how many seconds."""

    def __init__(self) -> None:
        self.seconds: list[int] = []
        self.error: Exception | None = None

    async def read(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        assert method == "/lease/grant"
        assert set(request) == {"TTL"}
        await asyncio.sleep(0)
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
def leases(grants: Grants, clock: Clock) -> Leases:
    return Leases(grants, clock)


@pytest.mark.parametrize(
    ("ttl", "shared_for", "granted"),
    [(3600, REUSED, 3661), (1200, 60, 1261), (100, 5, 106), (10, 0.5, 11), (1, 0.05, 2)],
)
async def test_a_lease_is_shared_for_a_twentieth_of_its_time_and_outlives_all_keys(
    leases, grants, clock, ttl, shared_for, granted
):
    assert await leases.of(ttl) == "lease-1"
    clock.now += shared_for * 0.99
    assert await leases.of(ttl) == "lease-1"
    assert grants.seconds == [granted]
    assert granted > ttl + shared_for, "the last key that gets it is not gone early"
    clock.now = 1000.0 + shared_for
    assert await leases.of(ttl) == "lease-2"


async def test_a_lease_has_only_so_many_keys(leases, grants):
    given = [await leases.of(3600) for _ in range(2 * MOST + 1)]
    assert [given.count(f"lease-{number}") for number in (1, 2, 3)] == [MOST, MOST, 1]
    assert len(grants.seconds) == 3


async def test_keys_of_another_length_of_time_get_another_lease(leases, grants):
    assert [await leases.of(ttl) for ttl in (3600, 100, 100, 3600)] == ["lease-1", "lease-2", "lease-2", "lease-3"]
    assert grants.seconds == [3661, 106, 3661]


async def test_writers_of_one_moment_wait_for_one_grant(leases, grants):
    assert await asyncio.gather(*(leases.of(3600) for _ in range(50))) == ["lease-1"] * 50
    assert len(grants.seconds) == 1


async def test_a_lease_that_is_forgotten_is_given_to_nobody_else(leases, grants):
    await leases.of(3600)
    leases.forget()
    assert await leases.of(3600) == "lease-2"


async def test_a_grant_that_fails_is_told_and_asked_for_again_by_the_next(leases, grants):
    grants.error = Away("nobody answers")
    results = await asyncio.gather(*(leases.of(3600) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in results] == ["nobody answers"] * 3
    grants.error = None
    assert await leases.of(3600) == "lease-1"
