"""Defaults of HorizontalPodAutoscalers; autoscaling/v1 and v2 have them in different fields."""

from apiserver.api.meta import Obj
from apiserver.groups.autoscaling.horizontalpodautoscalers.conversion import METRICS

CPU_UTILIZATION = 80


def default_autoscaler_v1(autoscaler: Obj) -> None:
    """Set the defaults in autoscaling/v1: at least one pod, 80 % of CPU if there is no metric (conversion)."""
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    annotations = (autoscaler.get("metadata") or {}).get("annotations") or {}
    if METRICS not in annotations:
        spec.setdefault("targetCPUUtilizationPercentage", CPU_UTILIZATION)


def default_autoscaler_v2(autoscaler: Obj) -> None:
    """Set the defaults in autoscaling/v2: at least one pod, 80 % of CPU, complete rules if there is a behavior."""
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [_cpu_metric()]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _scale_up() | behavior.get("scaleUp", {})
        behavior["scaleDown"] = _scale_down() | behavior.get("scaleDown", {})


def _cpu_metric() -> Obj:
    target = {"type": "Utilization", "averageUtilization": CPU_UTILIZATION}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _scale_up() -> Obj:
    return {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }


def _scale_down() -> Obj:
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
