import json
from typing import Any

import pytest


def metric(kind: str, target: Any, name: str | None = None) -> dict[str, Any]:
    source = kind[0].lower() + kind[1:]
    return {"type": kind, source: {"name": name, "target": target}}


def current(kind: str, value: Any) -> dict[str, Any]:
    source = kind[0].lower() + kind[1:]
    return {"type": kind, source: {"current": value}}


CPU = metric("Resource", {"type": "Utilization", "averageUtilization": 80}, "cpu")


@pytest.mark.parametrize(
    ("metrics", "statuses", "expected"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/80%"),
        ([CPU], [current("Resource", {"averageUtilization": 40})], "cpu: 40%/80%"),
        ([metric("Resource", {}, "cpu")], [], "cpu: <unknown>/<auto>"),
        (
            [metric("Resource", {"averageValue": "100Mi"}, "memory")],
            [current("Resource", {"averageValue": "50Mi"})],
            "memory: 50Mi/100Mi",
        ),
        (
            [metric("ContainerResource", {"averageUtilization": 60}, "cpu")],
            [current("ContainerResource", {"averageUtilization": 6})],
            "cpu: 6%/60%",
        ),
        ([metric("Pods", {"averageValue": "10"})], [current("Pods", {"averageValue": "2500m"})], "2500m/10"),
        ([metric("Pods", {"averageValue": "10"})], [], "<unknown>/10"),
        ([metric("Object", {"value": "5"})], [current("Object", {"value": "4"})], "4/5"),
        ([metric("Object", {"averageValue": "5"})], [current("Object", {"averageValue": "4"})], "4/5 (avg)"),
        ([metric("External", {"value": "5"})], [], "<unknown>/5"),
        ([metric("External", {"averageValue": "5"})], [current("External", {"averageValue": "4"})], "4/5 (avg)"),
        ([metric("Moon", {})], [], "<unknown type>"),
        ([CPU, CPU], [current("Resource", {"averageUtilization": 1})], "cpu: 1%/80%, cpu: <unknown>/80%"),
        ([CPU] * 5, [], "cpu: <unknown>/80%, cpu: <unknown>/80% + 3 more..."),
    ],
)
def test_the_targets_of_an_autoscaler(printed: Any, metrics: Any, statuses: Any, expected: str) -> None:
    body = {"spec": {"metrics": metrics}, "status": {"currentMetrics": statuses}}
    assert printed("autoscaling", "HorizontalPodAutoscaler", body)["Targets"] == expected


def test_an_autoscalers_row(printed: Any) -> None:
    body = {
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 2, "maxReplicas": 5},
        "status": {"currentReplicas": 3},
    }
    expected = ["x", "Deployment/d", "<none>", "2", 5, 3, "60m"]
    assert list(printed("autoscaling", "HorizontalPodAutoscaler", body).values()) == expected


def test_an_autoscaler_without_a_floor_says_so(printed: Any) -> None:
    assert printed("autoscaling", "HorizontalPodAutoscaler", {})["MinPods"] == "<unset>"


def test_the_first_version_has_the_cpu_in_fields_of_its_own(printed: Any) -> None:
    body = {"spec": {"targetCPUUtilizationPercentage": 70}, "status": {"currentCPUUtilizationPercentage": 20}}
    assert printed("autoscaling", "HorizontalPodAutoscaler", body)["Targets"] == "cpu: 20%/70%"


def test_the_first_version_has_the_other_metrics_in_annotations(printed: Any) -> None:
    specs = [{"type": "Pods", "pods": {"metricName": "hits", "targetAverageValue": "10"}}]
    statuses = [{"type": "Pods", "pods": {"metricName": "hits", "currentAverageValue": "7"}}]
    body = {
        "metadata": {
            "annotations": {
                "autoscaling.alpha.kubernetes.io/metrics": json.dumps(specs),
                "autoscaling.alpha.kubernetes.io/current-metrics": json.dumps(statuses),
            }
        },
        "spec": {"targetCPUUtilizationPercentage": 70},
    }
    assert printed("autoscaling", "HorizontalPodAutoscaler", body)["Targets"] == "7/10, cpu: <unknown>/70%"


@pytest.mark.parametrize("annotation", ["", "{", "7", '"text"', "[1]"])
def test_an_annotation_that_is_no_list_of_metrics_is_passed_over(printed: Any, annotation: str) -> None:
    body = {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": annotation}}}
    assert printed("autoscaling", "HorizontalPodAutoscaler", body)["Targets"] == "<none>"
