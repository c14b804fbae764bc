"""The status of a UnitedDeployment, and the changes that wake its controller."""

import pytest

from apiserver.api.errors import conflict, forbidden
from controller_manager.kruise.uniteddeployment.controller import SPEC, pod_changed, workload_changed
from controller_manager.reconcile.contract import Change, Update
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
)


def test_the_first_status_is_what_upstream_writes_and_no_more(lab, united):
    united({"name": "a", "replicas": 2}, "b", replicas=4)

    lab.run()

    revision = lab.revisions()[0]["metadata"]["name"]
    at = "2027-01-15T08:00:00Z"
    assert lab.status == {
        "observedGeneration": 1,
        "replicas": 0,
        "updatedReplicas": 0,
        "currentRevision": revision,
        "updatedRevision": revision,
        "labelSelector": "app=web",
        "subsetStatuses": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 2}],
        "conditions": [
            {
                "type": "UnitedDeploymentUpdated",
                "status": "True",
                "lastTransitionTime": at,
                "reason": "UnitedDeploymentRevisionUpdated",
                "message": f"updated to revision {revision}",
            },
            {"type": "SubsetProvisioned", "status": "True", "lastTransitionTime": at},
            {"type": "SubsetUpdated", "status": "True", "lastTransitionTime": at},
        ],
    }


def test_the_status_adds_up_what_workloads_tell(lab, united):
    united("a", "b", replicas=5)
    lab.run()
    lab.play(ready=lambda pod: pod["metadata"]["name"].endswith("-0"))

    lab.run()

    names = ("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas")
    assert [lab.status[name] for name in names] == [5, 2, 5, 2]
    assert lab.entry("b") == {"name": "b", "replicas": 3, "readyReplicas": 1}


def test_the_generation_is_told_as_soon_as_it_is_seen(settled):
    lab = settled("a", replicas=2)
    lab.change(revisionHistoryLimit=3)
    lab.run()
    assert lab.status["observedGeneration"] == 2


def test_the_entry_of_a_subset_goes_with_it_and_a_failure_with_its_cause(settled, topology):
    lab = settled("a", "b", replicas=2)
    failure = {"type": "SubsetFailure", "status": "True", "reason": "Error", "message": "?"}
    stale = [*lab.status["subsetStatuses"], {"name": "gone", "replicas": 7}]
    status = lab.status | {"conditions": [*lab.status["conditions"], failure], "subsetStatuses": stale}
    lab.amend(UNITED_DEPLOYMENT, "ns/web", status=status)

    lab.run()

    assert [entry["name"] for entry in lab.status["subsetStatuses"]] == ["a", "b"]
    assert lab.condition("SubsetFailure") == ""


def test_a_status_that_somebody_else_writes_meanwhile_is_written_again(settled):
    lab = settled("a", replicas=2)
    left = [conflict("apps.kruise.io", "uniteddeployments", name="web", why="stale")]
    lab.refuse = lambda request: left.pop() if left and isinstance(request, Update) and request.subresource else None
    lab.change(revisionHistoryLimit=3)
    assert lab.run().error is None
    assert lab.status["observedGeneration"] == 2


def test_a_status_that_cannot_be_written_is_tried_again_and_deadlines_hold(lab, united):
    united("a", "b", replicas=2, strategy={"type": "Adaptive"})
    lab.run()
    lab.play(room={"a": 0})
    denied = forbidden("apps.kruise.io", "uniteddeployments", name="web", why="no")
    lab.refuse = lambda request: denied if isinstance(request, Update) and request.subresource else None
    ran = lab.run()
    assert ran.error is denied
    assert ran.later == [30.0]


# -- what wakes the controller -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [STATEFUL_SET, ADVANCED_STATEFUL_SET, CLONE_SET, DEPLOYMENT], ids=str)
def test_a_workload_wakes_its_owner_and_its_former_one(settled, kind):
    lab = settled("a", replicas=2, kind=kind)
    keys, world = lab.workloads()["a"], lab.world()
    alone = keys | {"metadata": keys["metadata"] | {"ownerReferences": []}}
    stranger = [keys["metadata"]["ownerReferences"][0] | {"uid": "another"}]
    foreign = keys | {"metadata": keys["metadata"] | {"ownerReferences": stranger}}
    assert set(workload_changed(world, Change(None, keys))) == {"ns/web"}
    assert set(workload_changed(world, Change(keys, None))) == {"ns/web"}
    assert set(workload_changed(world, Change(keys, alone))) == {"ns/web"}
    assert not workload_changed(world, Change(keys, keys))
    assert not workload_changed(world, Change(None, alone))
    assert not workload_changed(world, Change(None, foreign))


@pytest.mark.parametrize("kind", [STATEFUL_SET, ADVANCED_STATEFUL_SET, CLONE_SET], ids=str)
def test_a_pod_that_counts_otherwise_wakes_the_united_deployment(settled, kind):
    lab = settled("a", replicas=2, kind=kind)
    pod, world = lab.pods()[0], lab.world()
    waits = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    unready = pod | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}
    pending = unready | {"status": unready["status"] | {"conditions": [*waits, *unready["status"]["conditions"]]}}
    heavier = pod | {"metadata": pod["metadata"] | {"annotations": {"a": "b"}}}
    plain = pod | {"metadata": pod["metadata"] | {"labels": {"app": "web"}}}
    assert pod_changed(world, Change(None, pod)) == ("ns/web",)
    assert pod_changed(world, Change(pod, None)) == ("ns/web",)
    assert pod_changed(world, Change(pod, unready)) == ("ns/web",)
    assert pod_changed(world, Change(unready, pending)) == ("ns/web",)
    assert not pod_changed(world, Change(pod, heavier))
    assert not pod_changed(world, Change(pod, pod))
    assert not pod_changed(world, Change(None, plain))


def test_a_pod_of_a_deployment_is_found_by_its_replica_set(settled):
    lab = settled("a", replicas=1, kind=DEPLOYMENT)
    deployment = lab.workloads()["a"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "controller": True}
    owner |= {name: deployment["metadata"][name] for name in ("name", "uid")}
    replicas = lab.store(REPLICA_SET, {"metadata": {"name": "web-a-x", "ownerReferences": [owner]}, "spec": {}})
    pod = lab.pods()[0]
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-a-x", "uid": replicas["metadata"]["uid"]}
    metadata = pod["metadata"] | {"ownerReferences": [reference | {"controller": True}]}
    pod = lab.amend(POD, f"ns/{metadata['name']}", metadata=metadata)

    assert pod_changed(lab.world(), Change(None, pod)) == ("ns/web",)
    assert lab.run().quiet, "it is counted as before"

    lab.objects[REPLICA_SET].clear()
    assert not pod_changed(lab.world(), Change(None, pod))
    lab.run()
    assert lab.status["updatedReplicas"] == 0


def test_three_are_looked_at_at_a_time_unless_a_flag_says_otherwise():
    assert (SPEC.workers, SPEC.flag, SPEC.source) == (3, "uniteddeployment", "uniteddeployment-controller")
