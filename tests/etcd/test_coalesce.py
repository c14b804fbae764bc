"""Work that is done once for all that wait for it: which run each waits for, and the outcome that each gets."""

import asyncio
import gc
from typing import Any

import pytest

from etcd.coalesce import NextRun, SingleFlight


class GatedWork:
    """Work that a test lets end; its runs are numbered.

    Attributes:
        begun: how many runs have begun.
        gates: what each run waits for.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.gates: list[asyncio.Future[None]] = []

    async def __call__(self) -> None:
        self.begun += 1
        self.gates.append(asyncio.get_running_loop().create_future())
        await self.gates[-1]


async def turn() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


async def waiting(shared, number: int = 1) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(shared.do()) for _ in range(number)]
    await turn()
    return tasks


def ended(tasks) -> list[bool]:
    return [task.done() for task in tasks]


async def test_shared_work_is_done_once_for_all_who_come_while_it_is_under_way():
    work = GatedWork()
    shared = SingleFlight(work)
    first, later = await waiting(shared, 2), await waiting(shared)
    assert (work.begun, ended(first + later)) == (1, [False] * 3)
    work.gates[0].set_result(None)
    await turn()
    assert ended(first + later) == [True] * 3
    again = await waiting(shared)
    assert (work.begun, ended(again)) == (2, [False])
    work.gates[1].set_result(None)
    await asyncio.gather(*again)


async def test_work_together_is_begun_after_it_was_asked_for_and_once_for_all_who_came_meanwhile():
    work = GatedWork()
    together = NextRun(work)
    first = await waiting(together)
    later = await waiting(together, 3)
    assert (work.begun, ended(first + later)) == (1, [False] * 4)
    work.gates[0].set_result(None)
    await turn()
    assert (work.begun, ended(first + later)) == (2, [True, False, False, False])
    last = await waiting(together)
    assert work.begun == 2
    work.gates[1].set_result(None)
    await turn()
    assert (work.begun, ended(later + last)) == (3, [True, True, True, False])
    work.gates[2].set_result(None)
    await asyncio.gather(*last)


@pytest.mark.parametrize("kind", [SingleFlight, NextRun])
async def test_a_failure_is_told_to_all_who_waited_and_to_nobody_who_comes_later(kind):
    work = GatedWork()
    shared = kind(work)
    tasks = await waiting(shared)
    tasks += await waiting(shared)
    work.gates[0].set_exception(ValueError("first"))
    await turn()
    if kind is NextRun:
        assert ended(tasks) == [True, False]
        work.gates[1].set_exception(ValueError("second"))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in results] == ["first", "second" if kind is NextRun else "first"]
    again = await waiting(shared)
    work.gates[-1].set_result(None)
    assert await asyncio.gather(*again) == [None]


@pytest.mark.parametrize("kind", [SingleFlight, NextRun])
async def test_who_stops_waiting_does_not_stop_the_work(kind):
    work = GatedWork()
    shared = kind(work)
    gone, stays = await waiting(shared, 2)
    gone.cancel()
    await turn()
    assert not stays.done()
    work.gates[0].set_result(None)
    await stays
    assert gone.cancelled()


@pytest.mark.parametrize("kind", [SingleFlight, NextRun])
async def test_a_failure_that_nobody_is_left_to_see_is_not_complained_of(kind, caplog):
    work = GatedWork()
    shared = kind(work)
    (gone,) = await waiting(shared)
    gone.cancel()
    work.gates[0].set_exception(ValueError("seen by nobody"))
    await turn()
    del shared, gone
    work.gates.clear()
    gc.collect()  # which is when asyncio complains
    assert caplog.text == ""


@pytest.mark.parametrize("kind", [SingleFlight, NextRun])
async def test_work_that_ends_with_its_loop_is_not_complained_of(kind, caplog):
    shared = kind(GatedWork())
    await waiting(shared)
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:  # as asyncio.run does at its end
        task.cancel()
    await asyncio.wait(rest)
    await turn()
    assert caplog.text == ""


async def test_the_end_of_work_together_is_that_of_all_runs_that_were_asked_for():
    work = GatedWork()
    together = NextRun(work)
    await together.wait_idle()
    tasks = await waiting(together, 1) + await waiting(together, 1)
    ending = asyncio.create_task(together.wait_idle())
    await turn()
    work.gates[0].set_exception(ValueError("first"))
    await turn()
    assert not ending.done()
    work.gates[1].set_result(None)
    await ending
    await asyncio.gather(*tasks, return_exceptions=True)
