"""Validation of CloneSets, for the admission plug-in KruiseSets (openkruise/kruise pkg/webhook/cloneset/validating)."""

from collections.abc import Callable

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, deeply_equal, nonnegative
from apiserver.groups.core.pods.templates import (
    mismatch,
    required_selector,
    validate_always_restarts,
    validate_selector,
)
from apiserver.groups.core.pods.validation import pod_template
from apiserver.groups.kruise.defaults import IN_PLACE, RECREATE, ROLLING_UPDATE
from apiserver.groups.kruise.update_strategies import beyond_images, in_place, priority, scatter, share

_IN_PLACE_ONLY = IN_PLACE[-1]

_FOREVER = 2**31 - 1

_MAY_CHANGE = frozenset(
    (
        "replicas",
        "template",
        "lifecycle",
        "scaleStrategy",
        "updateStrategy",
        "minReadySeconds",
        "progressDeadlineSeconds",
        "volumeClaimTemplates",
        "revisionHistoryLimit",
    )
)

_FROZEN = (
    "updates to cloneset spec for fields other than 'replicas', 'template', 'lifecycle', 'scaleStrategy', "
    "'updateStrategy', 'minReadySeconds', 'progressDeadlineSeconds', 'volumeClaimTemplates' and "
    "'revisionHistoryLimit' are forbidden"
)


def clone_set(spec: Obj, former: Obj | None = None) -> list[FieldError]:
    """Return the errors of a v1beta1 CloneSet's spec (ValidateCloneSetV1beta1, ValidateCloneSetUpdateV1beta1).

    Args:
        spec: well-formed, its templates typed, all with defaults.
        former: the spec that it replaces, or None.
    """
    return [*_changes(spec, former), *_spec_errors(spec, _strategy)]


def old_clone_set(spec: Obj, former: Obj | None = None) -> list[FieldError]:
    """Return the errors of a v1alpha1 CloneSet's spec, changed templates included.

    Source: validateCloneSet, validateCloneSetUpdate.
    """
    errors = [*_changes(spec, former), *_beyond_images(spec, former), *_spec_errors(spec, _old_strategy)]
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += at("progressDeadlineSeconds", nonnegative(deadline))
        if deadline != _FOREVER and deadline <= (spec.get("minReadySeconds") or 0):
            detail = "must be greater than minReadySeconds"
            errors.append(field.invalid("progressDeadlineSeconds", deadline, detail))
    return errors


def _spec_errors(spec: Obj, strategy: Callable[[Obj, int], list[FieldError]]) -> list[FieldError]:
    errors = [*_pods(spec), *at("scaleStrategy", _scaling(spec.get("scaleStrategy") or {}))]
    return [*errors, *at("updateStrategy", strategy(spec["updateStrategy"], spec["replicas"]))]


def _changes(new: Obj, old: Obj | None) -> FieldErrors:
    """Return an error if a field changes that must not."""
    if old is None:
        return ()
    fixed = ({name: value for name, value in spec.items() if name not in _MAY_CHANGE} for spec in (new, old))
    return () if deeply_equal(*fixed) else (field.forbidden("", _FROZEN),)


def _beyond_images(new: Obj, old: Obj | None) -> FieldErrors:
    """Return an error if more than images changes in a template whose pods are only updated in place."""
    if old is None or new["updateStrategy"]["type"] != _IN_PLACE_ONLY:
        return ()
    change = beyond_images(*(spec["template"].get("spec") or {} for spec in (new, old)))
    detail = f"only allowed to update images in spec for {_IN_PLACE_ONLY}, but found {change}"
    return (field.forbidden("", detail),) if change else ()


