"""Updates of pods in place, as arithmetic: what they may change, what they leave on a pod, and when they are over."""

from base64 import b64decode

import orjson
import pytest

from controller_manager.reconcile.in_place import (
    GRACE_ANNOTATION,
    READINESS_GATE,
    STATE_ANNOTATION,
    UpdateSpec,
    due_changes,
    gate_opening_patch,
    is_in_grace,
    is_updated,
    metadata_patch,
    spec_between,
    with_begun_update,
    with_closed_gate,
    with_gate,
    with_metadata_patch,
)
from controller_manager.reconcile.revisions import template_data

NOW = 1_800_000_000.0
TIME = "2027-01-15T08:00:00Z"


def a_template(*images, metadata=None, **spec):
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {"metadata": metadata or {"labels": {"app": "web"}}, "spec": {"containers": containers} | spec}


def a_revision(template, name="web-2"):
    return {"metadata": {"name": name}, "data": template_data(template), "revision": 2}


def between(old, new, **more):
    return spec_between(a_revision(old, "web-1"), a_revision(new), **more)


def a_pod(*images, ids=None, annotations=None, conditions=(), gates=(READINESS_GATE,)):
    statuses = [
        {"name": f"c{number}", "image": f"docker.io/library/{image}", "imageID": f"id-of-{image}"}
        for number, image in enumerate(ids or images)
    ]
    return {
        "metadata": {"name": "web-a", "uid": "u", "labels": {"rev": "1"}, "annotations": annotations or {}},
        "spec": a_template(*images)["spec"] | {"readinessGates": [{"conditionType": gate} for gate in gates]},
        "status": {"containerStatuses": statuses, "conditions": list(conditions)},
    }


def marked(pod):
    return pod | {"metadata": pod["metadata"] | {"labels": pod["metadata"]["labels"] | {"rev": "2"}}}


def is_second(pod, revision):
    return pod["metadata"]["labels"]["rev"] == "2" and revision == "web-2"


def read(pod, key):
    return orjson.loads(pod["metadata"]["annotations"][key])


# -- what may change ---------------------------------------------------------------------------------------------------


def test_images_of_containers_may_change():
    change = between(a_template("a:1", "b:1"), a_template("a:2", "b:1"))
    assert (change.revision, change.images, change.metadata, change.grace) == ("web-2", {"c0": "a:2"}, {}, 0)


def test_images_and_metadata_may_change_together():
    new = a_template("a:2", metadata={"labels": {"app": "web", "v": "2"}})
    assert between(a_template("a:1"), new).metadata == {"metadata": {"labels": {"v": "2"}}}


def test_metadata_may_change_alone():
    change = between(a_template("a:1"), a_template("a:1", metadata={"annotations": {"note": "x"}}))
    assert change.images == {}
    assert change.metadata == {"metadata": {"labels": {"app": None}, "annotations": {"note": "x"}}}


INIT = {"initContainers": [{"name": "first", "image": "i:1"}]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (a_template("a:1"), a_template("a:1", "b:1")),
        (a_template("a:1", "b:1"), a_template("a:1")),
        (a_template("a:1"), a_template("a:1", restartPolicy="Never")),
        (a_template("a:1", hostNetwork=True), a_template("a:1")),
        (a_template("a:1", **INIT), a_template("a:1", initContainers=[{"name": "first", "image": "i:2"}])),
        (a_template("a:1"), {**a_template("a:1"), "more": 1}),
        (a_template(None), a_template("a:1")),
    ],
)
def test_nothing_else_may_change(old, new):
    assert between(old, new) is None


def test_a_container_that_changes_otherwise_needs_another_pod():
    old, new = a_template("a:1"), a_template("a:2")
    new["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    assert between(old, new) is None


def test_containers_in_another_order_need_another_pod():
    old, new = a_template("a:1", "b:1"), a_template("a:1", "b:1")
    new["spec"]["containers"].reverse()
    assert between(old, new) is None


def test_a_pod_of_a_revision_that_is_gone_needs_another():
    assert spec_between(None, a_revision(a_template("a:1"))) is None


def test_a_revision_that_holds_no_template_changes_nothing():
    odd = {"metadata": {"name": "web-1"}, "data": {"spec": {}}}
    assert spec_between(odd, a_revision(a_template("a:1"))) is None


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"labels": {"a": "1"}}, {"labels": {"a": "2"}}, {"labels": {"a": "2"}}),
        ({"labels": {"a": "1"}}, {}, {"labels": {"a": None}}),
        ({}, {"annotations": {"n": "x"}}, {"annotations": {"n": "x"}}),
        (
            {"finalizers": ["f/a", "f/b"]},
            {"finalizers": ["f/b", "f/c"]},
            {"finalizers": ["f/c"], "$deleteFromPrimitiveList/finalizers": ["f/a"]},
        ),
        ({"creationTimestamp": None}, {}, {}),
    ],
)
def test_metadata_of_templates_is_compared_as_pods_take_it(old, new, patch):
    assert metadata_patch(old, new) == ({"metadata": patch} if patch else {})


