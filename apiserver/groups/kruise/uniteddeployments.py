"""UnitedDeployments (openkruise/kruise pkg/webhook/uniteddeployment/validating); the plug-in of that name asks here."""

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from apiserver.api.united_deployments import (
    MANUAL,
    TEMPLATES,
    is_adaptive,
    reserves,
    schedule_strategy,
    share_of,
    subsets_of,
    template_field,
)
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Found, at, nonnegative, same
from apiserver.groups.apps.statefulsets import STATEFUL_SET_VALIDATOR
from apiserver.groups.core.pods.scheduling import lenient_node_term, tolerations
from apiserver.groups.core.pods.templates import endless, mismatch, needed_selector, selects
from apiserver.groups.core.pods.validation import pod_template, template_metadata

STATEFUL, ADVANCED, CLONES, DEPLOYMENT = TEMPLATES

_STATEFUL_SET = STATEFUL_SET_VALIDATOR

_MISMATCH = "`selector` does not match template `labels`"

_FIXED = "may not be changed in an update"

_CHOICES = "statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate, or deploymentTemplate"

_CHANGES = "updates to {} spec for fields other than"

_STATEFUL_CHANGES = (
    f"{_CHANGES.format('statefulsetTemplate')} 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', "
    "'minReadySeconds' and 'ordinals' are forbidden"
)

_MOST = 1_000_000
"""What counts as the maximum of a subset without one."""


def united_deployment(spec: Obj, workload: Obj) -> list[FieldError]:
    """What is wrong with the spec of a UnitedDeployment (validateUnitedDeploymentSpec).

    Args:
        spec: well-formed, with its defaults.
        workload: the spec of the workload that its template asks for, typed and with defaults, as far as it is looked
            into: of a StatefulSet the whole, of the others the pod template; empty for a CloneSet.
    """
    errors = [*at("replicas", nonnegative(spec.get("replicas") or 0))]
    errors += needed_selector(spec.get("selector"), "statefulset")
    if reserves(spec) and template_field(spec) in (STATEFUL, ADVANCED):
        told = "only stateless workloads (Deployment and CloneSet) are supported by reserved rescheduling"
        errors.append(field.invalid("topology.scheduleStrategy", schedule_strategy(spec), told))
    try:
        errors += at("template", _template(spec, workload, label_selector_of(spec.get("selector"))))
    except SelectorError:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    errors += at("topology.subsets", _sizes(spec))
    errors += _subsets(spec)
    return [*at("spec", [*errors, *at("updateStrategy", _update_strategy(spec))])]


def _template(spec: Obj, workload: Obj, selector: LabelSelector) -> list[FieldError]:
    template = spec.get("template") or {}
    given = [name for name in TEMPLATES if template.get(name) is not None]
    errors: list[FieldError] = []
    if not given:
        errors.append(field.required("", f"should provide one of {_CHOICES}"))
    elif len(given) > 1:
        errors.append(field.invalid("", template, f"should provide only one of {_CHOICES}"))
    if not given:
        return errors
    name = given[0]
    labels = labels_of(template[name])
    if name == CLONES:  # its labels may come from the selector
        labels = labels | ((spec.get("selector") or {}).get("matchLabels") or {})
    if not selector.matches(labels):
        errors.append(field.invalid(f"{name}.metadata.labels", labels or None, _MISMATCH))
    return [*errors, *at(name, [*_unused(name, template[name].get("spec") or {}), *_workload(name, spec, workload)])]


def _unused(name: str, given: Obj) -> list[FieldError]:
    """What a template may not say, since the subsets do."""
    errors: list[FieldError] = []
    if name == CLONES:
        return errors
    if (replicas := given.get("replicas")) is not None:
        errors.append(field.invalid("spec.replicas", replicas, f"replicas in {name} will not be used"))
    strategy = given.get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    if name != DEPLOYMENT and strategy.get("type") == "RollingUpdate" and partition is not None:
        place = "spec.updateStrategy.rollingUpdate.partition"
        errors.append(field.invalid(place, partition, f"partition in {name} will not be used"))
    return errors


