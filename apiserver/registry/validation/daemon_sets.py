"""Daemon sets (pkg/apis/apps/validation)."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import Found, at, immutable, label_selector, nonnegative, struct
from apiserver.api.validation.contract import Validator
from apiserver.registry.validation.pods import pod_template
from apiserver.registry.validation.statuses import status_update
from apiserver.registry.validation.templates import (
    at_most_all,
    endless,
    mismatch,
    rolling_counts,
    selects,
    whole,
)

_min_ready = struct(("minReadySeconds", nonnegative))
_history = struct(("revisionHistoryLimit", nonnegative))


def _rolling_daemon_set(rolling: Obj) -> Found:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = [
        *rolling_counts(rolling),
        *at("maxUnavailable", at_most_all(unavailable)),
        *at("maxSurge", at_most_all(surge)),
    ]
    if whole(unavailable) and whole(surge):
        errors.append(field.invalid("maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    if not whole(unavailable) and not whole(surge):
        errors.append(field.required("maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def _daemon_set_strategy(strategy: Obj) -> Found:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return ()
    if kind != "RollingUpdate":
        return (field.not_supported("", strategy, ("RollingUpdate", "OnDelete")),)
    return (field.required("rollingUpdate"),) if rolling is None else at("rollingUpdate", _rolling_daemon_set(rolling))


def _daemon_set_spec(spec: Obj) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = [*at("selector", label_selector(selector or {}))]
    if selects(selector, template) is False:
        errors.append(mismatch(template))
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(field.invalid("selector", selector, "empty selector is invalid for daemonset"))
    errors += [*at("template", pod_template(template)), *endless(template, "DaemonSet")]
    errors += _min_ready(spec)
    errors += at("updateStrategy", _daemon_set_strategy(spec.get("updateStrategy") or {}))
    return [*errors, *_history(spec)]


def _create(obj: Obj) -> Found:
    return at("spec", _daemon_set_spec(obj.get("spec") or {}))


def _update(new: Obj, old: Obj) -> Found:
    after, before = ((obj.get("spec") or {}).get("selector") for obj in (new, old))
    return [*_create(new), *immutable("spec.selector", after, before)]


VALIDATORS = {
    ("apps", "DaemonSet"): Validator(
        create=_create,
        update=_update,
        status_update=status_update(
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ),
    ),
}