def test_a_patch_of_metadata_leaves_what_is_the_pods_own():
    pod = {
        "metadata": {
            "name": "p",
            "labels": {"a": "1", "own": "x", "gone": "y"},
            "annotations": {"note": "z"},
            "finalizers": ["f/mine", "f/a"],
        }
    }
    patch = {"labels": {"a": "2", "gone": None}, "finalizers": ["f/c"], "$deleteFromPrimitiveList/finalizers": ["f/a"]}
    assert with_metadata_patch(pod, {"metadata": patch})["metadata"] == {
        "name": "p",
        "labels": {"a": "2", "own": "x"},
        "annotations": {"note": "z"},
        "finalizers": ["f/mine", "f/c"],
    }


# -- the gate ----------------------------------------------------------------------------------------------------------


def condition(type_, status, **more):
    return {"type": type_, "status": status, "lastTransitionTime": "2027-01-01T00:00:00Z"} | more


def condition_of(pod, type_):
    return next(each for each in pod["status"]["conditions"] if each["type"] == type_)


def test_a_gate_is_put_in_once():
    pod = with_gate(a_pod("a:1", gates=()))
    assert pod["spec"]["readinessGates"] == [{"conditionType": READINESS_GATE}]
    assert with_gate(pod) is pod


def test_a_pod_becomes_unready_before_it_changes():
    ready = [condition(type_, "True") for type_ in ("Ready", "ContainersReady", READINESS_GATE)]
    pod = with_closed_gate(a_pod("a:1", conditions=ready), NOW)
    assert condition_of(pod, READINESS_GATE) == {
        "type": READINESS_GATE,
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": TIME,
        "reason": "StartInPlaceUpdate",
    }
    assert condition_of(pod, "Ready") == {
        "type": "Ready",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": TIME,
        "reason": "ReadinessGatesNotReady",
        "message": f'the status of pod readiness gate "{READINESS_GATE}" is not "True", but False',
    }
    assert with_closed_gate(pod, NOW + 1) is pod


@pytest.mark.parametrize("gates", [(), ("example.com/other",)])
def test_a_pod_without_the_gate_stays_ready(gates):
    pod = a_pod("a:1", gates=gates)
    assert with_closed_gate(pod, NOW) is pod


@pytest.mark.parametrize("containers", ["False", None])
def test_why_a_pod_is_not_ready_stays_where_containers_are_not(containers):
    known = [condition("Ready", "False", reason="ContainersNotReady")]
    known += [condition("ContainersReady", containers)] if containers else []
    assert condition_of(with_closed_gate(a_pod("a:1", conditions=known), NOW), "Ready") == known[0]


def test_other_gates_that_are_closed_are_reported():
    ready = [condition("Ready", "True"), condition("ContainersReady", "True")]
    pod = with_closed_gate(a_pod("a:1", conditions=ready, gates=("example.com/x", READINESS_GATE)), NOW)
    assert condition_of(pod, "Ready")["message"] == (
        'corresponding condition of pod readiness gate "example.com/x" does not exist., '
        f'the status of pod readiness gate "{READINESS_GATE}" is not "True", but False'
    )


def test_opening_forgets_why_the_gate_was_closed():
    pod = a_pod("a:1", conditions=[condition(READINESS_GATE, "False", reason="StartInPlaceUpdate")])
    assert gate_opening_patch(pod, NOW) == {
        "metadata": {"uid": "u"},
        "status": {
            "conditions": [{"type": READINESS_GATE, "status": "True", "lastTransitionTime": TIME, "reason": None}]
        },
    }


# -- an update's course ------------------------------------------------------------------------------------------------


def updated(pod, spec, now=NOW):
    return with_begun_update(pod, spec, mark=marked, now=now)


def test_an_update_changes_images_and_tells_what_was_before():
    spec = UpdateSpec("web-2", {"c1": "b:2"}, {"metadata": {"labels": {"v": "2"}}})
    pod = updated(a_pod("a:1", "b:1", annotations={"inplace-update-state": "{}", "mine": "x"}), spec)
    assert [each["image"] for each in pod["spec"]["containers"]] == ["a:1", "b:2"]
    assert pod["metadata"]["labels"] == {"rev": "2", "v": "2"}
    assert set(pod["metadata"]["annotations"]) == {"mine", STATE_ANNOTATION}
    assert read(pod, STATE_ANNOTATION) == {
        "revision": "web-2",
        "updateTimestamp": TIME,
        "lastContainerStatuses": {"c1": {"imageID": "id-of-b:1"}},
        "updateImages": True,
        "containerBatchesRecord": [{"timestamp": TIME, "containers": ["c1"]}],
    }


def test_an_update_of_metadata_alone_is_over_at_once():
    pod = updated(a_pod("a:1"), UpdateSpec("web-2", {}, {"metadata": {"annotations": {"note": "x"}}}))
    assert pod["metadata"]["annotations"]["note"] == "x"
    assert read(pod, STATE_ANNOTATION)["lastContainerStatuses"] is None
    assert is_updated(pod)


