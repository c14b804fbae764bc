"""Volumes: free, bound and released, their reclaim policies, and the keys that each change enqueues."""

import pytest

from apiserver.api.errors import not_found, unavailable
from controller_manager.controllers.volume import storageclass
from controller_manager.controllers.volume.persistentvolume import SPEC, claim_deleted, class_changed, volume_changed
from controller_manager.reconcile.contract import Change, Create, Delete, Enqueue, Get, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM, STORAGE_CLASS, VOLUME
from controller_manager.reconcile.times import format_time

SIMULATED = "mockube.io/simulated"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
MADE = {"pv.kubernetes.io/provisioned-by": SIMULATED}
GONE = not_found("", "persistentvolumeclaims", "data")


@pytest.fixture
def do(reconcile):
    """do(volume, claims): the outcome of a reconcile of the volume."""

    def run(volume, *claims, answers=lambda request: GONE if isinstance(request, Get) else None):
        return reconcile(SPEC, "disk", {VOLUME: [volume], CLAIM: claims}, answers)

    return run


def phases(done):
    return [request.obj["status"]["phase"] for request in done.of(Update) if request.subresource == "status"]


@pytest.mark.parametrize(
    ("volume", "claims", "expected"),
    [
        ({"phase": "Pending"}, [], "Available"),
        ({"phase": "Pending", "spec": {"claimRef": {"namespace": "shop", "name": "data"}}}, [{}], "Available"),
        ({"phase": "Pending", "claim": "data"}, [{"volume": "disk"}], "Bound"),
        ({"phase": "Bound", "claim": "data"}, [], "Released"),
        ({"phase": "Bound", "claim": "data"}, [{"volume": "disk"}], None),
        ({"phase": "Released", "claim": "data"}, [], None),
        ({"phase": "Failed", "claim": "data"}, [], None),
    ],
)
def test_the_phase_of_a_volume_follows_its_claim(do, make, now, volume, claims, expected):
    done = do(make.volume(**volume), *(make.claim(**claim) for claim in claims))
    assert phases(done) == ([expected] if expected else [])
    times = [request.obj["status"]["lastPhaseTransitionTime"] for request in done.of(Update)]
    assert times == [format_time(now)] * len(times)


def test_before_a_volume_is_released_the_server_is_asked_for_its_claim(do, make):
    claim = make.claim(volume="disk")
    done = do(make.volume(claim="data", phase="Pending"), answers=lambda r: claim if isinstance(r, Get) else None)
    assert phases(done) == ["Bound"]
    busy = unavailable("busy")
    done = do(make.volume(claim="data", phase="Bound"), answers=lambda _: busy)
    assert done.error is busy
    assert [type(action) for action in done.actions] == [Get]


def test_a_claim_of_the_same_name_is_not_the_one(do, make):
    volume = make.volume(phase="Bound", spec={"claimRef": make.reference("data", uid="former")})
    assert phases(do(volume, make.claim(volume="disk"))) == ["Released"]


def test_a_claim_that_does_not_know_its_volume_yet_is_woken(do, make):
    assert do(make.volume(claim="data", phase="Pending"), make.claim()).actions == [Enqueue(["shop/data"])]


def test_a_claim_that_wants_a_block_device_does_not_get_a_file_system(do, make):
    done = do(make.volume(claim="data"), make.claim(spec={"volumeMode": "Block"}))
    assert done.requests() == []
    ours = 'VolumeMismatch: Cannot bind PersistentVolume to requested PersistentVolumeClaim "data" due to incompatible'
    theirs = (
        'VolumeMismatch: Cannot bind PersistentVolume "disk" to requested PersistentVolumeClaim due to incompatible'
    )
    assert done.events == [f"{ours} volumeMode.", f"{theirs} volumeMode."]
    assert [emit.regarding["kind"] for emit in done.of(RecordEvent)] == ["PersistentVolume", "PersistentVolumeClaim"]


def test_a_volume_whose_claim_took_another_is_let_go(do, make):
    done = do(make.volume(claim="data", phase="Bound", annotations={BY_CONTROLLER: "yes"}), make.claim(volume="other"))
    assert "claimRef" not in done.of(Update)[0].obj["spec"]
    assert phases(done) == ["Available"]
    done = do(make.volume(claim="data", phase="Bound"), make.claim(volume="other"))
    assert done.of(Update)[0].obj["spec"]["claimRef"] == make.reference("data", uid="")


def test_a_volume_that_was_made_for_a_claim_that_took_another_goes(do, make):
    volume = make.volume(
        claim="data", phase="Bound", annotations=MADE, spec={"persistentVolumeReclaimPolicy": "Delete"}
    )
    done = do(volume, make.claim(volume="other"))
    assert phases(done) == ["Released"]
    assert [(delete.key, delete.uid) for delete in done.of(Delete)] == [("disk", "uid-disk")]


