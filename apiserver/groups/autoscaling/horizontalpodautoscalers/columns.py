"""Columns of HorizontalPodAutoscalers."""

import json
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from apiserver.api.meta import Obj, metadata, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, UNKNOWN, UNSET, Cells, mapping, mappings, number_of, text_of

HPA = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"

_MAX_METRICS = 2

# Metric type → the key under which a spec or a status describes it.
_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def _metric_text(spec: Obj, status: Obj) -> str:
    """Return a metric's current value and its target: "cpu: 40%/80%", "12/100 (avg)"."""
    source = _SOURCES.get(text_of(spec, "type"))
    if source is None:
        return "<unknown type>"
    target, current = mapping(mapping(spec, source), "target"), mapping(mapping(status, source), "current")
    if source in {"resource", "containerResource"}:
        return f"{text_of(mapping(spec, source), 'name')}: {_resource_text(current, target)}"
    by_average = source == "pods" or target.get("averageValue") is not None
    key = "averageValue" if by_average else "value"
    suffix = " (avg)" if by_average and source != "pods" else ""
    return f"{_value(current.get(key))}/{_value(target.get(key), absent='0')}{suffix}"


def _resource_text(current: Obj, target: Obj) -> str:
    if target.get("averageValue") is not None:
        return f"{_value(current.get('averageValue'))}/{target['averageValue']}"
    target_text = _percent(target.get("averageUtilization"), absent="<auto>")
    return f"{_percent(current.get('averageUtilization'), absent=UNKNOWN)}/{target_text}"


def _value(value: Any, absent: str = UNKNOWN) -> str:
    return absent if value is None else str(value)


def _percent(value: Any, absent: str) -> str:
    return absent if value is None else f"{value}%"


def _metrics_text(specs: list[Obj], statuses: list[Obj]) -> str:
    """Return the targets of the first two metrics; a status belongs to the spec at its position."""
    if not specs:
        return NONE
    pairs = zip(specs[:_MAX_METRICS], chain(statuses, repeat({})), strict=False)
    text = ", ".join([_metric_text(spec, status) for spec, status in pairs])
    left_out = len(specs) - _MAX_METRICS
    return f"{text} + {left_out} more..." if left_out > 0 else text


# autoscaling/v1 has all metrics but the CPU's in annotations, and flat: source → {field of v2: field there}.
_ANNOTATION = "autoscaling.alpha.kubernetes.io/"

_RESOURCE_TARGET = {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"}

_RESOURCE_CURRENT = {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"}

_FlatFields = Mapping[str, Mapping[str, str]]

_TARGETS: _FlatFields = {
    "resource": _RESOURCE_TARGET,
    "containerResource": _RESOURCE_TARGET,
    "pods": {"averageValue": "targetAverageValue"},
    "object": {"value": "targetValue", "averageValue": "averageValue"},
    "external": {"value": "targetValue", "averageValue": "targetAverageValue"},
}

_CURRENTS: _FlatFields = {
    "resource": _RESOURCE_CURRENT,
    "containerResource": _RESOURCE_CURRENT,
    "pods": {"averageValue": "currentAverageValue"},
    "object": {"value": "currentValue", "averageValue": "averageValue"},
    "external": {"value": "currentValue", "averageValue": "currentAverageValue"},
}


def _metrics_from_annotation(obj: Obj, annotation: str, *, part: str, fields: _FlatFields) -> list[Obj]:
    """Return the metrics in an annotation of autoscaling/v1, converted to autoscaling/v2."""
    try:
        metrics = json.loads(text_of(mapping(metadata(obj), "annotations"), _ANNOTATION + annotation))
    except ValueError:
        return []
    return [_metric_to_v2(metric, part, fields) for metric in mappings({"metrics": metrics}, "metrics")]


def _metric_to_v2(metric: Obj, part: str, fields: _FlatFields) -> Obj:
    source = _SOURCES.get(text_of(metric, "type"), "")
    flat = mapping(metric, source)
    nested = {key: flat[flat_key] for key, flat_key in fields.get(source, {}).items() if flat.get(flat_key) is not None}
    return {"type": metric.get("type"), source: {"name": flat.get("name"), part: nested}}


def _cpu(utilization: Any, part: str) -> list[Obj]:
    if utilization is None:
        return []
    return [{"type": "Resource", "resource": {"name": "cpu", part: {"averageUtilization": utilization}}}]


def _metric_specs(obj: Obj) -> list[Obj]:
    spec = mapping(obj, "spec")
    if "metrics" in spec:
        return mappings(spec, "metrics")
    cpu = _cpu(spec.get("targetCPUUtilizationPercentage"), "target")
    return _metrics_from_annotation(obj, "metrics", part="target", fields=_TARGETS) + cpu


def _metric_statuses(obj: Obj) -> list[Obj]:
    status = mapping(obj, "status")
    if "currentMetrics" in status:
        return mappings(status, "currentMetrics")
    cpu = _cpu(status.get("currentCPUUtilizationPercentage"), "current")
    return _metrics_from_annotation(obj, "current-metrics", part="current", fields=_CURRENTS) + cpu


def autoscaler_cells(obj: Obj) -> Cells:
    """Return the cells of an autoscaler."""
    spec = mapping(obj, "spec")
    target = mapping(spec, "scaleTargetRef")
    return [
        name_of(obj),
        f"{text_of(target, 'kind')}/{text_of(target, 'name')}",
        _metrics_text(_metric_specs(obj), _metric_statuses(obj)),
        UNSET if spec.get("minReplicas") is None else str(number_of(spec, "minReplicas")),
        number_of(spec, "maxReplicas"),
        number_of(mapping(obj, "status"), "currentReplicas"),
        age(obj),
    ]
