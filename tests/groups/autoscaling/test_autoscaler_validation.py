"""Validation of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

SCALER = VALIDATORS["autoscaling", "HorizontalPodAutoscaler"]
BUDGET = VALIDATORS["policy", "PodDisruptionBudget"]
SPEC = {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"metrics": [CPU]}, []),
        ({"minReplicas": 3}, ["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"]),
        (
            {"minReplicas": -1, "maxReplicas": 0},
            [
                "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: 0: must be greater than 0",
            ],
        ),
        (
            {"scaleTargetRef": {"name": "c/d"}},
            [
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Invalid value: \"c/d\": may not contain '/'",
            ],
        ),
        (
            {"targetCPUUtilizationPercentage": -5},
            ["spec.metrics[0].resource.target.averageUtilization: Invalid value: -5: must be greater than 0"],
        ),
        (
            {"metrics": [{"type": "Pods"}]},
            ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
        ),
        (
            {"metrics": [CPU | {"resource": {"name": "cpu", "target": {"type": "Value"}}}]},
            [
                (
                    "spec.metrics[0].resource.target.averageUtilization: Required value: "
                    "must set either a target raw value or a target utilization"
                )
            ],
        ),
        (
            {"metrics": [CPU | {"pods": {"metric": {"name": "m"}, "target": {"type": "Value", "averageValue": "1"}}}]},
            ["spec.metrics[0].pods: Forbidden: must populate the given metric source only"],
        ),
        (
            {"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 1801}]}}},
            [
                "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
                (
                    "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: "
                    "must be less than or equal to 1800"
                ),
            ],
        ),
        (
            {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Any", "policies": []}}},
            [
                (
                    "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: "
                    "must be less than or equal to 3600"
                ),
                (
                    'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Any": '
                    'supported values: "Disabled", "Max", "Min"'
                ),
                "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
            ],
        ),
    ],
)
def test_a_scaler_has_bounds_a_target_and_metrics(spec: dict[str, Any], errors: list[str]) -> None:
    assert messages(SCALER.create({"metadata": {"name": "h"}, "spec": SPEC | spec})) == errors


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"minAvailable": 1}, []),
        ({"maxUnavailable": "100%"}, []),
        ({"maxUnavailable": "101%"}, ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%']),
        ({"minAvailable": -1}, ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"minAvailable": "half"},
            [
                (
                    'spec.minAvailable: Invalid value: "half": a valid percent string must be a numeric string '
                    "followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
                )
            ],
        ),
        (
            {"minAvailable": 1, "maxUnavailable": 1},
            [
                (
                    'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,'
                    '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
                )
            ],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                (
                    "spec.selector.matchExpressions[0].values: Required value: "
                    "must be specified when `operator` is 'In' or 'NotIn'"
                )
            ],
        ),
    ],
)
def test_a_budget_is_a_number_or_a_share(spec: dict[str, Any], errors: list[str]) -> None:
    assert messages(BUDGET.create({"metadata": {"name": "b"}, "spec": spec})) == errors
