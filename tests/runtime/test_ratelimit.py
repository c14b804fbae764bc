"""Rate limits."""

import pytest

from controller_manager.runtime.ratelimit import ItemBackoff, QueueLimiter, TokenBucket


def test_a_bucket_gives_its_burst_and_then_its_rate(hasty):
    bucket = TokenBucket(hasty, rate=10, burst=3)
    assert [bucket.reserve() for _ in range(6)] == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_a_bucket_fills_with_time_but_not_over_its_burst(hasty):
    bucket = TokenBucket(hasty, rate=10, burst=3)
    assert [bucket.try_accept() for _ in range(4)] == [True, True, True, False]
    hasty.passed += 0.1
    assert [bucket.try_accept() for _ in range(2)] == [True, False]
    hasty.passed += 1000
    assert [bucket.try_accept() for _ in range(4)] == [True, True, True, False]


async def test_who_waits_for_a_bucket_waits_for_its_turn(hasty):
    bucket = TokenBucket(hasty, rate=2, burst=1)
    for _ in range(3):
        await bucket.wait()
    assert hasty.slept == [0.5, 0.5]


def test_an_item_waits_five_milliseconds_and_twice_as_long_each_time_up_to_a_thousand_seconds():
    items = ItemBackoff()
    waits = [items.when("a") for _ in range(100)]
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[17] == 0.005 * 2**17
    assert set(waits[18:]) == {1000.0}
    assert items.num_requeues("a") == 100
    assert items.when("b") == 0.005


def test_a_forgotten_item_starts_afresh():
    items = ItemBackoff()
    items.when("a")
    items.forget("a")
    items.forget("unknown")
    assert items.num_requeues("a") == 0
    assert items.when("a") == 0.005


def test_a_queue_lets_a_hundred_failures_pass_and_then_ten_a_second(hasty):
    limiter = QueueLimiter(hasty)
    waits = [limiter.when(str(number)) for number in range(120)]
    assert set(waits[:100]) == {0.005}
    assert waits[100:103] == pytest.approx([0.1, 0.2, 0.3])


def test_a_queue_counts_the_failures_of_each_item_until_it_is_forgotten(hasty):
    limiter = QueueLimiter(hasty)
    for _ in range(3):
        limiter.when("a")
    limiter.when("b")
    assert (limiter.num_requeues("a"), limiter.num_requeues("b"), limiter.num_requeues("c")) == (3, 1, 0)
    limiter.forget("a")
    assert (limiter.num_requeues("a"), limiter.num_requeues("b")) == (0, 1)


def test_a_bucket_is_not_filled_by_a_clock_that_goes_back(hasty):
    bucket = TokenBucket(hasty, rate=10, burst=2)
    assert [bucket.try_accept() for _ in range(3)] == [True, True, False]
    hasty.passed -= 100
    assert not bucket.try_accept()
    hasty.passed += 0.15
    assert [bucket.try_accept() for _ in range(2)] == [True, False]


def test_a_token_that_was_promised_is_nobody_elses(hasty):
    bucket = TokenBucket(hasty, rate=10, burst=1)
    assert [bucket.reserve() for _ in range(2)] == [0, pytest.approx(0.1)]
    hasty.passed += 0.15
    assert not bucket.try_accept()
    hasty.passed += 0.05
    assert bucket.try_accept()
