"""HorizontalPodAutoscalers of autoscaling/v1: what only autoscaling/v2 has fields for travels in annotations.

The annotations hold metrics in a shape of their own, that of the versions before v2
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
"""Type of a metric → the field that holds it, and its fields by v1's names with their places in v2."""

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
"""(type, field) of v1's quantities that are no pointers: they are told as 0 where there are none."""

_BY_PREFERENCE = (
    ("averageUtilization", "Utilization"),
    ("value", "Value"),
    ("averageValue", "AverageValue"),
)
"""What a target has → its type, which v1 does not say."""


def to_v2(obj: Obj) -> Obj:
    """An autoscaler of autoscaling/v1 as it is in v2."""
    meta, notes = dict(obj["metadata"]), dict(obj["metadata"].get("annotations") or {})
    kept = {name: _list(notes.pop(name, None)) for name in (METRICS, CURRENT, CONDITIONS)}
    behavior = _parsed(notes.pop(BEHAVIOR, None))
    meta.pop("annotations", None)
    if notes:
        meta["annotations"] = notes
    spec = dict(obj.get("spec") or {})
    metrics = [_metric_to_v2(metric, SPECS, _with_type) for metric in kept[METRICS]]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        metrics.insert(0, _cpu({"target": {"type": "Utilization", "averageUtilization": percent}}))
    if metrics:
        spec["metrics"] = metrics
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = behavior
    status = _status_to_v2(dict(obj.get("status") or {}), kept)
    return obj | {"metadata": meta, "spec": spec, "status": status}


def _status_to_v2(status: Obj, kept: Mapping[str, list[Obj]]) -> Obj:
    current = [_metric_to_v2(metric, STATUSES, _as_it_is) for metric in kept[CURRENT]]
    percent = status.pop("currentCPUUtilizationPercentage", None)
    if percent is not None:
        current.insert(0, _cpu({"current": {"averageUtilization": percent}}))
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    if kept[CONDITIONS]:
        status["conditions"] = kept[CONDITIONS]
    return {"desiredReplicas": 0} | status | {"currentMetrics": current or None}


def from_v2(obj: Obj) -> Obj:
    """An autoscaler of autoscaling/v2 as it is in v1."""
    meta, notes = dict(obj["metadata"]), dict(obj["metadata"].get("annotations") or {})
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    others = _split_cpu(spec, "metrics", ("target", "targetCPUUtilizationPercentage"))
    current = _split_cpu(status, "currentMetrics", ("current", "currentCPUUtilizationPercentage"))
    found = {
        METRICS: [_metric_from_v2(metric, SPECS, _ALWAYS) for metric in others],
        CURRENT: [_metric_from_v2(metric, STATUSES, _ALWAYS_CURRENT) for metric in current],
        CONDITIONS: status.pop("conditions", None),
        BEHAVIOR: spec.pop("behavior", None),
    }
    notes |= {name: orjson.dumps(value).decode() for name, value in found.items() if value}
    if notes:
        meta["annotations"] = notes
    return obj | {"metadata": meta, "spec": spec, "status": {"currentReplicas": 0, "desiredReplicas": 0} | status}


def _split_cpu(part: Obj, metrics: str, names: tuple[str, str]) -> list[Obj]:
    """Move the first plain CPU metric of a part, for which v1 has a field, there; the other metrics are returned."""
    side, field = names
    others: list[Obj] = []
    for metric in part.pop(metrics, None) or ():
        resource = metric.get("resource") or {}
        percent = (resource.get(side) or {}).get("averageUtilization")
        if percent is not None and resource.get("name") == "cpu" and field not in part:
            part[field] = percent
        else:
            others.append(metric)
    return others


def _cpu(side: Obj) -> Obj:
    return {"type": "Resource", "resource": {"name": "cpu"} | side}


def _metric_from_v2(metric: Obj, shapes: Mapping[str, tuple[str, Pairs]], always: set[tuple[str, str]]) -> Obj:
    kind = metric["type"]
    field, pairs = shapes[kind]
    found: Obj = {}
    for old, new in pairs:
        value = _at(metric.get(field) or {}, new)
        if value is not None:
            found[old] = value
        elif (kind, old) in always:
            found[old] = "0"
    return {"type": kind, field: found}


def _metric_to_v2(metric: Obj, shapes: Mapping[str, tuple[str, Pairs]], finished: Callable[[Obj], Obj]) -> Obj:
    kind = str(metric.get("type"))
    if kind not in shapes:
        return {"type": kind}
    field, pairs = shapes[kind]
    given = metric.get(field)
    found: Obj = {}
    for old, new in pairs:
        if isinstance(given, dict) and old in given:
            _put(found, new, given[old])
    return {"type": kind, field: finished(found)}


def _with_type(found: Obj) -> Obj:
    """The metric with the type of its target; an Object's average counts for more than its value."""
    target = found.get("target") or {}
    ranked = reversed(_BY_PREFERENCE) if "describedObject" in found else _BY_PREFERENCE
    kind = next((kind for name, kind in ranked if name in target), "Value")
    return found | {"target": {"type": kind} | target}


def _as_it_is(found: Obj) -> Obj:
    return {"current": {}} | found


def _at(value: Obj, path: str) -> Any:
    head, _, rest = path.partition(".")
    found = value.get(head)
    return _at(found, rest) if rest and isinstance(found, dict) else None if rest else found


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
    """The objects that an annotation lists; one that lists something else says nothing."""
    value = _parsed(text)
    return value if isinstance(value, list) and all(isinstance(each, dict) for each in value) else []
