"""One run of the controller for a rolling Deployment: rows D3 to D7, D21 to D23, D29, D30, D39, D42, D43."""

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict, forbidden
from controller_manager.controllers.deployment.controller import SPEC
from controller_manager.reconcile.contract import Create, Delete, Get, RecordEvent, RequeueAfter, Update
from controller_manager.reconcile.kinds import DEPLOYMENT, REPLICA_SET
from controller_manager.reconcile.pod_templates import template_hash
from controller_manager.reconcile.profile import PROFILES

REVISION = "deployment.kubernetes.io/revision"


def with_progress(deployment):
    """A Deployment that has the revision of its new ReplicaSet, and says that it makes progress."""
    noted = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "told before"}
    times = {"lastUpdateTime": "2027-01-15T07:59:00Z", "lastTransitionTime": "2027-01-15T07:59:00Z"}
    status = deployment["status"] | {"conditions": [noted | times]}
    return deployment | {"status": status}


def refused(error, kind=Create):
    return lambda request: error if isinstance(request, kind) else None


def test_what_is_gone_is_no_concern(reconcile):
    assert reconcile(SPEC, "default/web", {}).actions == []


def test_a_new_deployment_gets_a_replica_set_and_says_so(run, make_deployment, statuses, progress):
    done = run(make_deployment())
    [made] = done.of(Create)
    name = made.obj["metadata"]["name"]
    assert name == f"web-{template_hash(make_deployment()['spec']['template'])}"
    assert made.obj["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "web",
            "uid": "uid-web",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert done.events == [f"ScalingReplicaSet: Scaled up replica set {name} from 0 to 10"]
    first = next(update for update in done.of(Update) if update.kind is DEPLOYMENT)
    assert first.obj["metadata"]["annotations"] == {REVISION: "1"}
    assert progress(first.obj["status"]).startswith("True/NewReplicaSetCreated: ")
    assert progress(statuses(done)[-1], "Available").startswith("False/MinimumReplicasUnavailable: ")


def test_no_event_tells_of_a_replica_set_that_starts_empty(run, make_deployment):
    done = run(make_deployment(replicas=0))
    assert done.events == []
    assert [made.obj["spec"]["replicas"] for made in done.of(Create)] == [0]


def test_d4_the_new_set_starts_and_the_old_one_shrinks(run, make_deployment, make_set, sizes):
    done = run(make_deployment("web:2", surge=3, unavailable=2), [make_set(1, 10, desired=(10, 13))])
    made = done.of(Create)[0].obj["metadata"]["name"]
    assert sizes(done) == {made: 3, "web-1": 8}
    assert done.events[1] == "ScalingReplicaSet: Scaled down replica set web-1 from 10 to 8"


def test_d3_a_whole_old_set_may_go_at_once(run, make_deployment, make_set, sizes):
    done = run(make_deployment("web:2", replicas=3, surge=0, unavailable="100%"), [make_set(1, 3)])
    made = done.of(Create)[0].obj["metadata"]["name"]
    assert sizes(done) == {made: 0, "web-1": 0}


def test_d5_a_second_rollout_starts_before_the_first_ends(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:3", surge=3, unavailable=2)
    done = run(deployment, [make_set(1, 8), make_set(2, 5, 2)])
    made = done.of(Create)[0].obj["metadata"]
    assert made["annotations"][REVISION] == "3"
    assert sizes(done) == {made["name"]: 0, "web-2": 2, "web-1": 6}


def test_d6_a_rollout_whose_pods_never_get_ready_stops(run, make_deployment, make_set, sizes):
    deployment = with_progress(make_deployment("web:2", surge=3, unavailable=2, annotations={REVISION: "2"}))
    deployment["status"] |= {"replicas": 13, "updatedReplicas": 5, "readyReplicas": 8, "availableReplicas": 8}
    done = run(deployment, [make_set(1, 8), make_set(2, 5, 0)])
    assert sizes(done) == {}
    assert done.of(RequeueAfter) == [RequeueAfter(600 - 60 + 1)]


def test_d7_going_back_frees_what_was_stuck(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:1", surge=3, unavailable=2)
    done = run(deployment, [make_set(1, 8), make_set(2, 5, 0)])
    assert sizes(done) == {"web-1": 8, "web-2": 0}
    bumped = next(update.obj for update in done.of(Update) if update.kind is REPLICA_SET)
    assert bumped["metadata"]["annotations"][REVISION] == "3"
    assert done.of(Create) == []


def test_one_thing_at_a_time_is_grown_or_shrunk(run, make_deployment, make_set, sizes):
    done = run(make_deployment("web:2", surge=3, unavailable=2), [make_set(1, 8, 8), make_set(2, 3, 3)])
    assert sizes(done) == {"web-2": 5}


def test_d43_of_two_sets_with_the_template_the_younger_is_scaled_away(run, make_deployment, make_set, sizes):
    twin = make_set(2, 5)
    twin["spec"]["template"] = make_set(1, 5)["spec"]["template"]
    done = run(make_deployment("web:1", replicas=5), [make_set(1, 5), twin])
    assert sizes(done)["web-2"] == 0
    assert "web-1" not in sizes(done) or sizes(done)["web-1"] == 5


def test_d39_annotations_flow_to_the_new_set_without_a_rollout(run, make_deployment, make_set, sizes):
    deployment = make_deployment(annotations={"team": "red", REVISION: "1"})
    done = run(deployment, [make_set(1, 10, desired=(10, 13))])
    assert sizes(done) == {"web-1": 10}
    [changed] = [update.obj for update in done.of(Update) if update.kind is REPLICA_SET]
    assert changed["metadata"]["annotations"]["team"] == "red"
    assert changed["metadata"]["annotations"][REVISION] == "1"
    assert done.of(Create) == done.events == []


def test_a_new_minimum_of_ready_seconds_flows_to_the_new_set(run, make_deployment, make_set):
    done = run(make_deployment(minReadySeconds=7), [make_set(1, 10)])
    [changed] = [update.obj for update in done.of(Update) if update.kind is REPLICA_SET]
    assert changed["spec"]["minReadySeconds"] == 7


def test_d42_large_revisions_are_counted_on(run, make_deployment, make_set):
    done = run(make_deployment("web:2"), [make_set(1, 10, revision=3546343826724305832)])
    assert done.of(Create)[0].obj["metadata"]["annotations"][REVISION] == "3546343826724305833"


def test_a_set_that_was_found_without_a_progress_condition_gets_one(run, make_deployment, make_set, progress):
    done = run(make_deployment(), [make_set(1, 10)])
    first = next(update.obj["status"] for update in done.of(Update) if update.kind is DEPLOYMENT)
    assert progress(first).startswith("True/FoundNewReplicaSet: ")
    assert first["conditions"][0]["message"] == 'Found new replica set "web-1"'


@pytest.mark.parametrize(("release", "words"), [("1.20", "to 8"), ("1.30", "to 8 from 10"), ("1.35", "from 10 to 8")])
def test_events_are_in_the_words_of_the_release(run, make_deployment, make_set, release, words):
    deployment = make_deployment("web:2", surge=3, unavailable=2)
    done = run(deployment, [make_set(1, 10), make_set(2, 3, 0)], profile=PROFILES[release])
    assert done.events == [f"ScalingReplicaSet: Scaled down replica set web-1 {words}"]


def test_d29_all_that_is_old_is_forgotten_after_completion(run, make_deployment, make_set):
    counts = {"replicas": 10, "updatedReplicas": 10, "availableReplicas": 10, "observedGeneration": 3}
    deployment = make_deployment("web:3", revisionHistoryLimit=0, status=counts)
    sets = [make_set(1, 0), make_set(2, 0), make_set(3, 10)]
    done = run(deployment, sets)
    assert [deletion.key for deletion in done.of(Delete)] == ["default/web-1", "default/web-2"]
    assert run(deployment | {"status": counts | {"availableReplicas": 9}}, sets).of(Delete) == []


@pytest.mark.parametrize(("code", "fails"), [(404, False), (500, True)])
def test_an_old_set_that_is_gone_already_is_no_error(run, make_deployment, make_set, code, fails):
    counts = {"replicas": 10, "updatedReplicas": 10, "availableReplicas": 10, "observedGeneration": 3}
    deployment = make_deployment("web:2", revisionHistoryLimit=0, status=counts)
    error = refused(ApiError(code, "Whatever", "gone or not"), Delete)
    assert (run(deployment, [make_set(1, 0), make_set(2, 10)], answers=error).error is not None) is fails


def test_d30_one_that_still_has_pods_stays_and_uses_its_slot(run, make_deployment, make_set):
    counts = {"replicas": 10, "updatedReplicas": 10, "availableReplicas": 10, "observedGeneration": 3}
    deployment = make_deployment("web:6", revisionHistoryLimit=2, status=counts)
    sets = [make_set(number, 0, pods=1 if number == 1 else 0) for number in range(1, 6)]
    done = run(deployment, [*sets, make_set(6, 10)])
    assert [deletion.key for deletion in done.of(Delete)] == ["default/web-2", "default/web-3"]


def test_where_old_sets_cannot_be_shrunk_the_status_is_told_first(run, make_deployment, make_set, statuses):
    deployment = make_deployment("web:2", surge=3, unavailable=2)
    stale = conflict("apps", "replicasets", name="web-1", why="modified")
    done = run(
        deployment,
        [make_set(1, 10), make_set(2, 3, 0)],
        answers=lambda request: stale if request.kind is REPLICA_SET else None,
    )
    assert done.error is stale
    assert statuses(done)[-1]["updatedReplicas"] == 3


# -- the new set in the way --------------------------------------------------------------------------------------------


def test_d21_a_foreign_set_of_that_name_is_a_collision(run, make_deployment, make_set, statuses):
    taken = already_exists("apps", "replicasets", "web-x")
    foreign = make_set(1, 3, owner="uid-other")
    answers = {Create: taken, Get: foreign}
    done = run(make_deployment(), answers=lambda request: answers.get(type(request)))
    assert statuses(done)[-1]["collisionCount"] == 1
    assert done.error is taken
    again = run(make_deployment(status={"collisionCount": 1}))
    assert again.of(Create)[0].obj["metadata"]["name"] != done.of(Create)[0].obj["metadata"]["name"]


def test_d21_our_own_set_of_another_template_is_a_collision_too(run, make_deployment, make_set, statuses):
    taken = already_exists("apps", "replicasets", "web-x")
    answers = {Create: taken, Get: make_set(2, 3)}
    done = run(make_deployment("web:1"), answers=lambda request: answers.get(type(request)))
    assert statuses(done)[-1]["collisionCount"] == 1


def test_d22_our_own_set_of_the_same_template_is_used(run, make_deployment, make_set, statuses):
    answers = {Create: already_exists("apps", "replicasets", "web-1"), Get: make_set(1, 10)}
    done = run(make_deployment("web:1"), answers=lambda request: answers.get(type(request)))
    assert done.error is None
    assert done.events == []
    assert "collisionCount" not in statuses(done)[-1]
    assert statuses(done)[-1]["updatedReplicas"] == 10


@pytest.mark.parametrize("deadline", [600, None])
def test_d23_a_set_that_is_refused_is_reported_and_tried_again(run, make_deployment, deadline, statuses, progress):
    quota = forbidden("apps", "replicasets", name="web-x", why="exceeded quota: tiny")
    done = run(make_deployment(progressDeadlineSeconds=deadline), answers=refused(quota))
    [event] = done.of(RecordEvent)
    assert (event.reason, event.type) == ("ReplicaSetCreateError", "Warning")
    name = done.of(Create)[0].obj["metadata"]["name"]
    words = f'Failed to create new replica set "{name}": replicasets.apps "web-x" is forbidden: exceeded quota: tiny'
    assert event.message == words
    assert done.error is quota
    if deadline:
        assert progress(statuses(done)[-1]).startswith("False/ReplicaSetCreateError: ")
        assert statuses(done)[-1]["conditions"][0]["message"] == words
    else:
        assert statuses(done) == []


def test_nothing_is_said_where_the_namespace_goes_away(run, make_deployment, statuses):
    causes = [{"reason": "NamespaceTerminating", "message": "…", "field": "metadata.namespace"}]
    going = forbidden("apps", "replicasets", name="web-x", why="it is being terminated", causes=causes)
    done = run(make_deployment(), answers=refused(going))
    assert (done.error, done.events, statuses(done)) == (going, [], [])
