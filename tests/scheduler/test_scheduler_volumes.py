"""Pods with claims: missing ones, the nodes that can have the volumes, and claims that are bound for a node."""

import pytest

from apiserver.api.errors import ApiError, conflict
from controller_manager.reconcile.contract import Create, Patch
from controller_manager.reconcile.kinds import CLAIM, POD, STORAGE_CLASS, VOLUME
from controller_manager.scheduler.controller import BIND_TIMEOUT

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
UNRESOLVED = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def using(claim="data", **more):
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}], **more}


def a_claim(name="data", *, volume="", storage_class="standard", size="1Gi", annotations=None, **spec):
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "annotations": (annotations or {}) | (BOUND if volume else {}),
        },
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def a_volume(name="pv", *, node="", size="1Gi", storage_class="standard", labels=None, **spec):
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "3", "labels": labels or {}},
        "spec": {"capacity": {"storage": size}, "storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
        | (affinity if node else {})
        | spec,
        "status": {"phase": "Available"},
    }


def a_class(mode="WaitForFirstConsumer", provisioner="example.com/disk", **more):
    return {"metadata": {"name": "standard"}, "provisioner": provisioner, "volumeBindingMode": mode, **more}


@pytest.fixture
def stage(make_stage, make_node):
    new_stage = make_stage(make_node("a", zone="1"), make_node("b", zone="2"))
    new_stage.put(STORAGE_CLASS, a_class())
    return new_stage


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (
            a_claim() | {"status": {"phase": "Lost"}},
            'persistentvolumeclaim "data" bound to non-existent persistentvolume ""',
        ),
        (
            a_claim(volumeName="pv") | {"status": {"phase": "Lost"}},
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        (
            a_claim() | {"metadata": a_claim()["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}},
            'persistentvolumeclaim "data" is being deleted',
        ),
        (a_claim(storage_class="other"), "pod has unbound immediate PersistentVolumeClaims"),
        (a_claim(storage_class=""), "pod has unbound immediate PersistentVolumeClaims"),
        (a_claim(volumeName="pv"), "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_a_pod_waits_for_what_its_claims_lack(stage, make_pod, claim, why):
    stage.put(CLAIM, *([claim] if claim else []))
    stage.put(POD, make_pod(**using()))
    stage.run()
    assert stage.condition("web")["message"] == f"0/2 nodes are available: {why}. {UNRESOLVED}"
    assert not stage.of(Create)


def test_an_ephemeral_claim_is_waited_for_and_has_to_be_the_pods_own(stage, make_pod):
    pod = make_pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}])
    stage.put(POD, pod)
    stage.run()
    assert (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"'
        in (stage.condition("web")["message"])
    )
    claim = a_claim("web-scratch", volume="pv")
    stage.put(VOLUME, a_volume())
    stage.put(CLAIM, claim)
    stage.run()
    assert (
        "PVC default/web-scratch was not created for pod default/web (pod is not owner)"
        in (stage.condition("web")["message"])
    )
    owner = {"kind": "Pod", "name": "web", "uid": "uid-web", "controller": True}
    stage.put(CLAIM, claim | {"metadata": claim["metadata"] | {"ownerReferences": [owner]}})
    stage.run()
    assert stage.node_of("web") == "a"


def test_the_claim_that_was_missing_wakes_the_pod(stage, make_pod):
    stage.put(POD, make_pod(**using()))
    stage.run()
    stage.put(CLAIM, a_claim("other", volume="pv"))
    stage.put(VOLUME, a_volume())
    stage.put(CLAIM, a_claim(volume="pv"))
    stage.run()
    assert stage.node_of("web") == "a"


@pytest.mark.parametrize(
    ("volume", "node"),
    [
        (a_volume(), "a"),
        (a_volume(node="b"), "b"),
        (a_volume(labels={"topology.kubernetes.io/zone": "2"}), "b"),
        (a_volume(labels={"topology.kubernetes.io/zone": "2__3"}), "b"),
    ],
)
def test_a_pod_goes_where_its_volume_is(stage, make_pod, volume, node):
    stage.put(VOLUME, volume)
    stage.put(CLAIM, a_claim(volume="pv"))
    stage.put(POD, make_pod(**using()))
    stage.run()
    assert stage.node_of("web") == node


@pytest.mark.parametrize(
    ("volumes", "reason"),
    [
        ([a_volume(node="c")], "2 node(s) didn't match PersistentVolume's node affinity"),
        ([], "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
        ([a_volume(labels={"topology.kubernetes.io/zone": "3"})], "2 node(s) had no available volume zone"),
    ],
)
def test_nodes_that_cannot_have_the_volume_say_so(stage, make_pod, volumes, reason):
    stage.put(VOLUME, *volumes)
    stage.put(CLAIM, a_claim(volume="pv"))
    stage.put(POD, make_pod(**using()))
    stage.run()
    assert stage.condition("web")["message"] == f"0/2 nodes are available: {reason}. {UNRESOLVED}"


def test_what_only_one_pod_may_have_is_given_to_one(stage, make_pod):
    stage.put(VOLUME, a_volume())
    stage.put(CLAIM, a_claim(volume="pv", accessModes=["ReadWriteOncePod"]))
    stage.put(POD, make_pod("first", **using()))
    stage.run()
    stage.put(POD, make_pod("second", **using()))
    stage.run()
    assert (stage.node_of("first"), stage.node_of("second")) == ("a", "")
    assert (
        "2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
        in (stage.condition("second")["message"])
    )


# -- claims that wait for their first consumer -------------------------------------------------------------------------


def bind(stage, name="data", volume="pv"):
    """Bind a claim to a volume, as the volume controller does."""
    claim = stage.world.get_or_create(CLAIM).get(f"default/{name}")
    meta = claim["metadata"] | {"annotations": claim["metadata"]["annotations"] | BOUND, "resourceVersion": "99"}
    stage.put(VOLUME, a_volume(volume))
    stage.put(CLAIM, claim | {"metadata": meta, "spec": claim["spec"] | {"volumeName": volume}})


def test_the_node_is_chosen_first_then_the_claim_is_bound_then_the_pod(stage, make_pod):
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(**using()))
    stage.run()
    (patch,) = stage.of(Patch)
    assert (patch.kind, patch.key) == (CLAIM, "default/data")
    assert patch.body == {
        "metadata": {
            "uid": "uid-data",
            "resourceVersion": "7",
            "annotations": {"volume.kubernetes.io/selected-node": "a"},
        }
    }
    assert set(stage.later) == {BIND_TIMEOUT}
    assert not stage.of(Create)
    bind(stage)
    stage.run()
    assert stage.node_of("web") == "a"
    assert stage.events() == ["Scheduled: Successfully assigned default/web to a"]


def test_the_room_is_taken_while_claims_are_bound(make_stage, make_node, make_pod):
    stage = make_stage(make_node("a", cpu="1"))
    stage.put(STORAGE_CLASS, a_class())
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(cpu="1", **using()))
    stage.run()
    stage.put(POD, make_pod("next", cpu="1"))
    stage.run()
    assert stage.node_of("next") == ""
    stage.remove(POD, "default/web")
    stage.run(at=stage.now + 10)
    assert stage.node_of("next") == "a"


