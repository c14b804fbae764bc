"""HorizontalPodAutoscalers of autoscaling/v1: annotations carry the fields that only autoscaling/v2 has.

The annotations hold metrics in the older form of the versions before v2
(pkg/apis/autoscaling/v1/conversion.go).
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apiserver.api.meta import Obj

METRICS = "autoscaling.alpha.kubernetes.io/metrics"

CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"

CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"

BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"

Pairs = tuple[tuple[str, str], ...]

_RESOURCE: Pairs = (
    ("name", "name"),
    ("targetAverageUtilization", "target.averageUtilization"),
    ("targetAverageValue", "target.averageValue"),
)

SPECS: Mapping[str, tuple[str, Pairs]] = {
    "Object": (
        "object",
        (
            ("target", "describedObject"),
            ("metricName", "metric.name"),
            ("targetValue", "target.value"),
            ("selector", "metric.selector"),
            ("averageValue", "target.averageValue"),
        ),
    ),
    "Pods": (
        "pods",
        (
            ("metricName", "metric.name"),
            ("targetAverageValue", "target.averageValue"),
            ("selector", "metric.selector"),
        ),
    ),
    "Resource": ("resource", _RESOURCE),
    "ContainerResource": ("containerResource", (*_RESOURCE, ("container", "container"))),
    "External": (
        "external",
        (
            ("metricName", "metric.name"),
            ("metricSelector", "metric.selector"),
            ("targetValue", "target.value"),
            ("targetAverageValue", "target.averageValue"),
        ),
    ),
}
"""Type of a metric → the field that holds it, and pairs of a field's name in v1 and its path in v2."""

STATUSES: Mapping[str, tuple[str, Pairs]] = {
    kind: (
        field,
        tuple(
            (old.replace("target", "current") if new.startswith("target.") else old, new.replace("target.", "current."))
            for old, new in pairs
        ),
    )
    for kind, (field, pairs) in SPECS.items()
}
"""The same for the current values of metrics."""

_ALWAYS = {("Object", "targetValue"), ("Pods", "targetAverageValue")}

_ALWAYS_CURRENT = {
    ("Object", "currentValue"),
    ("External", "currentValue"),
    ("Pods", "currentAverageValue"),
    ("Resource", "currentAverageValue"),
    ("ContainerResource", "currentAverageValue"),
}
"""(type, field) of v1's quantities that are no pointers in Go: they are written as "0" if absent."""

_BY_PREFERENCE = (
    ("averageUtilization", "Utilization"),
    ("value", "Value"),
    ("averageValue", "AverageValue"),
)
"""Field of a target → the target's type, which v1 does not have."""


def to_v2(obj: Obj) -> Obj:
    """Return an autoscaler of autoscaling/v1 converted to v2."""
    meta, annotations = dict(obj["metadata"]), dict(obj["metadata"].get("annotations") or {})
    from_annotations = {name: _list(annotations.pop(name, None)) for name in (METRICS, CURRENT, CONDITIONS)}
    behavior = _parsed(annotations.pop(BEHAVIOR, None))
    meta.pop("annotations", None)
    if annotations:
        meta["annotations"] = annotations
    spec = dict(obj.get("spec") or {})
    metrics = [_metric_to_v2(metric, SPECS, _with_type) for metric in from_annotations[METRICS]]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        metrics.insert(0, _cpu({"target": {"type": "Utilization", "averageUtilization": percent}}))
    if metrics:
        spec["metrics"] = metrics
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = behavior
    status = _status_to_v2(dict(obj.get("status") or {}), from_annotations)
    return obj | {"metadata": meta, "spec": spec, "status": status}


def _status_to_v2(status: Obj, from_annotations: Mapping[str, list[Obj]]) -> Obj:
    current = [_metric_to_v2(metric, STATUSES, _with_current) for metric in from_annotations[CURRENT]]
    percent = status.pop("currentCPUUtilizationPercentage", None)
    if percent is not None:
        current.insert(0, _cpu({"current": {"averageUtilization": percent}}))
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    if from_annotations[CONDITIONS]:
        status["conditions"] = from_annotations[CONDITIONS]
    return {"desiredReplicas": 0} | status | {"currentMetrics": current or None}


