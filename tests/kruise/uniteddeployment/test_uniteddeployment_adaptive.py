"""Pods that find no node: they go elsewhere, or stay and others stand in for them: rows U10 to U12."""

import pytest

from apiserver.api.errors import forbidden, not_found
from controller_manager.reconcile.contract import Patch
from controller_manager.reconcile.kinds import CLONE_SET, DEPLOYMENT, POD, STATEFUL_SET

RESERVED = "apps.kruise.io/united-deployment-reserved-pod"
REVISION = "apps.kruise.io/controller-revision-hash"
LIMITED = {"name": "a", "minReplicas": 3, "maxReplicas": 5}
ADAPTIVE = {"type": "Adaptive"}
RESERVE = {"type": "Adaptive", "adaptive": {"reserveUnschedulablePods": True}}


@pytest.fixture
def waiting(lab, united):
    """waiting(number, …): ten pods, five meant for the first subset, where `number` of them get no node."""

    def make(number, strategy=ADAPTIVE, kind=STATEFUL_SET):
        united(LIMITED, "b", replicas=10, kind=kind, strategy=strategy)
        lab.run()
        lab.play(room={"a": 5 - number})
        return lab

    return make


def test_a_pod_may_look_for_a_node_for_a_while(waiting):
    lab = waiting(2)

    ran = lab.run()

    assert lab.sizes() == {"a": 5, "b": 5}
    assert ran.later == [30.0]
    lab.now += 29
    assert lab.run().later == [1.0]
    assert lab.sizes() == {"a": 5, "b": 5}
    assert lab.schedulable("a") == ""


@pytest.mark.parametrize(("number", "expected"), [(2, {"a": 3, "b": 7}), (5, {"a": 3, "b": 7}), (0, {"a": 5, "b": 5})])
def test_pods_that_find_no_node_in_time_go_to_other_subsets(waiting, number, expected):
    """U10."""
    lab = waiting(number)
    lab.now += 30

    ran = lab.run()

    assert lab.sizes() == expected
    assert lab.schedulable("a") == ("False/reschedule: timeout pending pods found" if number else "")
    assert ran.later == ([300.0] if number else [])
    assert lab.schedulable("b") == ""


def test_a_subset_recovers_after_its_time_and_gets_pods_again(waiting):
    """U11: what is ready elsewhere stays there; what comes new, and what is not ready, comes back."""
    lab = waiting(2)
    lab.now += 30
    lab.run()
    lab.play(ready=lambda pod: "-b-" not in pod["metadata"]["name"])
    lab.now += 299
    assert lab.run().later == [1.0]
    assert lab.sizes() == {"a": 3, "b": 7}

    lab.now += 1
    ran = lab.run()

    assert lab.schedulable("a") == "True/recover: unschedulable subset recovered after 300.000000 seconds"
    assert lab.sizes() == {"a": 5, "b": 5}
    assert ran.later == []


def test_pods_that_are_ready_are_not_taken_from_where_they_are(waiting):
    """U11."""
    lab = waiting(2)
    lab.now += 30
    lab.settle()
    lab.now += 300
    lab.settle()
    assert lab.schedulable("a").startswith("True/recover")
    assert lab.sizes() == {"a": 3, "b": 7}

    lab.change(replicas=12)
    lab.settle()
    assert lab.sizes() == {"a": 5, "b": 7}


def test_a_subset_that_recovers_and_still_has_no_nodes_waits_all_over_again(waiting):
    lab = waiting(5)
    lab.now += 30
    lab.run()
    lab.play(room={"a": 0})
    lab.now += 300

    ran = lab.run()

    assert lab.schedulable("a") == "False/reschedule: timeout pending pods found", "the minimum is pending"
    (condition,) = lab.entry("a")["conditions"]
    assert condition["lastTransitionTime"] == "2027-01-15T08:05:30Z"
    assert ran.later == [300.0]
    assert lab.run().quiet


