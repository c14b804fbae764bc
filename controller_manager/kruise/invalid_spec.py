"""Workloads of which nothing can be made: OpenKruise's webhooks let no such be stored, but a store may hold some."""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of


@dataclass(frozen=True, slots=True)
class InvalidWorkload:
    """A workload of which nothing can be made, and why."""

    parent: Obj
    why: str


def selector_or_fault(parent: Obj, fault_of: Callable[[Obj, LabelSelector], str]) -> LabelSelector | InvalidWorkload:
    """What a workload selects, or what is wrong with it.

    Args:
        parent: the workload.
        fault_of: why no pods can be made of one with that selector, "" where they can.
    """
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return InvalidWorkload(parent, str(error))
    fault = fault_of(parent, selector)
    return InvalidWorkload(parent, fault) if fault else selector


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Why no pod can be made of a CloneSet, "" where one can; upstream's webhook lets no such be stored.

    A pod that is made and not selected would be let go, and made again and again.
    """
    template, claims = parent["spec"]["template"], parent["spec"].get("volumeClaimTemplates") or []
    if not _is_described(template) or not isinstance(template.get("spec"), dict):
        return "spec.template is no template of a pod"
    if not isinstance(claims, list) or not all(_is_described(each) and each.get("metadata") for each in claims):
        return "spec.volumeClaimTemplates are no claims with names"
    return "" if selector.matches(labels_of(template)) else "`selector` does not match template `labels`"


def _is_described(value: object) -> bool:
    """Whether it is an object with metadata as all have them; the kind's definition lets everything through."""
    meta = (value.get("metadata") or {}) if isinstance(value, dict) else None
    return isinstance(meta, dict) and isinstance(meta.get("labels") or {}, dict)
