"""The work queue: once each, never two workers on one key, later, and with growing patience."""

import asyncio

import pytest

from controller_manager.metrics import QueueTally
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.workqueue import WorkQueue

pytestmark = pytest.mark.looptime


@pytest.fixture
def tally():
    return QueueTally()


@pytest.fixture
async def queue(tally):
    return WorkQueue(ItemBackoff(), tally)


def elapsed() -> float:
    return round(asyncio.get_running_loop().time(), 3)


async def take(queue) -> str:
    key: str = await queue.get()
    queue.done(key)
    return key


async def test_a_key_added_thrice_is_taken_once_and_keys_come_in_the_order_they_were_added(queue, tally):
    for key in ("b", "a", "b", "b"):
        queue.add(key)
    assert [await take(queue), await take(queue)] == ["b", "a"]
    assert len(queue) == 0
    assert tally.adds == 2


async def test_a_key_added_while_in_work_runs_again_afterwards_and_not_before(queue):
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert len(queue) == 1
    assert await take(queue) == "a"
    assert len(queue) == 0


async def test_waiting_workers_are_woken_one_for_each_key(queue):
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(take(queue)) for _ in range(3)]
        await asyncio.sleep(0)
        for key in "abc":
            queue.add(key)
    assert sorted(worker.result() for worker in workers) == ["a", "b", "c"]


async def test_a_worker_that_is_cancelled_when_it_has_been_woken_wakes_another(queue):
    first, second = (asyncio.ensure_future(take(queue)) for _ in range(2))
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await second == "a"


async def test_a_worker_that_was_cancelled_while_it_waited_is_passed_over(queue):
    first, second = (asyncio.ensure_future(take(queue)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    queue.add("a")
    assert await second == "a"


async def test_of_several_times_the_earliest_holds(queue):
    began = elapsed()
    queue.add_after("a", 30)
    queue.add_after("a", 5)
    queue.add_after("b", 10)
    queue.add_after("a", 20)
    taken = [(await take(queue), elapsed() - began), (await take(queue), elapsed() - began)]
    assert taken == [("a", 5), ("b", 10)]
    queue.add_after("c", 35)
    assert (await take(queue), elapsed() - began) == ("c", 45), "the later times of a stop no other key"
    await asyncio.sleep(60)
    assert len(queue) == 0


@pytest.mark.parametrize("seconds", [0, -1])
async def test_no_time_at_all_is_at_once(queue, seconds):
    queue.add_after("a", seconds)
    assert len(queue) == 1


async def test_a_failing_key_waits_twice_as_long_each_time_up_to_a_thousand_seconds_until_it_is_forgotten(queue, tally):
    waits = []
    for _ in range(20):
        began = asyncio.get_running_loop().time()
        queue.add_rate_limited("a")
        await take(queue)
        waits.append(round(asyncio.get_running_loop().time() - began, 3))
    assert waits[:5] == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert waits[-2:] == [1000, 1000]
    assert queue.num_requeues("a") == tally.retries == 20
    queue.forget("a")
    assert queue.num_requeues("a") == 0
    queue.add_rate_limited("a")
    began = asyncio.get_running_loop().time()
    await take(queue)
    assert round(asyncio.get_running_loop().time() - began, 3) == 0.005


async def test_a_poison_key_backs_off_alone(queue):
    for _ in range(12):
        queue.add_rate_limited("poison")
        await take(queue)
    queue.add_rate_limited("poison")
    queue.add("good")
    began = elapsed()
    assert await take(queue) == "good"
    assert elapsed() == began


async def test_what_waits_and_what_works_is_measured(queue, tally):
    await asyncio.sleep(100)
    queue.add("a")
    await asyncio.sleep(0.5)
    key = await queue.get()
    assert list(queue.processing) == ["a"]
    await asyncio.sleep(5)
    queue.done(key)
    assert (round(tally.waited.total, 3), round(tally.worked.total, 3)) == (0.5, 5)
    assert not queue.processing


async def test_a_closed_queue_rings_no_more(queue):
    queue.add_after("a", 5)
    queue.shut_down()
    await asyncio.sleep(10)
    assert len(queue) == 0


async def test_a_closed_queue_rings_for_none_of_several_keys(queue):
    """Also not for one whose time came later than that of a key added after it."""
    queue.add_after("late", 30)
    queue.add_after("early", 5)
    queue.shut_down()
    await asyncio.sleep(60)
    assert len(queue) == 0


async def test_a_queue_for_which_nothing_waits_can_be_closed(queue):
    queue.shut_down()


async def test_the_queue_that_rang_for_its_last_late_key_has_no_error(queue):
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    queue.add_after("a", 5)
    await asyncio.sleep(10)
    assert len(queue) == 1
    assert errors == []


def test_the_clock_tells_both_times():
    clock = Clock()
    assert clock.now() > 1.7e9
    assert clock.monotonic() <= clock.monotonic()
