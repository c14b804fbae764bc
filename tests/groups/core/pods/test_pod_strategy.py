"""The strategy of pods: what creation and updates change."""

import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.registry.strategy import STRATEGIES, SUBRESOURCES

POD = STRATEGIES["", "Pod"]


def created(spec: Obj, **metadata: Any) -> Obj:
    pod: Obj = {"metadata": metadata, "spec": copy.deepcopy(spec), "status": {"phase": "Running", "podIP": "10.0.0.1"}}
    POD.prepare_create(pod)
    return pod


def containers(*resources: Obj) -> list[Obj]:
    return [{"name": f"c{i}", "resources": container} for i, container in enumerate(resources)]


WHOLE = {"cpu": "1", "memory": "1Gi"}
SAME = {"limits": WHOLE, "requests": WHOLE}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "BestEffort"),
        ({"containers": containers({})}, "BestEffort"),
        ({"containers": [{"name": "c"}]}, "BestEffort"),
        ({"containers": containers({"requests": {"nvidia.com/gpu": "1"}})}, "BestEffort"),
        ({"containers": containers({"requests": {"cpu": "0"}})}, "BestEffort"),
        ({"containers": containers({"requests": {"cpu": "1"}})}, "Burstable"),
        ({"containers": containers({"limits": WHOLE, "requests": {"cpu": "1", "memory": "1Mi"}})}, "Burstable"),
        ({"containers": containers({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}})}, "Burstable"),
        ({"containers": containers(SAME)}, "Guaranteed"),
        ({"containers": containers({"limits": WHOLE, "requests": {"cpu": "1", "memory": "1073741824"}})}, "Guaranteed"),
        ({"containers": containers(SAME, {})}, "Burstable"),
        ({"containers": containers(SAME), "initContainers": containers({})}, "Burstable"),
        ({"containers": containers(SAME), "initContainers": containers(SAME)}, "Guaranteed"),
        ({"containers": containers(SAME), "ephemeralContainers": containers({})}, "Guaranteed"),
        ({"containers": containers({}), "resources": SAME}, "Guaranteed"),
        ({"containers": containers(SAME), "resources": {"requests": {"cpu": "1"}}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_requests_and_limits(spec: Obj, expected: str):
    assert created(spec)["status"] == {"phase": "Pending", "qosClass": expected}


def test_a_gated_pod_says_why_it_waits():
    assert created({"schedulingGates": [{"name": "x"}]}, creationTimestamp="T")["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": "T",
        }
    ]


def expression(key: str, operator: str, value: str) -> Obj:
    return {"key": key, "operator": operator, "values": [value]}


TERM = {"labelSelector": {"matchLabels": {"x": "y"}}, "matchLabelKeys": ["a", "absent"], "mismatchLabelKeys": ["b"]}
MERGED = [expression("a", "In", "1"), expression("b", "NotIn", "2")]


@pytest.mark.parametrize("affinity", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("field", "term"),
    [
        ("requiredDuringSchedulingIgnoredDuringExecution", TERM),
        ("preferredDuringSchedulingIgnoredDuringExecution", {"podAffinityTerm": TERM}),
    ],
)
def test_label_keys_of_affinities_become_the_pods_own_values(affinity: str, field: str, term: Obj):
    obj = created({"affinity": {affinity: {field: [term]}}}, labels={"a": "1", "b": "2"})
    merged = obj["spec"]["affinity"][affinity][field][0]
    assert merged.get("podAffinityTerm", merged)["labelSelector"]["matchExpressions"] == MERGED


@pytest.mark.parametrize(
    ("constraint", "selector"),
    [
        (
            {"labelSelector": {"matchExpressions": [expression("x", "In", "y")]}, "matchLabelKeys": ["a"]},
            {"matchExpressions": [expression("x", "In", "y"), expression("a", "In", "1")]},
        ),
        ({"labelSelector": {}, "matchLabelKeys": ["absent"]}, {}),
        ({"matchLabelKeys": ["a"]}, None),
    ],
)
def test_label_keys_of_spread_constraints_become_the_pods_own_values(constraint: Obj, selector: Obj | None):
    obj = created({"topologySpreadConstraints": [constraint]}, labels={"a": "1"})
    assert obj["spec"]["topologySpreadConstraints"][0].get("labelSelector") == selector


def test_a_status_update_forgets_neither_the_quality_nor_what_was_observed():
    old: Obj = {
        "metadata": {},
        "spec": {},
        "status": {
            "qosClass": "Burstable",
            "observedGeneration": 2,
            "conditions": [{"type": "Ready", "observedGeneration": 2}],
        },
    }
    new: Obj = {
        "metadata": {},
        "spec": {},
        "status": {"phase": "Running", "conditions": [{"type": "Ready"}, {"type": "X"}]},
    }
    POD.prepare_status_update(new, old)
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "Burstable",
        "observedGeneration": 2,
        "conditions": [{"type": "Ready", "observedGeneration": 2}, {"type": "X"}],
    }


def changed(part: str, new: Obj, old: Obj) -> Obj:
    obj = {"metadata": {"labels": {"x": "y"}}, "spec": new, "status": {"a": 2}}
    before = {"metadata": {"generation": 1}, "spec": old, "status": {"a": 1}}
    unspoilt = copy.deepcopy(before)
    SUBRESOURCES["", "Pod", part].prepare_update(obj, before)
    assert before == unspoilt
    return obj


def test_ephemeral_containers_are_all_that_their_subresource_changes():
    old = {"containers": [{"name": "c"}]}
    obj = changed("ephemeralcontainers", {"ephemeralContainers": [{"name": "e"}], "nodeName": "n"}, old)
    assert obj == {
        "metadata": {"generation": 2},
        "spec": {"containers": [{"name": "c"}], "ephemeralContainers": [{"name": "e"}]},
        "status": {"a": 1},
    }


def test_resources_are_all_that_a_resize_changes():
    old = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}], "nodeName": "n"}
    new = {"containers": [{"name": "c", "image": "j", "resources": {"limits": {"cpu": "2"}}}]}
    assert changed("resize", new, old) == {
        "metadata": {"generation": 2},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}], "nodeName": "n"},
        "status": {"a": 1},
    }


@pytest.mark.parametrize("names", [(), ("d",), ("c", "d")])
def test_a_resize_of_other_containers_is_left_for_validation_to_refuse(names: tuple[str, ...]):
    new = {"containers": [{"name": name} for name in names]}
    assert changed("resize", new, {"containers": [{"name": "c"}]})["spec"] == new


PROFILE = "container.apparmor.security.beta.kubernetes.io/c"


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/x", {"type": "Localhost", "localhostProfile": "x"}),
        ("localhost/", None),
        ("x", None),
    ],
)
def test_an_annotated_profile_becomes_a_field(annotation: str, profile: Obj | None):
    obj = created({"containers": [{"name": "c"}, {"name": "d"}]}, annotations={PROFILE: annotation})
    expected = {"name": "c"} | ({"securityContext": {"appArmorProfile": profile}} if profile else {})
    assert obj["spec"]["containers"] == [expected, {"name": "d"}]


@pytest.mark.parametrize(
    "spec",
    [
        {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}, "containers": [{"name": "c"}]},
        {"os": {"name": "windows"}, "containers": [{"name": "c"}]},
        {"containers": [{"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}]},
    ],
)
def test_an_annotated_profile_yields_to_the_pods_and_the_containers_own(spec: Obj):
    assert created(spec, annotations={PROFILE: "unconfined"})["spec"] == spec
