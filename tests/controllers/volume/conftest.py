"""Claims, volumes and classes for the controllers of storage."""

from types import SimpleNamespace

import pytest

TIME = "2027-01-15T07:00:00Z"


def meta_of(name, *, namespace="", labels=None, annotations=None, deleting=False, finalizers=None, created=TIME):
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": created}
    meta |= {"namespace": namespace} if namespace else {}
    given = {"labels": labels, "annotations": annotations, "finalizers": finalizers}
    meta |= {key: value for key, value in given.items() if value}
    return meta | ({"deletionTimestamp": TIME} if deleting else {})


def a_claim(
    name="data", *, size="1Gi", modes=("ReadWriteOnce",), of_class="slow", volume=None, phase="Pending", **more
):
    about = {key: more.pop(key) for key in ("labels", "annotations", "deleting", "finalizers") if key in more}
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "volumeMode": "Filesystem"}
    spec |= {"storageClassName": of_class} if of_class is not None else {}
    spec |= ({"volumeName": volume} if volume else {}) | more.pop("spec", {})
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return kind | {
        "metadata": meta_of(name, namespace="shop", **about),
        "spec": spec,
        "status": {"phase": phase} | more,
    }


def a_volume(
    name="disk", *, size="1Gi", modes=("ReadWriteOnce",), of_class="slow", claim=None, phase="Available", **more
):
    about = {key: more.pop(key) for key in ("labels", "annotations", "deleting", "finalizers") if key in more}
    spec = {"accessModes": list(modes), "capacity": {"storage": size}, "persistentVolumeReclaimPolicy": "Retain"}
    spec |= {"storageClassName": of_class, "volumeMode": "Filesystem"}
    spec |= {"claimRef": claim_reference(claim)} if claim else {}
    spec |= more.pop("spec", {})
    status = {"phase": phase} | more
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta_of(name, **about),
        "spec": spec,
        "status": status,
    }


def claim_reference(name, uid=None):
    """The claimRef to a claim of that name, without a uid if that is ""."""
    reference = {"namespace": "shop", "name": name}
    return reference | ({} if uid == "" else {"uid": uid or f"uid-{name}"})


def a_class(name="slow", *, mode="Immediate", provisioner="mockube.io/simulated", created=TIME, default=None, **more):
    marks = {"storageclass.kubernetes.io/is-default-class": default} if default else None
    obj = {"provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": "Delete"} | more
    return {"metadata": meta_of(name, annotations=marks, created=created)} | obj


def a_pod(name="web", *claims, node="", phase="Pending", deleting=False, ephemeral=()):
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    volumes += [{"name": volume, "ephemeral": {}} for volume in ephemeral]
    spec = {"containers": [], "volumes": [*volumes, {"name": "x", "emptyDir": {}}]} | (
        {"nodeName": node} if node else {}
    )
    return {"metadata": meta_of(name, namespace="shop", deleting=deleting), "spec": spec, "status": {"phase": phase}}


@pytest.fixture
def make():
    return SimpleNamespace(
        claim=a_claim,
        volume=a_volume,
        storage_class=a_class,
        pod=a_pod,
        node=lambda name="n1", **labels: {"metadata": meta_of(name, labels=labels)},
        reference=claim_reference,
    )
