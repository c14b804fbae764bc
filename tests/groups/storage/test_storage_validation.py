"""Validation of claims, volumes, storage classes and the objects of CSI."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', "
    r"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
CAPACITY = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
VOLUME = CAPACITY | {"hostPath": {"path": "/x"}}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def created(group: str, kind: str, **parts: Any) -> list[str]:
    return messages(VALIDATORS[group, kind].create({"metadata": {"name": "a"}} | parts))


def updated(group: str, kind: str, new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return messages(
        VALIDATORS[group, kind].update({"metadata": {"name": "a"}} | new, {"metadata": {"name": "a"}} | old)
    )


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (CLAIM, []),
        (
            {},
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (
            CLAIM | {"accessModes": ["ReadOften"]},
            [
                (
                    'spec.accessModes: Unsupported value: "ReadOften": supported values: '
                    '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
                )
            ],
        ),
        (
            CLAIM | {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        (
            CLAIM | {"resources": {"requests": {"storage": "-1Gi"}}},
            ['spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero'],
        ),
        (CLAIM | {"storageClassName": "A_"}, [f'spec.storageClassName: Invalid value: "A_": {SUBDOMAIN}']),
        (
            CLAIM | {"volumeMode": "Tape"},
            ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
        ),
        (
            CLAIM | {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}},
            [
                (
                    'spec.dataSource: Invalid value: "VolumeSnapshot": '
                    "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
                )
            ],
        ),
    ],
)
def test_a_claim_asks_for_a_size_and_a_mode(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("", "PersistentVolumeClaim", spec=spec) == errors


@pytest.mark.parametrize(
    ("spec", "phase", "paths"),
    [
        (CLAIM, "Pending", []),
        (CLAIM | {"resources": {"requests": {"storage": "1073741824"}}}, "Pending", []),
        (CLAIM | {"volumeName": "v"}, "Pending", []),
        (CLAIM | {"resources": {"requests": {"storage": "2Gi"}}}, "Pending", ["spec"]),
        (CLAIM | {"resources": {"requests": {"storage": "2Gi"}}}, "Bound", []),
        (CLAIM | {"storageClassName": "other"}, "Bound", ["spec"]),
        (CLAIM | {"accessModes": ["ReadOnlyMany"]}, "Bound", ["spec"]),
        (
            CLAIM | {"resources": {"requests": {"storage": "1Mi"}}},
            "Bound",
            ["spec.resources.requests.storage"],
        ),
    ],
)
def test_a_claim_stays_but_for_its_size_once_bound(spec: dict[str, Any], phase: str, paths: list[str]) -> None:
    status = {"phase": phase, "capacity": {"storage": "1Gi"}}
    new, old = ({"metadata": {}, "spec": s, "status": status} for s in (spec, CLAIM))
    assert [error.path for error in VALIDATORS["", "PersistentVolumeClaim"].update(new, old)] == paths


def test_a_change_of_a_claim_is_told_with_the_difference() -> None:
    new, old = ({"spec": CLAIM | {"storageClassName": name}} for name in ("other", "none"))
    assert updated("", "PersistentVolumeClaim", new, old) == [
        (
            "spec: Forbidden: spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims\n"
            '  core.PersistentVolumeClaimSpec{\n- \tStorageClassName: "none",\n+ \tStorageClassName: "other",\n  }\n'
        )
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (VOLUME, []),
        (
            {"hostPath": {"path": "/x"}},
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: null: supported values: "storage"',
            ],
        ),
        (CAPACITY, ["spec: Required value: must specify a volume type"]),
        (
            VOLUME | {"nfs": {"server": "s", "path": "/"}},
            ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            CAPACITY | {"nfs": {"server": "s", "path": "x"}},
            ['spec.nfs.path: Invalid value: "x": must be an absolute path'],
        ),
        (
            CAPACITY | {"local": {"path": "/x"}},
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (CAPACITY | {"csi": {"driver": "d"}}, ["spec.csi.volumeHandle: Required value"]),
        (
            VOLUME | {"persistentVolumeReclaimPolicy": "Keep"},
            [
                (
                    'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": '
                    'supported values: "Delete", "Recycle", "Retain"'
                )
            ],
        ),
    ],
)
def test_a_volume_has_one_source_and_a_capacity(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("", "PersistentVolume", spec=spec) == errors


def test_the_source_of_a_volume_stays() -> None:
    new = {"spec": CAPACITY | {"hostPath": {"path": "/y"}}}
    assert updated("", "PersistentVolume", new, {"spec": VOLUME}) == [
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
    ]
    assert updated("", "PersistentVolume", {"spec": VOLUME | {"claimRef": {"name": "c"}}}, {"spec": VOLUME}) == []


def affinity(key: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": ["z"]}]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def test_the_nodes_of_a_volume_stay_but_for_better_names_of_labels() -> None:
    old = {"spec": VOLUME | affinity("failure-domain.beta.kubernetes.io/zone")}
    better, other = ({"spec": VOLUME | affinity(key)} for key in ("topology.kubernetes.io/zone", "x"))
    assert updated("", "PersistentVolume", better, old) == []
    assert len(updated("", "PersistentVolume", other, old)) == 1


GROUP = "storage.k8s.io"
CLASS = {"provisioner": "example.com/p", "volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"}


@pytest.mark.parametrize(
    ("parts", "errors"),
    [
        (CLASS, []),
        (CLASS | {"provisioner": ""}, ["provisioner: Required value"]),
        (
            CLASS | {"reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            CLASS | {"volumeBindingMode": "Late"},
            [('volumeBindingMode: Unsupported value: "Late": supported values: "Immediate", "WaitForFirstConsumer"')],
        ),
    ],
)
def test_a_storage_class_names_a_provisioner(parts: dict[str, Any], errors: list[str]) -> None:
    assert created(GROUP, "StorageClass", **parts) == errors


def test_a_storage_class_stays() -> None:
    new = CLASS | {"parameters": {"a": "b"}, "provisioner": "example.com/q", "reclaimPolicy": "Retain"}
    assert updated(GROUP, "StorageClass", new, CLASS) == [
        "parameters: Forbidden: updates to parameters are forbidden.",
        "provisioner: Forbidden: updates to provisioner are forbidden.",
        'reclaimPolicy: Invalid value: "Retain": field is immutable',
    ]


def test_an_attributes_class_has_parameters() -> None:
    assert created(GROUP, "VolumeAttributesClass", driverName="d") == [
        "parameters: Required value: must contain at least one key/value pair"
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "errors"),
    [
        ("CSIDriver", {"attachRequired": True, "podInfoOnMount": False}, []),
        (
            "CSIDriver",
            {"attachRequired": True, "podInfoOnMount": False, "fsGroupPolicy": "X"},
            [
                (
                    'spec.fsGroupPolicy: Unsupported value: "X": '
                    'supported values: "File", "None", "ReadWriteOnceWithFSType"'
                )
            ],
        ),
        ("CSINode", {"drivers": [{"name": "d", "nodeID": "n"}]}, []),
        (
            "CSINode",
            {"drivers": [{"name": "d", "nodeID": "n"}, {"name": "d"}]},
            ["spec.drivers[1].nodeID: Required value", 'spec.drivers[1].name: Duplicate value: "d"'],
        ),
        ("VolumeAttachment", {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}, []),
        (
            "VolumeAttachment",
            {"attacher": "a", "nodeName": "n"},
            [("spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName")],
        ),
    ],
)
def test_the_objects_of_csi_name_their_driver(kind: str, spec: dict[str, Any], errors: list[str]) -> None:
    assert created(GROUP, kind, spec=spec) == errors


def test_the_class_of_a_storage_capacity_stays() -> None:
    assert created(GROUP, "CSIStorageCapacity", storageClassName="c", capacity="-1") == [
        'capacity: Invalid value: "-1": must be greater than or equal to 0'
    ]
    assert updated(GROUP, "CSIStorageCapacity", {"storageClassName": "d"}, {"storageClassName": "c"}) == [
        'storageClassName: Invalid value: "d": field is immutable'
    ]