def test_times_are_as_the_strategy_says(lab, united):
    adaptive = {"rescheduleCriticalSeconds": 5, "unschedulableDuration": 7}
    united("a", "b", replicas=2, strategy=ADAPTIVE | {"adaptive": adaptive})
    lab.run()
    lab.play(room={"a": 0})
    assert lab.run().later == [5.0]
    lab.now += 5
    assert lab.run().later == [7.0]
    lab.play()
    lab.now += 7
    lab.run()
    assert lab.schedulable("a") == "True/recover: unschedulable subset recovered after 7.000000 seconds"


def test_pods_that_wait_for_something_else_are_not_counted(lab, united):
    united("a", "b", replicas=2, strategy=ADAPTIVE)
    lab.run()
    lab.play(room={"a": 0})
    for key, pod in list(lab.objects[POD].items()):
        conditions = [each | {"reason": "SchedulerError"} for each in pod["status"]["conditions"]]
        lab.amend(POD, key, status=pod["status"] | {"conditions": conditions})
    lab.now += 3000
    lab.run()
    assert lab.sizes() == {"a": 2, "b": 0}


def test_without_the_strategy_pods_wait_where_they_are(lab, united):
    united(LIMITED, "b", replicas=10)
    lab.run()
    lab.play(room={"a": 0})
    lab.now += 3000
    ran = lab.run()
    assert lab.sizes() == {"a": 5, "b": 5}
    assert ran.later == []


# -- they stay, and others stand in ------------------------------------------------------------------------------------


def marks(lab, subset):
    """Return the number of pods of a subset that are reserved, and of those that are not."""
    labels = [pod["metadata"]["labels"].get(RESERVED) for pod in lab.pods(subset)]
    assert None not in labels
    return labels.count("true"), labels.count("false")


@pytest.mark.parametrize("kind", [CLONE_SET, DEPLOYMENT], ids=["CloneSet", "Deployment"])
def test_pods_that_find_no_node_are_reserved_and_others_come_elsewhere(waiting, kind):
    """U12."""
    lab = waiting(2, RESERVE, kind)
    lab.now += 30

    lab.run()

    assert lab.sizes() == {"a": 5, "b": 7}
    assert marks(lab, "a") == (2, 3)
    assert lab.schedulable("a") == "False/reschedule: reserved pods found"
    assert lab.schedulable("b") == "True/reschedule: no reserved pods"
    lab.settle(room={"a": 3})
    assert lab.status["replicas"] == 10
    assert lab.status["reservedPods"] == lab.entry("a")["reservedPods"] == 2
    assert lab.status["labelSelector"] == f"app=web,{RESERVED}=false"


def test_stand_ins_go_once_what_they_stand_in_for_has_run_for_a_while(waiting):
    """U12."""
    lab = waiting(2, RESERVE, DEPLOYMENT)
    lab.now += 30
    lab.settle(room={"a": 3})
    lab.now += 60
    lab.play()

    assert lab.run().later == [300.0]
    assert lab.sizes() == {"a": 5, "b": 7}

    lab.now += 300
    lab.settle()
    assert lab.sizes() == {"a": 5, "b": 5}
    assert marks(lab, "a") == (0, 5)
    assert lab.schedulable("a") == "True/reschedule: no reserved pods"
    assert "reservedPods" not in lab.status
    assert (lab.status["replicas"], lab.status["readyReplicas"]) == (10, 10)


def test_pods_that_come_to_a_subset_just_recovered_are_reserved_until_they_are_known_to_run(lab, united):
    united("a", "b", replicas=2, kind=DEPLOYMENT, strategy=RESERVE)
    lab.run()
    lab.play(room={"a": 0})
    lab.now += 30
    lab.settle(room={"a": 0})
    assert lab.sizes() == {"a": 2, "b": 2}
    lab.change(replicas=4)
    lab.settle(room={"a": 0})
    assert lab.sizes() == {"a": 2, "b": 4}
    lab.play()
    lab.now += 300

    lab.run()

    assert lab.sizes() == {"a": 4, "b": 2}, "two are known to run, two new ones are not"
    assert lab.schedulable("a") == "False/reschedule: subset just recovered scaled up"
    lab.play()
    lab.run()
    assert marks(lab, "a") == (2, 2)
    assert lab.sizes() == {"a": 4, "b": 2}
    lab.now += 300
    lab.settle()
    assert lab.sizes() == {"a": 4, "b": 0}


