"""Validation of UnitedDeployments, for the admission plug-in of that name (pkg/webhook/uniteddeployment/validating)."""

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
from apiserver.api.validation.combinators import FieldErrors, at, deeply_equal, nonnegative
from apiserver.groups.apps.statefulsets import STATEFUL_SET_VALIDATOR
from apiserver.groups.core.pods.scheduling import lenient_node_term, tolerations
from apiserver.groups.core.pods.templates import (
    MISMATCH,
    mismatch,
    required_selector,
    validate_always_restarts,
    validate_selector,
)
from apiserver.groups.core.pods.validation import pod_template, template_metadata

STATEFUL, ADVANCED, CLONES, DEPLOYMENT = TEMPLATES

_FIXED = "may not be changed in an update"

_CHOICES = "statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate, or deploymentTemplate"

_CHANGES = "updates to {} spec for fields other than"

_STATEFUL_CHANGES = (
    f"{_CHANGES.format('statefulsetTemplate')} 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', "
    "'minReadySeconds' and 'ordinals' are forbidden"
)

_NO_MAXIMUM = 1_000_000
"""The maxReplicas of a subset that sets none."""


def united_deployment(spec: Obj, workload: Obj) -> list[FieldError]:
    """Return the errors of a UnitedDeployment's spec (validateUnitedDeploymentSpec).

    Args:
        spec: well-formed, with its defaults.
        workload: the part of the template's workload spec that is validated, typed and with defaults: all of a
            StatefulSet's, only the pod template of the others; empty for a CloneSet.
    """
    errors = [*at("replicas", nonnegative(spec.get("replicas") or 0))]
    errors += required_selector(spec.get("selector"), "statefulset")
    if reserves(spec) and template_field(spec) in (STATEFUL, ADVANCED):
        detail = "only stateless workloads (Deployment and CloneSet) are supported by reserved rescheduling"
        errors.append(field.invalid("topology.scheduleStrategy", schedule_strategy(spec), detail))
    try:
        errors += at("template", _template(spec, workload, label_selector_of(spec.get("selector"))))
    except SelectorError:
        errors.append(field.invalid("selector", spec.get("selector"), ""))
    errors += at("topology.subsets", _sizes(spec))
    errors += _subsets(spec)
    return [*at("spec", [*errors, *at("updateStrategy", _update_strategy(spec))])]


def _template(spec: Obj, workload: Obj, selector: LabelSelector) -> list[FieldError]:
    template = spec.get("template") or {}
    template_fields = [name for name in TEMPLATES if template.get(name) is not None]
    errors: list[FieldError] = []
    if not template_fields:
        errors.append(field.required("", f"should provide one of {_CHOICES}"))
    elif len(template_fields) > 1:
        errors.append(field.invalid("", template, f"should provide only one of {_CHOICES}"))
    if not template_fields:
        return errors
    name = template_fields[0]
    labels = labels_of(template[name])
    if name == CLONES:  # its labels may come from the selector
        labels = labels | ((spec.get("selector") or {}).get("matchLabels") or {})
    if not selector.matches(labels):
        errors.append(field.invalid(f"{name}.metadata.labels", labels or None, MISMATCH))
    return [*errors, *at(name, [*_unused(name, template[name].get("spec") or {}), *_workload(name, spec, workload)])]


def _unused(name: str, workload_spec: Obj) -> list[FieldError]:
    """Return the errors of fields that a template must not set because the subsets do."""
    errors: list[FieldError] = []
    if name == CLONES:
        return errors
    if (replicas := workload_spec.get("replicas")) is not None:
        errors.append(field.invalid("spec.replicas", replicas, f"replicas in {name} will not be used"))
    strategy = workload_spec.get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    if name != DEPLOYMENT and strategy.get("type") == "RollingUpdate" and partition is not None:
        path = "spec.updateStrategy.rollingUpdate.partition"
        errors.append(field.invalid(path, partition, f"partition in {name} will not be used"))
    return errors


def _workload(name: str, spec: Obj, workload: Obj) -> Sequence[FieldError]:
    """Return the errors of the workload itself, as far as upstream validates it here."""
    template = workload.get("template") or {}
    if name == STATEFUL:
        return [*STATEFUL_SET_VALIDATOR.create({"spec": workload})]
    if name == CLONES:
        return ()
    errors = [] if validate_selector(spec.get("selector"), template) else [mismatch(template)]
    owner = "StatefulSet" if name == ADVANCED else "ReplicaSet"
    errors += at("template", template_metadata(template) if name == ADVANCED else pod_template(template))
    return at("spec", [*errors, *validate_always_restarts(template, owner)])


def _subsets(spec: Obj) -> list[FieldError]:
    errors, known = list[FieldError](), set[str]()
    for index, subset in enumerate(subsets_of(spec)):
        name = subset.get("name") or ""
        subset_errors = [] if name else [field.required("name")]
        if name in known:
            subset_errors.append(field.invalid("name", name, f"duplicated subset name {name}"))
        known.add(name)
        if messages := names.dns1123_label(name):
            subset_errors.append(field.invalid("name", name, f"invalid subset name {', '.join(messages)}"))
        subset_errors += at("nodeSelectorTerm", lenient_node_term(subset.get("nodeSelectorTerm") or {}))
        subset_errors += at("tolerations", tolerations(subset.get("tolerations") or []))
        if subset.get("replicas") is not None and is_adaptive(spec):
            detail = "specify replicas use minReplicas/maxReplicas to enable adaptive strategy"
            subset_errors.append(field.forbidden("replicas", detail))
        errors += at(f"topology.subsets[{index}]", subset_errors)
    return errors


