"""Stateful sets (pkg/apis/apps/validation)."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.combinators import Found, at, nonnegative, one_of, same, struct
from apiserver.api.validation.contract import Validator
from apiserver.registry.validation.pods import template_metadata
from apiserver.registry.validation.statuses import status_update
from apiserver.registry.validation.templates import (
    at_most_all,
    count_or_percent,
    endless,
    mismatch,
    needed_selector,
    selects,
    whole,
)

_KEPT = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_FROZEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


_partition = struct(("partition", nonnegative))


def _rolling_stateful_set(rolling: Obj) -> Found:
    errors, unavailable = [*_partition(rolling)], rolling.get("maxUnavailable")
    if unavailable is None:
        return errors
    found = [*count_or_percent(unavailable)]
    if not whole(unavailable):
        found.append(field.invalid("", unavailable, "cannot be 0"))
    return [*errors, *at("maxUnavailable", [*found, *at_most_all(unavailable)])]


def _stateful_set_strategy(strategy: Obj) -> Found:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if not kind:
        return (field.required(""),)
    if kind == "RollingUpdate":
        return () if rolling is None else at("rollingUpdate", _rolling_stateful_set(rolling))
    if kind == "OnDelete":
        told = "only allowed for updateStrategy 'RollingUpdate'"
        return () if rolling is None else (field.invalid("rollingUpdate", rolling, told),)
    return (field.invalid("", strategy, "must be 'RollingUpdate' or 'OnDelete'"),)


def _pod_management(policy: str | None) -> Found:
    if policy in {"OrderedReady", "Parallel"}:
        return ()
    told = "must be 'OrderedReady' or 'Parallel'"
    return (field.invalid("", policy, told) if policy else field.required(""),)


_retention = struct(("whenDeleted", one_of("Retain", "Delete")), ("whenScaled", one_of("Retain", "Delete")))

_stateful_set_numbers = struct(
    ("persistentVolumeClaimRetentionPolicy", _retention),
    ("replicas", nonnegative),
    ("minReadySeconds", nonnegative),
)


def _stateful_set_spec(spec: Obj) -> list[FieldError]:
    """The template's spec is not looked into: its volumes may come from volumeClaimTemplates."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = [*at("podManagementPolicy", _pod_management(spec.get("podManagementPolicy")))]
    errors += at("updateStrategy", _stateful_set_strategy(spec.get("updateStrategy") or {}))
    errors += _stateful_set_numbers(spec)
    if (start := (spec.get("ordinals") or {}).get("start", 0)) < 0:
        errors.append(field.invalid("ordinals.start", start, checks.NEGATIVE))
    errors += needed_selector(selector, "statefulset")
    matches = selects(selector, template)
    if matches is None:
        errors.append(field.invalid("selector", selector, ""))
    else:
        errors += [] if matches or selector == {} else [mismatch(template)]
        errors += at("template", template_metadata(template))
    return errors + endless(template, "StatefulSet")


def _stateful_set_changes(new: Obj, old: Obj) -> Found:
    fixed = [{name: value for name, value in spec.items() if name not in _KEPT} for spec in (new, old)]
    return () if same(*fixed) else (field.forbidden("", _FROZEN),)


def _create(obj: Obj) -> Found:
    return at("spec", _stateful_set_spec(obj.get("spec") or {}))


def _update(new: Obj, old: Obj) -> Found:
    changes = _stateful_set_changes(new.get("spec") or {}, old.get("spec") or {})
    return [*_create(new), *at("spec", changes)]


VALIDATORS = {
    ("apps", "StatefulSet"): Validator(
        create=_create,
        update=_update,
        status_update=status_update(
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
            within=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
            unready="cannot be greater than status.readyReplicas",
        ),
    ),
}
