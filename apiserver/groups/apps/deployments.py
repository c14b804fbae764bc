"""Deployments (apps): defaults, strategy, validation and columns."""

from collections.abc import Mapping
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation.combinators import FieldErrors, at, nonnegative, struct
from apiserver.groups.apps.workload_columns import READY_PODS, container_cells, pod_spec_of, selector_column
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY, default_rolling, spec_with
from apiserver.groups.apps.workload_validation import replicas, status_update, workload_validator
from apiserver.groups.cell_format import age, selector_requirements
from apiserver.groups.cells import Cells, mapping, number_of
from apiserver.groups.columns import AGE, APPS, CONTAINERS, IMAGES, NAME, Column, Printer
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.templates import (
    at_most_all,
    required_selector,
    rolling_counts,
    selected_template,
    whole,
)
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.strategy import Strategy, creation, increment_generation, keep_field, status_updating

PROGRESS_SECONDS = 600

_SPEC_DEFAULTS: Mapping[str, Any] = {
    "progressDeadlineSeconds": PROGRESS_SECONDS,
    "replicas": 1,
    "revisionHistoryLimit": REVISION_HISTORY,
}


def default_deployment(deployment: Obj) -> None:
    """Set the defaults of a Deployment: one replica, rolled out by a quarter of the pods at a time."""
    spec = spec_with(deployment, _SPEC_DEFAULTS)
    default_rolling(spec.setdefault("strategy", {}), {"maxSurge": "25%", "maxUnavailable": "25%"})
    default_template(spec.setdefault("template", {}))


def _update_deployment(new: Obj, old: Obj) -> None:
    """Increment the generation with spec or annotations: annotations are copied to the Deployment's ReplicaSets."""
    keep_field(new, old, "status")
    annotations = new["metadata"].get("annotations") or {}
    if new["spec"] != old["spec"] or annotations != (old["metadata"].get("annotations") or {}):
        increment_generation(new, old)


DEPLOYMENT_STRATEGY = Strategy(creation(status=dict), _update_deployment, status_updating("labels"), has_status=True)


def _rolling_deployment(rolling: Obj) -> FieldErrors:
    unavailable = rolling.get("maxUnavailable", 0)
    errors = [*rolling_counts(rolling)]
    if not whole(unavailable) and not whole(rolling.get("maxSurge")):
        errors.append(field.invalid("maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return [*errors, *at("maxUnavailable", at_most_all(unavailable))]


def _deployment_strategy(strategy: Obj) -> FieldErrors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return () if rolling is None else (field.forbidden("rollingUpdate", detail),)
    if kind != "RollingUpdate":
        return (field.not_supported("", strategy, ("Recreate", "RollingUpdate")),)
    if rolling is None:
        return (field.required("rollingUpdate", "this should be defaulted and never be nil"),)
    return at("rollingUpdate", _rolling_deployment(rolling))


_nonnegative_fields = struct(("minReadySeconds", nonnegative), ("revisionHistoryLimit", nonnegative))

_deadline = struct(("progressDeadlineSeconds", nonnegative))


def _deployment_spec(spec: Obj) -> list[FieldError]:
    errors = [*replicas(spec), *required_selector(spec.get("selector"), "deployment")]
    errors += selected_template(spec, malformed="invalid label selector", owner="ReplicaSet")
    errors += at("strategy", _deployment_strategy(spec.get("strategy") or {}))
    errors += _nonnegative_fields(spec)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        errors += _deadline(spec)
        errors.append(field.invalid("progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


_deployment_status = status_update(
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "collisionCount",
    within=("updatedReplicas", "readyReplicas", "availableReplicas"),
    unready="cannot be greater than readyReplicas",
)


def _deployment_cells(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    selector = selector_requirements(mapping(spec, "selector"))
    return [
        name_of(obj),
        f"{number_of(status, 'readyReplicas')}/{number_of(spec, 'replicas')}",
        number_of(status, "updatedReplicas"),
        number_of(status, "availableReplicas"),
        age(obj),
        *container_cells(pod_spec_of(spec)),
        "<invalid>" if selector is None else selector,
    ]


DEPLOYMENT = BuiltinKind(
    "apps",
    "Deployment",
    ("deploy",),
    categories=ALL,
    subresources=("scale",),
    default=default_deployment,
    strategy=DEPLOYMENT_STRATEGY,
    validator=workload_validator(_deployment_spec, _deployment_status, selector_is_immutable=True),
    printer=Printer(
        columns=(
            NAME,
            READY_PODS,
            Column("Up-to-date", f"{APPS}DeploymentStatus#updatedReplicas"),
            Column("Available", f"{APPS}DeploymentStatus#availableReplicas"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{APPS}DeploymentSpec"),
        ),
        cells=_deployment_cells,
    ),
)
