"""The keys that a change of an object enqueues."""

from collections.abc import Callable
from typing import Any

from controller_manager.reconcile.contract import Change, ControllerSpec, Listers
from controller_manager.reconcile.kinds import Kind

NO_LISTERS: Any = None
"""Stands for the caches, where a trigger does not look into them."""


def trigger_of(spec: ControllerSpec, kind: Kind) -> Callable[[Listers, Change], Any]:
    """Return the trigger of a controller for the changes of a kind; it returns keys, some of them Delayed."""
    (trigger,) = (watch.trigger for watch in spec.watches if watch.kind == kind)
    assert trigger is not None, f"{spec.name} only reads {kind}"
    return trigger


def woken(spec: ControllerSpec, listers: Listers, kind: Kind, change: Change) -> list[Any]:
    """Return the keys, some of them Delayed, that a change of an object of a kind enqueues."""
    return list(trigger_of(spec, kind)(listers, change))
