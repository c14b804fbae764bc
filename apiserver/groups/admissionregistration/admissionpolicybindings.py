"""Mutating- and ValidatingAdmissionPolicyBindings (admissionregistration.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.groups.admissionregistration.defaults import default_match
from apiserver.groups.admissionregistration.rules import match_resources
from apiserver.groups.cell_format import age, selector_dump
from apiserver.groups.cells import UNSET, Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import API_EXTENSIONS, BuiltinKind
from apiserver.groups.notices import NO_POLICIES, stored
from apiserver.groups.strategy import COUNTED_PINNED


def default_admission_policy_binding(binding: Obj) -> None:
    """Set the defaults of matchResources in the binding of an admission policy."""
    default_match((binding.get("spec") or {}).get("matchResources"))


_ACTIONS = frozenset({"Audit", "Deny", "Warn"})

_BOTH_ACTIONS = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _validate_policy_binding(binding: Obj) -> Iterator[FieldError]:
    spec = binding.get("spec") or {}
    yield from _binding_basics(spec)
    actions = spec.get("validationActions") or []
    for index, action in enumerate(actions):
        yield from checks.one_of(f"spec.validationActions[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield field.duplicate(f"spec.validationActions[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        yield field.invalid("spec.validationActions", actions, _BOTH_ACTIONS)
    yield from checks.required("spec.validationActions", actions, "at least one validation action is required")


def _binding_basics(spec: Obj) -> Iterator[FieldError]:
    yield from checks.required_name("spec.policyName", spec.get("policyName"), names.dns1123_subdomain)
    reference, match = spec.get("paramRef"), spec.get("matchResources")
    if reference is not None:
        name, selector = reference.get("name"), reference.get("selector")
        if bool(name) == (selector is not None):
            detail = "one of name or selector must be specified"
            yield (
                field.required("spec.paramRef.name", detail)
                if not name
                else field.forbidden("spec.paramRef.name", "name and selector are mutually exclusive")
            )
        if reference.get("parameterNotFoundAction") is None:
            yield field.required("spec.paramRef.parameterNotFoundAction")
    if match is not None:
        yield from checks.prefix_errors("spec.matchResources", match_resources(match))


def _mutating_policy_binding(binding: Obj) -> Errors:
    return _binding_basics(binding.get("spec") or {})


def _policy_binding_cells(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), text_of(spec, "policyName"), _parameters(mapping(spec, "paramRef")), age(obj)]


def _parameters(reference: Obj) -> str:
    name, selector = text_of(reference, "name"), reference.get("selector")
    if name:
        return f"{text_of(reference, 'namespace') or '*'}/{name}"
    return selector_dump(selector) if isinstance(selector, dict) else UNSET


_BINDING = Printer(
    columns=(
        NAME,
        Column("PolicyName", "The policy that is bound."),
        Column("ParamRef", "The objects that hold the policy's parameters."),
        AGE,
    ),
    cells=_policy_binding_cells,
)

MUTATING_ADMISSION_POLICY_BINDING = BuiltinKind(
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicyBinding",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_admission_policy_binding,
    strategy=COUNTED_PINNED,
    validator=same_on_update(_mutating_policy_binding),
    printer=_BINDING,
    notices=stored("MutatingAdmissionPolicyBinding", NO_POLICIES, "changes nothing"),
)

VALIDATING_ADMISSION_POLICY_BINDING = BuiltinKind(
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_admission_policy_binding,
    strategy=COUNTED_PINNED,
    validator=same_on_update(_validate_policy_binding),
    printer=_BINDING,
)
