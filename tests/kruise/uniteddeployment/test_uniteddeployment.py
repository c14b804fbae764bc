"""The controller of UnitedDeployments makes, deletes and updates workloads: U5, U13, U14, U16, U19, U24 to U26."""

import pytest

from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
)

REVISION = "apps.kruise.io/controller-revision-hash"
SUBSET = "apps.kruise.io/subset-name"
KINDS = {
    "StatefulSet": STATEFUL_SET,
    "AdvancedStatefulSet": ADVANCED_STATEFUL_SET,
    "CloneSet": CLONE_SET,
    "Deployment": DEPLOYMENT,
}


@pytest.mark.parametrize("name", KINDS)
def test_each_subset_gets_a_workload_of_the_templates_kind(lab, united, name):
    kind = KINDS[name]
    united("a", "b", "c", replicas=10, kind=kind)

    ran = lab.run()

    assert ran.events == [f"SuccessfulUpdateSubset: Create 3 Subset ({name})"]
    assert {workload: obj["spec"]["replicas"] for workload, obj in lab.workloads(kind).items()} == {
        "a": 3,
        "b": 3,
        "c": 4,
    }
    assert [obj["metadata"]["generateName"] for obj in lab.workloads().values()] == ["web-a-", "web-b-", "web-c-"]
    (revision,) = lab.revisions()
    assert revision["revision"] == 1
    assert revision["metadata"]["labels"]["app"] == "web"
    workload = lab.workloads()["a"]
    assert workload["metadata"]["labels"] == {"app": "web", SUBSET: "a", REVISION: revision["metadata"]["name"]}
    assert workload["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps.kruise.io/v1beta1",
            "kind": "UnitedDeployment",
            "name": "web",
            "uid": lab.united["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert workload["spec"]["selector"] == {"matchLabels": {"app": "web", SUBSET: "a"}}
    assert workload["spec"]["template"]["metadata"]["labels"] == workload["metadata"]["labels"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_has_come_to_rest_is_left_alone(settled, kind):
    lab = settled("a", "b", "c", replicas=10, kind=kind)
    assert lab.run().quiet
    assert lab.status["replicas"] == lab.status["readyReplicas"] == lab.status["updatedReadyReplicas"] == 10


@pytest.mark.parametrize("replicas", [4, 20], ids=["more", "fewer"])
def test_subset_replicas_that_do_not_add_up_are_told_and_nothing_is_scaled(lab, settled, topology, replicas):
    """U5."""
    lab = settled({"name": "a", "replicas": 4}, {"name": "b", "replicas": 6}, replicas=10)
    lab.change(replicas=replicas)
    before, sizes = lab.status, lab.sizes()

    ran = lab.run()

    how = "greater" if replicas == 4 else "less"
    message = f"specified subsets' replica (10) is {how} than UnitedDeployment replica ({replicas})"
    assert ran.events == [f"Failed SpecifySubsetReplicas: Specified subset replicas is ineffective: {message}"]
    assert not ran.requests
    assert ran.error is not None
    assert (lab.status, lab.sizes()) == (before, sizes)


def test_a_subset_that_is_removed_goes_in_the_background_and_its_entry_with_it(settled, topology):
    """U13."""
    lab = settled("a", "b", "c", replicas=6)
    gone = lab.workloads()["b"]["metadata"]
    lab.change(topology=topology("a", "c"))

    first = lab.run()
    lab.settle()

    assert first.of(Delete) == [Delete(STATEFUL_SET, f"ns/{gone['name']}", gone["uid"], propagation="Background")]
    assert first.events == ["SuccessfulUpdateSubset: Delete 1 Subset (StatefulSet)"]
    assert lab.sizes() == {"a": 3, "c": 3}
    assert [entry["name"] for entry in lab.status["subsetStatuses"]] == ["a", "c"]
    assert lab.condition("SubsetProvisioned") == "True/: "


def test_a_subset_that_is_added_comes_at_the_newest_revision_with_its_share(settled, topology):
    """U14."""
    lab = settled("a", "b", replicas=6)
    lab.change(topology=topology("a", "b", "c"))

    ran = lab.run()

    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (StatefulSet)"]
    assert lab.sizes() == {"a": 2, "b": 2, "c": 2}
    assert lab.workloads()["c"]["metadata"]["labels"][REVISION] == lab.status["updatedRevision"]
    assert [(entry["name"], entry["replicas"]) for entry in lab.status["subsetStatuses"]] == [
        ("a", 2),
        ("b", 2),
        ("c", 2),
    ]


def test_another_template_kind_makes_workloads_of_that_kind_and_deletes_the_others(settled, template):
    """U16."""
    lab = settled("a", "b", replicas=4, kind=STATEFUL_SET)
    others = sorted(lab.objects[STATEFUL_SET])
    lab.change(template={"deploymentTemplate": template("web:2")})

    ran = lab.run()
    lab.settle()

    assert ran.events == ["SuccessfulUpdateSubset: Create 2 Subset (Deployment)"]
    assert sorted(ran.keys(Delete, STATEFUL_SET)) == others
    assert lab.sizes() == {"a": 2, "b": 2}
    assert not lab.objects[STATEFUL_SET]
    assert lab.status["currentRevision"] == lab.revisions()[-1]["metadata"]["name"]


def test_a_pod_that_keeps_a_stateful_set_from_updating_it_is_deleted(settled, template):
    """U19."""
    lab = settled("a", replicas=3)
    lab.change(template={"statefulSetTemplate": template("web:2")})
    lab.run()
    lab.play(ready=lambda pod: not pod["metadata"]["name"].endswith("-2"))
    lab.run()
    stuck = next(pod for pod in lab.pods("a") if pod["metadata"]["name"].endswith("-2"))
    lab.change(template={"statefulSetTemplate": template("web:3")})

    ran = lab.run()

    key = f"ns/{stuck['metadata']['name']}"
    assert ran.of(Delete) == [Delete(POD, key, stuck["metadata"]["uid"], propagation="Background")]


@pytest.mark.parametrize(
    ("kind", "strategy", "partition", "ordinal"),
    [
        pytest.param(STATEFUL_SET, {"type": "OnDelete"}, 0, 2, id="somebody else deletes pods"),
        pytest.param(STATEFUL_SET, {}, 3, 2, id="below the partition"),
        pytest.param(ADVANCED_STATEFUL_SET, {}, 0, 2, id="it helps itself"),
        pytest.param(DEPLOYMENT, {}, 0, 2, id="it has no order"),
    ],
)
def test_other_pods_that_are_not_ready_are_left_alone(settled, template, kind, strategy, partition, ordinal):
    lab = settled("a", replicas=3, kind=kind)
    field = next(iter(lab.united["spec"]["template"]))
    lab.play(ready=lambda pod: not pod["metadata"]["name"].endswith(f"-{ordinal}"))
    lab.change(
        template={field: template("web:2", updateStrategy=strategy)},
        updateStrategy={"type": "Manual", "manualUpdate": {"partitions": {"a": partition}}},
    )
    assert not lab.run().of(Delete)


def test_replicas_that_somebody_else_changed_are_put_back(settled):
    """U24."""
    lab = settled("a", "b", replicas=4)
    workload = lab.workloads()["a"]
    lab.amend(STATEFUL_SET, f"ns/{workload['metadata']['name']}", spec=workload["spec"] | {"replicas": 3})

    lab.run()

    assert lab.sizes() == {"a": 2, "b": 2}


def test_a_workload_that_somebody_deleted_comes_back(settled):
    """U25."""
    lab = settled("a", "b", replicas=4)
    del lab.objects[STATEFUL_SET][f"ns/{lab.workloads()['a']['metadata']['name']}"]

    ran = lab.run()

    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (StatefulSet)"]
    assert lab.sizes() == {"a": 2, "b": 2}


def test_a_workload_that_is_going_is_neither_updated_nor_made_again(settled, template):
    lab = settled("a", "b", replicas=4)
    meta = lab.workloads()["a"]["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}
    lab.amend(STATEFUL_SET, f"ns/{meta['name']}", metadata=meta)
    lab.change(template={"statefulSetTemplate": template("web:2")})

    ran = lab.run()

    assert ran.keys(Update, STATEFUL_SET) == [f"ns/{lab.workloads()['b']['metadata']['name']}"]
    assert not ran.of(Create, STATEFUL_SET)


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "going"])
def test_of_a_united_deployment_that_is_deleted_nothing_is_touched(settled, gone):
    """U26."""
    lab = settled("a", "b", replicas=4)
    meta = lab.united["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}
    if gone:
        del lab.objects[UNITED_DEPLOYMENT]["ns/web"]
    else:
        lab.amend(UNITED_DEPLOYMENT, "ns/web", metadata=meta, spec=lab.united["spec"] | {"replicas": 9})
    assert not lab.run().actions
