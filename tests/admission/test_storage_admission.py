"""Admission of claims and volumes: the default class, and the finalizers that hold them while they are in use."""

import orjson
import pytest

from apiserver.admission.default_storage_class import CLASSES, DefaultStorageClass
from apiserver.admission.storage_protection import StorageObjectInUseProtection
from apiserver.api.user import User
from apiserver.registry.admission import Attributes, Chain
from apiserver.registry.options import Target
from etcd.backends import open_store

MARK, OLD_MARK = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
OLD_FIELD = "volume.beta.kubernetes.io/storage-class"


@pytest.fixture
async def store():
    store = await open_store("memory://")
    yield store
    await store.close()


@pytest.fixture
def admit(store, rows):
    """admit(obj, kind, operation): the object after a chain of both plug-ins."""
    chain = Chain([DefaultStorageClass(store), StorageObjectInUseProtection()])

    async def run(obj, *, kind="PersistentVolumeClaim", operation="CREATE", subresource=""):
        target = Target(rows[kind], "ns", "x", subresource)
        await chain.admit(Attributes(operation, target, User("u"), obj=obj))
        return obj

    return run


@pytest.fixture
def put(store):
    """put(name, annotations): a storage class in the store."""

    async def run(name, annotations, created="2027-01-01T00:00:00Z"):
        meta = {"name": name, "annotations": annotations, "creationTimestamp": created}
        await store.put(CLASSES + name, orjson.dumps({"metadata": meta, "provisioner": "p"}))

    return run


def claim(*, annotations=None, **spec):
    return {"metadata": {"name": "x"} | ({"annotations": annotations} if annotations else {}), "spec": spec}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (claim(), "best"),
        (claim(storageClassName=None), "best"),
        (claim(storageClassName=""), ""),
        (claim(storageClassName="slow"), "slow"),
        (claim(annotations={OLD_FIELD: "slow"}), None),
        ({"metadata": {"name": "x"}}, "best"),
    ],
)
async def test_a_claim_that_says_nothing_of_classes_gets_the_default(admit, put, given, expected):
    await put("slow", {})
    await put("best", {MARK: "true"})
    assert (await admit(given))["spec"].get("storageClassName") == expected


async def test_the_default_is_what_it_is_now_and_of_several_the_newest(admit, put, store):
    async def chosen():
        return (await admit(claim()))["spec"].get("storageClassName")

    assert await chosen() is None
    await put("slow", {MARK: "false"})
    assert await chosen() is None
    await put("old", {OLD_MARK: "true"})
    assert await chosen() == "old"
    await put("new", {MARK: "true"}, created="2027-02-01T00:00:00Z")
    assert await chosen() == "new"
    await store.delete(CLASSES + "new")
    assert await chosen() == "old"
    await put("both", {MARK: "true", OLD_MARK: "true"}, created="2027-03-01T00:00:00Z")
    assert await chosen() == "both"


@pytest.mark.parametrize(
    ("kind", "finalizer"),
    [
        ("PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
        ("PersistentVolume", "kubernetes.io/pv-protection"),
    ],
)
async def test_new_claims_and_volumes_are_held_while_they_are_in_use(admit, kind, finalizer):
    obj = {"metadata": {"name": "x", "finalizers": ["mine"]}, "spec": {}}
    for _ in range(2):
        assert (await admit(obj, kind=kind))["metadata"]["finalizers"] == ["mine", finalizer]


@pytest.mark.parametrize(("operation", "subresource"), [("UPDATE", ""), ("CREATE", "status")])
async def test_only_new_objects_are_changed(admit, put, operation, subresource):
    await put("best", {MARK: "true"})
    obj = await admit(claim(), operation=operation, subresource=subresource)
    assert obj == claim()
