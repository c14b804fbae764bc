"""The workload of a subset: names, labels, nodes, tolerations, patches and strategies: row U23 among others."""

import pytest

from apiserver.api.meta import Obj
from controller_manager.kruise.uniteddeployment.subset_objects import (
    SubsetTarget,
    contains,
    new_workload,
    targets_of,
    with_target,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
DISK = {"key": "disk", "operator": "Exists"}


@pytest.fixture
def united(template):
    """united(kind, subset, **of the workload's spec): a UnitedDeployment of one subset."""

    def make(field="statefulSetTemplate", subset=None, *, meta=None, selector=None, pods=None, name="web", **spec):
        made = template(**spec)
        made["metadata"] |= meta or {}
        made["spec"]["template"]["spec"] |= pods or {}
        return {
            "metadata": {"name": name, "namespace": "ns", "uid": "uid-web"},
            "spec": {
                "selector": selector or {"matchLabels": {"app": "web"}},
                "template": {field: made},
                "topology": {"subsets": [subset or {"name": "a"}]},
            },
        }

    return make


def made(parent, *, replicas=2, partition=0, unavailable=None):
    subset = parent["spec"]["topology"]["subsets"][0]
    target = SubsetTarget(subset, "web-1", replicas, partition, unavailable)
    return new_workload(parent, target, {"uid": "uid-web"})


def terms(workload):
    affinity = workload["spec"]["template"]["spec"]["affinity"]
    return affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


def test_a_term_without_others_is_the_only_one(united):
    affinity = made(united(subset={"name": "a", "nodeSelectorTerm": {"matchExpressions": [ZONE]}}))
    assert terms(affinity) == [{"matchExpressions": [ZONE]}]


def test_a_term_extends_each_term_of_the_template_since_one_of_these_suffices(united):
    """U23."""
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
    own: Obj = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [DISK]}, {"matchFields": fields}]}}
    }
    own["podAntiAffinity"] = {"preferred": []}
    subset = {"name": "a", "nodeSelectorTerm": {"matchExpressions": [ZONE], "matchFields": fields}}
    affinity = made(united(subset=subset, pods={"affinity": own}))
    assert terms(affinity) == [
        {"matchExpressions": [DISK, ZONE], "matchFields": fields},
        {"matchExpressions": [ZONE], "matchFields": [*fields, *fields]},
    ]
    assert affinity["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"] == {"preferred": []}


@pytest.mark.parametrize("term", [None, {}, {"matchExpressions": []}])
def test_without_a_term_nothing_is_bound(united, term):
    subset = {"name": "a"} | ({} if term is None else {"nodeSelectorTerm": term})
    assert "affinity" not in made(united(subset=subset))["spec"]["template"]["spec"]


def test_tolerations_come_after_those_of_the_template(united):
    one, other = {"key": "one", "operator": "Exists"}, {"key": "other", "operator": "Exists"}
    workload = made(united(subset={"name": "a", "tolerations": [other]}, pods={"tolerations": [one]}))
    assert workload["spec"]["template"]["spec"]["tolerations"] == [one, other]


def test_the_patch_has_the_last_word(united):
    patch = {
        "metadata": {"annotations": {"zone": "a"}},
        "spec": {"tolerations": [], "containers": [{"name": "web", "resources": {"limits": {"cpu": "1"}}}]},
    }
    workload = made(united(subset={"name": "a", "tolerations": [{"operator": "Exists"}], "patch": patch}))
    template = workload["spec"]["template"]
    assert template["metadata"]["annotations"] == {"zone": "a"}
    assert template["spec"]["tolerations"] == []
    assert template["spec"]["containers"] == [{"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1"}}}]


def test_labels_and_annotations_come_from_the_template_the_selector_and_the_subset(united):
    meta = {"labels": {"app": "other", "tier": "front"}, "annotations": {"note": "x"}}
    workload = made(united(meta=meta))
    assert workload["metadata"]["labels"] == {
        "app": "web",
        "tier": "front",
        "apps.kruise.io/subset-name": "a",
        "apps.kruise.io/controller-revision-hash": "web-1",
    }
    assert workload["metadata"]["annotations"] == {"note": "x", "apps.kruise.io/subset-patch": ""}


