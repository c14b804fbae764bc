"""Rows of volumes, claims and what provides them."""

from apiserver.api.meta import Obj, metadata, name_of
from apiserver.api.storage_classes import CLASS_ANNOTATION, DEFAULT_MARKS
from apiserver.endpoints.tables.columns import AGE, CORE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import (
    NONE,
    UNSET,
    Cells,
    count,
    flag,
    is_deleted,
    mapping,
    mappings,
    quantity,
    text,
    texts,
)
from apiserver.endpoints.tables.format import age

_STORAGE = "io.k8s.api.storage.v1."

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access_modes(obj: Obj) -> str:
    modes = texts(obj, "accessModes")
    return ",".join([short for mode, short in _ACCESS_MODES.items() if mode in modes])


def _annotations(obj: Obj) -> Obj:
    return mapping(metadata(obj), "annotations")


def _storage_class_name(obj: Obj) -> str:
    by_spec = text(mapping(obj, "spec"), "storageClassName")
    return text(_annotations(obj), CLASS_ANNOTATION, by_spec)


def _phase(obj: Obj) -> str:
    return "Terminating" if is_deleted(obj) else text(mapping(obj, "status"), "phase")


def _persistent_volume(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        quantity(mapping(spec, "capacity"), "storage"),
        _access_modes(spec),
        text(spec, "persistentVolumeReclaimPolicy"),
        _phase(obj),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if isinstance(claim, dict) else "",
        _storage_class_name(obj),
        text(spec, "volumeAttributesClassName", UNSET),
        text(mapping(obj, "status"), "reason"),
        age(obj),
        text(spec, "volumeMode", UNSET),
    ]


def _persistent_volume_claim(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    volume = text(spec, "volumeName")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        quantity(mapping(status, "capacity"), "storage") if volume else "",
        _access_modes(status) if volume else "",
        _storage_class_name(obj),
        text(spec, "volumeAttributesClassName", UNSET),
        age(obj),
        text(spec, "volumeMode", UNSET),
    ]


def _storage_class(obj: Obj) -> Cells:
    annotations = _annotations(obj)
    is_default = any(annotations.get(key) == "true" for key in DEFAULT_MARKS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy", "Delete"),
        text(obj, "volumeBindingMode", "Immediate"),
        flag(obj, "allowVolumeExpansion"),
        age(obj),
    ]


def _volume_attributes_class(obj: Obj) -> Cells:
    return [name_of(obj), text(obj, "driverName"), age(obj)]


