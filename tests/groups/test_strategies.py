"""Strategies: what creation and updates change in an object before it is validated."""

import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, Subresource
from apiserver.api.schema import available_versions, load_definitions
from apiserver.groups.rows import builtin_rows
from apiserver.registry.strategy import CUSTOM, CUSTOM_WITH_STATUS, STRATEGIES, strategy_of

STATUS_OF_ITS_OWN = {("", "Node"), ("networking.k8s.io", "ServiceCIDR")}
"""Kinds whose status a creation may set."""

TIME = "2026-01-01T00:00:00Z"
NODE_STATUS = {"capacity": {"cpu": "1"}}

ROWS = builtin_rows(load_definitions(available_versions()[-1]))
WRITTEN = [row for row in ROWS if "update" in row.verbs]


def named(row: Resource) -> str:
    return f"{row.group}/{row.kind}"


@pytest.mark.parametrize("row", WRITTEN, ids=named)
def test_every_kind_that_is_written_has_a_strategy(row: Resource):
    assert (row.group, row.kind) in STRATEGIES


@pytest.mark.parametrize("row", WRITTEN, ids=named)
def test_creation_discards_the_status_of_every_kind_that_serves_it_apart(strategy, row: Resource):
    guarded = "status" in row.subresources and (row.group, row.kind) not in STATUS_OF_ITS_OWN
    assert strategy(row.group, row.kind).has_status == guarded


def test_the_kinds_that_a_put_creates():
    assert {row.kind for row in ROWS if row.create_on_update} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "Endpoints",
        "Event",
        "Lease",
        "LeaseCandidate",
        "LimitRange",
        "Role",
        "RoleBinding",
        "RuntimeClass",
        "Service",
    }


def test_the_kinds_whose_updates_name_the_version():
    assert {kind for (_, kind), strategy in STRATEGIES.items() if not strategy.allow_unconditional_update} == {
        "APIService",
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "ClusterTrustBundle",
        "CustomResourceDefinition",
        "Lease",
        "LeaseCandidate",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "PodCertificateRequest",
        "PodDisruptionBudget",
        "RuntimeClass",
        "ServiceAccount",
        "StorageVersion",
        "StorageVersionMigration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
    }


@pytest.mark.parametrize(
    ("group", "kind", "obj", "status"),
    [
        ("", "Namespace", {}, {"phase": "Active"}),
        ("", "Node", {"status": NODE_STATUS}, NODE_STATUS),
        ("", "PersistentVolumeClaim", {"spec": {}, "status": {"phase": "Bound"}}, {"phase": "Pending"}),
        (
            "",
            "PersistentVolume",
            {"metadata": {"creationTimestamp": TIME}},
            {"phase": "Pending", "lastPhaseTransitionTime": TIME},
        ),
        ("", "ReplicationController", {"spec": {}, "status": {"replicas": 5}}, {"replicas": 0}),
        ("", "Service", {"spec": {}, "status": {"loadBalancer": {"ingress": [{"ip": "x"}]}}}, {"loadBalancer": {}}),
        ("apps", "Deployment", {"spec": {}, "status": {"replicas": 5}}, {}),
        ("apps", "ReplicaSet", {"spec": {}}, {"replicas": 0}),
        ("apps", "StatefulSet", {"spec": {}}, {"replicas": 0, "availableReplicas": 0}),
        (
            "apps",
            "DaemonSet",
            {"spec": {}},
            {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            {"apiVersion": "autoscaling/v1"},
            {"currentReplicas": 0, "desiredReplicas": 0},
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            {"apiVersion": "autoscaling/v2"},
            {"currentMetrics": None, "desiredReplicas": 0},
        ),
        ("batch", "CronJob", {"status": {"active": [{}]}}, {}),
        ("batch", "Job", {"spec": {"manualSelector": True}, "status": {"active": 1}}, {}),
        ("networking.k8s.io", "Ingress", {}, {"loadBalancer": {}}),
        (
            "policy",
            "PodDisruptionBudget",
            {},
            dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0),
        ),
        ("storage.k8s.io", "VolumeAttachment", {"status": {"attached": True}}, {"attached": False}),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            {
                "spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": True}]},
                "status": {"storedVersions": ["v0"]},
            },
            {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": ["v2"]},
        ),
        ("apiregistration.k8s.io", "APIService", {"spec": {"service": {}}, "status": {"conditions": [{}]}}, {}),
        (
            "apiregistration.k8s.io",
            "APIService",
            {"metadata": {"creationTimestamp": TIME}, "spec": {}},
            {
                "conditions": [
                    {
                        "type": "Available",
                        "status": "True",
                        "reason": "Local",
                        "message": "Local APIServices are always available",
                        "lastTransitionTime": TIME,
                    }
                ]
            },
        ),
        ("certificates.k8s.io", "CertificateSigningRequest", {"status": {"certificate": "x"}}, {}),
        ("example.com", "Custom", {"status": {"a": 1}}, None),
    ],
)
def test_creation_sets_the_status(created, group: str, kind: str, obj: Obj, status: Obj | None):
    assert created(group, kind, obj).get("status") == status


