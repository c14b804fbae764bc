from controller_manager.reconcile.conditions import (
    deployment_condition,
    find_condition,
    with_condition,
    without_condition,
)


def made(type_="Progressing", status="True", at=0.0, *, reason="Why", message="Because."):
    return deployment_condition(type_, status, at, reason=reason, message=message)


def test_a_new_condition_has_both_times():
    assert made(at=60.9) == {
        "type": "Progressing",
        "status": "True",
        "lastUpdateTime": "1970-01-01T00:01:00Z",
        "lastTransitionTime": "1970-01-01T00:01:00Z",
        "reason": "Why",
        "message": "Because.",
    }


def test_same_status_and_reason_change_nothing_not_even_the_message():
    before = [made()]
    assert with_condition(before, made(at=60, message="Anew.")) == before


def test_another_reason_updates_the_condition_and_keeps_the_time_of_its_transition():
    [condition] = with_condition([made()], made(at=60, reason="Other"))
    assert (condition["reason"], condition["lastTransitionTime"]) == ("Other", "1970-01-01T00:00:00Z")
    assert condition["lastUpdateTime"] == "1970-01-01T00:01:00Z"


def test_another_status_is_a_transition():
    [condition] = with_condition([made()], made(status="False", at=60))
    assert condition["lastTransitionTime"] == "1970-01-01T00:01:00Z"


def test_a_changed_condition_goes_to_the_end_as_upstream_puts_it():
    before = [made("Progressing"), made("Available")]
    assert [condition["type"] for condition in with_condition(before, made(reason="Other"))] == [
        "Available",
        "Progressing",
    ]


def test_conditions_are_found_and_left_out_by_type():
    both = [made("Progressing"), made("Available")]
    assert find_condition(both, "Available") == both[1]
    assert find_condition(both, "Odd") is None
    assert without_condition(both, "Progressing") == [both[1]]
