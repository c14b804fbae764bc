"""Validation of the pod templates of workloads: the selector that must match, and amounts of pods."""

from typing import Any

from apiserver.api import field, selectors
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import FieldErrors, at, label_selector, nonnegative, struct
from apiserver.groups.core.pods.validation import pod_template

MISMATCH = "`selector` does not match template `labels`"


def validate_selector(selector: Obj | None, template: Obj) -> bool | None:
    """Return whether the selector matches the template's labels, or None if the selector is malformed."""
    try:
        return selectors.label_selector_of(selector).matches(labels_of(template))
    except selectors.SelectorError:
        return None


def required_selector(selector: Obj | None, kind: str) -> list[FieldError]:
    """Return the errors of a workload's spec.selector, which must be set and select something."""
    if selector is None:
        return [field.required("selector")]
    errors = [*at("selector", label_selector(selector))]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(field.invalid("selector", selector, f"empty selector is invalid for {kind}"))
    return errors


def selected_template(spec: Obj, *, malformed: str, owner: str) -> list[FieldError]:
    """Return the errors of a template that the selector must match and whose pods must always restart."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    matches = validate_selector(selector, template)
    if matches is None:
        return [field.invalid("selector", selector, malformed)]
    errors = [] if matches or selector == {} else [mismatch(template)]
    return [*errors, *at("template", pod_template(template)), *validate_always_restarts(template, owner)]


def mismatch(template: Obj) -> FieldError:
    """Return the error of a template that its workload's selector does not match."""
    return field.invalid("template.metadata.labels", labels_of(template) or None, MISMATCH)


def validate_always_restarts(template: Obj, owner: str) -> list[FieldError]:
    """Return the errors of a template whose pods must always restart; messages name the owner."""
    spec = template.get("spec") or {}
    errors: list[FieldError] = []
    if (policy := spec.get("restartPolicy", "")) != "Always":
        errors.append(field.not_supported("template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.append(field.forbidden("template.spec.activeDeadlineSeconds", detail))
    return errors


def count_or_percent(value: Any) -> FieldErrors:
    """Return the errors of a number or percentage of pods (ValidatePositiveIntOrPercent)."""
    if isinstance(value, str):
        return checks.invalid_values("", value, names.percent(value))
    return nonnegative(value)


def whole(value: Any) -> int:
    """Return the number, of pods or of percent; a malformed value counts as 0."""
    if isinstance(value, str):
        return 0 if names.percent(value) else int(value[:-1])
    return value or 0


def at_most_all(value: Any) -> FieldErrors:
    """Return an error if a percentage is above 100 (IsNotMoreThan100Percent)."""
    too_many = isinstance(value, str) and whole(value) > 100
    return (field.invalid("", value, "must not be greater than 100%"),) if too_many else ()


rolling_counts = struct(("maxUnavailable", count_or_percent), ("maxSurge", count_or_percent))
"""A check of maxUnavailable and maxSurge."""
