"""PodDisruptionBudgets (policy): validation and columns."""

from collections.abc import Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, number_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating

_EVICTION_POLICIES = frozenset({"AlwaysAllow", "IfHealthyBudget"})

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _create(budget: Obj) -> Errors:
    return checks.prefix_errors("spec", _spec(budget.get("spec") or {}))


def _spec(spec: Obj) -> Iterator[FieldError]:
    min_available, max_unavailable = spec.get("minAvailable"), spec.get("maxUnavailable")
    if min_available is not None and max_unavailable is not None:
        shown = {"MinAvailable": min_available, "Selector": spec.get("selector"), "MaxUnavailable": max_unavailable}
        shown["UnhealthyPodEvictionPolicy"] = spec.get("unhealthyPodEvictionPolicy")
        yield field.invalid("", shown, "minAvailable and maxUnavailable cannot be both set")
    yield from _share("minAvailable", min_available)
    yield from _share("maxUnavailable", max_unavailable)
    yield from checks.label_selector("selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from checks.optional_one_of("unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def _share(path: str, value: int | str | None) -> checks.FieldErrors:
    if not isinstance(value, str):
        return checks.not_negative(path, value)
    messages = names.percent(value)
    if not messages and int(value[:-1]) > 100:
        return (field.invalid(path, value, "must not be greater than 100%"),)
    return checks.invalid_values(path, value, messages)


def _status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    for name in _COUNTS:
        yield from checks.not_negative(f"status.{name}", status.get(name))


def _int_or_string(value: Any) -> str:
    return "N/A" if value is None else str(value)


def _pod_disruption_budget(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    bounds = [_int_or_string(spec.get(bound)) for bound in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, number_of(mapping(obj, "status"), "disruptionsAllowed"), age(obj)]


POD_DISRUPTION_BUDGET = BuiltinKind(
    "policy",
    "PodDisruptionBudget",
    ("pdb",),
    strategy=Strategy(
        creation(status=lambda: {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}),
        updating("spec"),
        status_updating(),
        has_status=True,
        allow_unconditional_update=False,
    ),
    validator=Validator(_create, lambda new, _: _create(new), _status_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Min Available", "How many pods must stay available."),
            Column("Max Unavailable", "How many pods may be unavailable."),
            Column("Allowed Disruptions", "How many pods may be disrupted right now.", type="integer"),
            AGE,
        ),
        cells=_pod_disruption_budget,
    ),
)