def from_v2(obj: Obj) -> Obj:
    """Return an autoscaler of autoscaling/v2 converted to v1."""
    meta, annotations = dict(obj["metadata"]), dict(obj["metadata"].get("annotations") or {})
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    others = _split_cpu(spec, "metrics", ("target", "targetCPUUtilizationPercentage"))
    current = _split_cpu(status, "currentMetrics", ("current", "currentCPUUtilizationPercentage"))
    to_annotations = {
        METRICS: [_metric_from_v2(metric, SPECS, _ALWAYS) for metric in others],
        CURRENT: [_metric_from_v2(metric, STATUSES, _ALWAYS_CURRENT) for metric in current],
        CONDITIONS: status.pop("conditions", None),
        BEHAVIOR: spec.pop("behavior", None),
    }
    annotations |= {name: orjson.dumps(value).decode() for name, value in to_annotations.items() if value}
    if annotations:
        meta["annotations"] = annotations
    return obj | {"metadata": meta, "spec": spec, "status": {"currentReplicas": 0, "desiredReplicas": 0} | status}


def _split_cpu(section: Obj, metrics: str, names: tuple[str, str]) -> list[Obj]:
    """Move the first plain CPU metric to the field that v1 has for it; return the other metrics."""
    side, field = names
    others: list[Obj] = []
    for metric in section.pop(metrics, None) or ():
        resource = metric.get("resource") or {}
        percent = (resource.get(side) or {}).get("averageUtilization")
        if percent is not None and resource.get("name") == "cpu" and field not in section:
            section[field] = percent
        else:
            others.append(metric)
    return others


def _cpu(side: Obj) -> Obj:
    return {"type": "Resource", "resource": {"name": "cpu"} | side}


def _metric_from_v2(metric: Obj, layouts: Mapping[str, tuple[str, Pairs]], always: set[tuple[str, str]]) -> Obj:
    kind = metric["type"]
    field, pairs = layouts[kind]
    flat: Obj = {}
    for old, new in pairs:
        value = _at(metric.get(field) or {}, new)
        if value is not None:
            flat[old] = value
        elif (kind, old) in always:
            flat[old] = "0"
    return {"type": kind, field: flat}


def _metric_to_v2(metric: Obj, layouts: Mapping[str, tuple[str, Pairs]], finish: Callable[[Obj], Obj]) -> Obj:
    kind = str(metric.get("type"))
    if kind not in layouts:
        return {"type": kind}
    field, pairs = layouts[kind]
    flat = metric.get(field)
    source: Obj = {}
    for old, new in pairs:
        if isinstance(flat, dict) and old in flat:
            _put(source, new, flat[old])
    return {"type": kind, field: finish(source)}


def _with_type(source: Obj) -> Obj:
    """Add the type of a metric's target; an Object's averageValue takes precedence over its value."""
    target = source.get("target") or {}
    ranked = reversed(_BY_PREFERENCE) if "describedObject" in source else _BY_PREFERENCE
    kind = next((kind for name, kind in ranked if name in target), "Value")
    return source | {"target": {"type": kind} | target}


def _with_current(source: Obj) -> Obj:
    return {"current": {}} | source


def _at(value: Obj, path: str) -> Any:
    head, _, rest = path.partition(".")
    child = value.get(head)
    return _at(child, rest) if rest and isinstance(child, dict) else None if rest else child


def _put(value: Obj, path: str, item: Any) -> None:
    head, _, rest = path.partition(".")
    if rest:
        _put(value.setdefault(head, {}), rest, item)
    else:
        value[head] = item


def _parsed(text: str | None) -> Any:
    try:
        return orjson.loads(text) if text else None
    except ValueError:
        return None


def _list(text: str | None) -> list[Obj]:
    """Return the objects that an annotation lists, or an empty list if it holds anything else."""
    value = _parsed(text)
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else []
