"""Validation of a Job's podFailurePolicy and successPolicy (pkg/apis/batch/validation)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import names
from apiserver.api.validation.combinators import FieldErrors, at, nonnegative
from apiserver.groups.batch.jobs.indexes import count_indexes, indexes_error

_MAX_RULES = 20

_MAX_EXIT_CODES = 255

_MAX_CONDITIONS = 20

_MAX_INDEXES_BYTES = 64 * 1024

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")

_OPERATORS = ("In", "NotIn")

_STATUSES = ("False", "True", "Unknown")


def _without_value(path: str, detail: str) -> FieldError:
    """Return the error for an invalid value that upstream's message does not repeat."""
    return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")


def pod_failure_policy(policy: Obj, spec: Obj) -> FieldErrors:
    """Return the errors in spec.podFailurePolicy of a Job with this spec."""
    rules = policy.get("rules") or []
    errors = [field.too_many("rules", len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    pod_spec = (spec.get("template") or {}).get("spec") or {}
    containers = {c.get("name") for kind in ("containers", "initContainers") for c in pod_spec.get(kind) or ()}
    for index, rule in enumerate(rules):
        rule_errors = [*_action(rule, spec), *_exit_codes(rule.get("onExitCodes"), containers), *_conditions(rule)]
        errors += at(f"rules[{index}]", [*rule_errors, *_either(rule)])
    return errors


def _action(rule: Obj, spec: Obj) -> Iterator[FieldError]:
    action = rule.get("action")
    if not action:
        supported = " ".join(f'"{known}"' for known in _ACTIONS)
        yield field.required("action", f"valid values: [{supported}]")
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield field.invalid("action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield field.not_supported("action", action, _ACTIONS)


def _exit_codes(requirement: Obj | None, containers: set[str]) -> Iterator[FieldError]:
    if requirement is None:
        return
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if not operator:
        yield field.required("onExitCodes.operator", 'valid values: ["In" "NotIn"]')
    elif operator not in _OPERATORS:
        yield field.not_supported("onExitCodes.operator", operator, _OPERATORS)
    if (name := requirement.get("containerName")) is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield field.invalid("onExitCodes.containerName", name, detail)
    if not values:
        yield field.invalid("onExitCodes.values", requirement.get("values"), "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield field.too_many("onExitCodes.values", len(values), _MAX_EXIT_CODES)
    yield from at("onExitCodes", list(_exit_values(values, operator)))


def _exit_values(values: list[int], operator: str | None) -> Iterator[FieldError]:
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield field.invalid(f"values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield field.duplicate(f"values[{index}]", value)
    if values != sorted(values):
        yield field.invalid("values", values, "must be ordered")


def _conditions(rule: Obj) -> Iterator[FieldError]:
    patterns = rule.get("onPodConditions") or []
    if len(patterns) > _MAX_CONDITIONS:
        yield field.too_many("onPodConditions", len(patterns), _MAX_CONDITIONS)
    for index, pattern in enumerate(patterns):
        path, status = f"onPodConditions[{index}]", pattern.get("status")
        kind = pattern.get("type", "")
        for message in names.qualified_name(kind):
            yield field.invalid(f"{path}.type", kind, message)
        if not status:
            supported = " ".join(f'"{known}"' for known in _STATUSES)
            yield field.required(f"{path}.status", f"valid values: [{supported}]")
        elif status not in _STATUSES:
            yield field.not_supported(f"{path}.status", status, _STATUSES)


def _either(rule: Obj) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
    if codes and conditions:
        yield _without_value("", "specifying both OnExitCodes and OnPodConditions is not supported")
    elif not codes and not conditions:
        yield _without_value("", "specifying one of OnExitCodes and OnPodConditions is required")


def success_policy(policy: Obj, spec: Obj) -> FieldErrors:
    """Return the errors in spec.successPolicy of an indexed Job with this spec."""
    rules = policy.get("rules") or []
    errors: list[FieldError] = []
    if not rules:
        errors.append(
            field.required("rules", "at least one rules must be specified when the successPolicy is specified")
        )
    if len(rules) > _MAX_RULES:
        errors.append(field.too_many("rules", len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        errors += at(f"rules[{index}]", list(_success_rule(rule, spec.get("completions") or 0)))
    return errors


def _success_rule(rule: Obj, completions: int) -> Iterator[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        yield field.required("", detail)
    error = indexes_error(indexes or "", completions)
    if indexes is not None and len(indexes) > _MAX_INDEXES_BYTES:
        yield field.too_long("succeededIndexes", _MAX_INDEXES_BYTES)
    if error:
        yield field.invalid("succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is not None:
        yield from at("succeededCount", nonnegative(count))
        index_count = None if indexes is None else 0 if error else count_indexes(indexes, completions)
        yield from _at_most(count, completions, "the number of specified completions")
        yield from _at_most(count, index_count, "the number of indexes in the specified succeededIndexes field")


def _at_most(count: int, limit: int | None, noun: str) -> FieldErrors:
    detail = f"must be less than or equal to {limit} ({noun})"
    return () if limit is None or count <= limit else (field.invalid("succeededCount", count, detail),)
