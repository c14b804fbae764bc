"""New templates, partitions and patches reach the subsets; the history: rows U17, U18, U22, U27, U28."""

from typing import Any

import pytest

from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    CONTROLLER_REVISION,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
)
from controller_manager.reconcile.revisions import HASH_LABEL

REVISION = "apps.kruise.io/controller-revision-hash"
PATCH = "apps.kruise.io/subset-patch"
KINDS = {
    "statefulSetTemplate": STATEFUL_SET,
    "advancedStatefulSetTemplate": ADVANCED_STATEFUL_SET,
    "cloneSetTemplate": CLONE_SET,
    "deploymentTemplate": DEPLOYMENT,
}


def manual(**partitions):
    return {"type": "Manual", "manualUpdate": {"partitions": partitions}}


def images(lab):
    """Image → how many pods of each subset there are."""
    by_subset: dict[str, Any] = {}
    for workload in lab.workloads().values():
        for pod in lab.pods():
            if pod["metadata"]["ownerReferences"][0]["uid"] == workload["metadata"]["uid"]:
                key = workload["metadata"]["labels"]["apps.kruise.io/subset-name"]
                new = pod["metadata"]["labels"][REVISION] == lab.status["updatedRevision"]
                by_subset.setdefault(key, [0, 0])[new] += 1
    return by_subset


@pytest.mark.parametrize("field", [field for field in KINDS if field != "deploymentTemplate"])
def test_a_partition_keeps_pods_of_one_subset_old_and_the_status_shows_it(settled, template, field):
    """U17."""
    lab = settled("a", "b", replicas=6, kind=KINDS[field])
    first = lab.status["currentRevision"]
    lab.change(template={field: template("web:2")}, updateStrategy=manual(a=2))

    lab.settle()

    second = lab.status["updatedRevision"]
    assert images(lab) == {"a": [2, 1], "b": [0, 3]}
    assert lab.entry("a")["partition"] == 2
    assert "partition" not in lab.entry("b")
    assert (lab.status["updatedReplicas"], lab.status["updatedReadyReplicas"]) == (4, 4)
    assert lab.status["currentRevision"] == first != second
    message = f"False/UnitedDeploymentRevisionUpdating: updating to revision {second}"
    assert lab.condition("UnitedDeploymentUpdated") == message

    lab.change(updateStrategy=manual())
    lab.settle()

    assert images(lab) == {"a": [0, 3], "b": [0, 3]}
    assert lab.status["currentRevision"] == second
    message = f"True/UnitedDeploymentRevisionUpdated: updated to revision {second}"
    assert lab.condition("UnitedDeploymentUpdated") == message


