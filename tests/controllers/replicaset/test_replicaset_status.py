"""ReplicaSets: their status, and when it is computed again."""

from apiserver.api.errors import conflict, forbidden
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.reconcile.contract import Create, Delete, Get, RequeueAfter, Update

NOW = 1_800_000_000.0
LABELS = {"app": "web"}
QUOTA = forbidden("", "pods", name="web-", why="exceeded quota: small")


def test_r19_a_ready_pod_is_available_after_its_time_and_the_set_looks_again_then(do, a_set, a_pod, status_of):
    done = do(a_set(2, minReadySeconds=5), [a_pod("a", ready=2), a_pod("b", ready=60)])
    status = status_of(done)
    assert (status["readyReplicas"], status["availableReplicas"]) == (2, 1)
    assert done.of(RequeueAfter) == [RequeueAfter(3.0)]
    later = do(a_set(2, minReadySeconds=5), [a_pod("a", ready=2), a_pod("b", ready=60)], at=NOW + 3)
    assert status_of(later)["availableReplicas"] == 2
    assert later.of(RequeueAfter) == []


def test_r19_a_pod_is_available_with_the_last_second(do, a_set, a_pod, status_of):
    done = do(a_set(1, minReadySeconds=5), [a_pod("a", ready=5)])
    assert status_of(done)["availableReplicas"] == 1
    assert done.of(RequeueAfter) == []


def test_a_set_that_cannot_make_pods_still_looks_again_at_those_it_has(do, a_set, pods, refusing):
    done = do(a_set(2, minReadySeconds=5), pods("a", ready=2), refusing(Create, error=QUOTA))
    assert done.of(RequeueAfter) == [RequeueAfter(3.0)]
    assert done.error is QUOTA


def test_r20_pods_without_the_templates_new_labels_stay_and_are_not_fully_labeled(do, a_set, a_pod, pods, status_of):
    new = LABELS | {"tier": "front"}
    done = do(a_set(2, labels=new), [*pods("a"), a_pod("b", labels=new | {"more": "x"})])
    assert done.of(Delete) == done.of(Create) == []
    status = status_of(done)
    assert (status["replicas"], status["fullyLabeledReplicas"]) == (2, 1)


def test_r22_a_status_that_lost_a_race_is_written_once_more_on_what_is_there_now(do, a_set, pods):
    lost = conflict("apps", "replicasets", name="web", why="stale")
    live = a_set(1) | {"metadata": a_set(1)["metadata"] | {"resourceVersion": "8"}}
    answers = {Get: iter([live]), Update: iter([lost, live])}
    done = do(a_set(1), pods("a"), lambda r: next(answers[type(r)]))
    first, second = done.of(Update)
    assert (first.obj["metadata"]["resourceVersion"], second.obj["metadata"]["resourceVersion"]) == ("7", "8")
    assert first.obj["status"] == second.obj["status"]
    assert done.error is None
    again = do(a_set(1), pods("a"), lambda r: live if isinstance(r, Get) else lost)
    assert (len(again.of(Update)), again.error) == (2, lost)


STEADY = {
    "replicas": 1,
    "fullyLabeledReplicas": 1,
    "readyReplicas": 1,
    "availableReplicas": 1,
    "observedGeneration": 1,
    "terminatingReplicas": 0,
}


def test_the_status_tells_all_numbers_but_zeroes(do, a_set, pods, status_of):
    assert status_of(do(a_set(1), pods("a"))) == STEADY
    assert status_of(do(a_set(0))) == {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0}


def test_a_set_that_is_as_it_says_writes_nothing(do, a_set, pods):
    assert do(a_set(1, status=STEADY), pods("a")).actions == []


def test_a_new_generation_is_observed_though_no_number_changes(do, a_set, pods, status_of):
    newer = a_set(1, status=STEADY)
    newer["metadata"]["generation"] = 2
    assert status_of(do(newer, pods("a"))) == STEADY | {"observedGeneration": 2}


def test_a_set_that_is_gone_is_nothing_to_do(do):
    assert do([]).actions == []


def test_a_selector_that_cannot_be_understood_is_told_once_and_no_pod_is_touched(do, a_set, pods, status_of):
    bad = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}
    done = do(a_set(2, selector=bad), pods("a"))
    assert done.events == ['InvalidSelector: Error selecting pods: "Like" is not a valid label selector operator']
    assert [type(request) for request in done.requests()] == [Update]
    assert do(a_set(2, selector=bad, status=status_of(done)), pods("a")).actions == []


def test_failures_are_tried_again_for_ever():
    assert replicaset.SPEC.retries is None