@pytest.mark.parametrize(
    ("group", "kind", "generation"),
    [
        ("", "ConfigMap", 9),
        ("", "Service", 9),
        ("", "Node", 9),
        ("", "PodTemplate", 1),
        ("apps", "Deployment", 1),
        ("apps", "ControllerRevision", 9),
        ("batch", "CronJob", 1),
        ("discovery.k8s.io", "EndpointSlice", 1),
        ("networking.k8s.io", "Ingress", 1),
        ("networking.k8s.io", "IngressClass", 1),
        ("networking.k8s.io", "NetworkPolicy", 1),
        ("scheduling.k8s.io", "PriorityClass", 1),
        ("storage.k8s.io", "StorageClass", 9),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", 1),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", 1),
        ("example.com", "Custom", 1),
    ],
)
def test_the_generation_starts_at_1_where_the_kind_has_one(created, group: str, kind: str, generation: int):
    assert created(group, kind, {"metadata": {"generation": 9}, "spec": {}})["metadata"]["generation"] == generation


@pytest.mark.parametrize(
    ("group", "kind", "new", "old", "moves"),
    [
        ("apps", "Deployment", {"spec": {"a": 1}}, {"spec": {"a": 2}}, 1),
        ("apps", "Deployment", {"spec": {}}, {"spec": {}}, 0),
        ("apps", "Deployment", {"spec": {}, "metadata": {"labels": {"a": "b"}}}, {"spec": {}}, 0),
        ("apps", "Deployment", {"spec": {}, "metadata": {"annotations": {"a": "b"}}}, {"spec": {}}, 1),
        ("apps", "ReplicaSet", {"spec": {}, "metadata": {"annotations": {"a": "b"}}}, {"spec": {}}, 0),
        ("apps", "ReplicaSet", {"spec": {"a": 1}}, {"spec": {}}, 1),
        ("apps", "DaemonSet", {"spec": {"a": 1}}, {"spec": {}}, 1),
        ("apps", "ReplicaSet", {"spec": {}, "status": {"replicas": 1}}, {"spec": {}}, 0),
        ("", "ConfigMap", {"data": {"a": "b"}}, {}, 0),
        ("", "Pod", {"spec": {"a": 1}}, {"spec": {}}, 1),
        ("", "Pod", {"spec": {}, "metadata": {"labels": {"a": "b"}}}, {"spec": {}}, 0),
        ("", "PodTemplate", {"template": {"a": 1}}, {"template": {}}, 1),
        ("", "Service", {"spec": {"a": 1}}, {"spec": {}}, 0),
        ("scheduling.k8s.io", "PriorityClass", {"description": "x"}, {}, 0),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", {"webhooks": [{}]}, {}, 1),
        ("discovery.k8s.io", "EndpointSlice", {"endpoints": [{}]}, {}, 1),
        ("discovery.k8s.io", "EndpointSlice", {"metadata": {"labels": {"a": "b"}}}, {}, 1),
        ("discovery.k8s.io", "EndpointSlice", {"metadata": {"annotations": {"a": "b"}}}, {}, 0),
        ("example.com", "Custom", {"anything": 1}, {}, 1),
        ("example.com", "Custom", {"status": 1}, {}, 0),
    ],
)
def test_the_generation_moves_with_the_desired_state(updated, group: str, kind: str, new: Obj, old: Obj, moves: int):
    assert updated(group, kind, new, old)["metadata"]["generation"] == 4 + moves