def test_expressions_of_the_selector_stay_beside_the_subset(united):
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    workload = made(united(selector=selector))
    assert workload["spec"]["selector"] == selector | {"matchLabels": {"apps.kruise.io/subset-name": "a"}}


@pytest.mark.parametrize(("name", "prefix"), [("web", "web-a-"), ("w" * 251, "w" * 251 + "-")])
def test_names_begin_with_the_united_deployment_and_the_subset_while_that_is_a_name(united, name, prefix):
    assert made(united(name=name))["metadata"]["generateName"] == prefix


def test_labels_and_annotations_of_others_stay_and_the_spec_is_rebuilt(united):
    parent = united()
    meta = {"name": "web-a-1", "labels": {"theirs": "x"}, "annotations": {"theirs": "y"}, "resourceVersion": "7"}
    old = {"metadata": meta, "spec": {"serviceName": "gone"}, "status": {"replicas": 1}}
    workload = with_target(parent, SubsetTarget({"name": "a"}, "web-2", 3), old)
    assert workload["metadata"]["labels"]["theirs"] == "x"
    assert workload["metadata"]["annotations"]["theirs"] == "y"
    assert workload["metadata"]["resourceVersion"] == "7"
    assert "serviceName" not in workload["spec"]
    assert workload["status"] == {"replicas": 1}


# -- how it is updated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        ("statefulSetTemplate", None, {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        (
            "advancedStatefulSetTemplate",
            {"rollingUpdate": {"paused": True}},
            {"type": "RollingUpdate", "rollingUpdate": {"paused": True, "partition": 1}},
        ),
        ("statefulSetTemplate", {"type": "OnDelete"}, {"type": "OnDelete"}),
        ("advancedStatefulSetTemplate", {"type": "OnDelete"}, {"type": "OnDelete"}),
        ("cloneSetTemplate", {"type": "OnDelete"}, {"type": "OnDelete"}),
        ("cloneSetTemplate", None, {"rollingUpdate": {"partition": 1}}),
        (
            "cloneSetTemplate",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "partition": 9}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "partition": 1}},
        ),
    ],
)
def test_a_partition_comes_to_where_the_kind_has_it(united, field, given, expected):
    parent = united(field, **({} if given is None else {"updateStrategy": given}))
    assert made(parent, partition=1)["spec"]["updateStrategy"] == expected


@pytest.mark.parametrize(
    ("field", "strategy", "given", "expected"),
    [
        ("deploymentTemplate", "strategy", None, {"rollingUpdate": {"maxUnavailable": 3}}),
        (
            "deploymentTemplate",
            "strategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 3}},
        ),
        ("deploymentTemplate", "strategy", {"type": "Recreate"}, {"type": "Recreate"}),
        (
            "cloneSetTemplate",
            "updateStrategy",
            {"rollingUpdate": {"maxUnavailable": "20%"}},
            {"rollingUpdate": {"maxUnavailable": 3, "partition": 0}},
        ),
    ],
)
def test_what_may_be_unavailable_can_be_overridden(united, field, strategy, given, expected):
    parent = united(field, **({} if given is None else {strategy: given}))
    assert made(parent, unavailable=3)["spec"][strategy] == expected


def test_a_deployment_is_given_no_strategy_that_nobody_asked_for(united):
    assert "strategy" not in made(united("deploymentTemplate"), partition=2)["spec"]


def test_partitions_of_other_update_types_are_not_heeded(united):
    parent = united()
    parent["spec"]["updateStrategy"] = {"type": "Other", "manualUpdate": {"partitions": {"a": 2}}}
    assert targets_of(parent, "web-1", {"a": 3})["a"].partition == 0
    parent["spec"]["updateStrategy"] = {"manualUpdate": {"partitions": {"a": 2}}}
    assert targets_of(parent, "web-1", {"a": 3})["a"].partition == 2


# -- whether it is so already ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "expected", "same"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({}, {"a": {}, "b": [], "c": None, "d": ""}, True),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 0}, {"a": 1}, False),
        ({}, {"a": 0}, False),
        ({"a": "x"}, {"a": {"b": 1}}, False),
        ({"a": {"b": 1}}, {"a": [1]}, False),
    ],
)
def test_what_a_server_has_added_is_not_missed(stored, expected, same):
    assert contains(stored, expected) is same
