"""Conversions between the versions of a kind that are not alike: Events of both groups, HorizontalPodAutoscalers.

All other versions of a kind that the newest releases serve have the same fields and differ in apiVersion alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from apiserver.api.meta import Obj


@dataclass(frozen=True, slots=True)
class Conversion:
    """The two ways between a served version and the stored one."""

    to_storage: Callable[[Obj], Obj]
    from_storage: Callable[[Obj], Obj]


def _renamed(obj: Obj, names: Mapping[str, str]) -> Obj:
    return {names.get(key, key): value for key, value in obj.items()}


_EVENT_NAMES = {  # events.k8s.io/v1 → core/v1 (pkg/apis/events/v1/conversion.go)
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}
_CORE_ALWAYS: Obj = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _event_to_core(obj: Obj) -> Obj:
    return _CORE_ALWAYS | _renamed(obj, _EVENT_NAMES)


def _event_from_core(obj: Obj) -> Obj:
    return _renamed(_without(obj, ("reportingComponent", "reportingInstance")), _CORE_NAMES)


def _without(obj: Obj, optional: tuple[str, ...]) -> Obj:
    return {k: v for k, v in obj.items() if v not in ("", None) or k not in optional}


_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_HPA_ANNOTATIONS = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)


def _cpu(metric: Obj, side: str) -> int | None:
    """The utilization of a plain CPU metric, the one metric that autoscaling/v1 has a field for."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found = (resource.get(side) or {}).get("averageUtilization")
    return found if isinstance(found, int) else None


def _hpa_to_v2(obj: Obj) -> Obj:
    meta = dict(obj["metadata"])
    notes = dict(meta.get("annotations") or {})
    kept = {name: orjson.loads(notes.pop(name)) for name in _HPA_ANNOTATIONS if _is_json(notes.get(name))}
    meta.pop("annotations", None)
    if notes:
        meta["annotations"] = notes
    spec = dict(obj.get("spec") or {})
    metrics = list(kept.get(_METRICS) or ())
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.insert(0, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if kept.get(_BEHAVIOR):
        spec["behavior"] = kept[_BEHAVIOR]
    return obj | {"metadata": meta, "spec": spec, "status": _hpa_status_to_v2(obj.get("status") or {}, kept)}


def _hpa_status_to_v2(given: Obj, kept: Mapping[str, list[Obj]]) -> Obj:
    status: Obj = {"desiredReplicas": 0, "currentMetrics": None} | given
    current = list(kept.get(_CURRENT) or ())
    percent = status.pop("currentCPUUtilizationPercentage", None)
    if percent is not None:
        now = {"averageUtilization": percent}
        current.insert(0, {"type": "Resource", "resource": {"name": "cpu", "current": now}})
    status["currentMetrics"] = current or None
    if kept.get(_CONDITIONS):
        status["conditions"] = kept[_CONDITIONS]
    return status


def _is_json(text: str | None) -> bool:
    try:
        return text is not None and isinstance(orjson.loads(text), list | dict)
    except ValueError:
        return False


def _hpa_from_v2(obj: Obj) -> Obj:
    meta = dict(obj["metadata"])
    notes = dict(meta.get("annotations") or {})
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    others = _split_cpu(spec, "metrics", ("target", "targetCPUUtilizationPercentage"))
    current = _split_cpu(status, "currentMetrics", ("current", "currentCPUUtilizationPercentage"))
    found = zip(
        _HPA_ANNOTATIONS, (others, current, status.pop("conditions", None), spec.pop("behavior", None)), strict=True
    )
    notes |= {name: orjson.dumps(value).decode() for name, value in found if value}
    if notes:
        meta["annotations"] = notes
    status = {"currentReplicas": 0, "desiredReplicas": 0} | status
    return obj | {"metadata": meta, "spec": spec, "status": status}


def _split_cpu(part: Obj, metrics: str, names: tuple[str, str]) -> list[Obj]:
    """Move the first CPU metric of a part to its v1 field; the other metrics are returned."""
    side, field = names
    others: list[Obj] = []
    for metric in part.pop(metrics, None) or ():
        percent = _cpu(metric, side)
        if percent is not None and field not in part:
            part[field] = percent
        else:
            others.append(metric)
    return others


CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "Event"): Conversion(_event_to_core, _event_from_core),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(_hpa_to_v2, _hpa_from_v2),
}
"""(group, served version, kind) → its conversion to and from the stored version, for versions that are not alike."""
