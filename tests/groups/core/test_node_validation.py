"""Validation of Nodes, RuntimeClasses, Leases, LeaseCandidates and Namespaces."""

from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.registry.validation import VALIDATORS


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def created(group: str, kind: str, **parts: Any) -> list[str]:
    return messages(VALIDATORS[group, kind].create({"metadata": {"name": "a"}} | parts))


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"taints": [TAINT, TAINT | {"effect": "NoExecute"}]}, []),
        (
            {"taints": [TAINT | {"effect": "Never"}]},
            [
                (
                    'metadata.taints[0].effect: Unsupported value: "Never": '
                    'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
                )
            ],
        ),
        (
            {"taints": [TAINT, TAINT]},
            [
                (
                    'metadata.taints[1]: Duplicate value: {"key":"k","value":"v","effect":"NoSchedule"}: '
                    "taints must be unique by key and effect pair"
                )
            ],
        ),
        (
            {"podCIDRs": ["10.0.0.0/24", "10.0.0.0/24"]},
            [
                (
                    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: '
                    "may specify no more than one CIDR for each IP family"
                ),
                'spec.podCIDRs[1]: Duplicate value: "10.0.0.0/24"',
            ],
        ),
    ],
)
def test_a_node_has_taints_and_ranges(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("", "Node", spec=spec) == errors


@pytest.mark.parametrize(
    ("new", "old", "errors"),
    [
        ({"podCIDRs": ["10.0.0.0/24"], "providerID": "x", "unschedulable": True}, {}, []),
        (
            {"podCIDRs": ["10.0.1.0/24"]},
            {"podCIDRs": ["10.0.0.0/24"]},
            ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
        ),
        (
            {},
            {"providerID": "x"},
            ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'],
        ),
    ],
)
def test_ranges_and_providers_of_nodes_stay(new: dict[str, Any], old: dict[str, Any], errors: list[str]) -> None:
    objects = ({"metadata": {}, "spec": spec} for spec in (new, old))
    assert messages(VALIDATORS["", "Node"].update(*objects)) == errors


def test_a_handler_stays() -> None:
    new: Obj = {"metadata": {}, "handler": "b"}
    old: Obj = {"metadata": {}, "handler": "a"}
    assert messages(VALIDATORS["node.k8s.io", "RuntimeClass"].update(new, old)) == [
        'handler: Invalid value: "b": field is immutable'
    ]
    assert created("node.k8s.io", "RuntimeClass", handler="a", overhead={"podFixed": {"cpu": "-1"}}) == [
        'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"leaseDurationSeconds": 1, "leaseTransitions": 0}, []),
        ({"leaseDurationSeconds": 0}, ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"strategy": "Any"},
            ['spec.strategy.strategy: Unsupported value: "Any": supported values: "OldestEmulationVersion"'],
        ),
        (
            {"preferredHolder": "h"},
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
        ),
    ],
)
def test_a_lease_lasts_for_a_while(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("coordination.k8s.io", "Lease", spec=spec) == errors


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {
                "leaseName": "l",
                "binaryVersion": "1.34.0",
                "emulationVersion": "1.33.0",
                "strategy": "OldestEmulationVersion",
            },
            [],
        ),
        (
            {"leaseName": "l", "binaryVersion": "1.0.0", "emulationVersion": "1.2", "strategy": "a/b"},
            ['spec.emulationVersion: Invalid value: "1.2": must be a valid semantic version'],
        ),
        (
            {},
            [
                "spec.leaseName: Required value",
                "spec.binaryVersion: Required value",
                "spec.strategy: Required value",
            ],
        ),
    ],
)
def test_a_candidate_names_a_lease_and_versions(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("coordination.k8s.io", "LeaseCandidate", spec=spec) == errors


def test_a_namespaces_phase_fits_its_deletion() -> None:
    check = VALIDATORS["", "Namespace"].status_update
    live: dict[str, Any] = {"metadata": {"name": "n"}, "status": {"phase": "Terminating"}}
    dying = live | {"metadata": {"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert messages(check(dying, live)) == []
    assert messages(check(live, live)) == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]
    assert created("", "Namespace", spec={"finalizers": ["kubernetes", "own"]}) == [
        'spec.finalizers: Invalid value: "own": name is neither a standard finalizer name nor is it fully qualified'
    ]
