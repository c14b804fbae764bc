"""Pods get nodes: bindings, events, order by priority, and refusals by the server."""

import pytest

from apiserver.api.errors import ApiError, conflict, not_found
from controller_manager.reconcile.contract import Batch, Create, Patch, RecordEvent, RequeueAfter, Settings
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.scheduler.context import FLUSH_KEY, SCHEDULER_VIEW
from controller_manager.scheduler.controller import SPEC


def test_a_pod_is_bound_to_a_node_and_an_event_says_so(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    stage.put(POD, make_pod())
    stage.run()
    (request,) = stage.of(Create)
    assert (request.kind, request.name, request.subresource) == (POD, "web", "binding")
    assert request.obj == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "default", "name": "web", "uid": "uid-web"},
        "target": {"kind": "Node", "name": "a"},
    }
    (event,) = stage.of(RecordEvent)
    assert (event.reason, event.message) == ("Scheduled", "Successfully assigned default/web to a")
    assert (event.type, event.component, event.host) == ("Normal", "default-scheduler", "")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("has a node", {"node": "a"}),
        ("is another scheduler's", {"schedulerName": "mine"}),
        ("has scheduling gates", {"schedulingGates": [{"name": "wait"}]}),
        ("has ended", {"status": {"phase": "Failed"}}),
    ],
)
def test_a_pod_that_wants_no_node_is_left_alone(make_stage, make_node, make_pod, name, changes):
    stage = make_stage(make_node("a"))
    stage.put(POD, make_pod(**changes))
    assert not stage.keys
    assert not stage.run(FLUSH_KEY)


