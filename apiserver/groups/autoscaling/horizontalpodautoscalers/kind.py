"""HorizontalPodAutoscalers (autoscaling): the kind, its strategy and its defaults, which differ between v1 and v2."""

from apiserver.api.meta import Obj
from apiserver.api.validation.contract import Validator
from apiserver.groups.autoscaling.horizontalpodautoscalers.columns import HPA, autoscaler_cells
from apiserver.groups.autoscaling.horizontalpodautoscalers.conversion import METRICS, from_v2, to_v2
from apiserver.groups.autoscaling.horizontalpodautoscalers.validation import create, status_update, update
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.conversion import Conversion
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import Strategy, status_updating, updating

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


def _create_autoscaler(autoscaler: Obj) -> None:
    """Reset the status, whose required fields differ between the versions."""
    first = autoscaler["apiVersion"] == "autoscaling/v1"
    empty: Obj = {"currentReplicas": 0} if first else {"currentMetrics": None}
    autoscaler["status"] = empty | {"desiredReplicas": 0}


AUTOSCALER = Strategy(_create_autoscaler, updating(), status_updating(), has_status=True)

HORIZONTAL_POD_AUTOSCALER = BuiltinKind(
    "autoscaling",
    "HorizontalPodAutoscaler",
    ("hpa",),
    categories=ALL,
    version_defaults={"v1": default_autoscaler_v1, "v2": default_autoscaler_v2, "v2beta2": default_autoscaler_v2},
    strategy=AUTOSCALER,
    validator=Validator(create, update, status_update),
    conversions={"v1": Conversion(to_v2, from_v2)},
    printer=Printer(
        columns=(
            NAME,
            Column("Reference", f"{HPA}Spec#scaleTargetRef"),
            Column("Targets", f"{HPA}Spec#metrics"),
            Column("MinPods", f"{HPA}Spec#minReplicas"),
            Column("MaxPods", f"{HPA}Spec#maxReplicas"),
            Column("Replicas", f"{HPA}Status#currentReplicas"),
            AGE,
        ),
        cells=autoscaler_cells,
    ),
    notices=stored("HorizontalPodAutoscaler", "has no HorizontalPodAutoscaler controller", "scales nothing"),
)
