import orjson
import pytest

from apiserver.groups.autoscaling.horizontalpodautoscalers.conversion import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT,
    METRICS,
    from_v2,
    to_v2,
)

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def autoscaler(spec, status=None, **annotations):
    meta = {"name": "h"} | ({"annotations": annotations} if annotations else {})
    return {"metadata": meta, "spec": spec, "status": status or {}}


METRIC_PAIRS = [
    (
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1G"}},
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1G"}}},
    ),
    (
        {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 70}},
        {
            "type": "Resource",
            "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}},
        },
    ),
    (
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "targetAverageUtilization": 5, "container": "c"},
        },
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 5},
                "container": "c",
            },
        },
    ),
    (
        {"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "10"}},
        {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
    ),
    (
        {"type": "Object", "object": {"target": DEPLOYMENT, "metricName": "m", "targetValue": "3"}},
        {
            "type": "Object",
            "object": {
                "describedObject": DEPLOYMENT,
                "metric": {"name": "m"},
                "target": {"type": "Value", "value": "3"},
            },
        },
    ),
    (
        {"type": "External", "external": {"metricName": "q", "metricSelector": {}, "targetAverageValue": "3"}},
        {
            "type": "External",
            "external": {
                "metric": {"name": "q", "selector": {}},
                "target": {"type": "AverageValue", "averageValue": "3"},
            },
        },
    ),
]


@pytest.mark.parametrize(("old", "new"), METRIC_PAIRS)
def test_metrics_that_v1_has_no_field_for_are_in_an_annotation(old, new):
    spec = {"maxReplicas": 3}
    given = from_v2(autoscaler(spec | {"metrics": [new]}))
    assert orjson.loads(given["metadata"]["annotations"][METRICS]) == [old]
    assert given["spec"] == spec
    assert to_v2(given)["spec"] == spec | {"metrics": [new]}
    assert "annotations" not in to_v2(given)["metadata"]


def test_the_utilization_of_cpus_is_a_field_in_v1_and_the_first_metric_in_v2():
    old, new = METRIC_PAIRS[0]
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
    given = autoscaler({"targetCPUUtilizationPercentage": 60}, **{METRICS: orjson.dumps([old]).decode()})
    assert to_v2(given)["spec"] == {"metrics": [cpu, new]}
    assert from_v2(to_v2(given))["spec"] == given["spec"]
    assert from_v2(to_v2(given))["metadata"] == given["metadata"]


def test_current_values_conditions_and_behavior_come_back():
    status = {
        "desiredReplicas": 2,
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50}}},
            {"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "1G"}}},
        ],
        "conditions": [{"type": "AbleToScale", "status": "True"}],
    }
    whole = autoscaler({"maxReplicas": 3, "behavior": {"scaleDown": {"selectPolicy": "Min"}}}, status)
    given = from_v2(whole)
    assert given["status"] == {"currentReplicas": 0, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 50}
    assert set(given["metadata"]["annotations"]) == {CURRENT, CONDITIONS, BEHAVIOR}
    assert orjson.loads(given["metadata"]["annotations"][CURRENT]) == [
        {"type": "Resource", "resource": {"name": "memory", "currentAverageValue": "1G"}}
    ]
    assert to_v2(given) == whole


@pytest.mark.parametrize("text", ["", "{", "5", '"x"', "[1]", "{}"])
def test_an_annotation_that_lists_no_metrics_says_nothing(text):
    assert to_v2(autoscaler({"maxReplicas": 1}, **{METRICS: text}))["spec"] == {"maxReplicas": 1}
