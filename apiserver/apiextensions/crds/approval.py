"""The API approval of kinds in the Kubernetes project's own groups, which an annotation of the definition states.

Groups ending in k8s.io or kubernetes.io are the project's; a definition in one of them links to its approval or says
that it has none (apiextensions-apiserver/pkg/apihelpers/helpers.go, https://github.com/kubernetes/enhancements/pull/1111).
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from apiserver.api.meta import Obj, metadata
from apiserver.apiextensions.crds.conditions import condition, find_condition, is_equivalent, with_condition

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
    """The approval that the annotation states.

    Attributes:
        state: APPROVED, BYPASSED, INVALID or MISSING.
        reason: the explanation, in upstream's words.
    """

    state: str
    reason: str


def is_protected(group: str) -> bool:
    """Return True if it is a group of the Kubernetes project."""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval_of(definition: Obj) -> Approval:
    """Return the approval that a definition states."""
    text = (metadata(definition).get("annotations") or {}).get(ANNOTATION) or ""
    if not text:
        return Approval(MISSING, f"{_NEEDED}, {_SEE}")
    if text.startswith("unapproved"):
        return Approval(BYPASSED, f'not approved: "{text}"')
    if _is_link(text):
        return Approval(APPROVED, f"approved in {text}")
    return Approval(INVALID, f'{_NEEDED} with either a URL or a reason starting with "unapproved", {_SEE}')


def update_approval_condition(definition: Obj, now: str) -> Obj | None:
    """Return the definition of a protected group with its approval condition; None if nothing changes.

    Args:
        definition: it is not changed.
        now: the current time, in the format of objects.
    """
    if not is_protected((definition.get("spec") or {}).get("group") or ""):
        return None
    approval = approval_of(definition)
    status, reason = _CONDITIONS[approval.state]
    desired = condition(CONDITION, status, reason, approval.reason)
    return (
        None
        if is_equivalent(find_condition(definition, CONDITION), desired)
        else with_condition(definition, desired, now)
    )


def _is_link(text: str) -> bool:
    """Return True if it has a scheme and a host, as Go's url.ParseRequestURI finds them."""
    if not text.isprintable():
        return False
    try:
        parsed = urlsplit(text)
    except ValueError:
        return False
    return bool(parsed.scheme and parsed.netloc) and " " not in parsed.netloc