def test_a_claim_for_which_a_node_was_selected_keeps_it(stage, make_pod):
    stage.put(CLAIM, a_claim(annotations={"volume.kubernetes.io/selected-node": "b"}))
    stage.put(POD, make_pod(**using()))
    stage.run()
    bind(stage)
    stage.run()
    assert stage.node_of("web") == "b"


@pytest.mark.parametrize(
    ("storage_class", "node"),
    [
        (a_class(), "a"),
        (
            a_class(
                allowedTopologies=[
                    {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["2", "3"]}]}
                ]
            ),
            "b",
        ),
        (a_class(provisioner="kubernetes.io/no-provisioner"), None),
    ],
)
def test_a_volume_can_be_made_where_its_class_says(stage, make_pod, storage_class, node):
    stage.put(STORAGE_CLASS, storage_class)
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(**using()))
    stage.run()
    if node is None:
        reason = "2 node(s) didn't find available persistent volumes to bind"
        assert stage.condition("web")["message"] == f"0/2 nodes are available: {reason}. {UNRESOLVED}"
    else:
        (patch,) = stage.of(Patch)
        assert patch.body["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": node}


@pytest.mark.parametrize(
    ("volumes", "claim", "chosen"),
    [
        ([a_volume("x", node="b")], {}, ("x", "b")),
        ([a_volume("big", size="9Gi"), a_volume("fits", size="2Gi"), a_volume("small", size="1Mi")], {}, ("fits", "a")),
        ([a_volume("x", storage_class="other")], {}, None),
        ([a_volume("x", volumeMode="Block")], {}, None),
        ([a_volume("x", accessModes=["ReadOnlyMany"])], {}, None),
        ([a_volume("x") | {"status": {"phase": "Released"}}], {}, None),
        ([a_volume("x", claimRef={"namespace": "default", "name": "other"})], {}, None),
        ([a_volume("w"), a_volume("x", size="5Gi", claimRef={"namespace": "default", "name": "data"})], {}, ("x", "a")),
        ([a_volume("w"), a_volume("x", labels={"a": "b"})], {"selector": {"matchLabels": {"a": "b"}}}, ("x", "a")),
    ],
)
def test_a_volume_that_is_there_is_taken_if_it_fits(stage, make_pod, volumes, claim, chosen):
    stage.put(STORAGE_CLASS, a_class(provisioner="kubernetes.io/no-provisioner"))
    stage.put(VOLUME, *volumes)
    stage.put(CLAIM, a_claim(**claim))
    stage.put(POD, make_pod(**using()))
    stage.run()
    patches = [patch for patch in stage.of(Patch) if patch.kind == VOLUME]
    if chosen is None:
        assert not patches
        return
    name, node = chosen
    (patch,) = patches
    assert patch.key == name
    assert patch.body["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    reference = patch.body["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"], reference["uid"]) == ("default", "data", "uid-data")
    bind(stage, volume=name)
    stage.run()
    assert stage.node_of("web") == node


def test_two_pods_do_not_get_the_same_volume(stage, make_pod):
    stage.put(STORAGE_CLASS, a_class(provisioner="kubernetes.io/no-provisioner"))
    stage.put(VOLUME, a_volume("x"), a_volume("y"))
    stage.put(CLAIM, a_claim("one"), a_claim("two"))
    stage.put(POD, make_pod("p1", **using("one")), make_pod("p2", **using("two")))
    stage.keys.clear()
    stage.run("default/p1")
    assert sorted(patch.key for patch in stage.of(Patch) if patch.kind == VOLUME) == ["x", "y"]


def test_a_provisioner_that_gives_up_has_the_pod_look_for_another_node(stage, make_pod):
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(**using()))
    stage.run()
    stage.put(CLAIM, a_claim() | {"metadata": a_claim()["metadata"] | {"resourceVersion": "50"}})
    stage.run()
    message = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    assert stage.events() == [f"FailedScheduling: {message}"]
    assert stage.condition("web")["reason"] == "SchedulerError"
    stage.run("default/web", at=stage.now + 1)
    bind(stage)
    stage.run()
    assert stage.node_of("web") == "a"


