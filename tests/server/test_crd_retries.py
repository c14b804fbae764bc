"""The times at which failed work on definitions is tried again."""

import pytest

from apiserver.controllers.crd import BASE_DELAY, MAX_DELAY, BackoffQueue


class FakeClock:
    """A clock that is set."""

    seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def time():
    return FakeClock()


@pytest.fixture
def retries(time):
    return BackoffQueue(time)


def test_nothing_is_due_before_something_fails(retries):
    assert (retries.due_names(), retries.seconds_to_next()) == ([], None)


def test_each_failure_doubles_the_wait_until_it_is_long_enough(retries, time):
    waits = []
    for _ in range(12):
        retries.add_rate_limited("a")
        waits.append(retries.seconds_to_next())
        time.seconds += waits[-1]
        assert retries.due_names() == ["a"]
    assert waits[:3] == pytest.approx([BASE_DELAY, 2 * BASE_DELAY, 4 * BASE_DELAY])
    assert waits[-1] == pytest.approx(MAX_DELAY)


def test_what_is_due_first_is_waited_for_and_the_others_wait_on(retries, time):
    retries.add_rate_limited("a")
    retries.add_rate_limited("a")
    retries.add_rate_limited("b")
    time.seconds += retries.seconds_to_next()
    assert retries.due_names() == ["b"]
    retries.forget("b")
    assert retries.seconds_to_next() == pytest.approx(BASE_DELAY)
    time.seconds += MAX_DELAY
    assert (retries.due_names(), retries.seconds_to_next()) == (["a"], 0.0)


def test_what_went_well_starts_afresh_when_it_fails_again(retries):
    for _ in range(5):
        retries.add_rate_limited("a")
    retries.forget("a")
    retries.forget("never failed")
    assert retries.seconds_to_next() is None
    retries.add_rate_limited("a")
    assert retries.seconds_to_next() == pytest.approx(BASE_DELAY)
