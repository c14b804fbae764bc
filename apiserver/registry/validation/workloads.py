"""Deployments, replica sets, replication controllers and controller revisions (pkg/apis/apps/validation)."""

from collections.abc import Callable

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of
from apiserver.api.validation.combinators import Found, at, immutable, nonnegative, struct
from apiserver.api.validation.contract import Validator
from apiserver.registry.validation.pods import pod_template
from apiserver.registry.validation.statuses import status_update
from apiserver.registry.validation.templates import (
    at_most_all,
    endless,
    mismatch,
    needed_selector,
    rolling_counts,
    selected_template,
    whole,
)


def _rolling_deployment(rolling: Obj) -> Found:
    unavailable = rolling.get("maxUnavailable", 0)
    errors = [*rolling_counts(rolling)]
    if not whole(unavailable) and not whole(rolling.get("maxSurge")):
        errors.append(field.invalid("maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return [*errors, *at("maxUnavailable", at_most_all(unavailable))]


def _deployment_strategy(strategy: Obj) -> Found:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        told = "may not be specified when strategy `type` is 'Recreate'"
        return () if rolling is None else (field.forbidden("rollingUpdate", told),)
    if kind != "RollingUpdate":
        return (field.not_supported("", strategy, ("Recreate", "RollingUpdate")),)
    if rolling is None:
        return (field.required("rollingUpdate", "this should be defaulted and never be nil"),)
    return at("rollingUpdate", _rolling_deployment(rolling))


_min_ready = struct(("minReadySeconds", nonnegative))
_ages = struct(("minReadySeconds", nonnegative), ("revisionHistoryLimit", nonnegative))
_replicas = struct(("replicas", nonnegative))
_deadline = struct(("progressDeadlineSeconds", nonnegative))


def _deployment_spec(spec: Obj) -> list[FieldError]:
    errors = [*_replicas(spec), *needed_selector(spec.get("selector"), "deployment")]
    errors += selected_template(spec, malformed="invalid label selector", owner="ReplicaSet")
    errors += at("strategy", _deployment_strategy(spec.get("strategy") or {}))
    errors += _ages(spec)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        errors += _deadline(spec)
        errors.append(field.invalid("progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _replica_set_spec(spec: Obj) -> list[FieldError]:
    errors = [*_replicas(spec), *_min_ready(spec)]
    errors += needed_selector(spec.get("selector"), "deployment")
    return errors + selected_template(spec, malformed="invalid label selector", owner="ReplicaSet")


def _replication_controller_spec(spec: Obj) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template")
    errors = [*_min_ready(spec)]
    if not selector:
        errors.append(field.required("selector"))
    errors += _replicas(spec)
    if template is None:
        return [*errors, field.required("template")]
    if any(labels_of(template).get(name) != value for name, value in (selector or {}).items()):
        errors.append(mismatch(template))
    return [*errors, *at("template", pod_template(template)), *endless(template, "ReplicationController")]


def _validator(
    spec: Callable[[Obj], list[FieldError]], status: Callable[[Obj, Obj], list[FieldError]], *, fixed: bool = True
) -> Validator:
    """The validator of a kind by the checks of its spec and status; its selector is fixed, but for old kinds."""

    def create(obj: Obj) -> Found:
        return at("spec", spec(obj.get("spec") or {}))

    def update(new: Obj, old: Obj) -> Found:
        after, before = ((obj.get("spec") or {}).get("selector") for obj in (new, old))
        return [*create(new), *(immutable("spec.selector", after, before) if fixed else ())]

    return Validator(create=create, update=update, status_update=status)


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
_replica_set_status = status_update(
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    within=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    unready="cannot be greater than readyReplicas",
)


def _revision(obj: Obj) -> list[FieldError]:
    errors = [] if obj.get("data") is not None else [field.required("data", "data is mandatory")]
    return [*errors, *at("revision", nonnegative(obj.get("revision") or 0))]


def _revision_update(new: Obj, old: Obj) -> Found:
    return [*_revision(new), *immutable("data", new.get("data"), old.get("data"))]


VALIDATORS = {
    ("apps", "Deployment"): _validator(_deployment_spec, _deployment_status),
    ("apps", "ReplicaSet"): _validator(_replica_set_spec, _replica_set_status),
    ("", "ReplicationController"): _validator(_replication_controller_spec, _replica_set_status, fixed=False),
    ("apps", "ControllerRevision"): Validator(create=_revision, update=_revision_update),
}
