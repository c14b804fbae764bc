"""Validation of claims and classes of devices."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

GROUP = "resource.k8s.io"
EXACT = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def claim(*requests: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r"} | request for request in requests]}},
    }


PATH = "spec.devices.requests"


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (claim({"exactly": EXACT}), []),
        (claim({"firstAvailable": [EXACT | {"name": "a"}]}), []),
        (claim({}), [f"{PATH}[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"]),
        (claim({"exactly": EXACT}, {"exactly": EXACT}), [f'{PATH}[1].name: Duplicate value: "r"']),
        (
            claim({"exactly": EXACT | {"count": 0}}),
            [f"{PATH}[0].exactly.count: Invalid value: 0: must be greater than zero"],
        ),
        (
            claim({"exactly": EXACT | {"allocationMode": "Some", "deviceClassName": ""}}),
            [
                f"{PATH}[0].exactly.deviceClassName: Required value",
                f'{PATH}[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
            ],
        ),
    ],
)
def test_a_claim_asks_for_devices_of_a_class(obj: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS[GROUP, "ResourceClaim"].create(obj)) == errors


def test_a_claim_for_devices_stays() -> None:
    old, new = claim({"exactly": EXACT}), claim({"exactly": EXACT | {"count": 2}})
    errors = messages(VALIDATORS[GROUP, "ResourceClaim"].update(new, old))
    assert len(errors) == 1
    assert errors[0].endswith(": field is immutable")
    assert messages(VALIDATORS[GROUP, "ResourceClaim"].update(old, old)) == []


def test_a_selector_of_a_device_class_has_an_expression() -> None:
    device_class = {"metadata": {"name": "c"}, "spec": {"selectors": [{}, {"cel": {}}]}}
    assert messages(VALIDATORS[GROUP, "DeviceClass"].create(device_class)) == [
        "spec.selectors[0].cel: Required value",
        "spec.selectors[1].cel.expression: Required value",
    ]


def selecting(expression: str) -> dict[str, Any]:
    model = {"namedResources": {"selector": expression}}
    return {"metadata": {"name": "c"}, "filters": [{"driverName": "gpu.example.com"} | model]}


def test_a_selector_that_is_nested_too_deeply_is_refused() -> None:
    (error,) = VALIDATORS[GROUP, "ResourceClassParameters"].create(selecting("(" * 240 + "true" + ")" * 240))
    assert str(error).endswith(": compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded")


def test_a_pod_may_have_at_most_128_potential_nodes() -> None:
    def context(count: int) -> dict[str, Any]:
        return {"metadata": {"name": "c"}, "spec": {"potentialNodes": [f"node-{number}" for number in range(count)]}}

    create = VALIDATORS[GROUP, "PodSchedulingContext"].create
    assert messages(create(context(128))) == []
    assert messages(create(context(129))) == ["spec.potentialNodes: Too many: 129: must have at most 128 items"]


@pytest.mark.parametrize("kind", ["PodScheduling", "PodSchedulingContext"])
def test_the_status_of_a_scheduling_context_is_not_for_those_who_create_and_update_it(
    kind: str, created: Any, updated: Any
) -> None:
    status = {"resourceClaims": [{"name": "a"}]}
    assert created(GROUP, kind, {"spec": {}, "status": status})["status"] == {}
    assert updated(GROUP, kind, {"spec": {}, "status": {}}, {"spec": {}, "status": status})["status"] == status