def _pods(spec: Obj) -> list[FieldError]:
    """Return the errors of replicas, selector and template."""
    errors = [*at("replicas", nonnegative(spec["replicas"])), *required_selector(spec.get("selector"), "cloneset")]
    template = spec["template"]
    matches = validate_selector(spec.get("selector"), template)
    if matches is None:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    else:
        errors += [] if matches or not spec.get("selector") else [mismatch(template)]
        errors += at("template", pod_template(_with_claims(template, spec.get("volumeClaimTemplates") or ())))
    return [*errors, *validate_always_restarts(template, "cloneset")]


def _with_claims(template: Obj, claims: list[Obj] | tuple[()]) -> Obj:
    """Return the template with the volumes that its volumeClaimTemplates add to the pods."""
    if not claims:
        return template
    names = [(claim.get("metadata") or {}).get("name") or "" for claim in claims]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    spec = template["spec"]
    return template | {"spec": spec | {"volumes": [*(spec.get("volumes") or ()), *volumes]}}


def _scaling(strategy: Obj) -> FieldErrors:
    names: list[str] = strategy.get("podsToDelete") or []
    if repeated := [name for index, name in enumerate(names) if name in names[:index]]:
        return (field.invalid("podsToDelete", names, f"duplicated items [{' '.join(repeated)}]"),)
    return ()


def _strategy(strategy: Obj, replicas: int) -> list[FieldError]:
    type_, rolling = strategy["type"], strategy.get("rollingUpdate")
    errors: list[FieldError] = []
    if type_ not in (ROLLING_UPDATE, "OnDelete"):
        errors.append(field.invalid("type", type_, f"must be '{ROLLING_UPDATE}' or 'OnDelete'"))
    if rolling is None:
        return errors
    policy, rolling_errors = rolling.get("podUpdatePolicy") or "", list[FieldError]()
    if policy not in ("", RECREATE, *IN_PLACE):
        detail = f"must be '{RECREATE}', '{IN_PLACE[0]}' or '{IN_PLACE[1]}'"
        rolling_errors.append(field.invalid("podUpdatePolicy", policy, detail))
    in_place_only = "podUpdatePolicy InPlaceOnly" if policy == _IN_PLACE_ONLY else ""
    rolling_errors += _amounts(rolling, replicas, only=in_place_only)
    rolling_errors += at("inPlaceUpdateStrategy", in_place(rolling.get("inPlaceUpdateStrategy")))
    return [*errors, *at("rollingUpdate", rolling_errors)]


def _old_strategy(strategy: Obj, replicas: int) -> list[FieldError]:
    type_, errors = strategy["type"], list[FieldError]()
    if type_ not in (RECREATE, *IN_PLACE):
        detail = f"must be '{RECREATE}', {IN_PLACE[0]} or '{IN_PLACE[1]}'"  # upstream forgets two quotes
        errors.append(field.invalid("type", type_, detail))
    only = "strategy type InPlaceOnly" if type_ == _IN_PLACE_ONLY else ""
    return [*errors, *_amounts(strategy, replicas, only=only)]


def _amounts(rolling: Obj, replicas: int, *, only: str) -> list[FieldError]:
    """Return the errors of an update's amounts and order; a non-empty `only` names the setting that forbids a surge."""
    errors: list[FieldError] = []
    partition = share("partition", rolling.get("partition"), replicas, errors=errors)
    errors += at("partition", nonnegative(partition))
    errors += at("priorityStrategy", priority(rolling.get("priorityStrategy")))
    errors += at("scatterStrategy", scatter(rolling.get("scatterStrategy")))
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    max_unavailable = 0 if unavailable is None else share("maxUnavailable", unavailable, replicas, errors=errors)
    max_surge = 0 if surge is None else share("maxSurge", surge, replicas, errors=errors)
    if only and max_surge > 0:
        errors.append(field.invalid("maxSurge", str(surge), f"can not use maxSurge with {only}"))
    if replicas > 0 and max_unavailable < 1 and max_surge < 1:
        detail = "maxUnavailable and maxSurge should not both be less than 1"
        errors.append(field.invalid("maxUnavailable", unavailable, detail))
    return errors
