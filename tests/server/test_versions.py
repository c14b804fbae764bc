"""Objects that are written in one version and read in the others have the shape of the version that is asked for."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.release import load_release

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
SCALED = {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}}
EXACTLY = {"deviceClassName": "a", "allocationMode": "ExactCount", "count": 1}
REFERENCE = {"kind": "Pod", "namespace": "default", "name": "a"}


def hpa(version: str) -> str:
    return f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"


def devices(version: str, plural: str) -> str:
    scope = "" if plural == "resourceslices" else "namespaces/default/"
    return f"/apis/resource.k8s.io/{version}/{scope}{plural}"


def levels(version: str) -> str:
    return f"/apis/flowcontrol.apiserver.k8s.io/{version}/prioritylevelconfigurations"


def sliced(device: Obj) -> Obj:
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    return {"spec": {"driver": "example.com", "nodeName": "a", "pool": pool, "devices": [{"name": "a", **device}]}}


def claim(request: Obj) -> Obj:
    return {"spec": {"devices": {"requests": [{"name": "a", **request}]}}}


def limited(name: str) -> Obj:
    return {"spec": {"type": "Limited", "limited": {name: 7, "limitResponse": {"type": "Reject"}}}}


ATTRIBUTES = {"attributes": {"a": {"int": 7}}}
CLAIMS, TEMPLATES, SLICES = "resourceclaims", "resourceclaimtemplates", "resourceslices"
CORE_EVENTS, EVENTS = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
FLAT, NESTED = claim(EXACTLY), claim({"exactly": EXACTLY})
V1_CPU, V2_CPU = {**SCALED, "targetCPUUtilizationPercentage": 50}, {**SCALED, "metrics": [CPU]}
V2_MEMORY = {"spec": {**SCALED, "metrics": [MEMORY]}}
ASSURED, NOMINAL = limited("assuredConcurrencyShares"), limited("nominalConcurrencyShares")
PAIRS = [
    ("1.37", hpa("v1"), {"spec": V1_CPU}, hpa("v2"), {"spec": V2_CPU}),
    ("1.25", hpa("v2beta2"), V2_MEMORY, hpa("v2"), V2_MEMORY),
    ("1.37", devices("v1beta1", CLAIMS), FLAT, devices("v1", CLAIMS), NESTED),
    ("1.37", devices("v1beta2", CLAIMS), NESTED, devices("v1", CLAIMS), NESTED),
    ("1.33", devices("v1beta1", CLAIMS), FLAT, devices("v1beta2", CLAIMS), NESTED),
    ("1.37", devices("v1beta1", TEMPLATES), {"spec": FLAT}, devices("v1", TEMPLATES), {"spec": NESTED}),
    ("1.37", devices("v1beta1", SLICES), sliced({"basic": ATTRIBUTES}), devices("v1", SLICES), sliced(ATTRIBUTES)),
    ("1.26", levels("v1beta2"), ASSURED, levels("v1beta3"), NOMINAL),
    ("1.25", levels("v1beta1"), ASSURED, levels("v1beta2"), ASSURED),
    ("1.30", levels("v1beta3"), NOMINAL, levels("v1"), NOMINAL),
    ("1.37", CORE_EVENTS, {"involvedObject": REFERENCE, "message": "m"}, EVENTS, {"regarding": REFERENCE, "note": "m"}),
]


@pytest.mark.parametrize(("release", "written_at", "body", "read_at", "expected"), PAIRS)
def test_what_is_written_in_one_version_is_read_in_the_shape_of_another(
    wires: Callable[[str], Any], release: str, written_at: str, body: Obj, read_at: str, expected: Obj
) -> None:
    wire = wires(release)
    for path, obj, other, other_obj in ((written_at, body, read_at, expected), (read_at, expected, written_at, body)):
        sent = {"metadata": {"name": "two"}} | filled(path, obj)
        made = wire.expect(201, "POST", f"{path}?fieldValidation=Strict", sent)
        reply = wire.get(f"{other}/two")
        assert holds(made, obj)
        assert holds(reply, other_obj)
        assert reply["metadata"]["uid"] == made["metadata"]["uid"]
        assert reply["apiVersion"] != made["apiVersion"]
        assert wire.expect(200, "PUT", f"{other}/two", reply)["metadata"] == reply["metadata"], "nothing has changed"
        assert holds(next(each for each in wire.get(other)["items"] if each["metadata"]["name"] == "two"), other_obj)
        patched = wire.patch(f"{other}/two", {"metadata": {"labels": {"a": "b"}}})
        assert holds(patched, other_obj)
        assert holds(wire.get(f"{path}/two"), obj)
        wire.expect(200, "DELETE", f"{path}/two")


def filled(path: str, obj: Obj) -> Obj:
    """An Event of the newer group must say more than the older one."""
    if path != EVENTS:
        return obj
    reporter = {"reportingController": "a/b", "reportingInstance": "a", "action": "a", "type": "Normal", "reason": "r"}
    return {**obj, **reporter, "eventTime": "2026-01-01T00:00:00.000000Z"}


def holds(actual: Any, expected: Any) -> bool:
    """Return whether all that is expected is there; a list has these items and no others."""
    if isinstance(expected, dict):
        return all(name in actual and holds(actual[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(map(holds, actual, expected))
    return bool(actual == expected)


@pytest.mark.parametrize(
    ("release", "written_at", "body", "read_at", "absent"),
    [
        ("1.37", hpa("v1"), {"spec": {**SCALED, "targetCPUUtilizationPercentage": 50}}, hpa("v2"), "targetCPU"),
        ("1.37", hpa("v2"), {"spec": {**SCALED, "metrics": [CPU]}}, hpa("v1"), "averageUtilization"),
        (
            "1.37",
            devices("v1", "resourceclaims"),
            claim({"exactly": EXACTLY}),
            devices("v1beta1", "resourceclaims"),
            "exactly",
        ),
        ("1.37", devices("v1", "resourceslices"), sliced(ATTRIBUTES), devices("v1beta2", "resourceslices"), "basic"),
    ],
)
def test_no_name_of_another_version_is_left(
    wires: Callable[[str], Any], release: str, written_at: str, body: Obj, read_at: str, absent: str
) -> None:
    wire = wires(release)
    wire.expect(201, "POST", written_at, {"metadata": {"name": "left"}} | body)
    reply = wire.get(f"{read_at}/left")
    assert absent not in str(reply["spec"])
    wire.expect(200, "DELETE", f"{written_at}/left")


def test_a_pod_certificate_request_of_v1_has_no_proof_beside_its_stub(
    wires: Callable[[str], Any], minimal: Callable[[Resource], Obj]
) -> None:
    path = "/apis/certificates.k8s.io/{}/namespaces/default/podcertificaterequests"
    rows = [
        row for row in load_release("1.37").rows if row.kind == "PodCertificateRequest" and row.version == "v1beta1"
    ]
    made = wires("1.37").expect(
        201, "POST", path.format("v1beta1"), minimal(rows[0]) | {"metadata": {"name": "proven"}}
    )
    reply = wires("1.37").get(f"{path.format('v1')}/proven")
    assert made["spec"].keys() - reply["spec"].keys() == {"pkixPublicKey", "proofOfPossession"}