def test_a_pod_waits_for_its_grace_before_it_changes():
    spec = UpdateSpec("web-2", {"c0": "a:2"}, {"metadata": {"labels": {"v": "2"}}}, grace=10)
    pod = updated(a_pod("a:1"), spec)
    assert pod["spec"]["containers"][0]["image"] == "a:1"
    assert pod["metadata"]["labels"] == {"rev": "2"}
    grace = read(pod, GRACE_ANNOTATION)
    assert orjson.loads(b64decode(grace.pop("metaDataPatch"))) == spec.metadata
    assert grace == {"revision": "web-2", "containerImages": {"c0": "a:2"}, "graceSeconds": 10}
    assert read(pod, STATE_ANNOTATION) == {
        "revision": "web-2",
        "updateTimestamp": TIME,
        "lastContainerStatuses": None,
        "updateImages": True,
    }
    assert is_in_grace(pod)
    assert not is_updated(pod)


def test_a_grace_that_is_over_changes_the_pod():
    pod = updated(a_pod("a:1"), UpdateSpec("web-2", {"c0": "a:2"}, {"metadata": {"labels": {"v": "2"}}}, grace=10))
    assert due_changes(pod, is_of=is_second, now=NOW + 3.5).wait == 7
    outcome = due_changes(pod, is_of=is_second, now=NOW + 10)
    assert outcome.wait is None
    assert outcome.pod is not None
    assert outcome.pod["spec"]["containers"][0]["image"] == "a:2"
    assert outcome.pod["metadata"]["labels"] == {"rev": "2", "v": "2"}
    assert not is_in_grace(outcome.pod)
    state = read(outcome.pod, STATE_ANNOTATION)
    assert (state["updateTimestamp"], state["lastContainerStatuses"]) == (TIME, {"c0": {"imageID": "id-of-a:1"}})
    assert state["containerBatchesRecord"] == [{"timestamp": "2027-01-15T08:00:10Z", "containers": ["c0"]}]


def test_a_grace_of_another_revision_than_the_pods_is_dropped():
    pod = updated(a_pod("a:1"), UpdateSpec("web-2", {"c0": "a:2"}, grace=10))
    changed_pod = due_changes(pod, is_of=lambda *_: False, now=NOW).pod
    assert changed_pod is not None
    assert not is_in_grace(changed_pod)
    assert changed_pod["spec"] == pod["spec"]


@pytest.mark.parametrize("text", ["{", "[]", '{"revision":1}', '{"revision":"web-2","metaDataPatch":"?"}'])
def test_a_grace_that_somebody_wrote_oddly_is_left_alone(text):
    pod = updated(a_pod("a:1"), UpdateSpec("web-2", {"c0": "a:2"}, grace=10))
    pod["metadata"]["annotations"][GRACE_ANNOTATION] = text
    outcome = due_changes(pod, is_of=is_second, now=NOW + 60)
    assert (outcome.pod, outcome.opens_gate, outcome.wait) == (None, False, None)


def test_a_new_pod_has_its_gate_opened():
    assert due_changes(a_pod("a:1"), is_of=is_second, now=NOW).opens_gate


def test_an_open_gate_is_left_alone():
    assert not due_changes(
        a_pod("a:1", conditions=[condition(READINESS_GATE, "True")]), is_of=is_second, now=NOW
    ).opens_gate


def test_a_pod_without_a_gate_needs_none():
    assert not due_changes(a_pod("a:1", gates=()), is_of=is_second, now=NOW).opens_gate


@pytest.mark.parametrize(
    ("running", "over"),
    [
        (["a:1", "b:1"], False),
        (["a:2", "b:1"], True),
        (["a:3", "b:1"], True),
        (["a:2"], True),
        ([], False),
    ],
)
def test_the_gate_opens_once_containers_run_other_images(running, over):
    before = updated(a_pod("a:1", "b:1"), UpdateSpec("web-2", {"c0": "a:2"}))
    statuses = a_pod("a:2", "b:1", ids=running)["status"]["containerStatuses"] if running else []
    pod = before | {"status": before["status"] | {"containerStatuses": statuses}}
    assert due_changes(pod, is_of=is_second, now=NOW).opens_gate is over
    assert is_updated(pod) is over


@pytest.mark.parametrize(
    ("image", "told_as", "over"),
    [
        ("b:1", "docker.io/library/b:1", True),
        ("docker.io/library/b:1", "b:1", True),
        ("b", "docker.io/library/b:latest", True),
        ("b:1", "docker.io/library/c:1", False),
        ("b:1", "", False),
    ],
)
def test_an_image_of_the_same_id_counts_by_its_name(image, told_as, over):
    before = updated(a_pod("a:1"), UpdateSpec("web-2", {"c0": image}))
    statuses = [{"name": "c0", "image": told_as, "imageID": "id-of-a:1"}]
    pod = before | {"status": before["status"] | {"containerStatuses": statuses}}
    assert is_updated(pod) is over