def test_a_status_that_no_subresource_guards_is_desired_state_of_a_custom_object():
    new: Obj = {"metadata": {}, "status": 1}
    CUSTOM.prepare_update(new, {"metadata": {}})
    assert new == {"metadata": {"generation": 1}, "status": 1}


@pytest.mark.parametrize(("subresources", "strategy"), [((), CUSTOM), (("status",), CUSTOM_WITH_STATUS)])
def test_a_custom_kind_guards_its_status_where_it_serves_it(subresources: tuple[str, ...], strategy: Any):
    parts = {name: Subresource(name=name, verbs=(), kind="T", group="g", version="v1") for name in subresources}
    row = Resource(
        group="g",
        version="v1",
        kind="T",
        plural="ts",
        singular="t",
        namespaced=True,
        definition="g.T",
        storage_group="g",
        storage_version="v1",
        storage_prefix="ts",
        subresources=parts,
    )
    assert strategy_of(row) is strategy


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("", "Node"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        ("apps", "Deployment"),
        ("batch", "Job"),
        ("example.com", "Custom"),
    ],
)
def test_an_update_leaves_the_status(updated, group: str, kind: str):
    assert updated(group, kind, {"spec": {}, "status": {"a": 2}}, {"spec": {}, "status": {"a": 1}})["status"] == {
        "a": 1
    }
    assert "status" not in updated(group, kind, {"spec": {}, "status": {"a": 2}}, {"spec": {}})


META = {
    "name": "n",
    "labels": {"a": "1"},
    "annotations": {"b": "1"},
    "finalizers": ["f"],
    "ownerReferences": [{"uid": "1"}],
}
NEW_META = {
    "name": "n",
    "labels": {"a": "2"},
    "annotations": {"b": "2"},
    "finalizers": ["g"],
    "ownerReferences": [{"uid": "2"}],
    "managedFields": [{"manager": "m"}],
}


@pytest.mark.parametrize(
    ("group", "kind", "kept"),
    [
        ("", "Pod", {"ownerReferences"}),
        ("", "Node", set()),
        ("apps", "Deployment", {"labels"}),
        ("apps", "ReplicaSet", set()),
        ("apiextensions.k8s.io", "CustomResourceDefinition", set()),
        ("apiregistration.k8s.io", "APIService", {"labels", "annotations", "finalizers", "ownerReferences"}),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", {"labels", "annotations", "finalizers", "ownerReferences"}),
        ("networking.k8s.io", "ServiceCIDR", {"labels", "annotations", "finalizers", "ownerReferences"}),
        ("example.com", "Custom", {"labels", "annotations", "finalizers", "ownerReferences"}),
    ],
)
def test_a_status_update_changes_the_status_and_some_metadata(strategy, group: str, kind: str, kept: set[str]):
    old: Obj = {"kind": kind, "spec": {"a": 1}, "status": {"x": 1}, "metadata": copy.deepcopy(META)}
    new: Obj = {"kind": kind, "spec": {"a": 2}, "status": {"x": 2}, "metadata": copy.deepcopy(NEW_META)}
    strategy(group, kind).prepare_status_update(new, old)
    assert (new["spec"], new["status"]) == ({"a": 1}, {"x": 2})
    assert new["metadata"] == NEW_META | {field: META[field] for field in kept}
    assert old == {"kind": kind, "spec": {"a": 1}, "status": {"x": 1}, "metadata": META}


@pytest.mark.parametrize(
    ("group", "kind", "policy"),
    [
        ("", "Pod", "Background"),
        ("", "ReplicationController", "Orphan"),
        ("apps", "Deployment", "Background"),
        ("batch", "Job", "Orphan"),
        ("batch", "CronJob", "Background"),
    ],
)
def test_dependents_go_too_unless_they_always_stayed(strategy, group: str, kind: str, policy: str):
    assert strategy(group, kind).default_propagation == policy


def test_only_pods_are_given_time_to_end():
    assert [key for key, strategy in STRATEGIES.items() if strategy.graceful] == [("", "Pod")]
