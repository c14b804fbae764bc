"""Mutating- and ValidatingAdmissionPolicies (admissionregistration.k8s.io): defaults, validation and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.admissionregistration.defaults import default_match
from apiserver.groups.admissionregistration.rules import (
    FAILURE_POLICIES,
    MAX_ANNOTATIONS,
    match_conditions,
    match_resources,
)
from apiserver.groups.cell_format import age
from apiserver.groups.cells import UNSET, Cells, count, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import API_EXTENSIONS, BuiltinKind
from apiserver.groups.notices import NO_POLICIES, stored
from apiserver.groups.strategy import COUNTED_PINNED, COUNTED_STATUS_PINNED

if TYPE_CHECKING:
    from apiserver.groups.admissionregistration.expression_checks import ExpressionChecks


def default_admission_policy(policy: Obj) -> None:
    """Set the defaults of a validating or mutating admission policy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec.get("matchConstraints"))


_REASONS = frozenset({"Forbidden", "Invalid", "RequestEntityTooLarge"})

_NO_EXPRESSION = "expression is not specified"
_MAX_VALUE_EXPRESSION = 5 * 1024
_NO_ITEMS = "validations or auditAnnotations must contain at least one item"


def _validator(validate: Callable[[Obj, ExpressionChecks], Errors], release: int) -> Validator:
    """Return the validator of a release; conditions that an update leaves as they are, are not compiled again."""

    def create(policy: Obj) -> Errors:
        return validate(policy, _checks(policy, release))

    def update(new: Obj, old: Obj) -> Errors:
        before, after = (each.get("spec") or {} for each in (old, new))
        compiled = _checks(new, release, frozenset(_expressions(before)))
        compiled.has_new_conditions = before.get("matchConditions") != after.get("matchConditions")
        return validate(new, compiled)

    return Validator(create, update)


def _checks(policy: Obj, release: int, preexisting: frozenset[str | None] = frozenset()) -> ExpressionChecks:
    from apiserver.groups.admissionregistration.expression_checks import (  # noqa: PLC0415 - takes 50 ms
        ExpressionChecks,
    )

    return ExpressionChecks(policy.get("spec") or {}, release, preexisting)


def _expressions(spec: Obj) -> Iterator[str | None]:
    """Yield all expressions of a policy."""
    for listed in ("matchConditions", "variables", "validations", "auditAnnotations"):
        for each in spec.get(listed) or ():
            yield from (each.get(name) for name in ("expression", "messageExpression", "valueExpression"))


def _validate_policy(policy: Obj, compiled: ExpressionChecks) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from checks.prefix_errors("spec", _policy_basics(spec, compiled))
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield field.required("spec.validations", _NO_ITEMS)
        yield field.required("spec.auditAnnotations", _NO_ITEMS)
    yield from checks.each("spec.validations", validations, lambda each: _validation(each, compiled))
    yield from checks.prefix_errors("spec", _audit_annotations(annotations, compiled))


