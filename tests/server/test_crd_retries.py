"""When what failed is tried again."""

import pytest

from apiserver.controllers.retries import FIRST_WAIT, LONGEST_WAIT, Retries


class Time:
    """A clock that is set."""

    seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def retries(time):
    return Retries(time)


def test_nothing_is_due_before_something_fails(retries):
    assert (retries.due(), retries.wait()) == ([], None)


def test_each_failure_doubles_the_wait_until_it_is_long_enough(retries, time):
    waits = []
    for _ in range(12):
        retries.failed("a")
        waits.append(retries.wait())
        time.seconds += waits[-1]
        assert retries.due() == ["a"]
    assert waits[:3] == pytest.approx([FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT])
    assert waits[-1] == pytest.approx(LONGEST_WAIT)


def test_what_is_due_first_is_waited_for_and_the_others_wait_on(retries, time):
    retries.failed("a")
    retries.failed("a")
    retries.failed("b")
    time.seconds += retries.wait()
    assert retries.due() == ["b"]
    retries.settled("b")
    assert retries.wait() == pytest.approx(FIRST_WAIT)
    time.seconds += LONGEST_WAIT
    assert (retries.due(), retries.wait()) == (["a"], 0.0)


def test_what_went_well_begins_anew_when_it_fails_again(retries):
    for _ in range(5):
        retries.failed("a")
    retries.settled("a")
    retries.settled("never failed")
    assert retries.wait() is None
    retries.failed("a")
    assert retries.wait() == pytest.approx(FIRST_WAIT)
