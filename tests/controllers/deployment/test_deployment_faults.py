"""Deployments that the server took and nobody can act upon: they say so once, and are taken up when they are right."""

import pytest

from apiserver.api.errors import invalid
from controller_manager.reconcile.contract import Create, RecordEvent, Update
from controller_manager.reconcile.kinds import DEPLOYMENT

ROLLING = "RollingUpdate"
NO_PERCENT = "invalid value for IntOrString: invalid type: string is not a percentage: "
LIKE = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}


def strategy(type_, **rolling):
    return {"strategy": {"type": type_, "rollingUpdate": rolling}}


FAULTS = [
    pytest.param({"selector": LIKE}, 'InvalidSelector: "Like" is not a valid label selector operator', id="selector"),
    pytest.param(
        strategy("Canary"), "InvalidStrategy: unexpected deployment strategy type: Canary", id="unknown-strategy"
    ),
    pytest.param({"strategy": {}}, "InvalidStrategy: unexpected deployment strategy type: ", id="no-strategy"),
    pytest.param(
        strategy("Canary") | {"paused": True},
        "InvalidStrategy: unexpected deployment strategy type: Canary",
        id="paused",
    ),
    pytest.param(strategy(ROLLING, maxSurge="many"), f"InvalidStrategy: {NO_PERCENT}'many'", id="words"),
    pytest.param(strategy(ROLLING, maxUnavailable="1.5%"), f"InvalidStrategy: {NO_PERCENT}'1.5%'", id="fraction"),
    pytest.param(strategy(ROLLING, maxUnavailable="٣%"), f"InvalidStrategy: {NO_PERCENT}'٣%'", id="foreign-digits"),
]


@pytest.mark.parametrize(("spec", "words"), FAULTS)
def test_what_is_wrong_is_an_event_and_a_condition_once(run, make_deployment, make_set, spec, words, statuses):
    deployment = make_deployment("web:2", status={"replicas": 10, "observedGeneration": 2}, **spec)
    done = run(deployment, [make_set(1, 10)])
    assert done.events == [words]
    assert [event.type for event in done.of(RecordEvent)] == ["Warning"]
    assert [(written.kind, written.subresource) for written in done.requests()] == [(DEPLOYMENT, "status")]
    [status] = statuses(done)
    assert (status["replicas"], status["observedGeneration"]) == (10, 3)
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"]) == ("ReplicaFailure", "True")
    assert f"{condition['reason']}: {condition['message']}" == words
    assert run(deployment | {"status": status}, [make_set(1, 10)]).actions == []


def test_another_fault_is_told_in_place_of_the_first(run, make_deployment, statuses):
    [status] = statuses(run(make_deployment(**strategy("Canary"))))
    done = run(make_deployment(status=status, **strategy("BlueGreen")))
    assert done.events == ["InvalidStrategy: unexpected deployment strategy type: BlueGreen"]
    assert [condition["message"] for condition in statuses(done)[-1]["conditions"]] == [
        "unexpected deployment strategy type: BlueGreen"
    ]


@pytest.mark.parametrize("more", [{}, {"paused": True}], ids=["", "paused"])
def test_what_was_put_right_is_taken_up_and_said_no_more(run, make_deployment, make_set, statuses, progress, more):
    [status] = statuses(run(make_deployment("web:2", **strategy("Canary"))))
    done = run(make_deployment("web:2", status=status, **more), [make_set(1, 10)])
    assert len(done.of(Create)) == (0 if more else 1)
    assert progress(statuses(done)[-1], "ReplicaFailure") == ""


@pytest.mark.parametrize(
    "rolling",
    [{"maxSurge": "99999999999%"}, {"maxSurge": 2**31 - 1}, {"maxUnavailable": "99999999999%"}, {"maxSurge": "-5%"}],
)
def test_absurd_numbers_are_reckoned_with(run, make_deployment, make_set, sizes, rolling):
    done = run(make_deployment("web:2", replicas=2, **strategy(ROLLING, **rolling)), [make_set(1, 2)])
    assert all(0 <= size <= 2 for size in sizes(done).values())
    assert done.error is None


def test_a_set_that_the_server_finds_invalid_is_reported(run, make_deployment, statuses, progress):
    odd = invalid("apps", "ReplicaSet", name="web-x", errors=[])
    done = run(make_deployment(), answers=lambda request: odd if isinstance(request, Create) else None)
    assert [event.partition(":")[0] for event in done.events] == ["ReplicaSetCreateError"]
    assert progress(statuses(done)[-1]).startswith("False/ReplicaSetCreateError: ")
    assert done.error is odd
    assert [type(request) for request in done.requests()] == [Create, Update]