def _sizes(spec: Obj) -> list[FieldError]:
    """Return the errors of the subsets' pod counts, with paths relative to the subsets (validateSubsetReplicas)."""
    subsets, total = subsets_of(spec), spec.get("replicas")
    errors, sums = list[FieldError](), {"replicas": 0, "minReplicas": 0, "maxReplicas": 0}
    for index, subset in enumerate(subsets):
        sizes = {name: _size(subset, name, total, errors=errors, index=index) for name in sums}
        if sizes["minReplicas"] > sizes["maxReplicas"]:
            detail = f"subset[{index}].minReplicas must be less than or equal to maxReplicas"
            errors.append(field.invalid(f"[{index}].minReplicas", subset.get("minReplicas"), detail))
        sums = {name: sums[name] + size for name, size in sizes.items()}
    set_counts = {name: sum(subset.get(name) is not None for subset in subsets) for name in sums}
    if set_counts["replicas"] and (set_counts["minReplicas"] or set_counts["maxReplicas"]):
        detail = (
            "subset.Replicas and subset.MinReplicas/subset.MaxReplicas are mutually exclusive in a UnitedDeployment"
        )
        return [*errors, field.invalid("", subsets, detail)]
    if set_counts["minReplicas"] or set_counts["maxReplicas"]:
        return [*errors, *_bounded(total, sums, set_counts, subset_count=len(subsets))]
    return [
        *errors,
        *_fixed_sizes(total, sums["replicas"], set_count=set_counts["replicas"], subset_count=len(subsets)),
    ]


def _size(subset: Obj, name: str, total: int | None, *, errors: list[FieldError], index: int) -> int:
    value = subset.get(name)
    if value is None:
        return _NO_MAXIMUM if name == "maxReplicas" else 0
    try:
        return share_of(value, total)
    except ValueError as error:
        errors.append(field.invalid(f"[{index}].{name}", value, str(error)))
        return 0


def _bounded(
    total: int | None, sums: Mapping[str, int], set_counts: Mapping[str, int], *, subset_count: int
) -> list[FieldError]:
    errors: list[FieldError] = []
    if total is None:
        detail = "spec.replicas must be not empty if you set subset.minReplicas/maxReplicas"
        errors.append(field.invalid("", None, detail))
    if set_counts["maxReplicas"] >= subset_count:
        errors.append(field.invalid("", set_counts["maxReplicas"], "at least one subset.maxReplicas must be empty"))
    if sums["minReplicas"] > sums["maxReplicas"]:
        detail = "should not be greater than sum of indicated subset.maxReplicas"
        errors.append(field.invalid("", sums["minReplicas"], f"sum of indicated subset.minReplicas {detail}"))
    return errors


def _fixed_sizes(total: int | None, requested: int, *, set_count: int, subset_count: int) -> list[FieldError]:
    """Return the errors of the subsets' replicas."""
    if total is None:
        detail = "if UnitedDeployment replicas is not provided, replicas of all subsets should be provided"
        return [] if set_count == subset_count else [field.invalid("", requested, detail)]
    errors: list[FieldError] = []
    if requested > total:
        detail = (
            f"sum of indicated subset replicas {requested} should not be greater than UnitedDeployment replicas {total}"
        )
        errors.append(field.invalid("", requested, detail))
    if set_count and set_count == subset_count and requested != total:
        detail = f"the sum of indicated subset replicas {requested} should equal UnitedDeployment replicas {total}"
        errors.append(field.invalid("", requested, f"if replicas of all subsets are provided, {detail}"))
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
            detail = "a Deployment knows no partition"  # upstream would write it into the Deployment again and again
            errors.append(field.invalid(f"manualUpdate.partitions[{name}]", partition, detail))
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
"""Template → the fields of its spec that may change, and the error's detail for all others."""


def united_deployment_update(new: Obj, old: Obj, *, workload: Any, former: Any) -> list[FieldError]:
    """Return the errors of replacing a spec, without those of the new spec itself.

    Args:
        new: the new spec.
        old: the current spec.
        workload: as for `united_deployment`.
        former: the same for the old spec.
    """
    errors = [*checks.immutable("selector", new.get("selector"), old.get("selector"))]
    name = template_field(new)
    if name == template_field(old) and name in _MAY_CHANGE:
        specs = (workload, former) if name == STATEFUL else (_template_spec(new, name), _template_spec(old, name))
        mutable, detail = _MAY_CHANGE[name]
        if not deeply_equal(*({key: value for key, value in spec.items() if key not in mutable} for spec in specs)):
            errors.append(field.forbidden(f"template.{name}.spec", detail))
    before = {subset.get("name"): subset for subset in subsets_of(old)}
    for index, subset in enumerate(subsets_of(new)):
        if (old_subset := before.get(subset.get("name"))) is not None:
            errors += at(f"topology.subsets[{index}]", _fixed(subset, old_subset))
    return [*at("spec", errors)]


def _template_spec(spec: Obj, name: str) -> Obj:
    template_spec: Obj = spec["template"][name].get("spec") or {}
    return template_spec


def _fixed(subset: Obj, old_subset: Obj) -> FieldErrors:
    fixed_fields = ("nodeSelectorTerm", "tolerations")
    return [
        field.forbidden(name, _FIXED)
        for name in fixed_fields
        if not deeply_equal(subset.get(name) or None, old_subset.get(name) or None)
    ]
