"""Rows of admission webhooks and policies."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import UNSET, Cells, count, mapping, text
from apiserver.endpoints.tables.format import age, selector_dump

_GROUP = "admissionregistration.k8s.io"


def _webhooks(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "webhooks"), age(obj)]


def _policy(obj: Obj, rules: str) -> Cells:
    spec = mapping(obj, "spec")
    kind = spec.get("paramKind")
    param_kind = f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}" if isinstance(kind, dict) else UNSET
    return [name_of(obj), count(spec, rules), param_kind, age(obj)]


def _policy_binding(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), text(spec, "policyName"), _parameters(mapping(spec, "paramRef")), age(obj)]


def _parameters(reference: Obj) -> str:
    name, selector = text(reference, "name"), reference.get("selector")
    if name:
        return f"{text(reference, 'namespace') or '*'}/{name}"
    return selector_dump(selector) if isinstance(selector, dict) else UNSET


_WEBHOOKS = Printer(
    columns=(NAME, Column("Webhooks", "How many webhooks there are.", type="integer"), AGE), cells=_webhooks
)

_PARAM_KIND = Column("ParamKind", "The kind of the objects that hold the policy's parameters.")

_BINDING = Printer(
    columns=(
        NAME,
        Column("PolicyName", "The policy that is bound."),
        Column("ParamRef", "The objects that hold the policy's parameters."),
        AGE,
    ),
    cells=_policy_binding,
)

PRINTERS: Printers = {
    (_GROUP, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingAdmissionPolicy"): Printer(
        columns=(NAME, Column("Validations", "How many validations there are.", type="integer"), _PARAM_KIND, AGE),
        cells=lambda obj: _policy(obj, "validations"),
    ),
    (_GROUP, "MutatingAdmissionPolicy"): Printer(
        columns=(NAME, Column("Mutations", "How many mutations there are.", type="integer"), _PARAM_KIND, AGE),
        cells=lambda obj: _policy(obj, "mutations"),
    ),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): _BINDING,
    (_GROUP, "MutatingAdmissionPolicyBinding"): _BINDING,
}
