"""Workloads of which nothing can be made: OpenKruise's webhooks let no such be stored, but a store may hold some."""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of


@dataclass(frozen=True, slots=True)
class Faulty:
    """A workload of which nothing can be made, and why."""

    parent: Obj
    why: str


def selector_or_fault(parent: Obj, fault_of: Callable[[Obj, LabelSelector], str]) -> LabelSelector | Faulty:
    """What a workload selects, or what is wrong with it.

    Args:
        parent: the workload.
        fault_of: why no pods can be made of one with that selector, "" where they can.
    """
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return Faulty(parent, str(error))
    fault = fault_of(parent, selector)
    return Faulty(parent, fault) if fault else selector
