"""Where a list or text may have so many entries and no more: the bound itself is let through, one more is not."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

Make = Callable[[int], dict[str, Any]]


def _slice(**parts: Any) -> dict[str, Any]:
    endpoints = [{"addresses": ["10.0.0.1"]}]
    return {"metadata": {"name": "s", "namespace": "d"}, "addressType": "IPv4", "endpoints": endpoints} | parts


def _storage_class(**parameters: str) -> dict[str, Any]:
    head = {"metadata": {"name": "c"}, "provisioner": "example.com/p", "volumeBindingMode": "Immediate"}
    return head | {"parameters": parameters}


def _config_map(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "c", "namespace": "d"}, "data": data}


def _base64(count: int) -> str:
    return base64.b64encode(bytes(count)).decode()


def _ingress_class(controller: str) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "spec": {"controller": controller}}


def _claim(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "c", "namespace": "d"}, "spec": {"devices": {"requests": list(requests)}}}


def _exact(name: str, **more: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    return {"name": name, "exactly": exactly | more}


def _first(count: int) -> dict[str, Any]:
    one = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    return {"name": "a", "firstAvailable": [{"name": f"n{number}", **one} for number in range(count)]}


def _selectors(count: int) -> list[dict[str, Any]]:
    return [{"cel": {"expression": "true"}} for _ in range(count)]


def _job(*rules: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pod = {
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "containers": [
            {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"},
        ],
    }
    labels = {f"{prefix}{name}": value for prefix in ("", "batch.kubernetes.io/") for name, value in _OWN.items()}
    head = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "Indexed"}
    policy = {"podFailurePolicy": {"rules": list(rules)}} if rules else {}
    template = {"metadata": {"labels": labels}, "spec": pod}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    meta = {"name": "j", "namespace": "d", "uid": "u"}
    return {"metadata": meta, "spec": head | {"selector": selector, "template": template} | policy | spec}


_OWN = {"controller-uid": "u", "job-name": "j"}


def _codes(count: int) -> dict[str, Any]:
    return {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [*range(1, count + 1)]}}


def _conditions(count: int) -> dict[str, Any]:
    return {
        "action": "Ignore",
        "onPodConditions": [{"type": f"T{number}", "status": "True"} for number in range(count)],
    }


def _names(count: int, start: str = "n") -> list[dict[str, str]]:
    return [{"name": f"{start}{number}"} for number in range(count)]


BOUNDS: dict[str, tuple[str, Make, int, str]] = {
    "endpoints of a slice": (
        "discovery.k8s.io/EndpointSlice",
        lambda n: _slice(endpoints=[{"addresses": ["10.0.0.1"]}] * n),
        1000,
        "endpoints: Too many: 1001: must have at most 1000 items",
    ),
    "ports of a slice": (
        "discovery.k8s.io/EndpointSlice",
        lambda n: _slice(ports=[{"name": f"p{each}", "protocol": "TCP", "port": 1} for each in range(n)]),
        20000,
        "ports: Too many: 20001: must have at most 20000 items",
    ),
    "addresses of an endpoint": (
        "discovery.k8s.io/EndpointSlice",
        lambda n: _slice(endpoints=[{"addresses": [f"10.0.0.{each + 1}" for each in range(n)]}]),
        100,
        "endpoints[0].addresses: Too many: 101: must have at most 100 items",
    ),
    "zones of an endpoint's hints": (
        "discovery.k8s.io/EndpointSlice",
        lambda n: _slice(endpoints=[{"addresses": ["10.0.0.1"], "hints": {"forZones": _names(n)}}]),
        8,
        "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
    ),
    "nodes of an endpoint's hints": (
        "discovery.k8s.io/EndpointSlice",
        lambda n: _slice(endpoints=[{"addresses": ["10.0.0.1"], "hints": {"forNodes": _names(n)}}]),
        8,
        "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items",
    ),
    "parameters of a class": (
        "storage.k8s.io/StorageClass",
        lambda n: _storage_class(**{f"p{each}": "" for each in range(n)}),
        512,
        "parameters: Too long: may not be more than 512 bytes",
    ),
    "bytes of a class's parameters": (
        "storage.k8s.io/StorageClass",
        lambda n: _storage_class(ab="é", c="x" * (n - 5)),
        256 * 1024,
        "parameters: Too long: may not be more than 262144 bytes",
    ),
    "bytes of a ConfigMap": (
        "/ConfigMap",
        lambda n: _config_map(a="é" * 4, b="x" * (n - 8)),
        1024 * 1024,
        "[]: Too long: may not be more than 1048576 bytes",
    ),
    "bytes of a Secret": (
        "/Secret",
        lambda n: {"metadata": {"name": "s", "namespace": "d"}, "type": "Opaque", "data": {"a": _base64(n)}},
        1024 * 1024,
        "data: Too long: may not be more than 1048576 bytes",
    ),
    "a controller's name": (
        "networking.k8s.io/IngressClass",
        lambda n: _ingress_class("example.com/" + "x" * (n - 12)),
        250,
        "spec.controller: Too long: may not be more than 250 bytes",
    ),
    "requests of a claim": (
        "resource.k8s.io/ResourceClaim",
        lambda n: _claim(*(_exact(f"r{each}") for each in range(n))),
        32,
        "spec.devices.requests: Too many: 33: must have at most 32 items",
    ),
    "alternatives of a request": (
        "resource.k8s.io/ResourceClaim",
        lambda n: _claim(_first(n)),
        8,
        "spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items",
    ),
    "selectors of a request": (
        "resource.k8s.io/ResourceClaim",
        lambda n: _claim(_exact("a", selectors=_selectors(n))),
        32,
        "spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items",
    ),
    "rules of a failure policy": (
        "batch/Job",
        lambda n: _job(*[_codes(1)] * n),
        20,
        "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items",
    ),
    "exit codes of a rule": (
        "batch/Job",
        lambda n: _job(_codes(n)),
        255,
        "spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have at most 255 items",
    ),
    "conditions of a rule": (
        "batch/Job",
        lambda n: _job(_conditions(n)),
        20,
        "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items",
    ),
    "rules of a success policy": (
        "batch/Job",
        lambda n: _job(successPolicy={"rules": [{"succeededCount": 1}] * n}),
        20,
        "spec.successPolicy.rules: Too many: 21: must have at most 20 items",
    ),
}


@pytest.mark.parametrize(("kind", "make", "most", "refusal"), BOUNDS.values(), ids=BOUNDS)
def test_the_bound_itself_is_let_through_and_one_more_is_not(kind: str, make: Make, most: int, refusal: str) -> None:
    group, _, name = kind.rpartition("/")
    check = VALIDATORS[group, name].create
    assert [str(error) for error in check(make(most))] == []
    assert [str(error) for error in check(make(most + 1))] == [refusal]
