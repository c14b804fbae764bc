from typing import Any

import pytest

GONE = {"deletionTimestamp": "2024-01-01T00:59:00Z"}
OLD_CLASS = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ([], ""),
        (["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"], "RWO,RWX"),
        (["ReadWriteOncePod", "ReadOnlyMany"], "ROX,RWOP"),
    ],
)
def test_access_modes_have_an_order_and_short_names(printed: Any, modes: list[str], expected: str) -> None:
    assert printed("", "PersistentVolume", {"spec": {"accessModes": modes}})["Access Modes"] == expected


@pytest.mark.parametrize(
    ("group", "kind", "body", "expected"),
    [
        ("", "PersistentVolume", {}, ["x", "0", "", "", "", "", "", "<unset>", "", "60m", "<unset>"]),
        (
            "",
            "PersistentVolume",
            {
                "spec": {
                    "capacity": {"storage": "10Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Delete",
                    "claimRef": {"namespace": "n", "name": "c"},
                    "storageClassName": "fast",
                    "volumeAttributesClassName": "gold",
                    "volumeMode": "Block",
                },
                "status": {"phase": "Bound", "reason": "why"},
            },
            ["x", "10Gi", "RWO", "Delete", "Bound", "n/c", "fast", "gold", "why", "60m", "Block"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            {
                "spec": {
                    "volumeName": "v",
                    "storageClassName": "fast",
                    "accessModes": ["ReadWriteMany"],
                    "volumeMode": "Filesystem",
                },
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            },
            ["x", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "60m", "Filesystem"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            {
                "spec": {"accessModes": ["ReadWriteOnce"]},
                "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}},
            },
            ["x", "Pending", "", "", "", "", "<unset>", "60m", "<unset>"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            {"metadata": GONE, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}},
            ["x", "Terminating", "v", "0", "", "", "<unset>", "60m", "<unset>"],
        ),
        ("storage.k8s.io", "StorageClass", {"provisioner": "p"}, ["x", "p", "Delete", "Immediate", False, "60m"]),
        (
            "storage.k8s.io",
            "StorageClass",
            {
                "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "p",
                "reclaimPolicy": "Retain",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
            },
            ["x (default)", "p", "Retain", "WaitForFirstConsumer", True, "60m"],
        ),
        ("storage.k8s.io", "VolumeAttributesClass", {"driverName": "d"}, ["x", "d", "60m"]),
        (
            "storage.k8s.io",
            "VolumeAttachment",
            {
                "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
                "status": {"attached": True},
            },
            ["x", "a", "v", "n", True, "60m"],
        ),
        ("storage.k8s.io", "VolumeAttachment", {}, ["x", "", "", "", False, "60m"]),
        ("storage.k8s.io", "CSINode", {"spec": {"drivers": [{}, {}]}}, ["x", 2, "60m"]),
        ("storage.k8s.io", "CSIDriver", {}, ["x", True, False, False, "<unset>", False, "<none>", "60m"]),
        (
            "storage.k8s.io",
            "CSIDriver",
            {
                "spec": {
                    "attachRequired": False,
                    "podInfoOnMount": True,
                    "storageCapacity": True,
                    "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                    "requiresRepublish": True,
                    "volumeLifecycleModes": ["Persistent", "Ephemeral"],
                }
            },
            ["x", False, True, True, "a,b", True, "Persistent,Ephemeral", "60m"],
        ),
        ("storage.k8s.io", "CSIStorageCapacity", {"storageClassName": "s", "capacity": "1Gi"}, ["x", "s", "1Gi"]),
        ("storage.k8s.io", "CSIStorageCapacity", {"storageClassName": "s"}, ["x", "s", "<unset>"]),
    ],
)
def test_a_row_of_storage(printed: Any, group: str, kind: str, body: dict[str, Any], expected: list[Any]) -> None:
    assert list(printed(group, kind, body).values()) == expected


@pytest.mark.parametrize("kind", ["PersistentVolume", "PersistentVolumeClaim"])
def test_the_old_annotation_outweighs_the_storage_class_of_the_spec(printed: Any, kind: str) -> None:
    assert printed("", kind, {"metadata": OLD_CLASS, "spec": {"storageClassName": "new"}})["StorageClass"] == "old"
