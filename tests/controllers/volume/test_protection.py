"""Claims and volumes that were deleted: held while they are in use, and let go when they are not."""

import pytest
from triggers import NO_LISTERS

from apiserver.api.errors import conflict, not_found, unavailable
from apiserver.api.meta import Obj
from apiserver.api.storage_classes import CLAIM_FINALIZER, VOLUME_FINALIZER
from controller_manager.controllers.volume import pvcprotection, pvprotection
from controller_manager.controllers.volume.protection import pod_uses_claim
from controller_manager.reconcile.contract import Batch, Change, Get, ListAll, Update
from controller_manager.reconcile.kinds import CLAIM, POD, VOLUME

GONE = {"finalizers": ["mine", CLAIM_FINALIZER], "deleting": True}
HELD = {"finalizers": [CLAIM_FINALIZER]}


def finalizers(done):
    """The finalizers that were written, by name of the object."""
    metas = [request.obj["metadata"] for request in done.of(Update)]
    return {meta["name"]: meta["finalizers"] for meta in metas}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"node": "n1"}, True),
        ({"node": "n1", "phase": "Succeeded"}, True),
        ({"node": "n1", "deleting": True}, True),
        ({}, False),
    ],
)
def test_a_pod_with_a_node_uses_its_claims(make, pod, expected):
    assert pod_uses_claim(make.pod("web", "data", **pod), make.claim()) is expected
    assert not pod_uses_claim(make.pod("web", "other", **pod), make.claim())