def _workload(name: str, spec: Obj, workload: Obj) -> Sequence[FieldError]:
    """What is wrong with the workload itself, as far as upstream looks into it here."""
    template = workload.get("template") or {}
    if name == STATEFUL:
        return [*_STATEFUL_SET.create({"spec": workload})]
    if name == CLONES:
        return ()
    errors = [] if selects(spec.get("selector"), template) else [mismatch(template)]
    owner = "StatefulSet" if name == ADVANCED else "ReplicaSet"
    errors += at("template", template_metadata(template) if name == ADVANCED else pod_template(template))
    return at("spec", [*errors, *endless(template, owner)])


def _subsets(spec: Obj) -> list[FieldError]:
    errors, known = list[FieldError](), set[str]()
    for place, subset in enumerate(subsets_of(spec)):
        name = subset.get("name") or ""
        found = [] if name else [field.required("name")]
        if name in known:
            found.append(field.invalid("name", name, f"duplicated subset name {name}"))
        known.add(name)
        if wrong := names.dns1123_label(name):
            found.append(field.invalid("name", name, f"invalid subset name {', '.join(wrong)}"))
        found += at("nodeSelectorTerm", lenient_node_term(subset.get("nodeSelectorTerm") or {}))
        found += at("tolerations", tolerations(subset.get("tolerations") or []))
        if subset.get("replicas") is not None and is_adaptive(spec):
            told = "specify replicas use minReplicas/maxReplicas to enable adaptive strategy"
            found.append(field.forbidden("replicas", told))
        errors += at(f"topology.subsets[{place}]", found)
    return errors


def _sizes(spec: Obj) -> list[FieldError]:
    """What is wrong with how many pods subsets ask for (validateSubsetReplicas); paths are relative to the subsets."""
    subsets, total = subsets_of(spec), spec.get("replicas")
    errors, sums = list[FieldError](), {"replicas": 0, "minReplicas": 0, "maxReplicas": 0}
    for place, subset in enumerate(subsets):
        sizes = {name: _size(subset, name, total, errors=errors, place=place) for name in sums}
        if sizes["minReplicas"] > sizes["maxReplicas"]:
            told = f"subset[{place}].minReplicas must be less than or equal to maxReplicas"
            errors.append(field.invalid(f"[{place}].minReplicas", subset.get("minReplicas"), told))
        sums = {name: sums[name] + size for name, size in sizes.items()}
    given = {name: sum(subset.get(name) is not None for subset in subsets) for name in sums}
    if given["replicas"] and (given["minReplicas"] or given["maxReplicas"]):
        told = "subset.Replicas and subset.MinReplicas/subset.MaxReplicas are mutually exclusive in a UnitedDeployment"
        return [*errors, field.invalid("", subsets, told)]
    if given["minReplicas"] or given["maxReplicas"]:
        return [*errors, *_bounded(total, sums, given, number=len(subsets))]
    return [*errors, *_asked(total, sums["replicas"], given=given["replicas"], number=len(subsets))]


def _size(subset: Obj, name: str, total: int | None, *, errors: list[FieldError], place: int) -> int:
    value = subset.get(name)
    if value is None:
        return _MOST if name == "maxReplicas" else 0
    try:
        return share_of(value, total)
    except ValueError as error:
        errors.append(field.invalid(f"[{place}].{name}", value, str(error)))
        return 0


def _bounded(total: int | None, sums: Mapping[str, int], given: Mapping[str, int], *, number: int) -> list[FieldError]:
    errors: list[FieldError] = []
    if total is None:
        told = "spec.replicas must be not empty if you set subset.minReplicas/maxReplicas"
        errors.append(field.invalid("", None, told))
    if given["maxReplicas"] >= number:
        errors.append(field.invalid("", given["maxReplicas"], "at least one subset.maxReplicas must be empty"))
    if sums["minReplicas"] > sums["maxReplicas"]:
        told = "should not be greater than sum of indicated subset.maxReplicas"
        errors.append(field.invalid("", sums["minReplicas"], f"sum of indicated subset.minReplicas {told}"))
    return errors