def test_a_subset_that_is_added_later_is_doubted_at_first(lab, settled, topology):
    settled("a", "b", replicas=4, kind=DEPLOYMENT, strategy=RESERVE)
    lab.change(topology=topology("a", "b", {"name": "c", "minReplicas": 1}, **RESERVE))

    lab.run()

    assert lab.schedulable("c") == "False/created: newly-created subsets in reservation strategy"
    lab.play()
    lab.run()
    assert marks(lab, "c") == (1, 0)
    assert lab.sizes() == {"a": 4, "b": 0, "c": 1}
    lab.now += 300
    lab.settle()
    assert marks(lab, "c") == (0, 1)
    assert lab.sizes() == {"a": 3, "b": 0, "c": 1}


def test_pods_that_are_not_updated_in_time_are_reserved_and_do_not_keep_others_from_it(settled, template):
    lab = settled(LIMITED, "b", replicas=6, kind=DEPLOYMENT, strategy=RESERVE)
    lab.change(template={"deploymentTemplate": template("web:2")})
    assert lab.run().later == [30.0]
    assert marks(lab, "a") == (0, 5)
    lab.now += 30

    lab.run()

    assert marks(lab, "a") == (5, 0)
    rolling = lab.workloads()["a"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxUnavailable": 5}
    lab.play()
    lab.now += 300
    lab.settle()
    assert marks(lab, "a") == (0, 5)
    assert lab.status["currentRevision"] == lab.revisions()[-1]["metadata"]["name"]


def test_pods_that_a_partition_keeps_old_are_not_late(settled, template):
    lab = settled(LIMITED, "b", replicas=6, kind=CLONE_SET, strategy=RESERVE)
    partitions = {"type": "Manual", "manualUpdate": {"partitions": {"a": 2}}}
    lab.change(template={"cloneSetTemplate": template("web:2")}, updateStrategy=partitions)
    lab.settle()
    lab.now += 3000
    lab.settle()
    assert marks(lab, "a") == (0, 5)
    assert lab.sizes() == {"a": 5, "b": 1}


def test_an_old_pod_that_may_stay_so_is_released_like_a_new_one(settled, template):
    lab = settled(LIMITED, "b", replicas=6, kind=CLONE_SET, strategy=RESERVE)
    lab.change(template={"cloneSetTemplate": template("web:2")})
    lab.run()
    lab.now += 30
    lab.run()
    assert marks(lab, "a") == (5, 0), "they are late"
    lab.change(updateStrategy={"type": "Manual", "manualUpdate": {"partitions": {"a": 2}}})
    lab.settle()
    lab.now += 300
    lab.settle()
    assert marks(lab, "a") == (0, 5)
    assert lab.sizes() == {"a": 5, "b": 1}


@pytest.mark.parametrize(
    ("refusal", "fatal"), [(not_found("", "pods", "x"), False), (forbidden("", "pods", name="x", why="no"), True)]
)
def test_a_pod_that_cannot_be_labelled_matters_unless_it_is_gone(waiting, refusal, fatal):
    lab = waiting(2, RESERVE, DEPLOYMENT)
    lab.refuse = lambda request: refusal if isinstance(request, Patch) else None
    ran = lab.run()
    assert ran.error is (refusal if fatal else None)


def test_pods_are_labelled_only_while_they_are_what_they_were(waiting):
    lab = waiting(0, RESERVE, DEPLOYMENT)
    patches = lab.run().of(Patch)
    pods = {f"ns/{pod['metadata']['name']}": pod["metadata"]["uid"] for pod in lab.pods()}
    assert {patch.key: patch.body["metadata"]["uid"] for patch in patches} == pods
    assert all(patch.body["metadata"]["labels"] == {RESERVED: "false"} for patch in patches)