@pytest.mark.parametrize("field", [field for field in KINDS if field != "deploymentTemplate"])
def test_a_partition_is_no_larger_than_its_subset(settled, template, field):
    """U18."""
    lab = settled("a", "b", replicas=6, kind=KINDS[field])
    lab.change(updateStrategy=manual(a=5))
    lab.settle()
    assert lab.workloads()["a"]["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 3
    assert lab.entry("a")["partition"] == 3


def test_a_deployment_knows_no_partition_and_is_not_updated_for_ever(settled, template):
    """U28."""
    lab = settled("a", "b", replicas=6, kind=DEPLOYMENT)
    lab.change(template={"deploymentTemplate": template("web:2")}, updateStrategy=manual(a=2))

    lab.settle()

    assert images(lab) == {"a": [0, 3], "b": [0, 3]}
    assert "partition" not in lab.entry("a")
    assert not {"strategy", "updateStrategy"} & lab.workloads()["a"]["spec"].keys()
    assert lab.run().quiet


@pytest.mark.parametrize("field", KINDS)
def test_a_patch_that_changes_updates_its_subset_alone(settled, topology, field):
    """U22."""
    lab = settled("a", "b", replicas=4, kind=KINDS[field])
    names = {subset: workload["metadata"]["name"] for subset, workload in lab.workloads().items()}
    patch = {"spec": {"containers": [{"name": "web", "env": [{"name": "ZONE", "value": "a"}]}]}}
    lab.change(topology=topology({"name": "a", "patch": patch}, "b"))

    ran = lab.run()

    assert ran.keys(Update, KINDS[field]) == [f"ns/{names['a']}"]
    workload = lab.workloads()["a"]
    text = '{"spec":{"containers":[{"env":[{"name":"ZONE","value":"a"}],"name":"web"}]}}'
    assert workload["metadata"]["annotations"][PATCH] == text
    assert workload["spec"]["template"]["spec"]["containers"] == [
        {"name": "web", "image": "web:1", "env": [{"name": "ZONE", "value": "a"}]}
    ]
    assert lab.workloads()["b"]["metadata"]["annotations"][PATCH] == ""
    lab.settle()
    assert lab.run().quiet


@pytest.mark.parametrize("patch", ["{}", {"spec": {"containers": [{"image": "x"}]}}], ids=["text", "no merge key"])
@pytest.mark.parametrize("there", [True, False], ids=["of a workload", "of a new one"])
def test_a_patch_that_fits_no_pod_template_is_reported_and_others_go_on(lab, united, topology, patch, there):
    subsets = topology({"name": "b", "patch": patch}, "a")
    united(*(("a", "b") if there else ("a",)), replicas=4)
    lab.settle()
    lab.change(topology=subsets, replicas=6)

    ran = lab.run()

    (event,) = ran.events
    name = lab.workloads()["b"]["metadata"]["name"] if there else ""
    message = "Error updating PodSet (StatefulSet)" if there else "fail to manage Subset provision: fail to create"
    assert event.startswith(f"FailedUpdateSubset: {message}")
    assert name in event
    assert lab.sizes()["a"] == (3 if there else 4)
    assert ran.error is not None


@pytest.mark.parametrize("field", KINDS)
def test_a_template_that_changes_thrice_has_three_revisions_and_goes_back_by_name(settled, template, field):
    """U27."""
    lab = settled("a", "b", replicas=4, kind=KINDS[field])
    for image in ("web:2", "web:3"):
        lab.change(template={field: template(image)})
        lab.settle()
    names = [revision["metadata"]["name"] for revision in lab.revisions()]
    assert [revision["revision"] for revision in lab.revisions()] == [1, 2, 3]
    assert lab.status["currentRevision"] == lab.status["updatedRevision"] == names[2]
    assert all(revision["metadata"]["labels"]["app"] == "web" for revision in lab.revisions())
    assert [revision["metadata"]["labels"][HASH_LABEL] for revision in lab.revisions()] == [
        name.rpartition("-")[2] for name in names
    ]

    lab.change(template={field: template("web:1")})
    lab.settle()

    assert {revision["metadata"]["name"]: revision["revision"] for revision in lab.revisions()} == {
        names[0]: 4,
        names[1]: 2,
        names[2]: 3,
    }
    assert lab.status["currentRevision"] == names[0]
    assert lab.workloads()["a"]["metadata"]["labels"][REVISION] == names[0]


def test_an_update_is_not_done_while_old_pods_are_there_whatever_a_workload_that_lags_behind_counts(settled, template):
    lab = settled("a", "b", replicas=6, kind=CLONE_SET)
    first = lab.status["currentRevision"]
    lab.change(template={"cloneSetTemplate": template("web:2")}, updateStrategy=manual(a=2))
    lab.settle()
    for workload in lab.workloads().values():
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        lab.amend(CLONE_SET, key, status=workload["status"] | {"replicas": 2})
    lab.run()
    assert (lab.status["replicas"], lab.status["updatedReadyReplicas"]) == (4, 4)
    assert lab.status["currentRevision"] == first


@pytest.mark.parametrize(("limit", "kept"), [(2, [3, 4]), (0, [4]), (10, [1, 2, 3, 4])])
def test_no_more_revisions_stay_than_the_limit_says_but_those_in_use(settled, template, limit, kept):
    """U27."""
    lab = settled("a", replicas=2, kind=CLONE_SET, revisionHistoryLimit=limit)
    for image in ("web:2", "web:3", "web:4"):
        lab.change(template={"cloneSetTemplate": template(image)})
        lab.settle()
    assert [revision["revision"] for revision in lab.revisions()] == kept


def test_the_current_revision_stays_however_old_it_is(settled, template):
    lab = settled("a", replicas=3, revisionHistoryLimit=1)
    first = lab.status["currentRevision"]
    for image in ("web:2", "web:3", "web:4"):
        lab.change(template={"statefulSetTemplate": template(image)}, updateStrategy=manual(a=1))
        lab.settle()
    assert lab.status["currentRevision"] == first
    assert [revision["revision"] for revision in lab.revisions()] == [1, 4]


def test_a_name_that_is_taken_is_counted_and_the_count_is_kept(lab, united, template):
    united("a", replicas=2)
    lab.run()
    taken = lab.revisions()[0]
    lab.amend(CONTROLLER_REVISION, f"ns/{taken['metadata']['name']}", data={"spec": {}})
    lab.amend(UNITED_DEPLOYMENT, "ns/web", status={})

    ran = lab.run()

    assert len(ran.of(Create, CONTROLLER_REVISION)) == 2
    assert lab.status["collisionCount"] == 1


def test_a_revision_that_nobody_owns_is_adopted(lab, united):
    united("a", replicas=2)
    lab.run()
    (revision,) = lab.revisions()
    meta = {name: value for name, value in revision["metadata"].items() if name != "ownerReferences"}
    lab.amend(CONTROLLER_REVISION, f"ns/{meta['name']}", metadata=meta)

    lab.run()

    assert [each["metadata"]["name"] for each in lab.revisions()] == [meta["name"]]
    assert lab.revisions()[0]["metadata"]["ownerReferences"][0]["name"] == "web"


def test_while_an_update_is_under_way_nothing_is_written_that_is_written_already(settled, template):
    lab = settled("a", replicas=3)
    lab.change(template={"statefulSetTemplate": template("web:2")})
    lab.run()
    lab.run()  # tells that pods are old
    assert lab.run().quiet


def test_a_pod_that_gets_stuck_later_is_deleted_with_nothing_to_write(settled, template):
    lab = settled("a", replicas=3)
    lab.change(template={"statefulSetTemplate": template("web:2")})
    lab.run()
    broken = next(pod for pod in lab.pods() if pod["metadata"]["name"].endswith("-1"))
    status = broken["status"] | {"conditions": [{"type": "Ready", "status": "False"}]}
    lab.amend(POD, f"ns/{broken['metadata']['name']}", status=status)

    ran = lab.run()

    assert ran.keys(Delete, POD) == [f"ns/{broken['metadata']['name']}"]
    assert not ran.of(Update, STATEFUL_SET)


@pytest.mark.parametrize("field", [field for field in KINDS if field != "deploymentTemplate"])
def test_pods_that_are_deleted_by_hand_count_as_the_partition_that_is_left(settled, template, field):
    """A workload with OnDelete has as many old pods as nobody has deleted."""
    by_hand = {"updateStrategy": {"type": "OnDelete"}}
    lab = settled("a", replicas=3, kind=KINDS[field], template={field: template(**by_hand)})
    lab.change(template={field: template("web:2", **by_hand)}, updateStrategy=manual(a=1))

    lab.run()

    spec = lab.workloads()["a"]["spec"]
    assert spec["updateStrategy"] == {"type": "OnDelete"}, "numbers of a rolling update would be refused there"
    assert spec["template"]["spec"]["containers"][0]["image"] == "web:2"
    lab.run()  # tells that pods are old
    assert lab.run().quiet


def test_another_template_before_an_update_is_over_is_named_and_the_update_goes_on(settled, template):
    lab = settled("a", replicas=3)
    for image in ("web:2", "web:3"):
        lab.change(template={"statefulSetTemplate": template(image)})
        lab.now += 60
        lab.run()
    newest = lab.revisions()[-1]["metadata"]["name"]
    message = f"False/UnitedDeploymentRevisionUpdating: updating to revision {newest}"
    assert lab.condition("UnitedDeploymentUpdated") == message
    (condition,) = (each for each in lab.status["conditions"] if each["type"] == "UnitedDeploymentUpdated")
    assert condition["lastTransitionTime"] == "2027-01-15T08:01:00Z"
