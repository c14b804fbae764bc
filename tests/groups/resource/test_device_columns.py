from typing import Any

import pytest

COUNTED = {"type": "Complete", "status": "True", "lastTransitionTime": "2024-01-01T00:55:00Z"}
POOLS = [
    {"totalDevices": 5, "availableDevices": 3, "allocatedDevices": 1, "unavailableDevices": 1},
    {"totalDevices": 3, "allocatedDevices": 3, "validationError": "why"},
]
GONE = {"deletionTimestamp": "2024-01-01T00:59:00Z"}


@pytest.mark.parametrize(
    ("metadata", "status", "expected"),
    [
        ({}, {}, "pending"),
        ({}, {"allocation": {}}, "allocated"),
        ({}, {"allocation": {}, "reservedFor": [{}]}, "allocated,reserved"),
        (GONE, {}, "deleted"),
        (GONE, {"allocation": {}, "reservedFor": [{}]}, "deleted,allocated,reserved"),
    ],
)
def test_a_resource_claims_state(printed: Any, metadata: Any, status: Any, expected: str) -> None:
    assert printed("resource.k8s.io", "ResourceClaim", {"metadata": metadata, "status": status})["State"] == expected


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("DeviceClass", {}, ["x", "60m"]),
        ("ResourceClass", {"driverName": "d.example.com"}, ["x", "d.example.com", "60m"]),
        ("ResourceClassParameters", {}, ["x", "", "60m"]),
        (
            "ResourceClaimParameters",
            {"generatedFrom": {"apiGroup": "example.com", "kind": "GPU", "name": "big"}},
            ["x", "GPU.example.com big", "60m"],
        ),
        ("PodScheduling", {"spec": {"selectedNode": "n"}}, ["x", "n", "60m"]),
        ("PodSchedulingContext", {}, ["x", "", "60m"]),
        ("ResourceClaimTemplate", {}, ["x", "60m"]),
        (
            "ResourceSlice",
            {"spec": {"nodeName": "n", "driver": "d.example.com", "pool": {"name": "p"}}},
            ["x", "n", "d.example.com", "p", "60m"],
        ),
        (
            "DeviceTaintRule",
            {"spec": {"taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2024-01-01T00:59:00Z"}}},
            ["x", "k", "v", "NoExecute", "60s", "60m"],
        ),
        ("DeviceTaintRule", {}, ["x", "", "", "", "", "60m"]),
        (
            "ResourcePoolStatusRequest",
            {"spec": {"driver": "d"}},
            ["x", "d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"],
        ),
        (
            "ResourcePoolStatusRequest",
            {"status": {"poolCount": 2, "conditions": [{"type": "Failed", "status": "True"}]}},
            ["x", "", "-", "-", "-", "-", "-", 2, "Failed", "<none>"],
        ),
        (
            "ResourcePoolStatusRequest",
            {"status": {"poolCount": 3, "conditions": [COUNTED], "pools": POOLS}},
            ["x", "", "8", "3", "4", "1", "1", 3, "Complete (2/3 pools)", "5m"],
        ),
        (
            "ResourcePoolStatusRequest",
            {"status": {"poolCount": 0, "conditions": [COUNTED]}},
            ["x", "", "0", "0", "0", "0", "0", 0, "Complete", "5m"],
        ),
    ],
)
def test_a_row_of_devices(printed: Any, kind: str, body: Any, expected: list[Any]) -> None:
    assert list(printed("resource.k8s.io", kind, body).values()) == expected
