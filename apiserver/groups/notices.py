"""Notices: the warnings that a kind has for writers of objects that are stored but have no effect here.

A kind has one if a Kubernetes control plane would act on its objects: kube-apiserver, kube-controller-manager or
kube-scheduler. What add-ons act on, such as Ingresses, has no effect in a bare cluster either, and is listed in
docs/compatibility.md alone. Which controllers run is up to whoever starts them, so a Deployment has no notice.
"""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj

Applies = Callable[[Obj, Obj | None], bool]
"""Returns whether a notice concerns a write: (new object, old object or None at creation) → bool."""


def _always(_new: Obj, _old: Obj | None) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning for clients that create, update or patch an object.

    Attributes:
        text: one line that says what is stored but has no effect.
        when: the objects that it concerns, in Markdown; "" for all of the kind.
        applies: the same condition as a function.
    """

    text: str
    when: str = ""
    applies: Applies = _always


def stored(kind: str, lack: str, effect: str, when: str = "", applies: Applies = _always) -> tuple[Notice, ...]:
    """Return the notice of a kind, in the words that most notices share.

    Args:
        kind: such as "Job".
        lack: what mockube lacks, such as "has no Job controller".
        effect: what does not happen for that reason, such as "creates no Pods".
        when: see Notice.
        applies: see Notice.
    """
    return (Notice(f"mockube {lack}: this {kind} is stored, but {effect}", when, applies),)


def has(*names: str) -> Applies:
    """Return a test for objects that have one of these fields at their top."""
    return lambda new, _old: any(new.get(name) for name in names)


def specifies(*names: str) -> Applies:
    """Return a test for objects that have one of these fields in their spec."""
    fields = frozenset(names)
    return lambda new, _old: not (new.get("spec") or {}).keys().isdisjoint(fields)


NO_POLICIES = "evaluates no mutating admission policies"
NO_DEVICES = "allocates no devices"
NO_GROUPS = "schedules no groups of Pods"
NO_FAIRNESS = "has no API Priority and Fairness"
NO_EVICTIONS = "has no evictionrequest-controller"
NO_CIDRS = "allocates from --service-cluster-ip-range alone"