def _volume_attachment(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [
        name_of(obj),
        text(spec, "attacher"),
        text(mapping(spec, "source"), "persistentVolumeName"),
        text(spec, "nodeName"),
        flag(mapping(obj, "status"), "attached"),
        age(obj),
    ]


def _csi_node(obj: Obj) -> Cells:
    return [name_of(obj), count(mapping(obj, "spec"), "drivers"), age(obj)]


def _csi_driver(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    audiences = [text(request, "audience") for request in mappings(spec, "tokenRequests")]
    return [
        name_of(obj),
        flag(spec, "attachRequired", absent=True),
        flag(spec, "podInfoOnMount"),
        flag(spec, "storageCapacity"),
        UNSET if spec.get("tokenRequests") is None else ",".join(audiences),
        flag(spec, "requiresRepublish"),
        ",".join(texts(spec, "volumeLifecycleModes")) or NONE,
        age(obj),
    ]


def _csi_storage_capacity(obj: Obj) -> Cells:
    capacity = UNSET if obj.get("capacity") is None else quantity(obj, "capacity")
    return [name_of(obj), text(obj, "storageClassName"), capacity]


PRINTERS: Printers = {
    ("", "PersistentVolume"): Printer(
        columns=(
            NAME,
            Column("Capacity", f"{CORE}PersistentVolumeSpec#capacity"),
            Column("Access Modes", f"{CORE}PersistentVolumeSpec#accessModes"),
            Column("Reclaim Policy", f"{CORE}PersistentVolumeSpec#persistentVolumeReclaimPolicy"),
            Column("Status", f"{CORE}PersistentVolumeStatus#phase"),
            Column("Claim", f"{CORE}PersistentVolumeSpec#claimRef"),
            Column("StorageClass", f"{CORE}PersistentVolumeSpec#storageClassName"),
            Column("VolumeAttributesClass", f"{CORE}PersistentVolumeSpec#volumeAttributesClassName"),
            Column("Reason", f"{CORE}PersistentVolumeStatus#reason"),
            AGE,
            Column("VolumeMode", f"{CORE}PersistentVolumeSpec#volumeMode", priority=1),
        ),
        cells=_persistent_volume,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        columns=(
            NAME,
            Column("Status", f"{CORE}PersistentVolumeClaimStatus#phase"),
            Column("Volume", f"{CORE}PersistentVolumeClaimSpec#volumeName"),
            Column("Capacity", f"{CORE}PersistentVolumeClaimStatus#capacity"),
            Column("Access Modes", f"{CORE}PersistentVolumeClaimStatus#accessModes"),
            Column("StorageClass", f"{CORE}PersistentVolumeClaimSpec#storageClassName"),
            Column("VolumeAttributesClass", f"{CORE}PersistentVolumeClaimSpec#volumeAttributesClassName"),
            AGE,
            Column("VolumeMode", f"{CORE}PersistentVolumeClaimSpec#volumeMode", priority=1),
        ),
        cells=_persistent_volume_claim,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        columns=(
            NAME,
            Column("Provisioner", f"{_STORAGE}StorageClass#provisioner"),
            Column("ReclaimPolicy", f"{_STORAGE}StorageClass#reclaimPolicy"),
            Column("VolumeBindingMode", f"{_STORAGE}StorageClass#volumeBindingMode"),
            Column("AllowVolumeExpansion", f"{_STORAGE}StorageClass#allowVolumeExpansion"),
            AGE,
        ),
        cells=_storage_class,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Printer(
        columns=(NAME, Column("DriverName", f"{_STORAGE}VolumeAttributesClass#driverName"), AGE),
        cells=_volume_attributes_class,
    ),
    ("storage.k8s.io", "VolumeAttachment"): Printer(
        columns=(
            NAME,
            Column("Attacher", f"{_STORAGE}VolumeAttachmentSpec#attacher", format="name"),
            Column("PV", f"{_STORAGE}VolumeAttachmentSource#persistentVolumeName"),
            Column("Node", f"{_STORAGE}VolumeAttachmentSpec#nodeName"),
            Column("Attached", f"{_STORAGE}VolumeAttachmentStatus#attached", type="boolean"),
            AGE,
        ),
        cells=_volume_attachment,
    ),
    ("storage.k8s.io", "CSINode"): Printer(
        columns=(NAME, Column("Drivers", "How many CSI drivers the node has.", type="integer"), AGE),
        cells=_csi_node,
    ),
    ("storage.k8s.io", "CSIDriver"): Printer(
        columns=(
            NAME,
            Column("AttachRequired", f"{_STORAGE}CSIDriverSpec#attachRequired", type="boolean"),
            Column("PodInfoOnMount", f"{_STORAGE}CSIDriverSpec#podInfoOnMount", type="boolean"),
            Column("StorageCapacity", f"{_STORAGE}CSIDriverSpec#storageCapacity", type="boolean"),
            Column("TokenRequests", f"{_STORAGE}CSIDriverSpec#tokenRequests"),
            Column("RequiresRepublish", f"{_STORAGE}CSIDriverSpec#requiresRepublish", type="boolean"),
            Column("Modes", f"{_STORAGE}CSIDriverSpec#volumeLifecycleModes"),
            AGE,
        ),
        cells=_csi_driver,
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): Printer(
        columns=(
            NAME,
            Column("StorageClassName", f"{_STORAGE}CSIStorageCapacity#storageClassName"),
            Column("Capacity", f"{_STORAGE}CSIStorageCapacity#capacity"),
        ),
        cells=_csi_storage_capacity,
    ),
}
