"""Mutating- and ValidatingAdmissionPolicies (admissionregistration.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
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


def default_admission_policy(policy: Obj) -> None:
    """Set the defaults of a validating or mutating admission policy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec.get("matchConstraints"))


_REASONS = frozenset({"Forbidden", "Invalid", "RequestEntityTooLarge"})

_NO_ITEMS = "validations or auditAnnotations must contain at least one item"


def _validate_policy(policy: Obj) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from checks.prefix_errors("spec", _policy_basics(spec))
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield field.required("spec.validations", _NO_ITEMS)
        yield field.required("spec.auditAnnotations", _NO_ITEMS)
    yield from checks.each("spec.validations", validations, _validation)
    yield from checks.prefix_errors("spec", _audit_annotations(annotations))


def _policy_basics(spec: Obj) -> Iterator[FieldError]:
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
    yield from match_conditions(spec.get("matchConditions") or ())
    yield from checks.each("variables", spec.get("variables"), _variable)


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


def _variable(variable: Obj) -> Iterator[FieldError]:
    name = variable.get("name") or ""
    if not name.strip():
        yield field.required("name", "name is not specified")
    elif names.c_identifier(name):
        yield field.invalid("name", name, "name is not a valid CEL identifier")
    yield from checks.required("expression", (variable.get("expression") or "").strip(), "expression is not specified")


def _validation(validation: Obj) -> Iterator[FieldError]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    computed = validation.get("messageExpression") or ""
    yield from checks.required("expression", expression.strip(), "expression is not specified")
    if computed and not computed.strip():
        yield field.invalid("messageExpression", computed, "must be non-empty if specified")
    if message and not message.strip():
        yield field.invalid("message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield field.invalid("message", message, "message must not contain line breaks")
    yield from checks.optional_one_of("reason", validation.get("reason"), _REASONS)


def _audit_annotations(annotations: list[Obj] | tuple[()]) -> Iterator[FieldError]:
    if len(annotations) > MAX_ANNOTATIONS:
        detail = f"must not have more than {MAX_ANNOTATIONS} auditAnnotations"
        yield field.invalid("auditAnnotations", annotations, detail)
    seen = set()
    for index, annotation in enumerate(annotations):
        key, path = annotation.get("key") or "", f"auditAnnotations[{index}]"
        if not key.strip():
            yield field.required(f"{path}.key", "key is not specified")
        value = (annotation.get("valueExpression") or "").strip()
        yield from checks.required(f"{path}.valueExpression", value, "valueExpression is not specified")
        if key in seen:
            yield field.duplicate(f"{path}.key", key)
        seen.add(key)


def _mutating_policy(policy: Obj) -> Errors:
    return checks.prefix_errors("spec", _policy_basics(policy.get("spec") or {}))


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
    validator=same_on_update(_mutating_policy),
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
    validator=same_on_update(_validate_policy),
    printer=Printer(
        columns=(NAME, Column("Validations", "How many validations there are.", type="integer"), _PARAM_KIND, AGE),
        cells=lambda obj: _policy_cells(obj, "validations"),
    ),
    notices=stored("ValidatingAdmissionPolicy", NO_POLICIES, "refuses nothing"),
)
