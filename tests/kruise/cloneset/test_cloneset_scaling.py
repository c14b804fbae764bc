"""Scaling a CloneSet: pods that are made, chosen for deletion, named for deletion by people, and held back."""

import re
from typing import Any

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Delete, Patch
from controller_manager.reconcile.kinds import CLONE_SET, POD

REFUSED = ApiError(403, "Forbidden", 'pods "web-x" is forbidden: exceeded quota')


def is_creation(request):
    return isinstance(request, Create) and request.kind is POD


# -- pods that are made ------------------------------------------------------------------------------------------------


def test_a_pod_has_an_id_its_revision_a_gate_and_a_lifecycle(new_cluster):
    cluster = new_cluster(replicas=1)
    ran = cluster.run()
    [pod] = [request.obj for request in ran.requests if is_creation(request)]
    meta = pod["metadata"]
    [revision] = [revision["metadata"]["name"] for revision in cluster.revisions]
    id_ = meta["labels"]["apps.kruise.io/cloneset-instance-id"]
    assert len(id_) == 5
    assert meta["name"] == f"web-{id_}"
    assert meta["labels"] == {
        "app": "web",
        "apps.kruise.io/cloneset-instance-id": id_,
        "controller-revision-hash": revision,
        "pod-template-hash": revision.removeprefix("web-"),
        "lifecycle.apps.kruise.io/state": "PreparingNormal",
    }
    assert meta["annotations"] == {"lifecycle.apps.kruise.io/timestamp": "2027-01-15T08:00:00Z"}
    [owner] = meta["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("apps.kruise.io/v1beta1", "CloneSet", True)
    assert pod["spec"]["readinessGates"] == [{"conditionType": "InPlaceUpdateReady"}]
    assert ran.events == [f"SuccessfulCreate: succeed to create pod web-{id_}"]


def test_a_gate_that_the_template_has_is_not_doubled(new_cluster, template):
    gates = [{"conditionType": "InPlaceUpdateReady"}, {"conditionType": "example.com/mine"}]
    cluster = new_cluster(replicas=1, template=template(readinessGates=gates))
    cluster.run()
    assert cluster.pods[0]["spec"]["readinessGates"] == gates


def gate_of(pod):
    conditions = pod["status"].get("conditions", ())
    return next((each["status"] for each in conditions if each["type"] == "InPlaceUpdateReady"), None)


def test_new_pods_become_normal_and_their_gates_open_by_one_write(new_cluster):
    cluster = new_cluster(replicas=3)
    assert cluster.run().names(Patch) == cluster.names
    assert [gate_of(pod) for pod in cluster.pods] == ["True"] * 3
    assert {pod["metadata"]["labels"]["lifecycle.apps.kruise.io/state"] for pod in cluster.pods} == {"Normal"}
    cluster.work()
    assert cluster.run().names(Patch) == []
    cluster.settle()
    assert cluster.available == 3
    assert cluster.run().quiet


def test_a_gate_that_could_not_be_opened_is_opened_by_the_next_run(new_cluster):
    cluster = new_cluster(replicas=3)
    cluster.server.refuse = lambda request: REFUSED if isinstance(request, Patch) else None
    assert cluster.run().error is None
    assert [gate_of(pod) for pod in cluster.pods] == [None] * 3
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert cluster.available == 3


def test_pods_are_made_in_rounds_that_grow_and_welcomed_beside_the_next(new_cluster):
    ran = new_cluster(replicas=100).run()
    verbs = "".join("c" if is_creation(request) else "p" for request in ran.requests if request.kind is POD)
    assert [*map(len, re.findall("c+", verbs))] == [1 + 2, 4, 8, 16, 32, 32, 5]
    assert [*map(len, re.findall("p+", verbs))] == [1, 2, 4, 8, 16, 32, 32 + 5]


def test_a_set_without_replicas_has_one(new_cluster):
    cluster = new_cluster()
    spec = {name: value for name, value in cluster.set["spec"].items() if name != "replicas"}
    cluster.server.store(CLONE_SET, cluster.set | {"spec": spec})
    cluster.settle()
    assert len(cluster.names) == 1


def test_what_cannot_be_made_is_told_and_tried_again(new_cluster):
    cluster = new_cluster(replicas=8)
    cluster.server.refuse = lambda request: REFUSED if is_creation(request) else None
    ran = cluster.run()
    assert len(ran.made) == 1  # the first of the slow start
    [event] = ran.events
    assert event.startswith(f"FailedCreate: failed to create pod: {REFUSED.message}, pod: {{")
    assert ran.error is REFUSED
    failed = cluster.condition("FailedScale")
    assert (failed["status"], failed["message"]) == ("True", REFUSED.message)
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert len(cluster.names) == 8


def test_pods_that_were_made_before_a_refusal_are_kept(new_cluster):
    cluster = new_cluster(replicas=8)
    made: list[Any] = []
    cluster.server.refuse = lambda request: (
        REFUSED if is_creation(request) and len(made) == 2 else made.append(1) if is_creation(request) else None
    )
    ran = cluster.run()
    assert (len(cluster.names), ran.error) == (2, REFUSED)
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert len(cluster.names) == 8


def test_ended_and_terminating_pods_are_replaced_at_once(settled_cluster):
    cluster = settled_cluster(replicas=3)
    gone, ended, _ = cluster.names
    cluster.terminate(gone)
    cluster.pod_changes(ended, lambda pod: pod | {"status": pod["status"] | {"phase": "Failed"}})
    ran = cluster.run()
    assert len(ran.made) == 2
    assert not {gone, ended} & set(ran.made)


def test_a_pod_that_is_not_selected_any_more_is_let_go_and_replaced(settled_cluster):
    cluster = settled_cluster(replicas=2)
    former = cluster.names[0]
    cluster.pod_changes(former, lambda pod: pod | {"metadata": pod["metadata"] | {"labels": {"app": "other"}}})
    ran = cluster.settle()[0]
    assert ran.names(Patch)[:1] == [former]
    assert cluster.server.objects[POD][f"ns/{former}"]["metadata"]["ownerReferences"] == []
    assert len(cluster.names) == 3


def test_pods_that_nobody_owns_are_not_adopted(settled_cluster):
    cluster = settled_cluster(replicas=1)
    [pod] = cluster.pods
    labels = {"labels": pod["metadata"]["labels"]}
    cluster.server.store(POD, {"metadata": {"name": "stray"} | labels, "spec": pod["spec"], "status": {}})
    assert cluster.run().quiet
    assert "ownerReferences" not in cluster.server.objects[POD]["ns/stray"]["metadata"]


def test_a_set_that_is_being_deleted_only_tells_its_status(settled_cluster):
    cluster = settled_cluster(replicas=3)
    meta = cluster.set["metadata"] | {"deletionTimestamp": "2027-01-15T08:02:00Z", "finalizers": ["foregroundDeletion"]}
    cluster.server.store(CLONE_SET, cluster.set | {"metadata": meta})
    cluster.terminate(cluster.names[0])
    ran = cluster.run()
    assert [request.subresource for request in ran.requests] == ["status"]
    assert cluster.status["replicas"] == 2
    assert cluster.run().quiet


# -- a limit on growing ------------------------------------------------------------------------------------------------


def test_pods_are_made_one_at_a_time_where_one_may_be_unavailable(settled_cluster, template):
    """C8: scaleStrategy.maxUnavailable 1, five pods more that are slow: one at a time, ScaleUpLimited."""
    cluster = settled_cluster(
        replicas=2, scaleStrategy={"maxUnavailable": 1}, template=template("slow.mockube.io/web:1")
    )
    for _ in range(10):
        cluster.tick(10)
        cluster.settle()
    assert len(cluster.names) == 2
    cluster.edit(replicas=7)
    for number in range(3, 8):
        runs = cluster.settle()
        assert len(cluster.names) == number
        assert sum(len(ran.made) for ran in runs) == 1
        limits = {event for ran in runs for event in ran.events if event.startswith("ScaleUpLimited")}
        message = "ScaleUpLimited: scaleUp is limited because of scaleStrategy.maxUnavailable, limit:"
        assert limits == ({f"{message} 1", f"{message} 0"} if number < 7 else set())
        cluster.tick(10)
    cluster.settle()
    assert cluster.available == 7


# -- which pods go -----------------------------------------------------------------------------------------------------


def test_too_many_pods_are_deleted_those_first_that_are_not_ready(settled_cluster):
    cluster = settled_cluster(replicas=5)
    first, second = cluster.names[3], cluster.names[1]
    cluster.take_down(first, second)
    cluster.edit(replicas=3)
    runs = cluster.settle()
    assert sorted(name for ran in runs for name in ran.deleted) == sorted((first, second))
    assert f"SuccessfulDelete: succeed to delete pod {first}" in [event for ran in runs for event in ran.events]


def test_a_set_that_shrinks_may_lose_all_that_are_too_many_at_once(settled_cluster):
    cluster = settled_cluster(replicas=10)
    cluster.edit(replicas=2)
    assert len(cluster.run().deleted) == 8


def test_old_pods_go_first_and_of_those_what_is_not_ready(settled_cluster, template):
    """C6: the set shrinks during an update: older revisions first, what is not ready first."""
    cluster = settled_cluster(replicas=6, rolling={"partition": 3})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.images == {"web:1": 3, "web:2": 3}
    old = [pod["metadata"]["name"] for pod in cluster.pods if pod["spec"]["containers"][0]["image"] == "web:1"]
    cluster.take_down(old[1])
    cluster.rolling(partition=0, paused=True)
    cluster.edit(replicas=4)
    [ran] = [ran for ran in cluster.settle() if ran.deleted]
    assert ran.deleted[0] == old[1]
    assert set(ran.deleted) < set(old)
    assert cluster.images == {"web:1": 1, "web:2": 3}


def test_old_pods_that_the_partition_keeps_are_kept(settled_cluster, template):
    cluster = settled_cluster(replicas=6, rolling={"partition": 3})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.edit(replicas=4)
    cluster.settle()
    assert cluster.images == {"web:1": 3, "web:2": 1}


@pytest.mark.parametrize(("partition", "images"), [(4, {"web:1": 4, "web:2": 6}), ("50%", {"web:1": 5, "web:2": 5})])
def test_a_set_that_grows_during_an_update_keeps_the_share_of_its_partition(
    settled_cluster, template, partition, images
):
    """C5: the set grows during a partial update: old and new pods are as the partition has it."""
    cluster = settled_cluster(replicas=6, rolling={"partition": partition})
    cluster.edit(template=template("web:2"))
    cluster.settle()
    cluster.edit(replicas=10)
    cluster.settle()
    assert cluster.images == images


# -- pods that people name ---------------------------------------------------------------------------------------------


def test_a_named_pod_goes_and_is_not_replaced_where_one_fewer_is_wanted(settled_cluster):
    """C4: podsToDelete [p] and one replica fewer: p is removed, and no other made."""
    cluster = settled_cluster(replicas=4)
    name = cluster.names[2]
    rest = [each for each in cluster.names if each != name]
    cluster.edit(replicas=3, scaleStrategy={"podsToDelete": [name]})
    runs = cluster.settle()
    assert cluster.names == rest
    assert not any(ran.made for ran in runs)
    assert cluster.set["spec"]["scaleStrategy"] == {"podsToDelete": []}
    assert cluster.run().quiet


def test_a_named_pod_is_replaced_where_as_many_are_wanted(settled_cluster):
    """C4: podsToDelete [p] and the same replicas: p is replaced."""
    cluster = settled_cluster(replicas=4)
    name = cluster.names[2]
    rest = {each for each in cluster.names if each != name}
    cluster.edit(scaleStrategy={"podsToDelete": [name, "web-nobody"]})
    cluster.settle()
    assert rest < set(cluster.names)
    assert len(cluster.names) == 4
    assert cluster.set["spec"]["scaleStrategy"] == {"podsToDelete": []}


def test_a_labelled_pod_is_replaced_within_what_may_be_unavailable(settled_cluster):
    cluster = settled_cluster(replicas=4, rolling={"maxUnavailable": 1})
    first, second = cluster.names[:2]
    cluster.label(first, specified_delete="true")
    cluster.label(second, specified_delete="true")
    ran = cluster.run()
    assert len(ran.deleted) == 1
    lowest = min(_availability(cluster))
    assert lowest >= 3
    assert not {first, second} & set(cluster.names)
    assert len(cluster.names) == 4


def test_pods_that_stand_in_for_a_labelled_one_come_first_where_there_is_a_surge(settled_cluster):
    cluster = settled_cluster(replicas=4, rolling={"maxUnavailable": 0, "maxSurge": 1})
    name = cluster.names[0]
    cluster.label(name, specified_delete="true")
    assert cluster.run().made
    assert min(_availability(cluster)) >= 4
    assert name not in cluster.names
    assert len(cluster.names) == 4


def test_pods_that_are_too_many_stay_while_others_leave(settled_cluster):
    cluster = settled_cluster(replicas=5, rolling={"maxUnavailable": 1})
    leaving, broken = cluster.names[0], cluster.names[1]
    cluster.take_down(broken, cluster.names[2])
    cluster.label(leaving, specified_delete="true")
    cluster.edit(replicas=4)
    ran = cluster.run()
    assert ran.deleted == []  # two are unavailable, and one may be


def _availability(cluster):
    """Yield the number of available pods after each run, until nothing is left to do."""
    for _ in range(100):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            return
        yield cluster.available


def test_a_pod_that_is_gone_already_is_no_failure(settled_cluster):
    cluster = settled_cluster(replicas=3)
    cluster.edit(replicas=2)
    gone = ApiError(404, "NotFound", "gone")
    cluster.server.refuse = lambda request: gone if isinstance(request, Delete) else None
    ran = cluster.run()
    assert (ran.error, ran.events) == (None, [])


def test_a_pod_that_cannot_be_deleted_is_told_and_tried_again(settled_cluster):
    cluster = settled_cluster(replicas=3)
    cluster.edit(replicas=2)
    cluster.server.refuse = lambda request: REFUSED if isinstance(request, Delete) else None
    ran = cluster.run()
    assert ran.events == [f"FailedDelete: failed to delete pod {ran.deleted[0]}: {REFUSED.message}"]
    assert ran.error is REFUSED
    assert cluster.condition("FailedScale")["message"] == REFUSED.message
