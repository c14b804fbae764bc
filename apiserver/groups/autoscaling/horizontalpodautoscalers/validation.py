"""Validation of HorizontalPodAutoscalers in v1 and v2; paths are always v2's (pkg/apis/autoscaling/validation)."""

from collections.abc import Iterator

from apiserver.api import field, quantity
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors
from apiserver.api.validation.resource_lists import container_resource_name

_MAX_PERIOD_SECONDS, _MAX_WINDOW_SECONDS = 1800, 3600

_POLICY_TYPES = frozenset({"Percent", "Pods"})

_SELECT_POLICIES = frozenset({"Disabled", "Max", "Min"})

_TARGET_TYPES = frozenset({"AverageValue", "Utilization", "Value"})

_METRICS = {  # type → the field that describes it, in the order in which upstream looks for them
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}

_METRIC_TYPES = frozenset(_METRICS)

_BOTH_TARGETS = "may not set both a target raw value and a target utilization"


def create(scaler: Obj) -> Errors:
    """Return the errors of a new autoscaler."""
    return checks.prefix_errors("spec", _spec(scaler.get("spec") or {}, min_replicas=1))


def update(new: Obj, old: Obj) -> Errors:
    """Return the errors of an update; minReplicas may stay 0 if it was 0."""
    min_replicas = 0 if (old.get("spec") or {}).get("minReplicas") == 0 else 1
    return checks.prefix_errors("spec", _spec(new.get("spec") or {}, min_replicas=min_replicas))


def status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    """Return the errors of an update of the status."""
    for name in ("currentReplicas", "desiredReplicas"):
        yield from checks.not_negative(f"status.{name}", (new.get("status") or {}).get(name))