def test_a_pod_does_not_wait_for_its_claims_for_ever(stage, make_pod):
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(**using()))
    stage.run()
    stage.run("default/web", at=stage.now + BIND_TIMEOUT)
    message = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    assert stage.events() == [f"FailedScheduling: {message}"]


def test_a_claim_that_another_has_changed_meanwhile_is_tried_again(stage, make_pod):
    lost = conflict("", "persistentvolumeclaims", name="data", why="it changed")
    stage.refuse = lambda request: lost if isinstance(request, Patch) and request.kind == CLAIM else None
    stage.put(CLAIM, a_claim())
    stage.put(POD, make_pod(**using()))
    stage.run()
    assert stage.condition("web")["message"].endswith(lost.message)
    stage.refuse = lambda _: None
    stage.run("default/web", at=stage.now + 1)
    bind(stage)
    stage.run()
    assert stage.node_of("web") == "a"


def test_a_pod_that_goes_while_its_claims_are_bound_frees_what_was_reserved(stage, make_pod):
    stage.put(STORAGE_CLASS, a_class(provisioner="kubernetes.io/no-provisioner"))
    stage.put(VOLUME, a_volume("x"))
    stage.put(CLAIM, a_claim())
    stage.refuse = lambda request: ApiError(500, "InternalError", "no") if isinstance(request, Patch) else None
    stage.put(POD, make_pod(**using()))
    stage.run()
    view = stage.world.view("placement")
    assert (view.waiting_for_claims, view.reserved) == ({}, set())
    stage.refuse = lambda _: None
    stage.run("default/web", at=stage.now + 1)
    assert view.reserved == {"x"}
    stage.remove(POD, "default/web")
    assert (view.waiting_for_claims, view.reserved) == ({}, set())
