"""Workloads of OpenKruise in both versions, as its conversion webhook has them."""

import copy

import pytest

from apiserver.groups.kruise.conversion import conversion

GROUP = "apps.kruise.io"


def to_new(kind, obj):
    convert = conversion(GROUP, kind, source="v1alpha1", target="v1beta1")
    assert convert is not None
    return convert(obj)


def to_old(kind, obj):
    convert = conversion(GROUP, kind, source="v1beta1", target="v1alpha1")
    assert convert is not None
    return convert(obj)


def clone_set(strategy, scaling=None, **meta):
    spec = {"replicas": 2, "updateStrategy": strategy, "scaleStrategy": scaling or {}}
    return {"metadata": {"name": "web", **meta}, "spec": spec}


ROLLING = {
    "partition": "20%",
    "maxUnavailable": 1,
    "maxSurge": 0,
    "paused": True,
    "priorityStrategy": {"orderPriority": [{"orderedKey": "rank"}]},
    "scatterStrategy": [{"key": "a", "value": "b"}],
}
SCALING = {"podsToDelete": ["web-a"], "maxUnavailable": 1}


@pytest.mark.parametrize("policy", ["ReCreate", "InPlaceIfPossible", "InPlaceOnly"])
def test_the_type_of_an_old_clone_set_is_the_policy_of_a_new_one(policy):
    old = clone_set({"type": policy, **ROLLING}, SCALING | {"disablePVCReuse": True})
    rolling = {"podUpdatePolicy": policy, **ROLLING}
    new = clone_set({"type": "RollingUpdate", "rollingUpdate": rolling}, SCALING | {"enablePVCReuse": False})
    assert to_new("CloneSet", old) == new
    assert to_old("CloneSet", new) == old


def test_claims_are_taken_over_in_v1alpha1_unless_it_says_no():
    assert to_new("CloneSet", clone_set({}))["spec"]["scaleStrategy"] == {"enablePVCReuse": True}
    assert to_old("CloneSet", clone_set({}, {"enablePVCReuse": True}))["spec"]["scaleStrategy"] == {}


def test_a_clone_set_that_says_nothing_is_updated_by_other_pods():
    new = to_new("CloneSet", {"metadata": {"name": "web"}, "spec": {}})
    assert new["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "ReCreate"}}
    assert to_old("CloneSet", {"metadata": {"name": "web"}, "spec": {}})["spec"]["updateStrategy"] == {
        "type": "ReCreate"
    }


def test_on_delete_has_no_numbers_in_v1beta1():
    assert to_new("CloneSet", clone_set({"type": "OnDelete", "partition": 1}))["spec"]["updateStrategy"] == {
        "type": "OnDelete"
    }
    assert to_old("CloneSet", clone_set({"type": "OnDelete"}))["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_annotations_and_a_label_of_v1alpha1_are_fields_of_v1beta1():
    prefix = "apps.kruise.io/image-predownload"
    annotations = {
        f"{prefix}-parallelism": "4",
        f"{prefix}-timeout-seconds": "x",
        f"{prefix}-min-updated-ready-pods": "2",
    }
    labels = {"apps.kruise.io/cloneset-scaling-exclude-preparing-delete": "true"}
    in_place = {"gracePeriodSeconds": 3}
    old = clone_set({"inPlaceUpdateStrategy": in_place}, annotations=annotations, labels=labels)
    new = to_new("CloneSet", old)["spec"]
    strategy = in_place | {"imagePreDownloadParallelism": 4, "imagePreDownloadMinUpdatedReadyPods": 2}
    assert new["updateStrategy"]["rollingUpdate"]["inPlaceUpdateStrategy"] == strategy
    assert new["scaleStrategy"]["excludePreparingDelete"] is True
    rolling = {"rollingUpdate": {"inPlaceUpdateStrategy": strategy}}
    back = to_old("CloneSet", clone_set(rolling, annotations={"a": "b"}))
    assert back["spec"]["updateStrategy"]["inPlaceUpdateStrategy"] == in_place
    assert back["metadata"]["annotations"] == {
        "a": "b",
        f"{prefix}-parallelism": "4",
        f"{prefix}-min-updated-ready-pods": "2",
    }


def test_an_empty_strategy_for_updates_in_place_stays():
    """Upstream drops it on the way to v1alpha1, where the next write fills it in again: a change of the spec."""
    old = clone_set({"type": "InPlaceOnly", "inPlaceUpdateStrategy": {}})
    assert to_old("CloneSet", to_new("CloneSet", old))["spec"]["updateStrategy"] == old["spec"]["updateStrategy"]


def test_parallelism_that_is_no_number_is_kept_for_admission_to_judge():
    annotations = {"apps.kruise.io/image-predownload-parallelism": "50%"}
    rolling = to_new("CloneSet", clone_set({}, annotations=annotations))["spec"]["updateStrategy"]["rollingUpdate"]
    assert rolling["inPlaceUpdateStrategy"] == {"imagePreDownloadParallelism": "50%"}


STATUS = {"replicas": 3, "currentRevision": "web-1"}
ENTRIES = [{"name": "a", "replicas": 2, "partition": 1, "readyReplicas": 2}, {"name": "b"}]


def test_the_status_of_a_united_deployment_tells_sizes_and_partitions_of_subsets_by_name_in_v1alpha1():
    new = {"status": STATUS | {"updatedRevision": "web-2", "subsetStatuses": ENTRIES}}
    old = to_old("UnitedDeployment", new)
    assert old["status"] == STATUS | {
        "subsetStatuses": ENTRIES,
        "subsetReplicas": {"a": 2, "b": 0},
        "updateStatus": {"updatedRevision": "web-2", "currentPartitions": {"a": 1, "b": 0}},
    }
    back = to_new("UnitedDeployment", old)["status"]
    assert back["updatedRevision"] == "web-2"
    assert back["subsetStatuses"] == [ENTRIES[0], {"name": "b", "replicas": 0, "partition": 0}]
    assert to_new("UnitedDeployment", {"status": {"subsetReplicas": {"c": 4}}})["status"] == {
        "subsetStatuses": [{"name": "c", "replicas": 4}]
    }


@pytest.mark.parametrize("status", [{}, STATUS])
def test_a_united_deployment_that_tells_nothing_of_subsets_stays_as_it_is(status):
    obj = {"spec": {"replicas": 3}, "status": status}
    assert to_old("UnitedDeployment", obj) == obj
    assert to_new("UnitedDeployment", obj) == obj


@pytest.mark.parametrize("kind", ["CloneSet", "UnitedDeployment", "StatefulSet"])
@pytest.mark.parametrize("convert", [to_new, to_old])
def test_conversion_changes_nothing_that_it_is_given_and_survives_what_is_no_workload(kind, convert):
    for spec in ({"updateStrategy": [], "scaleStrategy": "x"}, {}, "x"):
        obj = {"metadata": {"name": "web", "annotations": {"a": "b"}}, "spec": spec, "status": {}}
        before = copy.deepcopy(obj)
        convert(kind, obj)
        assert obj == before


def test_other_kinds_are_not_converted():
    assert conversion("example.com", "CloneSet", source="v1alpha1", target="v1beta1") is None
    assert conversion(GROUP, "DaemonSet", source="v1alpha1", target="v1beta1") is None
