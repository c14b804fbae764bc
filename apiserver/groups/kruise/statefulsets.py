"""Validation of Advanced StatefulSets, for the admission plug-in KruiseSets (pkg/webhook/statefulset/validating)."""

import re
from collections.abc import Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.numbers import parse_int
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, deeply_equal, nonnegative, struct
from apiserver.groups.apps.statefulsets import claim_retention
from apiserver.groups.core.pods.templates import (
    count_or_percent,
    mismatch,
    required_selector,
    validate_always_restarts,
    validate_selector,
)
from apiserver.groups.core.pods.validation import template_metadata
from apiserver.groups.kruise.defaults import IN_PLACE, RECREATE, ROLLING_UPDATE
from apiserver.groups.kruise.update_strategies import beyond_images, priority

_PARALLEL = "Parallel"

_MAX_READY_SECONDS = 300
"""The maximum of minReadySeconds (MaxMinReadySeconds)."""

_GATE = "InPlaceUpdateReady"

_RANGE = re.compile(r"[0-9]+-[0-9]+")

_MAY_CHANGE = frozenset(
    (
        "replicas",
        "ordinals",
        "template",
        "reserveOrdinals",
        "lifecycle",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "volumeClaimTemplates",
        "volumeClaimUpdateStrategy",
        "updateStrategy",
        "scaleStrategy",
    )
)

_FROZEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'reserveOrdinals', "
    "'lifecycle', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', `volumeClaimTemplates`, "
    "`VolumeClaimUpdateStrategy` and 'updateStrategy' are forbidden"
)


def advanced_stateful_set(spec: Obj, former: Obj | None = None) -> list[FieldError]:
    """Return the errors of an Advanced StatefulSet's spec in either version.

    (validateStatefulSet, ValidateStatefulSetUpdate)

    Args:
        spec: well-formed, its templates typed, all with defaults.
        former: the spec that it replaces, or None.
    """
    errors = [*_spec_errors(spec)]
    if former is None:
        return errors
    errors += _changes(spec, former)
    return errors or [*_beyond_images(spec, former)]


def _spec_errors(spec: Obj) -> list[FieldError]:
    policy = spec["podManagementPolicy"]
    errors: list[FieldError] = []
    if policy not in ("OrderedReady", _PARALLEL):
        detail = f"must be 'OrderedReady' or '{_PARALLEL}'"
        errors.append(field.invalid("podManagementPolicy", policy, detail))
    errors += _reserved(spec.get("reserveOrdinals") or ())
    scaling = (spec.get("scaleStrategy") or {}).get("maxUnavailable")
    if scaling is not None:
        errors += at("scaleStrategy.maxUnavailable", _unavailable(scaling, spec))
    return [*errors, *_strategy(spec), *_kept(spec), *_pods(spec)]


def _changes(new: Obj, old: Obj) -> FieldErrors:
    """Return an error if a field changes that must not."""
    fixed = ({name: value for name, value in spec.items() if name not in _MAY_CHANGE} for spec in (new, old))
    return () if deeply_equal(*fixed) else (field.forbidden("", _FROZEN),)


def _beyond_images(new: Obj, old: Obj) -> FieldErrors:
    """Return an error if more than images changes in a template whose pods are only updated in place."""
    rolling = new["updateStrategy"].get("rollingUpdate") or {}
    if rolling.get("podUpdatePolicy") != IN_PLACE[-1]:
        return ()
    change = beyond_images(*(spec["template"].get("spec") or {} for spec in (new, old)))
    reason = f"{change}, currently only image update is allowed for InPlaceOnly"
    detail = f"invalid template modified with InPlaceOnly strategy: {reason}"
    return (field.forbidden("template.spec", detail),) if change else ()


_kept = struct(("persistentVolumeClaimRetentionPolicy", claim_retention), ("replicas", nonnegative))


def _reserved(ordinals: Sequence[int | str]) -> list[FieldError]:
    """Return the errors of reserveOrdinals, which upstream reports at the spec."""
    errors: list[FieldError] = []
    for index, ordinal in enumerate(ordinals):
        if isinstance(ordinal, int):
            messages = [f"negative: {ordinal}"] if ordinal < 0 else []
        else:
            messages = [] if _RANGE.fullmatch(ordinal) else [f"not a valid range: {ordinal}"]
            messages += [f"invalid: {ordinal}, err = {reason}" for reason in _bad_range(ordinal)]
        errors += [field.invalid("", ordinals, f"{index} th reserve ordinal is {message}") for message in messages]
    return errors


