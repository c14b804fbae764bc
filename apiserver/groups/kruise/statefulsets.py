"""Advanced StatefulSets (openkruise/kruise pkg/webhook/statefulset/validating); the plug-in KruiseSets asks here."""

import re
from collections.abc import Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.numbers import parse_int
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import Found, at, nonnegative, one_of, same, struct
from apiserver.groups.core.pods.templates import count_or_percent, endless, mismatch, needed_selector, selects
from apiserver.groups.core.pods.validation import template_metadata
from apiserver.groups.kruise.set_defaults import IN_PLACE, RECREATE, ROLLING_UPDATE
from apiserver.groups.kruise.update_strategies import beyond_images, priority

_PARALLEL = "Parallel"

_LONGEST_READY = 300
"""The most seconds of minReadySeconds (MaxMinReadySeconds)."""

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
    """What is wrong with the spec of an Advanced StatefulSet of either version.

    (validateStatefulSet, ValidateStatefulSetUpdate)

    Args:
        spec: well-formed, its templates typed, all with defaults.
        former: the one that it replaces, None where there is none.
    """
    errors = [*_whole(spec)]
    if former is None:
        return errors
    errors += _changes(spec, former)
    return errors or [*_beyond_images(spec, former)]


def _whole(spec: Obj) -> list[FieldError]:
    policy = spec["podManagementPolicy"]
    errors: list[FieldError] = []
    if policy not in ("OrderedReady", _PARALLEL):
        told = f"must be 'OrderedReady' or '{_PARALLEL}'"
        errors.append(field.invalid("podManagementPolicy", policy, told))
    errors += _reserved(spec.get("reserveOrdinals") or ())
    scaling = (spec.get("scaleStrategy") or {}).get("maxUnavailable")
    if scaling is not None:
        errors += at("scaleStrategy.maxUnavailable", _unavailable(scaling, spec))
    return [*errors, *_strategy(spec), *_kept(spec), *_pods(spec)]


def _changes(new: Obj, old: Obj) -> Found:
    """What may not change."""
    fixed = ({name: value for name, value in spec.items() if name not in _MAY_CHANGE} for spec in (new, old))
    return () if same(*fixed) else (field.forbidden("", _FROZEN),)


def _beyond_images(new: Obj, old: Obj) -> Found:
    """What may not change where pods are only updated as they are; upstream tells of it without a field."""
    rolling = new["updateStrategy"].get("rollingUpdate") or {}
    if rolling.get("podUpdatePolicy") != IN_PLACE[-1]:
        return ()
    change = beyond_images(*(spec["template"].get("spec") or {} for spec in (new, old)))
    told = f"{change}, currently only image update is allowed for InPlaceOnly"
    why = f"invalid template modified with InPlaceOnly strategy: {told}"
    return (field.forbidden("template.spec", why),) if change else ()


_retention = struct(("whenDeleted", one_of("Retain", "Delete")), ("whenScaled", one_of("Retain", "Delete")))

_kept = struct(("persistentVolumeClaimRetentionPolicy", _retention), ("replicas", nonnegative))


def _reserved(ordinals: Sequence[int | str]) -> list[FieldError]:
    """What is wrong with reserveOrdinals, which upstream tells of the spec."""
    errors: list[FieldError] = []
    for place, each in enumerate(ordinals):
        if isinstance(each, int):
            wrong = [f"negative: {each}"] if each < 0 else []
        else:
            wrong = [] if _RANGE.fullmatch(each) else [f"not a valid range: {each}"]
            wrong += [f"invalid: {each}, err = {why}" for why in _bad_range(each)]
        errors += [field.invalid("", ordinals, f"{place} th reserve ordinal is {told}") for told in wrong]
    return errors


def _bad_range(text: str) -> Found | Sequence[str]:
    """Why a text is no range, if it is none (ParseRange)."""
    parts = text.split("-")
    if len(parts) != 2:
        return (f"invalid range {text}",)
    try:
        start, end = map(parse_int, parts)
    except ValueError as error:
        return (str(error).replace("ParseInt", "Atoi"),)
    return (f"invalid range {text}",) if start > end else ()


