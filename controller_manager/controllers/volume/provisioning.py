"""Provisioning of volumes: the storage classes of a new cluster, the volumes of a class, and which may be deleted."""

import re
from collections.abc import Mapping, Sequence

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of
from apiserver.api.nodes import HOSTNAME
from apiserver.api.storage_classes import DEFAULT_MARKS
from controller_manager.reconcile.volumes import (
    PROVISIONED_BY,
    WAIT_FOR_FIRST_CONSUMER,
    class_of,
    modes_of,
    reference_to,
)

PROVISIONER = "mockube.io/simulated"
"""The provisioner of the classes whose volumes the controller manager creates itself."""
STORAGE_PROVISIONERS = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
"""The annotations of a claim that name the provisioner of its volume."""
STANDARD_CLASS, STANDARD_WAIT_CLASS = "standard", "standard-wait"
"""The classes of a new cluster: claims of the first, the default, are bound at once, of the second when a pod uses
them.
"""

_IN_TREE_PREFIX = "kubernetes.io/"
_HOST_PATH = "/var/lib/mockube/volumes"
_DELETABLE_PATH = re.compile("/tmp/.+")  # noqa: S108 - the words of upstream's deleter, which deletes nothing here


def default_classes() -> Sequence[Obj]:
    """Return the storage classes to create in a cluster that has none."""
    default = {"annotations": {DEFAULT_MARKS[0]: "true"}}
    return (
        _class(STANDARD_CLASS, "Immediate") | {"metadata": {"name": STANDARD_CLASS} | default},
        _class(STANDARD_WAIT_CLASS, WAIT_FOR_FIRST_CONSUMER),
    )


def _class(name: str, mode: str) -> Obj:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": mode,
    }


def unprovisionable_reason(provisioner: str) -> str:
    """Return why a provisioner cannot create volumes, or "" if it may (findProvisionablePlugin).

    The volume plugins inside Kubernetes are gone; those of clouds have been replaced by CSI drivers.
    """
    if not provisioner.startswith(_IN_TREE_PREFIX) or provisioner in _CSI_DRIVERS:
        return ""
    return f"no volume plugin matched name: {provisioner}"


_CSI_DRIVERS: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}


def provisioner_of(storage_class: Obj) -> str:
    """Return a class's provisioner, translated to the CSI driver if the plugin has moved (csi-translation-lib)."""
    name = str(storage_class.get("provisioner") or "")
    return _CSI_DRIVERS.get(name, name)


def claim_with_provisioner(claim: Obj, provisioner: str) -> Obj:
    """Return the claim annotated with its provisioner, unchanged if it is already (setClaimProvisioner)."""
    annotations = annotations_of(claim)
    if all(annotations.get(name) == provisioner for name in STORAGE_PROVISIONERS):
        return claim
    updated = {**annotations, **dict.fromkeys(STORAGE_PROVISIONERS, provisioner)}
    return claim | {"metadata": claim["metadata"] | {"annotations": updated}}


def volume_name(claim: Obj) -> str:
    """Return the name of the volume that is created for a claim (getProvisionedVolumeNameForClaim)."""
    return f"pvc-{claim['metadata']['uid']}"


def new_volume(claim: Obj, storage_class: Obj, node: Obj | None) -> Obj:
    """Return the volume to create for a claim, already bound to it by its claimRef.

    Args:
        claim: the claim.
        storage_class: its class.
        node: the node to which it is restricted, or None for any node.
    """
    name = volume_name(claim)
    spec: Obj = {
        "accessModes": list(modes_of(claim)),
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "claimRef": reference_to(claim),
        "hostPath": {"path": f"{_HOST_PATH}/{name}", "type": "DirectoryOrCreate"},
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": class_of(claim),
        "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
    }
    if options := storage_class.get("mountOptions"):
        spec["mountOptions"] = options
    if node is not None:
        spec["nodeAffinity"] = _affinity_to(node)
    meta = {"name": name, "annotations": {PROVISIONED_BY: str(storage_class["provisioner"])}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}


def _affinity_to(node: Obj) -> Obj:
    hostname = labels_of(node).get(HOSTNAME) or name_of(node)
    requirement = {"key": HOSTNAME, "operator": "In", "values": [hostname]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def is_deletable(volume: Obj) -> bool:
    """Return whether this controller deletes the volume when it is released (findDeletablePlugin)."""
    provisioner = annotations_of(volume).get(PROVISIONED_BY)
    return provisioner == PROVISIONER if provisioner else volume["spec"].get("csi") is None


def undeletable_reason(volume: Obj) -> str:
    """Return why this controller cannot delete a volume that is left to it, or "" if it can.

    Of volumes created by hand, only folders below /tmp can be deleted: the message is upstream's.
    """
    if annotations_of(volume).get(PROVISIONED_BY) == PROVISIONER:
        return ""
    path = (volume["spec"].get("hostPath") or {}).get("path")
    if path is None:
        plugin = "no deletable volume plugin matched"
        return f'error getting deleter volume plugin for volume "{name_of(volume)}": {plugin}'
    return (
        "" if _DELETABLE_PATH.search(path) else f"host_path deleter only supports /tmp/.+ but received provided {path}"
    )