def _bad_range(text: str) -> FieldErrors | Sequence[str]:
    """Return why a text is not a range of ordinals, or () if it is one (ParseRange)."""
    parts = text.split("-")
    if len(parts) != 2:
        return (f"invalid range {text}",)
    try:
        start, end = map(parse_int, parts)
    except ValueError as error:
        return (str(error).replace("ParseInt", "Atoi"),)
    return (f"invalid range {text}",) if start > end else ()


def _pods(spec: Obj) -> list[FieldError]:
    errors, template = [*required_selector(spec.get("selector"), "statefulset")], spec["template"]
    matches = validate_selector(spec.get("selector"), template)
    if matches is None:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    else:
        errors += [] if matches or not spec.get("selector") else [mismatch(template)]
        errors += at("template", template_metadata(template))
    return [*errors, *validate_always_restarts(template, "StatefulSet")]


def _strategy(spec: Obj) -> FieldErrors:
    strategy = spec["updateStrategy"]
    type_, rolling = strategy["type"], strategy.get("rollingUpdate")
    if type_ == "OnDelete":
        detail = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
        return () if rolling is None else (field.invalid("updateStrategy.rollingUpdate", rolling, detail),)
    if type_ != ROLLING_UPDATE:
        return (field.invalid("updateStrategy", strategy, f"must be '{ROLLING_UPDATE}' or 'OnDelete'"),)
    path, seconds = "updateStrategy.rollingUpdate", rolling["minReadySeconds"]
    errors = [*at("partition", nonnegative(rolling["partition"])), *at("minReadySeconds", nonnegative(seconds))]
    if seconds > _MAX_READY_SECONDS:
        detail = f"must be no more than {_MAX_READY_SECONDS} seconds"
        errors.append(field.invalid("minReadySeconds", seconds, detail))
    errors += at("maxUnavailable", _unavailable(rolling["maxUnavailable"], spec))
    return [*at(path, errors), *_policy(spec, rolling["podUpdatePolicy"]), *at(path, _unordered(spec, rolling))]


def _unavailable(value: int | str, spec: Obj) -> list[FieldError]:
    """Return the errors of maxUnavailable, a number or a percentage of pods (validateMaxUnavailableField)."""
    errors = [*count_or_percent(value)]
    try:
        number = value if isinstance(value, int) else _share_of_one(value)
    except ValueError as error:
        detail = (
            f"getValueFromIntOrPercent error: invalid value for IntOrString: invalid value {field.show(value)}: {error}"
        )
        errors.append(field.invalid("", 0, detail))
    else:
        if number < 1:
            errors.append(field.invalid("", number, "should not be less than 1"))
    if spec["podManagementPolicy"] != _PARALLEL and value != 1:
        errors.append(field.invalid("", value, "can only work with Parallel PodManagementPolicyType"))
    return errors


def _share_of_one(share: str) -> int:
    """Return a percentage of one pod, rounded up (GetValueFromIntOrPercent)."""
    try:
        return -(-parse_int(share.replace("%", "")) // 100)
    except ValueError as error:
        raise ValueError(str(error).replace("ParseInt", "Atoi")) from None


def _policy(spec: Obj, policy: str) -> FieldErrors:
    if policy in IN_PLACE:
        gates = (spec["template"].get("spec") or {}).get("readinessGates") or []
        if any(gate.get("conditionType") == _GATE for gate in gates):
            return ()
        detail = f"must contains {_GATE} when podUpdatePolicy is {policy}"
        return (field.invalid("template.spec.readinessGates", gates or None, detail),)
    if policy == RECREATE:
        return ()
    detail = f"must be '{RECREATE}', {IN_PLACE[0]} or '{IN_PLACE[1]}'"  # upstream forgets two quotes
    return (field.invalid("updateStrategy.rollingUpdate.podUpdatePolicy", policy, detail),)


def _unordered(spec: Obj, rolling: Obj) -> list[FieldError]:
    unordered = rolling.get("unorderedUpdate")
    if unordered is None:
        return []
    errors = [*at("unorderedUpdate.priorityStrategy", priority(unordered.get("priorityStrategy")))]
    if spec["podManagementPolicy"] == _PARALLEL:
        return errors
    detail = "unorderedUpdate can only work with Parallel PodManagementPolicyType"
    return [field.required("unorderedUpdate", detail), *errors]