def _policy_basics(spec: Obj, compiled: ExpressionChecks) -> Iterator[FieldError]:
    """Yield the errors in the fields that validating and mutating policies share."""
    yield from checks.required_one_of("failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
    kind, constraints = spec.get("paramKind"), spec.get("matchConstraints")
    if kind is not None:
        yield from checks.prefix_errors("paramKind", _param_kind(kind))
    if constraints is None:
        yield field.required("matchConstraints")
    else:
        yield from checks.prefix_errors("matchConstraints", match_resources(constraints))
        yield from checks.required("matchConstraints.resourceRules", constraints.get("resourceRules"))
    yield from match_conditions(
        spec.get("matchConditions") or (), compiled.condition if compiled.has_new_conditions else None
    )
    yield from checks.each("variables", spec.get("variables"), lambda each: _variable(each, compiled))


def _expression(path: str, text: str, check: Callable[[str], str], missing: str) -> Iterator[FieldError]:
    """Yield the error of an expression that is missing or cannot be compiled."""
    if not text.strip():
        yield field.required(path, missing)
    elif problem := check(text):
        yield field.invalid(path, text, problem)


def _param_kind(kind: Obj) -> Iterator[FieldError]:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    yield from checks.required("apiVersion", version)
    if version.count("/") > 1:
        yield field.invalid("apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif version:
        group, _, short = version.rpartition("/")
        if group and (messages := names.dns1123_subdomain(group)):
            yield field.invalid("apiVersion", group, ",".join(messages))
        if not short:
            yield field.invalid("apiVersion", version, "version must be specified")
        elif messages := names.dns1035_label(short):
            yield field.invalid("apiVersion", short, ",".join(messages))
    if not name:
        yield field.required("kind")
    elif messages := names.dns1035_label(name.lower()):
        hint = "may have mixed case, but should otherwise match: "
        yield field.invalid("kind", name, hint + ",".join(messages))


def _variable(variable: Obj, compiled: ExpressionChecks) -> Iterator[FieldError]:
    name = variable.get("name") or ""
    if not name.strip():
        yield field.required("name", "name is not specified")
    elif names.c_identifier(name):
        yield field.invalid("name", name, "name is not a valid CEL identifier")
    text = variable.get("expression") or ""
    yield from _expression("expression", text, lambda text: compiled.variable(name, text), _NO_EXPRESSION)


def _validation(validation: Obj, compiled: ExpressionChecks) -> Iterator[FieldError]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    computed = validation.get("messageExpression") or ""
    yield from _expression("expression", expression, compiled.validation, _NO_EXPRESSION)
    if computed and not computed.strip():
        yield field.invalid("messageExpression", computed, "must be non-empty if specified")
    elif computed:
        yield from _expression("messageExpression", computed, compiled.message, _NO_EXPRESSION)
    if message and not message.strip():
        yield field.invalid("message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield field.invalid("message", message, "message must not contain line breaks")
    yield from checks.optional_one_of("reason", validation.get("reason"), _REASONS)


def _audit_annotations(annotations: list[Obj] | tuple[()], compiled: ExpressionChecks) -> Iterator[FieldError]:
    if len(annotations) > MAX_ANNOTATIONS:
        detail = f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"
        yield field.invalid("auditAnnotations", annotations, detail)
    seen = set()
    for index, annotation in enumerate(annotations):
        key, path = annotation.get("key") or "", f"auditAnnotations[{index}]"
        if not key.strip():
            yield field.required(f"{path}.key", "key is not specified")
        value = annotation.get("valueExpression") or ""
        if len(value.strip()) > _MAX_VALUE_EXPRESSION:
            detail = f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length"
            yield field.required(f"{path}.valueExpression", detail)
        else:
            missing = "valueExpression is not specified"
            yield from _expression(f"{path}.valueExpression", value, compiled.annotation, missing)
        if key in seen:
            yield field.duplicate(f"{path}.key", key)
        seen.add(key)


def _mutating_policy(policy: Obj, compiled: ExpressionChecks) -> Errors:
    return checks.prefix_errors("spec", _policy_basics(policy.get("spec") or {}, compiled))


def _policy_cells(obj: Obj, rules: str) -> Cells:
    spec = mapping(obj, "spec")
    kind = spec.get("paramKind")
    param_kind = f"{text_of(kind, 'apiVersion')}/{text_of(kind, 'kind')}" if isinstance(kind, dict) else UNSET
    return [name_of(obj), count(spec, rules), param_kind, age(obj)]


_PARAM_KIND = Column("ParamKind", "The kind of the objects that hold the policy's parameters.")

MUTATING_ADMISSION_POLICY = BuiltinKind(
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_admission_policy,
    strategy=COUNTED_PINNED,
    validator=_validator(_mutating_policy, 0),
    release_validator=partial(_validator, _mutating_policy),
    printer=Printer(
        columns=(NAME, Column("Mutations", "How many mutations there are.", type="integer"), _PARAM_KIND, AGE),
        cells=lambda obj: _policy_cells(obj, "mutations"),
    ),
    notices=stored("MutatingAdmissionPolicy", NO_POLICIES, "changes nothing"),
)

VALIDATING_ADMISSION_POLICY = BuiltinKind(
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicy",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_admission_policy,
    strategy=COUNTED_STATUS_PINNED,
    validator=_validator(_validate_policy, 0),
    release_validator=partial(_validator, _validate_policy),
    printer=Printer(
        columns=(NAME, Column("Validations", "How many validations there are.", type="integer"), _PARAM_KIND, AGE),
        cells=lambda obj: _policy_cells(obj, "validations"),
    ),
)
