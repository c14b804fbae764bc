"""Templates of pods as their controllers hold them: the selector that must match, and amounts of pods."""

from typing import Any

from apiserver.api import field, selectors
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Found, at, label_selector, nonnegative, struct
from apiserver.groups.core.pods.validation import pod_template

_MISMATCH = "`selector` does not match template `labels`"


def selects(selector: Obj | None, template: Obj) -> bool | None:
    """Does the selector match the template's labels? None where the selector is malformed."""
    try:
        return selectors.label_selector_of(selector).matches(labels_of(template))
    except selectors.SelectorError:
        return None


def needed_selector(selector: Obj | None, kind: str) -> list[FieldError]:
    """What is wrong with spec.selector of a controller of this kind, which must be set and select something."""
    if selector is None:
        return [field.required("selector")]
    errors = [*at("selector", label_selector(selector))]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(field.invalid("selector", selector, f"empty selector is invalid for {kind}"))
    return errors


def selected_template(spec: Obj, *, malformed: str, owner: str) -> list[FieldError]:
    """The template that the selector must match, and that must suit an owner which restarts its pods for ever."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    matches = selects(selector, template)
    if matches is None:
        return [field.invalid("selector", selector, malformed)]
    errors = [] if matches or selector == {} else [mismatch(template)]
    return [*errors, *at("template", pod_template(template)), *endless(template, owner)]


def mismatch(template: Obj) -> FieldError:
    """The error of a template that its controller's selector would not find."""
    return field.invalid("template.metadata.labels", labels_of(template) or None, _MISMATCH)


def endless(template: Obj, owner: str) -> list[FieldError]:
    """What is wrong with a template whose pods are to run for ever, for an owner named so in messages."""
    spec = template.get("spec") or {}
    errors: list[FieldError] = []
    if (policy := spec.get("restartPolicy", "")) != "Always":
        errors.append(field.not_supported("template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        told = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.append(field.forbidden("template.spec.activeDeadlineSeconds", told))
    return errors


def count_or_percent(value: Any) -> Found:
    """A check of a number or percentage of pods (ValidatePositiveIntOrPercent)."""
    if isinstance(value, str):
        return checks.wrong("", value, names.percent(value))
    return nonnegative(value)


def whole(value: Any) -> int:
    """The number, of pods or of percent; what is neither counts as 0."""
    if isinstance(value, str):
        return 0 if names.percent(value) else int(value[:-1])
    return value or 0


def at_most_all(value: Any) -> Found:
    """A check that a percentage is no more than all (IsNotMoreThan100Percent)."""
    too_many = isinstance(value, str) and whole(value) > 100
    return (field.invalid("", value, "must not be greater than 100%"),) if too_many else ()


rolling_counts = struct(("maxUnavailable", count_or_percent), ("maxSurge", count_or_percent))
"""A check of the two amounts that a rolling update may go over and under."""