@pytest.mark.parametrize(
    ("owner", "meta", "expected"),
    [
        ("uid-web", {}, True),
        ("uid-web", {"deletionTimestamp": "x", "deletionGracePeriodSeconds": 30}, True),
        ("uid-web", {"deletionTimestamp": "x", "deletionGracePeriodSeconds": 0}, False),
        ("uid-other", {}, False),
    ],
)
def test_a_pod_uses_the_claims_of_its_own_until_it_has_stopped(make, owner, meta, expected):
    pod, claim = make.pod("web", node="n1", ephemeral=["scratch"]), make.claim("web-scratch")
    pod["metadata"] |= meta
    claim["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    assert pod_uses_claim(pod, claim) is expected


# -- claims ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def do(reconcile):
    """do(claims, pods, listed, live): the outcome of a reconcile of the claims of the namespace."""

    def run(claims, pods=(), *, listed=None, live=(), refusal=None):
        def answer(request):
            match request:
                case ListAll():
                    return [{"metadata": pod["metadata"]} for pod in (listed if listed is not None else pods)]
                case Get(key=key):
                    live_pods = [pod for pod in live if f"shop/{pod['metadata']['name']}" == key]
                    return live_pods[0] if live_pods else not_found("", "pods", key)
                case _:
                    return refusal

        return reconcile(pvcprotection.SPEC, "shop", {CLAIM: claims, POD: pods}, answer)

    return run


def test_a_deleted_claim_goes_when_no_pod_uses_it(do, make):
    done = do([make.claim(**GONE), make.claim("used", **GONE)], [make.pod("web", "used", node="n1")])
    assert finalizers(done) == {"data": ["mine"]}
    assert [type(action) for action in done.actions] == [ListAll, Batch]


def test_a_claim_that_is_used_needs_no_question(do, make):
    assert do([make.claim(**GONE)], [make.pod("web", "data", node="n1")]).actions == []
    assert do([make.claim(**HELD)]).actions == []


def test_a_claim_that_nothing_holds_is_held(do, make):
    assert finalizers(do([make.claim(), make.claim("more", finalizers=["mine"])])) == {
        "data": [CLAIM_FINALIZER],
        "more": ["mine", CLAIM_FINALIZER],
    }
    assert do([make.claim(deleting=True)]).actions == []


@pytest.mark.parametrize(
    ("claims", "expected"), [(["data"], {}), (["other"], {"data": ["mine"]}), ([], {"data": ["mine"]})]
)
def test_pods_that_no_cache_shows_yet_are_asked_for(do, make, claims, expected):
    new = make.pod("web", *claims, node="n1")
    assert finalizers(do([make.claim(**GONE)], listed=[new], live=[new])) == expected


@pytest.mark.parametrize(("live", "expected"), [("n1", {}), ("", {"data": ["mine"]}), (None, {"data": ["mine"]})])
def test_a_pod_may_have_got_its_node_meanwhile(do, make, live, expected):
    pods = [make.pod("web", "data")]
    live_pods = [] if live is None else [make.pod("web", "data", node=live)]
    assert finalizers(do([make.claim(**GONE)], pods, live=live_pods)) == expected


@pytest.mark.parametrize(
    ("refusal", "error"),
    [(not_found("", "persistentvolumeclaims", "data"), None), (conflict("", "x", name="data", why="changed"), 409)],
)
def test_a_claim_that_is_gone_is_fine_and_one_that_changed_is_looked_at_again(do, make, refusal, error):
    done = do([make.claim(**GONE)], refusal=refusal)
    assert (done.error and done.error.code) == error


def test_without_a_list_of_pods_no_claim_goes(reconcile, make):
    done = reconcile(pvcprotection.SPEC, "shop", {CLAIM: [make.claim(**GONE)]}, lambda _: unavailable("busy"))
    assert done.error.code == 503
    assert done.of(Update) == []


def test_claims_and_pods_wake_their_namespace(make_world, make):
    world = make_world(pvcprotection.SPEC, {CLAIM: [make.claim(**GONE), make.claim("held", **HELD)]})
    claims = [make.claim(**GONE), make.claim(), make.claim(**HELD), make.claim(deleting=True)]
    woken = [list(pvcprotection.claim_changed(world, Change(claim, claim))) for claim in claims]
    assert woken == [["shop"], ["shop"], [], []]
    assert list(pvcprotection.claim_changed(world, Change(claims[0], None))) == []
    running, ended = make.pod("web", "data", node="n1"), make.pod("web", "data", node="n1", phase="Failed")
    changes = {
        "went": Change(running, None),
        "ended": Change(running, ended),
        "no node": Change(None, make.pod("web", "data")),
    }
    woken_by_name = {name: list(pvcprotection.pod_changed(world, change)) for name, change in changes.items()}
    assert woken_by_name == {name: ["shop"] for name in changes}
    pods: tuple[Obj, ...] = (make.pod("web", "held", node="n1"), make.pod("web", "none"), {"metadata": {}, "spec": {}})
    for pod in pods:
        assert list(pvcprotection.pod_changed(world, Change(pod, None))) == []
    assert list(pvcprotection.pod_changed(world, Change(running, running))) == []


# -- volumes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"deleting": True, "finalizers": [VOLUME_FINALIZER], "phase": "Released"}, {"disk": []}),
        ({"deleting": True, "finalizers": [VOLUME_FINALIZER, "mine"]}, {"disk": ["mine"]}),
        ({"deleting": True, "finalizers": [VOLUME_FINALIZER], "phase": "Bound"}, {}),
        ({"deleting": True, "finalizers": ["mine"]}, {}),
        ({}, {"disk": [VOLUME_FINALIZER]}),
        ({"finalizers": [VOLUME_FINALIZER]}, {}),
    ],
)
def test_a_deleted_volume_goes_when_no_claim_is_bound_to_it(reconcile, make, volume, expected):
    done = reconcile(pvprotection.SPEC, "disk", {VOLUME: [make.volume(**volume)]})
    assert finalizers(done) == expected
    assert reconcile(pvprotection.SPEC, "disk", {}).actions == []


@pytest.mark.parametrize(("code", "error"), [(404, None), (503, 503)])
def test_a_volume_that_is_gone_is_fine(reconcile, make, code, error):
    answer = not_found("", "persistentvolumes", "disk") if code == 404 else unavailable("busy")
    done = reconcile(pvprotection.SPEC, "disk", {VOLUME: [make.volume()]}, lambda _: answer)
    assert (done.error and done.error.code) == error


def test_volumes_that_need_nothing_wake_nobody(make):
    held, bare = make.volume(finalizers=[VOLUME_FINALIZER]), make.volume()
    going = make.volume(finalizers=[VOLUME_FINALIZER], deleting=True)
    changes = [Change(None, held), Change(None, bare), Change(held, going), Change(going, None)]
    assert [list(pvprotection.volume_changed(NO_LISTERS, change)) for change in changes] == [[], ["disk"], ["disk"], []]