def _pods(spec: Obj) -> list[FieldError]:
    errors, template = [*needed_selector(spec.get("selector"), "statefulset")], spec["template"]
    matches = selects(spec.get("selector"), template)
    if matches is None:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    else:
        errors += [] if matches or not spec.get("selector") else [mismatch(template)]
        errors += at("template", template_metadata(template))
    return [*errors, *endless(template, "StatefulSet")]


def _strategy(spec: Obj) -> Found:
    strategy = spec["updateStrategy"]
    type_, rolling = strategy["type"], strategy.get("rollingUpdate")
    if type_ == "OnDelete":
        told = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
        return () if rolling is None else (field.invalid("updateStrategy.rollingUpdate", rolling, told),)
    if type_ != ROLLING_UPDATE:
        return (field.invalid("updateStrategy", strategy, f"must be '{ROLLING_UPDATE}' or 'OnDelete'"),)
    place, seconds = "updateStrategy.rollingUpdate", rolling["minReadySeconds"]
    errors = [*at("partition", nonnegative(rolling["partition"])), *at("minReadySeconds", nonnegative(seconds))]
    if seconds > _LONGEST_READY:
        told = f"must be no more than {_LONGEST_READY} seconds"
        errors.append(field.invalid("minReadySeconds", seconds, told))
    errors += at("maxUnavailable", _unavailable(rolling["maxUnavailable"], spec))
    return [*at(place, errors), *_policy(spec, rolling["podUpdatePolicy"]), *at(place, _unordered(spec, rolling))]


def _unavailable(value: int | str, spec: Obj) -> list[FieldError]:
    """What is wrong with a number or share of pods that may be unavailable (validateMaxUnavailableField)."""
    errors = [*count_or_percent(value)]
    try:
        number = value if isinstance(value, int) else _of_one(value)
    except ValueError as error:
        told = (
            f"getValueFromIntOrPercent error: invalid value for IntOrString: invalid value {field.show(value)}: {error}"
        )
        errors.append(field.invalid("", 0, told))
    else:
        if number < 1:
            errors.append(field.invalid("", number, "should not be less than 1"))
    if spec["podManagementPolicy"] != _PARALLEL and value != 1:
        errors.append(field.invalid("", value, "can only work with Parallel PodManagementPolicyType"))
    return errors


def _of_one(share: str) -> int:
    """That share of one pod, rounded up (GetValueFromIntOrPercent)."""
    try:
        return -(-parse_int(share.replace("%", "")) // 100)
    except ValueError as error:
        raise ValueError(str(error).replace("ParseInt", "Atoi")) from None


def _policy(spec: Obj, policy: str) -> Found:
    if policy in IN_PLACE:
        gates = (spec["template"].get("spec") or {}).get("readinessGates") or []
        if any(gate.get("conditionType") == _GATE for gate in gates):
            return ()
        told = f"must contains {_GATE} when podUpdatePolicy is {policy}"
        return (field.invalid("template.spec.readinessGates", gates or None, told),)
    if policy == RECREATE:
        return ()
    told = f"must be '{RECREATE}', {IN_PLACE[0]} or '{IN_PLACE[1]}'"  # upstream forgets two quotes
    return (field.invalid("updateStrategy.rollingUpdate.podUpdatePolicy", policy, told),)


def _unordered(spec: Obj, rolling: Obj) -> list[FieldError]:
    unordered = rolling.get("unorderedUpdate")
    if unordered is None:
        return []
    errors = [*at("unorderedUpdate.priorityStrategy", priority(unordered.get("priorityStrategy")))]
    if spec["podManagementPolicy"] == _PARALLEL:
        return errors
    told = "unorderedUpdate can only work with Parallel PodManagementPolicyType"
    return [field.required("unorderedUpdate", told), *errors]