def _asked(total: int | None, asked: int, *, given: int, number: int) -> list[FieldError]:
    """What is wrong with numbers that subsets ask for; where they are too many upstream tells of an address."""
    if total is None:
        told = "if UnitedDeployment replicas is not provided, replicas of all subsets should be provided"
        return [] if given == number else [field.invalid("", asked, told)]
    errors: list[FieldError] = []
    if asked > total:
        told = f"sum of indicated subset replicas {asked} should not be greater than UnitedDeployment replicas {total}"
        errors.append(field.invalid("", asked, told))
    if given and given == number and asked != total:
        told = f"the sum of indicated subset replicas {asked} should equal UnitedDeployment replicas {total}"
        errors.append(field.invalid("", asked, f"if replicas of all subsets are provided, {told}"))
    return errors


def _update_strategy(spec: Obj) -> list[FieldError]:
    strategy = spec.get("updateStrategy") or {}
    type_ = strategy.get("type") or MANUAL
    if type_ != MANUAL:
        return [field.not_supported("type", type_, (MANUAL, ""))]
    partitions = (strategy.get("manualUpdate") or {}).get("partitions") or {}
    known = {subset.get("name") for subset in subsets_of(spec)}
    errors = [
        field.invalid("manualUpdate.partitions", partitions, f"subset {name} does not exist")
        for name in partitions
        if name not in known
    ]
    for name, partition in partitions.items():
        if partition and template_field(spec) == DEPLOYMENT:
            told = "a Deployment knows no partition"  # which upstream would put into it for ever
            errors.append(field.invalid(f"manualUpdate.partitions[{name}]", partition, told))
    return errors


_MAY_CHANGE: Mapping[str, tuple[frozenset[str], str]] = {
    STATEFUL: (
        frozenset(
            (
                "selector",
                "replicas",
                "template",
                "updateStrategy",
                "minReadySeconds",
                "ordinals",
                "persistentVolumeClaimRetentionPolicy",
            )
        ),
        _STATEFUL_CHANGES,
    ),
    ADVANCED: (
        frozenset(("replicas", "template", "updateStrategy")),
        f"{_CHANGES.format('advancedStatefulsetTemplate')} 'template', and 'updateStrategy' are forbidden",
    ),
}
"""Template → the fields of its spec that may change, and what is said of the others."""


def united_deployment_update(new: Obj, old: Obj, *, workload: Any, former: Any) -> list[FieldError]:
    """What is wrong with replacing the old spec by the new one, beside what is wrong with the new one.

    Args:
        new: the spec as it is to be.
        old: the spec as it is.
        workload: as for `united_deployment`.
        former: the same of the old spec.
    """
    errors = [*checks.immutable("selector", new.get("selector"), old.get("selector"))]
    name = template_field(new)
    if name == template_field(old) and name in _MAY_CHANGE:
        both = (workload, former) if name == STATEFUL else (_given(new, name), _given(old, name))
        kept, told = _MAY_CHANGE[name]
        if not same(*({each: value for each, value in spec.items() if each not in kept} for spec in both)):
            errors.append(field.forbidden(f"template.{name}.spec", told))
    before = {subset.get("name"): subset for subset in subsets_of(old)}
    for place, subset in enumerate(subsets_of(new)):
        if (known := before.get(subset.get("name"))) is not None:
            errors += at(f"topology.subsets[{place}]", _fixed(subset, known))
    return [*at("spec", errors)]


def _given(spec: Obj, name: str) -> Obj:
    found: Obj = spec["template"][name].get("spec") or {}
    return found


def _fixed(subset: Obj, known: Obj) -> Found:
    parts = ("nodeSelectorTerm", "tolerations")
    return [
        field.forbidden(name, _FIXED) for name in parts if not same(subset.get(name) or None, known.get(name) or None)
    ]
