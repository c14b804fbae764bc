"""CloneSets (openkruise/kruise pkg/webhook/cloneset/validating); the plug-in KruiseSets asks here."""

from collections.abc import Callable

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import Found, at, nonnegative, same
from apiserver.groups.core.pods.templates import endless, mismatch, needed_selector, selects
from apiserver.groups.core.pods.validation import pod_template
from apiserver.groups.kruise.set_defaults import IN_PLACE, RECREATE, ROLLING_UPDATE
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
    """What is wrong with the spec of a v1beta1 CloneSet (ValidateCloneSetV1beta1, ValidateCloneSetUpdateV1beta1).

    Args:
        spec: well-formed, its templates typed, all with defaults.
        former: the one that it replaces, None where there is none.
    """
    return [*_changes(spec, former), *_whole(spec, _strategy)]


def old_clone_set(spec: Obj, former: Obj | None = None) -> list[FieldError]:
    """The same for v1alpha1, which looks at changes of templates as well (validateCloneSet, validateCloneSetUpdate)."""
    errors = [*_changes(spec, former), *_beyond_images(spec, former), *_whole(spec, _old_strategy)]
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += at("progressDeadlineSeconds", nonnegative(deadline))
        if deadline != _FOREVER and deadline <= (spec.get("minReadySeconds") or 0):
            told = "must be greater than minReadySeconds"
            errors.append(field.invalid("progressDeadlineSeconds", deadline, told))
    return errors


def _whole(spec: Obj, strategy: Callable[[Obj, int], list[FieldError]]) -> list[FieldError]:
    errors = [*_pods(spec), *at("scaleStrategy", _scaling(spec.get("scaleStrategy") or {}))]
    return [*errors, *at("updateStrategy", strategy(spec["updateStrategy"], spec["replicas"]))]


def _changes(new: Obj, old: Obj | None) -> Found:
    """What may not change."""
    if old is None:
        return ()
    fixed = ({name: value for name, value in spec.items() if name not in _MAY_CHANGE} for spec in (new, old))
    return () if same(*fixed) else (field.forbidden("", _FROZEN),)


def _beyond_images(new: Obj, old: Obj | None) -> Found:
    """What may not change where pods are only updated as they are."""
    if old is None or new["updateStrategy"]["type"] != _IN_PLACE_ONLY:
        return ()
    change = beyond_images(*(spec["template"].get("spec") or {} for spec in (new, old)))
    told = f"only allowed to update images in spec for {_IN_PLACE_ONLY}, but found {change}"
    return (field.forbidden("", told),) if change else ()


def _pods(spec: Obj) -> list[FieldError]:
    """What is wrong with the number of pods and what they are made of."""
    errors = [*at("replicas", nonnegative(spec["replicas"])), *needed_selector(spec.get("selector"), "cloneset")]
    template = spec["template"]
    matches = selects(spec.get("selector"), template)
    if matches is None:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    else:
        errors += [] if matches or not spec.get("selector") else [mismatch(template)]
        errors += at("template", pod_template(_with_claims(template, spec.get("volumeClaimTemplates") or ())))
    return [*errors, *endless(template, "cloneset")]


def _with_claims(template: Obj, claims: list[Obj] | tuple[()]) -> Obj:
    """The template with the volumes that its pods will have."""
    if not claims:
        return template
    names = [(claim.get("metadata") or {}).get("name") or "" for claim in claims]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    spec = template["spec"]
    return template | {"spec": spec | {"volumes": [*(spec.get("volumes") or ()), *volumes]}}


def _scaling(strategy: Obj) -> Found:
    names: list[str] = strategy.get("podsToDelete") or []
    if doubled := [name for place, name in enumerate(names) if name in names[:place]]:
        return (field.invalid("podsToDelete", names, f"duplicated items [{' '.join(doubled)}]"),)
    return ()


def _strategy(strategy: Obj, replicas: int) -> list[FieldError]:
    type_, rolling = strategy["type"], strategy.get("rollingUpdate")
    errors: list[FieldError] = []
    if type_ not in (ROLLING_UPDATE, "OnDelete"):
        errors.append(field.invalid("type", type_, f"must be '{ROLLING_UPDATE}' or 'OnDelete'"))
    if rolling is None:
        return errors
    policy, found = rolling.get("podUpdatePolicy") or "", list[FieldError]()
    if policy not in ("", RECREATE, *IN_PLACE):
        told = f"must be '{RECREATE}', '{IN_PLACE[0]}' or '{IN_PLACE[1]}'"
        found.append(field.invalid("podUpdatePolicy", policy, told))
    only = "podUpdatePolicy InPlaceOnly" if policy == _IN_PLACE_ONLY else ""
    found += _amounts(rolling, replicas, only=only)
    found += at("inPlaceUpdateStrategy", in_place(rolling.get("inPlaceUpdateStrategy")))
    return [*errors, *at("rollingUpdate", found)]


def _old_strategy(strategy: Obj, replicas: int) -> list[FieldError]:
    type_, errors = strategy["type"], list[FieldError]()
    if type_ not in (RECREATE, *IN_PLACE):
        told = f"must be '{RECREATE}', {IN_PLACE[0]} or '{IN_PLACE[1]}'"  # upstream forgets two quotes
        errors.append(field.invalid("type", type_, told))
    only = "strategy type InPlaceOnly" if type_ == _IN_PLACE_ONLY else ""
    return [*errors, *_amounts(strategy, replicas, only=only)]


def _amounts(rolling: Obj, replicas: int, *, only: str) -> list[FieldError]:
    """What is wrong with how many pods are updated, and in which order; `only` tells why there may be no surge."""
    errors: list[FieldError] = []
    partition = share("partition", rolling.get("partition"), replicas, errors=errors)
    errors += at("partition", nonnegative(partition))
    errors += at("priorityStrategy", priority(rolling.get("priorityStrategy")))
    errors += at("scatterStrategy", scatter(rolling.get("scatterStrategy")))
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    down = 0 if unavailable is None else share("maxUnavailable", unavailable, replicas, errors=errors)
    more = 0 if surge is None else share("maxSurge", surge, replicas, errors=errors)
    if only and more > 0:
        errors.append(field.invalid("maxSurge", str(surge), f"can not use maxSurge with {only}"))
    if replicas > 0 and down < 1 and more < 1:
        told = "maxUnavailable and maxSurge should not both be less than 1"
        errors.append(field.invalid("maxUnavailable", unavailable, told))
    return errors
