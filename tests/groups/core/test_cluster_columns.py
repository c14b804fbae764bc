from typing import Any

import pytest

from apiserver.api.meta import name_of
from apiserver.endpoints.tables import printer_of


@pytest.mark.parametrize(
    ("spec", "conditions", "expected"),
    [
        ({}, [], "Unknown"),
        ({}, [("Ready", "True")], "Ready"),
        ({}, [("Ready", "False")], "NotReady"),
        ({}, [("Ready", "Unknown")], "NotReady"),
        ({"unschedulable": True}, [("MemoryPressure", "False"), ("Ready", "True")], "Ready,SchedulingDisabled"),
        ({"unschedulable": True}, [], "Unknown,SchedulingDisabled"),
    ],
)
def test_a_nodes_status(printed: Any, spec: Any, conditions: list[tuple[str, str]], expected: str) -> None:
    status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
    assert printed("", "Node", {"spec": spec, "status": status})["Status"] == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/": ""}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}, "control-plane,worker"),
        ({"kubernetes.io/role": "edge", "node-role.kubernetes.io/edge": ""}, "edge"),
    ],
)
def test_a_nodes_roles_come_from_its_labels(printed: Any, labels: Any, expected: str) -> None:
    assert printed("", "Node", {"metadata": {"labels": labels}})["Roles"] == expected


@pytest.mark.parametrize(
    ("group", "kind", "body", "expected"),
    [
        (
            "",
            "Node",
            {
                "status": {
                    "addresses": [
                        {"type": "Hostname", "address": "h"},
                        {"type": "InternalIP", "address": "10.0.0.1"},
                        {"type": "InternalIP", "address": "fd00::1"},
                    ],
                    "nodeInfo": {"kubeletVersion": "v1.34.0", "osImage": "Linux", "containerRuntimeVersion": "c://2"},
                }
            },
            ["x", "Unknown", "<none>", "60m", "v1.34.0", "10.0.0.1", "<none>", "Linux", "<unknown>", "c://2"],
        ),
        ("", "Namespace", {"status": {"phase": "Active"}}, ["x", "Active", "60m"]),
        ("", "ComponentStatus", {}, ["x", "Unknown", "", ""]),
        (
            "",
            "ComponentStatus",
            {"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]},
            ["x", "Healthy", "ok", ""],
        ),
        (
            "",
            "ComponentStatus",
            {"conditions": [{"type": "Healthy", "status": "False", "error": "gone"}]},
            ["x", "Unhealthy", "", "gone"],
        ),
        ("", "ConfigMap", {"data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}}, ["x", 3, "60m"]),
        ("", "Secret", {"type": "Opaque", "data": {"a": "MQ=="}}, ["x", "Opaque", 1, "60m"]),
        ("", "ServiceAccount", {"secrets": [{"name": "a"}]}, ["x", 1, "60m"]),
        (
            "",
            "ResourceQuota",
            {
                "status": {
                    "hard": {"pods": "3", "limits.cpu": "2", "cpu": "1", "limits": "9"},
                    "used": {"pods": "1", "limits.cpu": "500m"},
                }
            },
            ["x", "cpu: 0/1, limits: 0/9, pods: 1/3", "limits.cpu: 500m/2", "60m"],
        ),
        ("", "ResourceQuota", {}, ["x", "", "", "60m"]),
        ("", "LimitRange", {}, ["x", "2024-01-01T00:00:00Z"]),
        ("rbac.authorization.k8s.io", "ClusterRole", {}, ["x", "2024-01-01T00:00:00Z"]),
        ("", "Status", {"status": "Failure", "reason": "NotFound", "message": "m"}, ["Failure", "NotFound", "m"]),
        (
            "scheduling.k8s.io",
            "PriorityClass",
            {"value": 7, "preemptionPolicy": "Never"},
            ["x", 7, False, "60m", "Never"],
        ),
        ("scheduling.k8s.io", "PriorityClass", {"value": -7, "globalDefault": True}, ["x", -7, True, "60m", ""]),
        ("node.k8s.io", "RuntimeClass", {"handler": "runc"}, ["x", "runc", "60m"]),
        ("coordination.k8s.io", "Lease", {"spec": {"holderIdentity": "me"}}, ["x", "me", "60m"]),
        ("coordination.k8s.io", "Lease", {}, ["x", "", "60m"]),
        (
            "coordination.k8s.io",
            "LeaseCandidate",
            {"spec": {"leaseName": "l", "binaryVersion": "1.34.0", "emulationVersion": "1.33.0"}},
            ["x", "l", "1.34.0", "1.33.0", "60m"],
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "FlowSchema",
            {
                "spec": {
                    "priorityLevelConfiguration": {"name": "p"},
                    "matchingPrecedence": 900,
                    "distinguisherMethod": {"type": "ByUser"},
                },
                "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
            },
            ["x", "p", 900, "ByUser", "60m", "False"],
        ),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", {}, ["x", "", 0, "<none>", "60m", "?"]),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {"spec": {"type": "Exempt"}},
            ["x", "Exempt", "<none>", "<none>", "<none>", "<none>", "60m"],
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {
                "spec": {
                    "type": "Limited",
                    "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
                }
            },
            ["x", "Limited", 5, "<none>", "<none>", "<none>", "60m"],
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {
                "spec": {
                    "type": "Limited",
                    "limited": {
                        "nominalConcurrencyShares": 5,
                        "limitResponse": {"queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}},
                    },
                }
            },
            ["x", "Limited", 5, 64, 6, 50, "60m"],
        ),
        (
            "internal.apiserver.k8s.io",
            "StorageVersion",
            {
                "status": {
                    "commonEncodingVersion": "v1",
                    "storageVersions": [{"apiServerID": f"s{n}", "encodingVersion": "v1"} for n in range(4)],
                }
            },
            ["x", "v1", "s0=v1,s1=v1,s2=v1 + 1 more...", "60m"],
        ),
        ("internal.apiserver.k8s.io", "StorageVersion", {}, ["x", "<unset>", "<unset>", "60m"]),
        (
            "storagemigration.k8s.io",
            "StorageVersionMigration",
            {"spec": {"resource": {"group": "apps", "resource": "deployments"}}},
            ["x", "deployments.apps", "Unknown"],
        ),
        (
            "storagemigration.k8s.io",
            "StorageVersionMigration",
            {
                "spec": {"resource": {"group": "", "resource": "pods"}},
                "status": {
                    "conditions": [
                        {"type": "Succeeded", "status": "True"},
                        {"type": "Running", "status": "False"},
                        {"type": "Other", "status": "True"},
                    ]
                },
            },
            ["x", "pods", "Succeeded"],
        ),
        ("scheduling.k8s.io", "Workload", {}, ["x", "60m"]),
        ("scheduling.k8s.io", "PodGroup", {}, ["x", "Basic", "<none>", "Pending", "60m"]),
        (
            "scheduling.k8s.io",
            "PodGroup",
            {
                "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "workloadRef": {"workloadName": "w"}},
                "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
            },
            ["x", "Gang", "w", "Scheduled", "60m"],
        ),
        (
            "scheduling.k8s.io",
            "PodGroup",
            {"status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False"}]}},
            ["x", "Basic", "<none>", "Unschedulable", "60m"],
        ),
        (
            "scheduling.k8s.io",
            "PodGroup",
            {
                "status": {
                    "conditions": [
                        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
                        {"type": "PodGroupInitiallyScheduled", "status": "True"},
                    ]
                }
            },
            ["x", "Basic", "<none>", "PreemptionByScheduler", "60m"],
        ),
        ("scheduling.k8s.io", "CompositePodGroup", {}, ["x", "Basic", "<none>", "60m"]),
        ("lifecycle.k8s.io", "EvictionRequest", {}, ["x", "2024-01-01T00:00:00Z"]),
    ],
)
def test_a_row_of_the_clusters_own_kinds(
    printed: Any, group: str, kind: str, body: dict[str, Any], expected: list[Any]
) -> None:
    assert list(printed(group, kind, body).values()) == expected


