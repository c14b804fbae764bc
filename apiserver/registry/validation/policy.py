"""What PodDisruptionBudgets may be (pkg/apis/policy/validation)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator

_EVICTION_POLICIES = frozenset({"AlwaysAllow", "IfHealthyBudget"})
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _create(budget: Obj) -> Errors:
    return checks.within("spec", _spec(budget.get("spec") or {}))


def _spec(spec: Obj) -> Iterator[FieldError]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {"MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most}
        shown["UnhealthyPodEvictionPolicy"] = spec.get("unhealthyPodEvictionPolicy")
        yield field.invalid("", shown, "minAvailable and maxUnavailable cannot be both set")
    yield from _share("minAvailable", least)
    yield from _share("maxUnavailable", most)
    yield from checks.label_selector("selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from checks.optional_one_of("unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def _share(path: str, value: int | str | None) -> checks.Found:
    if not isinstance(value, str):
        return checks.not_negative(path, value)
    wrong = names.percent(value)
    if not wrong and int(value[:-1]) > 100:
        return (field.invalid(path, value, "must not be greater than 100%"),)
    return checks.wrong(path, value, wrong)


def _status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    for name in _COUNTS:
        yield from checks.not_negative(f"status.{name}", status.get(name))


VALIDATORS = {("policy", "PodDisruptionBudget"): Validator(_create, lambda new, _: _create(new), _status_update)}