def test_the_name_of_the_scheduler_can_be_set(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"), settings=Settings(scheduler_name="mine"))
    stage.put(POD, make_pod("theirs"), make_pod("ours", schedulerName="mine"))
    stage.run()
    assert [stage.node_of("theirs"), stage.node_of("ours")] == ["", "a"]
    assert {event.component for event in stage.of(RecordEvent)} == {"mine"}


def test_a_pod_has_its_turn_when_its_last_gate_goes(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    gated = make_pod(schedulingGates=[{"name": "wait"}])
    stage.put(POD, gated)
    stage.run()
    stage.put(POD, gated | {"spec": {k: v for k, v in gated["spec"].items() if k != "schedulingGates"}})
    stage.run()
    assert stage.node_of("web") == "a"


def test_higher_priority_goes_first_whichever_key_runs_and_then_who_came_first(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", pods=100))
    for name, priority in [("low", 1), ("first", 5), ("second", 5), ("high", 9)]:
        stage.put(POD, make_pod(name, priority=priority))
    stage.keys.clear()
    stage.run("default/low")
    assert [request.name for request in stage.of(Create)] == ["high", "first", "second", "low"]


def test_many_pods_are_bound_in_rounds_and_each_wakes_the_next(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", pods=1000))
    stage.put(POD, *(make_pod(f"p{i}") for i in range(150)))
    stage.keys.clear()
    stage.run("default/p0")
    assert len(stage.of(Create)) == 150


def test_the_room_is_taken_before_the_server_has_answered(make_stage, make_node, make_pod, make_world):
    stage = make_stage(make_node("a", cpu="1"), make_node("b", cpu="1"))
    stage.put(POD, make_pod("one", cpu="1"), make_pod("two", cpu="1"))
    plans = [SPEC.reconcile(SPEC.observe(stage.world, "default/one"), stage.now)]
    (batch,) = [next(plans[0])]
    assert isinstance(batch, Batch)
    creations = [request for request in batch.requests if isinstance(request, Create)]
    assert len(creations) == len(batch.requests)
    assert sorted(creation.obj["target"]["name"] for creation in creations) == ["a", "b"]


def test_a_pod_that_changes_while_it_is_bound_is_not_bound_twice(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    stage.put(POD, make_pod())
    plan = SPEC.reconcile(SPEC.observe(stage.world, "default/web"), stage.now)
    next(plan)
    pod = stage.pod("web")
    stage.put(POD, pod | {"metadata": pod["metadata"] | {"labels": {"new": "label"}}})
    stage.keys.clear()
    assert not stage.run("default/web", FLUSH_KEY)
    plan.close()


def test_a_pod_whose_run_is_broken_off_gets_its_turn_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(POD, make_pod(cpu="1"))
    plan = SPEC.reconcile(SPEC.observe(stage.world, "default/web"), stage.now)
    next(plan)
    plan.close()
    stage.keys.clear()
    stage.run(FLUSH_KEY, at=stage.now + 1)
    assert stage.node_of("web") == "a"


def test_a_refused_binding_frees_the_room_and_is_told_and_tried_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    why = conflict("", "pods/binding", name="web", why="some reason")
    stage.refuse = lambda request: why if isinstance(request, Create) else None
    stage.put(POD, make_pod(cpu="1"))
    stage.run()
    message = f'running Bind plugin "DefaultBinder": {why.message}'
    assert stage.events() == [f"FailedScheduling: {message}"]
    condition = stage.condition("web")
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SchedulerError", message)
    assert stage.later == [1.0]
    stage.refuse = lambda _: None
    assert not stage.run("default/web")
    stage.run("default/web", at=stage.now + 1)
    assert stage.node_of("web") == "a"


def test_a_pod_that_went_before_it_was_bound_is_forgotten_without_a_word(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))

    def gone(request):
        if isinstance(request, Create) and request.name == "web":
            stage.remove(POD, "default/web")
            return not_found("", "pods", "web")
        return None

    stage.refuse = gone
    stage.put(POD, make_pod(cpu="1"))
    stage.run()
    assert not stage.of(RecordEvent)
    stage.put(POD, make_pod("next", cpu="1"))
    stage.run()
    assert stage.node_of("next") == "a"


def test_a_binding_without_an_answer_counts_if_the_watch_says_so(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))

    def lost(request):
        if isinstance(request, Create):
            stage._bind(request)
            return ApiError(0, "ConnectionLost", "broken")
        return None

    stage.refuse = lost
    stage.put(POD, make_pod(cpu="1"))
    stage.run()
    stage.put(POD, make_pod("next", cpu="1"))
    stage.run(at=stage.now + 60)
    assert len(stage.of(Create)) == 1
    assert "Insufficient cpu" in stage.condition("next")["message"]


def test_an_odd_pod_is_told_what_is_wrong_and_holds_up_nobody(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    stage.put(POD, make_pod("odd", cpu="much", priority=9), make_pod("fine"))
    stage.run()
    assert stage.node_of("fine") == "a"
    assert stage.condition("odd")["reason"] == "SchedulerError"
    assert stage.error is not None


def test_a_pod_is_told_that_there_are_no_nodes_and_placed_when_one_comes(make_stage, make_node, make_pod, now):
    stage = make_stage()
    stage.put(POD, make_pod())
    stage.run()
    assert stage.events() == ["FailedScheduling: no nodes available to schedule pods"]
    (patch,) = stage.of(Patch)
    assert patch.subresource == "status"
    assert patch.content_type == "application/strategic-merge-patch+json"
    assert patch.body == {
        "metadata": {"uid": "uid-web"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "no nodes available to schedule pods",
                    "lastProbeTime": None,
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                    "observedGeneration": 1,
                }
            ]
        },
    }
    stage.put(NODE, make_node("a"))
    stage.run()
    assert stage.node_of("web") == "a"


def test_the_same_refusal_is_told_again_but_not_written_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", unschedulable=True))
    stage.put(POD, make_pod())
    stage.run()
    stage.put(NODE, make_node("a", unschedulable=True, labels={"new": "label"}))
    stage.run()
    assert len(stage.events()) == 2
    assert len(stage.of(Patch)) == 1


def test_the_condition_keeps_its_time_while_only_the_message_changes(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", unschedulable=True))
    stage.put(POD, make_pod())
    stage.run()
    stage.put(NODE, make_node("b", unschedulable=True))
    stage.run(at=stage.now + 100)
    condition = stage.condition("web")
    assert condition["lastTransitionTime"] == "2027-01-15T08:00:00Z"
    assert condition["message"].startswith("0/2 nodes are available")


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_a_pod_that_waits_is_not_polled(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(POD, make_pod(cpu="2"))
    stage.run()
    assert not stage.run(FLUSH_KEY, "default/web", at=stage.now + 299)
    assert len(stage.run(FLUSH_KEY, at=stage.now + 300)) == 1


def test_heartbeats_of_nodes_and_changes_of_statuses_wake_nobody(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(POD, make_pod(cpu="2"), make_pod("there", node="a"))
    stage.run()
    node = make_node("a", cpu="1")
    stage.put(NODE, node | {"status": node["status"] | {"conditions": [{"type": "Ready", "status": "True"}]}})
    stage.put(POD, make_pod("there", node="a", status={"phase": "Running"}))
    pod = stage.pod("web")
    stage.put(POD, pod | {"status": pod["status"] | {"message": "new"}})
    assert not stage.keys


@pytest.mark.parametrize("goes", ["is deleted", "ends"])
def test_a_pod_that_waits_for_room_is_placed_when_there_is_some(make_stage, make_node, make_pod, goes):
    stage = make_stage(make_node("a", cpu="2"))
    stage.put(POD, make_pod("there", cpu="2", node="a"), make_pod(cpu="2"))
    stage.run()
    assert stage.node_of("web") == ""
    if goes == "ends":
        stage.put(POD, make_pod("there", cpu="2", node="a", status={"phase": "Succeeded"}))
    else:
        stage.remove(POD, "default/there")
    stage.run()
    assert stage.node_of("web") == "a"


def test_room_that_is_too_little_wakes_nobody(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="2"))
    stage.put(POD, make_pod("small", cpu="100m", node="a"), make_pod("big", cpu="1900m", node="a"), make_pod(cpu="2"))
    stage.run()
    stage.remove(POD, "default/small")
    assert not stage.keys


def test_of_many_pods_that_wait_as_many_are_tried_before_their_time_as_find_room(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="2"))
    stage.put(POD, *(make_pod(f"there{i}", cpu="1", node="a") for i in range(2)))
    stage.put(POD, *(make_pod(f"web{i}", cpu="1") for i in range(20)))
    stage.run()
    events_before = len(stage.events())
    stage.remove(POD, "default/there0")
    stage.run()
    assert len(stage.of(Create)) == 1
    assert (
        len(stage.events()) == events_before + 2
    )  # one was placed, one found the node full, and the others did not try


def test_patience_doubles_with_each_failure(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", unschedulable=True))
    stage.put(POD, make_pod())
    stage.run()
    time, waits = stage.now, []
    for label in "abcdef":
        stage.put(NODE, make_node("a", unschedulable=True, labels={"l": label}))
        stage.world.view(SCHEDULER_VIEW).queue._eager = False
        stage.later.clear()
        stage.run(at=time)
        (wait,) = stage.later
        waits.append(wait)
        time += wait
        stage.keys.append("default/web")
        stage.run(at=time)
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_pod_whose_own_spec_changes_is_tried_again(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", taints=[{"key": "k", "effect": "NoSchedule"}]))
    stage.put(POD, make_pod())
    stage.run()
    stage.put(POD, make_pod(tolerations=[{"operator": "Exists"}]))
    stage.run()
    assert stage.node_of("web") == "a"


def test_a_pod_that_is_deleted_while_it_waits_is_forgotten(make_stage, make_node, make_pod):
    stage = make_stage()
    stage.put(POD, make_pod())
    stage.run()
    stage.remove(POD, "default/web")
    stage.put(NODE, make_node("a"))
    assert not stage.run(FLUSH_KEY)
    assert not len(stage.world.view(SCHEDULER_VIEW).queue)


def test_a_run_is_asked_for_once_for_the_next_that_has_waited_long_enough(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a"))
    stage.refuse = lambda request: ApiError(500, "InternalError", "no") if isinstance(request, Create) else None
    stage.put(POD, *(make_pod(f"p{i}") for i in range(3)))
    stage.run()
    stage.run("default/p1", "default/p2", FLUSH_KEY)
    assert stage.later == [1.0]
    assert not [action for action in stage.done if isinstance(action, RequeueAfter)]
