"""What the controller of UnitedDeployments makes, deletes and updates: rows U5, U13 to U16, U19 to U21, U24 to U26."""

import pytest

from apiserver.api.errors import ApiError, conflict, forbidden, not_found, timeout
from controller_manager.runtime.contract import Again, Create, Delete, Patch, Update
from controller_manager.runtime.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    CONTROLLER_REVISION,
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
    assert {found: obj["spec"]["replicas"] for found, obj in lab.workloads(kind).items()} == {"a": 3, "b": 3, "c": 4}
    assert [obj["metadata"]["generateName"] for obj in lab.workloads().values()] == ["web-a-", "web-b-", "web-c-"]
    (revision,) = lab.revisions()
    assert revision["revision"] == 1
    assert revision["metadata"]["labels"]["app"] == "web"
    found = lab.workloads()["a"]
    assert found["metadata"]["labels"] == {"app": "web", SUBSET: "a", REVISION: revision["metadata"]["name"]}
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps.kruise.io/v1beta1",
            "kind": "UnitedDeployment",
            "name": "web",
            "uid": lab.united["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert found["spec"]["selector"] == {"matchLabels": {"app": "web", SUBSET: "a"}}
    assert found["spec"]["template"]["metadata"]["labels"] == found["metadata"]["labels"]


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
    told = f"specified subsets' replica (10) is {how} than UnitedDeployment replica ({replicas})"
    assert ran.events == [f"Failed SpecifySubsetReplicas: Specified subset replicas is ineffective: {told}"]
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


def doubled(lab, **meta):
    """A second workload of subset a."""
    found = lab.workloads()["a"]
    kept = {name: found["metadata"][name] for name in ("labels", "ownerReferences")}
    return lab.store(STATEFUL_SET, found | {"metadata": kept | {"name": "other"} | meta})


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


def test_a_second_workload_that_cannot_be_deleted_is_told_of(settled):
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


def test_workloads_of_other_kinds_that_nobody_owns_are_not_touched(settled, template):
    lab = settled("a", "b", replicas=4, kind=STATEFUL_SET)
    lab.store(DEPLOYMENT, {"metadata": {"name": "theirs", "labels": {"app": "web", SUBSET: "a"}}, "spec": {}})
    assert lab.run().quiet


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


def test_a_subset_that_cannot_be_made_ends_its_round_and_the_status_says_so(lab, united):
    """U20."""
    united("a", "b", "c", "d", replicas=8)
    denied = forbidden("apps", "statefulsets", name="", why="exceeded quota")

    def refuse(request):
        wanted = isinstance(request, Create) and request.kind is STATEFUL_SET
        return denied if wanted and request.obj["metadata"]["generateName"] == "web-b-" else None

    lab.refuse = refuse

    ran = lab.run()

    told = f"fail to create Subset (StatefulSet) b: {denied.message}"
    assert sorted(lab.sizes()) == ["a", "c"]
    assert ran.events == [f"FailedUpdateSubset: fail to manage Subset provision: {told}"]
    assert ran.error.message == told
    assert lab.condition("SubsetProvisioned") == f"False/Error: {told}"
    assert lab.status["observedGeneration"] == 1

    lab.refuse = lambda _: None
    assert lab.run().events == ["SuccessfulUpdateSubset: Create 2 Subset (StatefulSet)"]
    assert lab.condition("SubsetProvisioned") == "True/: "
    assert lab.sizes() == {"a": 2, "b": 2, "c": 2, "d": 2}


def test_what_is_not_answered_in_time_is_no_failure(lab, united):
    united("a", "b", replicas=4)
    late = timeout("no answer")
    lab.refuse = lambda request: late if isinstance(request, Create) and request.kind is STATEFUL_SET else None

    ran = lab.run()

    assert ran.error is None
    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (StatefulSet)"]
    assert [action for action in ran.actions if isinstance(action, Again)]


def test_a_namespace_that_goes_makes_no_noise(lab, united):
    united("a", "b", replicas=4)
    cause = {"reason": "NamespaceTerminating", "message": "going", "field": "metadata.namespace"}
    going = forbidden("apps", "statefulsets", name="", why="terminating", causes=[cause])
    lab.refuse = lambda request: going if isinstance(request, Create) and request.kind is STATEFUL_SET else None

    ran = lab.run()

    assert not ran.events
    assert ran.error.details["causes"] == [cause]


def test_a_subset_that_cannot_be_deleted_is_told_of(settled, topology):
    lab = settled("a", "b", replicas=4)
    name = lab.workloads()["b"]["metadata"]["name"]
    denied = forbidden("apps", "statefulsets", name=name, why="no")
    lab.change(topology=topology("a"))
    lab.refuse = lambda request: denied if isinstance(request, Delete) else None

    ran = lab.run()

    told = f"fail to delete Subset (StatefulSet) ns/{name} for b: {denied.message}"
    assert ran.events == [f"FailedUpdateSubset: fail to manage Subset provision: {told}"]
    assert lab.condition("SubsetProvisioned") == f"False/Error: {told}"
    assert lab.sizes() == {"a": 2, "b": 2}, "nothing is updated before"


def test_a_workload_of_another_kind_that_cannot_be_deleted_is_told_of(settled, template):
    lab = settled("a", replicas=2)
    (name,) = (found["metadata"]["name"] for found in lab.workloads().values())
    denied = forbidden("apps", "statefulsets", name=name, why="no")
    lab.change(template={"cloneSetTemplate": template()})
    lab.refuse = lambda request: denied if isinstance(request, Delete) else None

    told = f"fail to delete Subset {name} of other type StatefulSet for UnitedDeployment ns/web: {denied.message}"
    assert lab.run().events[-1] == f"FailedUpdateSubset: fail to manage Subset provision: {told}"


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
    told = f"fail to get subSet name from label of subset ns/stray: {why}"
    assert ran.events == [f"FailedFindSubsets: {told}"]
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
    assert [found["kind"] for found in lab.workloads()["a"]["metadata"]["ownerReferences"]] == [
        "ConfigMap",
        "UnitedDeployment",
    ]
    guard = ran.of(Patch)[-1].body["metadata"]
    assert (guard["uid"], guard["resourceVersion"]) == (stray["metadata"]["uid"], stray["metadata"]["resourceVersion"])


def test_a_custom_workload_whose_labels_fit_no_more_is_let_go(settled):
    lab = settled("a", replicas=2, kind=CLONE_SET)
    found = lab.workloads()["a"]
    key = f"ns/{found['metadata']['name']}"
    lab.amend(CLONE_SET, key, metadata=found["metadata"] | {"labels": {SUBSET: "a"}})
    unknown = ApiError(415, "UnsupportedMediaType", "merge it otherwise")
    lab.refuse = lambda request: unknown if isinstance(request, Patch) and "strategic" in request.content_type else None

    ran = lab.run()

    assert "ownerReferences" not in lab.objects[CLONE_SET][key]["metadata"]
    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (CloneSet)"]


def test_replicas_that_somebody_else_changed_are_put_back(settled):
    """U24."""
    lab = settled("a", "b", replicas=4)
    found = lab.workloads()["a"]
    lab.amend(STATEFUL_SET, f"ns/{found['metadata']['name']}", spec=found["spec"] | {"replicas": 3})

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


def test_workloads_of_other_namespaces_are_none_of_its_own(settled):
    lab = settled("a", "b", replicas=4)
    found = lab.workloads()["a"]
    kept = {"labels": found["metadata"]["labels"], "name": "far", "namespace": "elsewhere"}
    lab.store(STATEFUL_SET, found | {"metadata": kept})
    assert lab.run().quiet


def test_a_workload_that_cannot_be_updated_is_told_of(settled):
    lab = settled("a", "b", "c", "d", replicas=8)
    names = {subset: found["metadata"]["name"] for subset, found in lab.workloads().items()}
    denied = forbidden("apps", "statefulsets", name=names["b"], why="no")

    def refuse(request):
        return denied if isinstance(request, Update) and request.obj["metadata"]["name"] == names["b"] else None

    lab.refuse = refuse
    lab.change(replicas=4)

    ran = lab.run()

    assert ran.events == [
        f"FailedUpdateSubset: Error updating PodSet (StatefulSet) {names['b']} when updating: {denied.message}"
    ]
    assert lab.sizes() == {"a": 1, "b": 2, "c": 1, "d": 2}, "its round ends, the next one does not begin"
    assert lab.condition("SubsetUpdated") == f"False/Error: {denied.message}"
    assert ran.error is denied

    lab.refuse = lambda _: None
    lab.run()
    assert lab.condition("SubsetUpdated") == "True/: "
    assert sum(lab.sizes().values()) == 4


@pytest.mark.parametrize("times", [1, 4])
def test_a_workload_that_somebody_else_writes_meanwhile_is_written_again(settled, times):
    lab = settled("a", replicas=4)
    name = lab.workloads()["a"]["metadata"]["name"]
    left = [conflict("apps", "statefulsets", name=name, why="stale")] * times
    lab.refuse = lambda request: (
        left.pop() if left and isinstance(request, Update) and request.kind is STATEFUL_SET else None
    )
    lab.change(replicas=3)

    ran = lab.run()

    assert (ran.error, lab.sizes()) == (None, {"a": 3})


def test_a_workload_that_is_another_by_now_is_not_written(settled):
    lab = settled("a", replicas=4)
    found = lab.workloads()["a"]
    stale = conflict("apps", "statefulsets", name="x", why="stale")

    def refuse(request):
        if isinstance(request, Update) and request.kind is STATEFUL_SET:
            lab.amend(STATEFUL_SET, f"ns/{found['metadata']['name']}", metadata=found["metadata"] | {"uid": "other"})
            return stale
        return None

    lab.refuse = refuse
    lab.change(replicas=3)

    ran = lab.run()

    assert ran.error.message == not_found("apps", "statefulsets", found["metadata"]["name"]).message


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, '"Like" is not a valid'),
        ({"template": {}}, "there is no template"),
        (
            {"selector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}},
            "`selector` does not match template",
        ),
    ],
)
def test_what_cannot_be_understood_is_told_and_nothing_is_done(lab, united, spec, told):
    united("a", **spec)

    ran = lab.run()

    assert len(ran.events) == 1
    assert ran.events[0].startswith("FailedRevisionProvision: ")
    assert told in ran.events[0]
    assert not ran.requests


def test_a_revision_that_cannot_be_made_is_told_of(lab, united):
    united("a")
    denied = forbidden("apps", "controllerrevisions", name="", why="no")
    lab.refuse = lambda request: denied if getattr(request, "kind", None) is CONTROLLER_REVISION else None

    ran = lab.run()

    assert ran.events == [f"FailedRevisionProvision: {denied.message}"]
    assert ran.error is denied
