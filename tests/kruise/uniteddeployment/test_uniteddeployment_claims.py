"""Which workloads are a UnitedDeployment's own: rows U15 and U21."""

import pytest

from apiserver.api.errors import ApiError, forbidden
from controller_manager.reconcile.contract import Delete, Patch, Update
from controller_manager.reconcile.kinds import CLONE_SET, DEPLOYMENT, STATEFUL_SET

SUBSET = "apps.kruise.io/subset-name"


def doubled(lab, **meta):
    """A second workload of subset a."""
    workload = lab.workloads()["a"]
    kept = {name: workload["metadata"][name] for name in ("labels", "ownerReferences")}
    return lab.store(STATEFUL_SET, workload | {"metadata": kept | {"name": "other"} | meta})


def test_of_two_workloads_of_one_subset_the_older_stays(settled):
    """U15."""
    lab = settled("a", "b", replicas=4)
    kept, lab.now = lab.workloads()["a"], lab.now + 60
    other = doubled(lab)["metadata"]

    ran = lab.run()

    assert ran.of(Delete) == [Delete(STATEFUL_SET, "ns/other", other["uid"], propagation="Background")]
    assert lab.workloads()["a"]["metadata"]["uid"] == kept["metadata"]["uid"]
    assert lab.run().quiet


def test_a_second_workload_that_is_going_is_let_go_and_the_other_stays(settled):
    lab = settled("a", "b", replicas=4)
    first = lab.workloads()["a"]
    doubled(lab)
    meta = first["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}
    lab.amend(STATEFUL_SET, f"ns/{meta['name']}", metadata=meta)
    assert not lab.run().of(Delete)


def test_a_second_workload_that_cannot_be_deleted_is_reported(settled):
    lab = settled("a", "b", replicas=4)
    doubled(lab)
    denied = forbidden("apps", "statefulsets", name="other", why="no")
    lab.refuse = lambda request: denied if isinstance(request, Delete) else None

    ran = lab.run()

    assert ran.error is denied
    assert ran.events == [
        f"FailedDeleteDuplicatedSubsets: {denied.message}",
        f"FailedFindSubsets: {denied.message}",
    ]


def test_workloads_of_other_kinds_that_nobody_owns_are_not_touched(settled, template):
    lab = settled("a", "b", replicas=4, kind=STATEFUL_SET)
    lab.store(DEPLOYMENT, {"metadata": {"name": "theirs", "labels": {"app": "web", SUBSET: "a"}}, "spec": {}})
    assert lab.run().quiet


def orphan(lab, kind, name, **labels):
    spec = {"replicas": 1, "template": {"metadata": {"labels": {}}}}
    return lab.store(kind, {"metadata": {"name": name, "labels": {"app": "web"} | labels}, "spec": spec})


@pytest.mark.parametrize("labels", [{}, {SUBSET: ""}], ids=["no label", "no value"])
def test_a_workload_that_does_not_tell_its_subset_stops_everything(settled, labels):
    """U21."""
    lab = settled("a", "b", replicas=4)
    orphan(lab, STATEFUL_SET, "stray", **labels)
    lab.change(replicas=6)

    ran = lab.run()

    why = f"label {SUBSET} has an empty value" if labels else f"no label {SUBSET} found"
    message = f"fail to get subSet name from label of subset ns/stray: {why}"
    assert ran.events == [f"FailedFindSubsets: {message}"]
    assert ran.keys(Patch, STATEFUL_SET) == ["ns/stray"], "it is adopted before"
    assert not ran.of(Update)
    assert ran.error is not None


def test_a_workload_that_nobody_owns_is_adopted_and_becomes_the_subset(lab, united):
    united("a", "b", replicas=4)
    orphan(lab, STATEFUL_SET, "stray", **{SUBSET: "a"})

    lab.run()

    assert lab.sizes() == {"a": 2, "b": 2}
    assert lab.workloads()["a"]["metadata"]["name"] == "stray"


def test_a_custom_workload_is_adopted_although_it_knows_no_strategic_patch(lab, united):
    united("a", replicas=4, kind=CLONE_SET)
    stray = orphan(lab, CLONE_SET, "stray", **{SUBSET: "a"})
    known = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "uid-c"}]
    stray = lab.amend(CLONE_SET, "ns/stray", metadata=stray["metadata"] | {"ownerReferences": known})
    unknown = ApiError(415, "UnsupportedMediaType", "merge it otherwise")
    lab.refuse = lambda request: unknown if isinstance(request, Patch) and "strategic" in request.content_type else None

    ran = lab.run()

    assert ran.error is None
    assert [reference["kind"] for reference in lab.workloads()["a"]["metadata"]["ownerReferences"]] == [
        "ConfigMap",
        "UnitedDeployment",
    ]
    guard = ran.of(Patch)[-1].body["metadata"]
    assert (guard["uid"], guard["resourceVersion"]) == (stray["metadata"]["uid"], stray["metadata"]["resourceVersion"])


def test_a_custom_workload_whose_labels_fit_no_more_is_let_go(settled):
    lab = settled("a", replicas=2, kind=CLONE_SET)
    workload = lab.workloads()["a"]
    key = f"ns/{workload['metadata']['name']}"
    lab.amend(CLONE_SET, key, metadata=workload["metadata"] | {"labels": {SUBSET: "a"}})
    unknown = ApiError(415, "UnsupportedMediaType", "merge it otherwise")
    lab.refuse = lambda request: unknown if isinstance(request, Patch) and "strategic" in request.content_type else None

    ran = lab.run()

    assert "ownerReferences" not in lab.objects[CLONE_SET][key]["metadata"]
    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (CloneSet)"]


def test_workloads_of_other_namespaces_are_none_of_its_own(settled):
    lab = settled("a", "b", replicas=4)
    workload = lab.workloads()["a"]
    kept = {"labels": workload["metadata"]["labels"], "name": "far", "namespace": "elsewhere"}
    lab.store(STATEFUL_SET, workload | {"metadata": kept})
    assert lab.run().quiet
