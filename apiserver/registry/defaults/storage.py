"""Storage: volumes, claims, classes and drivers."""

from apiserver.api.meta import Obj
from apiserver.registry.defaults.quantities import round_up_to_milli
from apiserver.registry.defaults.volumes import default_claim_spec, default_source


def default_claim(claim: Obj) -> None:
    """Defaults a claim."""
    default_claim_spec(claim.setdefault("spec", {}))
    status = claim.setdefault("status", {})
    status.setdefault("phase", "Pending")
    round_up_to_milli(status.get("capacity"))
    round_up_to_milli(status.get("allocatedResources"))


_DEFAULTED_SOURCES = ("azureDisk", "hostPath", "iscsi", "rbd", "scaleIO")


def default_volume(volume: Obj) -> None:
    """Defaults a persistent volume: kept when released, and a file system."""
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up_to_milli(spec.get("capacity"))
    for kind in _DEFAULTED_SOURCES:
        if kind in spec:
            default_source(kind, spec[kind])
    volume.setdefault("status", {}).setdefault("phase", "Pending")


def default_storage_class(storage_class: Obj) -> None:
    """Defaults a storage class."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(driver: Obj) -> None:
    """Defaults a CSI driver."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
