"""Whether a kind of one of the Kubernetes project's own groups was approved there, which an annotation tells.

Groups ending in k8s.io or kubernetes.io are the project's; a definition in one of them links to its approval or says
that it has none (apiextensions-apiserver/pkg/apihelpers/helpers.go, https://github.com/kubernetes/enhancements/pull/1111).
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from apiserver.api.meta import Obj, metadata
from apiserver.apiextensions.crds.conditions import condition, found, same, with_condition

ANNOTATION = "api-approved.kubernetes.io"
CONDITION = "KubernetesAPIApprovalPolicyConformant"
APPROVED, BYPASSED, INVALID, MISSING = "Approved", "Bypassed", "Invalid", "Missing"

_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_NEEDED = f'protected groups must have approval annotation "{ANNOTATION}"'
_CONDITIONS = {
    APPROVED: ("True", "ApprovedAnnotation"),
    BYPASSED: ("False", "UnapprovedAnnotation"),
    INVALID: ("False", "InvalidAnnotation"),
    MISSING: ("False", "MissingAnnotation"),
}


@dataclass(frozen=True, slots=True)
class Approval:
    """What the annotation says.

    Attributes:
        state: APPROVED, BYPASSED, INVALID or MISSING.
        reason: why, in upstream's words.
    """

    state: str
    reason: str


def is_protected(group: str) -> bool:
    """Is it a group of the Kubernetes project?"""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval_of(definition: Obj) -> Approval:
    """What a definition says of its approval."""
    text = (metadata(definition).get("annotations") or {}).get(ANNOTATION) or ""
    if not text:
        return Approval(MISSING, f"{_NEEDED}, {_SEE}")
    if text.startswith("unapproved"):
        return Approval(BYPASSED, f'not approved: "{text}"')
    if _is_link(text):
        return Approval(APPROVED, f"approved in {text}")
    return Approval(INVALID, f'{_NEEDED} with either a URL or a reason starting with "unapproved", {_SEE}')


def conform(definition: Obj, now: str) -> Obj | None:
    """The definition of a protected group with the condition that tells of its approval; None where it has it already.

    Args:
        definition: stays as it is.
        now: the time, as objects have it.
    """
    if not is_protected((definition.get("spec") or {}).get("group") or ""):
        return None
    approval = approval_of(definition)
    status, reason = _CONDITIONS[approval.state]
    wanted = condition(CONDITION, status, reason, approval.reason)
    return None if same(found(definition, CONDITION), wanted) else with_condition(definition, wanted, now)


def _is_link(text: str) -> bool:
    """Has it a scheme and a host, as Go's url.ParseRequestURI finds them?"""
    if not text.isprintable():
        return False
    try:
        parsed = urlsplit(text)
    except ValueError:
        return False
    return bool(parsed.scheme and parsed.netloc) and " " not in parsed.netloc