@pytest.mark.parametrize(
    ("service", "condition", "expected"),
    [
        (None, None, ("Local", "Unknown")),
        (None, {"status": "True", "reason": "Local"}, ("Local", "True")),
        (
            {"namespace": "n", "name": "s"},
            {"status": "False", "reason": "MissingEndpoints"},
            ("n/s", "False (MissingEndpoints)"),
        ),
        ({"namespace": "n", "name": "s"}, {"status": "False"}, ("n/s", "False")),
    ],
)
def test_an_api_services_row(printed: Any, service: Any, condition: Any, expected: tuple[str, str]) -> None:
    conditions = [{"type": "Available", **condition}] if condition else []
    body = {"spec": {"service": service}, "status": {"conditions": conditions}}
    assert list(printed("apiregistration.k8s.io", "APIService", body).values()) == ["x", *expected, "60m"]


def test_flow_schemas_are_listed_by_precedence_and_name() -> None:
    schemas = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("b", 10), ("z", 1), ("a", 10))
    ]
    order = printer_of("flowcontrol.apiserver.k8s.io", "FlowSchema").order
    assert order is not None
    ordered = sorted(schemas, key=order)
    assert [name_of(schema) for schema in ordered] == ["z", "a", "b"]


def test_other_kinds_keep_the_order_of_their_list() -> None:
    assert printer_of("", "Pod").order is None