def _spec(spec: Obj, *, min_replicas: int) -> Iterator[FieldError]:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < min_replicas:
        yield field.invalid("minReplicas", low, f"must be greater than or equal to {min_replicas}")
    if high < 1:
        yield field.invalid("maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        yield field.invalid("maxReplicas", high, "must be greater than or equal to `minReplicas`")
    yield from checks.prefix_errors("scaleTargetRef", _reference(spec.get("scaleTargetRef") or {}))
    metrics = spec.get("metrics") or ()
    yield from checks.each("metrics", metrics, _metric)
    if low == 0 and not any(metric.get("type") in {"Object", "External"} for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield field.forbidden("metrics", detail)
    percentage = spec.get("targetCPUUtilizationPercentage")  # only in v1; v2 has a metric for it
    if percentage is not None and percentage < 1:
        yield field.invalid("metrics[0].resource.target.averageUtilization", percentage, "must be greater than 0")
    for direction in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            yield from checks.prefix_errors(f"behavior.{direction}", _scaling(rules))


def _reference(reference: Obj) -> Iterator[FieldError]:
    yield from checks.required_name("kind", reference.get("kind"), names.path_segment)
    yield from checks.required_name("name", reference.get("name"), names.path_segment)


def _scaling(rules: Obj) -> Iterator[FieldError]:
    window, tolerance, policies = (rules.get(name) for name in ("stabilizationWindowSeconds", "tolerance", "policies"))
    if window is not None and window < 0:
        yield field.invalid("stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW_SECONDS:
        detail = f"must be less than or equal to {_MAX_WINDOW_SECONDS}"
        yield field.invalid("stabilizationWindowSeconds", window, detail)
    yield from checks.optional_one_of("selectPolicy", rules.get("selectPolicy"), _SELECT_POLICIES)
    yield from checks.required("policies", policies, "must specify at least one Policy")
    yield from checks.each("policies", policies, _policy)
    if tolerance is not None and quantity.of(tolerance).nanos < 0:
        yield field.invalid("tolerance", tolerance, checks.NEGATIVE)


def _policy(policy: Obj) -> Iterator[FieldError]:
    yield from checks.one_of("type", policy.get("type", ""), _POLICY_TYPES)
    for name in ("value", "periodSeconds"):
        number = policy.get(name) or 0
        if number <= 0:
            yield field.invalid(name, number, checks.NOT_POSITIVE)
    period = policy.get("periodSeconds") or 0
    if period > _MAX_PERIOD_SECONDS:
        yield field.invalid("periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD_SECONDS}")


def _metric(metric: Obj) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    yield from checks.required("type", kind, "must specify a metric source type")
    yield from checks.one_of("type", kind, _METRIC_TYPES)
    present = [name for name in _METRICS.values() if metric.get(name) is not None]
    if present:
        first = present[0]
        yield from checks.prefix_errors(first, _CHECKS[first](metric[first]))
    expected = _METRICS.get(kind)
    if expected is None:
        yield from checks.one_of("type", kind, _METRIC_TYPES)
    elif expected not in present:
        yield field.required(expected, "must populate information for the given metric source")
    if len(present) > 1:
        for name in present:
            if name != expected:
                yield field.forbidden(name, "must populate the given metric source only")


def _target(target: Obj) -> Iterator[FieldError]:
    kind, utilization = target.get("type") or "", target.get("averageUtilization")
    yield from checks.required("type", kind, "must specify a metric target type")
    if kind not in _TARGET_TYPES:
        yield field.invalid("type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        text = target.get(name)
        if text is not None and quantity.of(text).nanos <= 0:
            yield field.invalid(name, text, "must be positive")
    if utilization is not None and utilization < 1:
        yield field.invalid("averageUtilization", utilization, "must be greater than 0")


def _named_metric(source: Obj) -> Iterator[FieldError]:
    """Yield the errors in a metric's name and target, which all sources but resources have."""
    name = (source.get("metric") or {}).get("name")
    if name:
        yield from checks.invalid_values("metric.name", name, names.path_segment(name))
    else:
        yield field.required("metric.name", "must specify a metric name")
    yield from checks.prefix_errors("target", _target(source.get("target") or {}))


def _no_value(target: Obj) -> bool:
    return target.get("value") is None and target.get("averageValue") is None


def _object(source: Obj) -> Iterator[FieldError]:
    yield from checks.prefix_errors("describedObject", _reference(source.get("describedObject") or {}))
    yield from _named_metric(source)
    if _no_value(source.get("target") or {}):
        yield field.required("target.averageValue", "must set either a target value or averageValue")


def _external(source: Obj) -> Iterator[FieldError]:
    yield from _named_metric(source)
    target = source.get("target") or {}
    if _no_value(target):
        detail = "must set either a target value for metric or a per-pod target"
        yield field.required("target.averageValue", detail)
    if target.get("value") is not None and target.get("averageValue") is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        yield field.forbidden("target.value", detail)


def _pods(source: Obj) -> Iterator[FieldError]:
    yield from _named_metric(source)
    if (source.get("target") or {}).get("averageValue") is None:
        yield field.required("target.averageValue", "must specify a positive target averageValue")


def _resource(source: Obj) -> Iterator[FieldError]:
    yield from checks.required("name", source.get("name"), "must specify a resource name")
    yield from _utilization(source.get("target") or {})


def _container_resource(source: Obj) -> Iterator[FieldError]:
    name, container = source.get("name"), source.get("container")
    if name:
        yield from checks.prefix_errors("name", container_resource_name(name))
    else:
        yield field.required("name", "must specify a resource name")
    if container:
        yield from checks.invalid_values("container", container, names.dns1123_label(container))
    else:
        yield field.required("container", "must specify a container")
    yield from _utilization(source.get("target") or {})


def _utilization(target: Obj) -> Iterator[FieldError]:
    yield from checks.prefix_errors("target", _target(target))
    utilization, value = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and value is None:
        detail = "must set either a target raw value or a target utilization"
        yield field.required("target.averageUtilization", detail)
    if utilization is not None and value is not None:
        yield field.forbidden("target.averageValue", _BOTH_TARGETS)


_CHECKS = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
