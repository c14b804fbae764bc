"""Writes with conflicts: the number of tries, the state of each try, and when the object counts as gone."""

import pytest

from apiserver.api.errors import ApiError, conflict, not_found
from controller_manager.reconcile.contract import Get, Update
from controller_manager.reconcile.deletion import unless_gone
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.retry_on_conflict import TRIES, retry_on_conflict, update

STALE = conflict("", "pods", name="p", why="it changed")


def pod(version, uid="u"):
    return {"metadata": {"name": "p", "namespace": "ns", "uid": uid, "resourceVersion": str(version)}}


def answered(plan, *answers):
    """Run a reconcile with these answers; return its requests, and its result or error."""
    requests, remaining = [], iter(answers)
    try:
        request = next(plan)
        while True:
            requests.append(request)
            answer = next(remaining)
            request = plan.throw(answer) if isinstance(answer, ApiError) else plan.send(answer)
    except StopIteration as end:
        result = end.value
    except ApiError as error:
        result = error
    assert list(remaining) == []
    return requests, result


def marked(obj):
    return obj | {"marked": True}


def test_after_a_conflict_the_change_is_applied_to_the_newest_state():
    requests, stored = answered(update(POD, pod(1), change=marked), STALE, pod(2), pod(3))
    assert requests == [Update(POD, marked(pod(1))), Get(POD, "ns/p"), Update(POD, marked(pod(2)))]
    assert stored == pod(3)


@pytest.mark.parametrize("tries", [1, 2, TRIES])
def test_the_last_conflict_is_the_error(tries):
    answers = [answer for _ in range(tries - 1) for answer in (STALE, pod(2))]
    requests, error = answered(update(POD, pod(1), change=marked, tries=tries), *answers, STALE)
    assert [type(request) for request in requests].count(Update) == tries
    assert error is STALE


def test_another_error_is_not_retried():
    refused = ApiError(422, "Invalid", "no")
    assert answered(update(POD, pod(1), change=marked), refused) == ([Update(POD, marked(pod(1)))], refused)


def test_an_object_that_another_of_its_name_replaced_is_gone_and_the_other_one_is_not_written():
    requests, error = answered(update(POD, pod(1), change=marked), STALE, pod(2, uid="other"))
    assert (requests[1:], error.code, error.message) == ([Get(POD, "ns/p")], 404, 'pods "p" not found')


def test_nothing_is_written_once_a_state_needs_no_write():
    def write(obj):
        return Update(POD, marked(obj)) if obj == pod(1) else None

    assert answered(retry_on_conflict(POD, pod(1), write=write), STALE, pod(2)) == (
        [Update(POD, marked(pod(1))), Get(POD, "ns/p")],
        None,
    )


@pytest.mark.parametrize(
    ("error", "is_gone"),
    [(not_found("", "pods", "p"), True), (ApiError(404, "NotFound", "no such path"), False), (STALE, False)],
)
def test_only_a_404_that_names_the_object_says_that_it_is_gone(error, is_gone):
    _, result = answered(unless_gone(retry_on_conflict(POD, pod(1), write=lambda _: Get(POD, "ns/p"), tries=1)), error)
    assert result is (None if is_gone else error)
