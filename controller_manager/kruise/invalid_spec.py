"""Workloads with a spec that cannot work: OpenKruise's webhooks reject them, but a store may hold some."""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of


@dataclass(frozen=True, slots=True)
class InvalidWorkload:
    """A workload with a spec that cannot work, and the reason."""

    parent: Obj
    why: str


def selector_or_fault(parent: Obj, fault_of: Callable[[Obj, LabelSelector], str]) -> LabelSelector | InvalidWorkload:
    """Return the selector of a workload, or what is wrong with the workload.

    Args:
        parent: the workload.
        fault_of: returns why no pods can be made from a workload with that selector, "" if they can.
    """
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return InvalidWorkload(parent, str(error))
    fault = fault_of(parent, selector)
    return InvalidWorkload(parent, fault) if fault else selector


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Return why no pod can be made from a CloneSet, "" if one can; upstream's webhook rejects such specs.

    A pod that is made and not selected would be released, and made again and again.
    """
    template, claims = parent["spec"]["template"], parent["spec"].get("volumeClaimTemplates") or []
    if not _is_described(template) or not isinstance(template.get("spec"), dict):
        return "spec.template is no template of a pod"
    if not isinstance(claims, list) or not all(_is_described(claim) and claim.get("metadata") for claim in claims):
        return "spec.volumeClaimTemplates are no claims with names"
    return "" if selector.matches(labels_of(template)) else "`selector` does not match template `labels`"


def _is_described(value: object) -> bool:
    """Return True if it is an object with valid metadata; the kind's definition lets everything through."""
    meta = (value.get("metadata") or {}) if isinstance(value, dict) else None
    return isinstance(meta, dict) and isinstance(meta.get("labels") or {}, dict)