# -- what policies do --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "given", "expected", "event"),
    [
        ("Retain", (MADE, {}), ["Released"], None),
        ("Delete", (MADE, {}), ["Released", "deleted"], None),
        ("Delete", ({"pv.kubernetes.io/provisioned-by": "csi.example.com"}, {}), ["Released"], None),
        ("Delete", ({}, {"csi": {"driver": "csi.example.com"}}), ["Released"], None),
        ("Delete", ({}, {"hostPath": {"path": "/tmp/x"}}), ["Released", "deleted"], None),
        (
            "Delete",
            ({}, {"hostPath": {"path": "/data"}}),
            ["Released", "Failed"],
            "VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data",
        ),
        (
            "Recycle",
            ({}, {"hostPath": {"path": "/tmp/x"}}),
            ["Released", "Failed"],
            "VolumeFailedRecycle: No recycler plugin found for the volume!",
        ),
    ],
)
def test_a_released_volume_is_treated_as_its_policy_says(do, make, policy, given, expected, event):
    annotations, source = given
    spec = {"persistentVolumeReclaimPolicy": policy} | source
    done = do(make.volume(claim="data", phase="Bound", annotations=annotations, spec=spec))
    assert phases(done) + ["deleted" for _ in done.of(Delete)] == expected
    assert done.events == ([event] if event else [])
    if event:
        assert done.of(Update)[-1].obj["status"]["message"] == event.partition(": ")[2]
        failed = make.volume(claim="data", phase="Failed", annotations=annotations, spec=spec)
        assert do(failed).actions == []


def test_a_volume_that_goes_already_is_not_deleted_again(do, make):
    spec = {"persistentVolumeReclaimPolicy": "Delete"}
    assert do(make.volume(claim="data", phase="Released", annotations=MADE, spec=spec, deleting=True)).actions == []


@pytest.mark.parametrize(("answer", "error"), [(GONE, None), (unavailable("busy"), "busy")])
def test_a_volume_that_is_gone_is_as_good_as_deleted(do, make, answer, error):
    spec = {"persistentVolumeReclaimPolicy": "Delete"}
    done = do(make.volume(claim="data", phase="Released", annotations=MADE, spec=spec), answers=lambda _: answer)
    assert (done.error and done.error.message) == error


# -- the keys that a change enqueues -----------------------------------------------------------------------------------


@pytest.fixture
def world(make_world, make):
    claims = [make.claim("a"), make.claim("b", of_class=None), make.claim("c", phase="Bound", volume="disk")]
    volumes = [make.volume(claim="c", phase="Bound"), make.volume("old", claim="z", phase="Released")]
    volumes.append(make.volume("bad", claim="z", phase="Failed", spec={"persistentVolumeReclaimPolicy": "Delete"}))
    return make_world(SPEC, {CLAIM: claims, VOLUME: volumes, STORAGE_CLASS: [make.storage_class()]})


def test_what_is_not_done_with_is_looked_at_again(world, rehearse, now):
    done = rehearse(SPEC.reconcile(SPEC.observe(world, ""), now))
    assert done.actions == [Enqueue(["shop/a", "shop/b", "bad"])]
    assert (SPEC.periodic_keys, SPEC.sync_period) == (("",), 15.0)


def test_what_is_gone_needs_nothing(world):
    assert SPEC.observe(world, "shop/none") is None
    assert SPEC.observe(world, "none") is None


def test_a_claim_that_goes_wakes_its_volumes(world, make):
    claim = make.claim("z")
    assert list(claim_deleted(world, Change(claim, None))) == ["old", "bad"]
    assert list(claim_deleted(world, Change(claim, claim))) == []


def test_a_volume_that_becomes_free_wakes_claims_of_its_class_and_one_that_goes_its_claim(world, make):
    free, young = make.volume("new"), make.volume("new", phase="Pending")
    assert (
        list(volume_changed(world, Change(young, free)))
        == list(volume_changed(world, Change(None, free)))
        == ["shop/a"]
    )
    assert list(volume_changed(world, Change(free, make.volume("new", labels={"a": "b"})))) == []
    assert list(volume_changed(world, Change(free, free))) == list(volume_changed(world, Change(None, young))) == []
    assert list(volume_changed(world, Change(make.volume("new", claim="a"), None))) == ["shop/a"]
    assert list(volume_changed(world, Change(free, None))) == []


def test_a_class_wakes_the_claims_that_wait_for_it(world, make):
    slow, default = make.storage_class(), make.storage_class("best", default="true")
    assert list(class_changed(world, Change(None, slow))) == ["shop/a"]
    assert list(class_changed(world, Change(None, default))) == ["shop/b"]
    assert list(class_changed(world, Change(slow, None))) == list(class_changed(world, Change(slow, slow))) == []


# -- the classes of a new cluster --------------------------------------------------------------------------------------


def test_a_cluster_without_classes_gets_the_first_ones(reconcile):
    done = reconcile(storageclass.SPEC, "", {})
    assert [request.obj["metadata"]["name"] for request in done.of(Create)] == ["standard", "standard-wait"]
    assert done.error is None


def test_a_cluster_that_has_any_class_is_left_alone(reconcile, make):
    assert reconcile(storageclass.SPEC, "", {STORAGE_CLASS: [make.storage_class("mine")]}).actions == []


def test_a_class_that_cannot_be_made_is_tried_again(reconcile):
    busy = unavailable("busy")
    assert reconcile(storageclass.SPEC, "", {}, lambda _: busy).error is busy
