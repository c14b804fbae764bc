"""Taints that follow from a node's state, and how long pods tolerate the taints that evict them."""

from collections.abc import Callable, Mapping, Sequence

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import format_time, parse_time

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint for spec.unschedulable: pods that tolerate it may go to a cordoned node."""

TAINT_BY_CONDITION: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""Type and status of a condition → the taint that follows (node_lifecycle_controller.go)."""
DEFAULT_TOLERATION = 300.0
"""Seconds for which pods without a toleration stay on a node that is not ready. Upstream's admission writes it into
each pod (DefaultTolerationSeconds); a server without that plug-in behaves the same.
"""
_NO_SCHEDULE_TAINTS = frozenset((*TAINT_BY_CONDITION.values(), UNSCHEDULABLE))
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {"Lt": int.__lt__, "Gt": int.__gt__}
_EVICTING_TAINTS = frozenset((NOT_READY, UNREACHABLE))

TaintKey = tuple[str, str]
"""A taint's key and effect, which identify it."""


def taints_of(node: Obj) -> Sequence[Obj]:
    """Return a node's taints."""
    return node["spec"].get("taints") or ()


def desired_taints(node: Obj, now: float, *, evict: bool) -> list[Obj] | None:
    """Return the taints that a node should have, or None if it has them.

    Args:
        node: the node, whose conditions decide; taints that do not follow from conditions are kept.
        now: the time at which new taints are added.
        evict: False if pods stay on nodes that are not ready, as when no node is.
    """
    desired = _desired(node, evict=evict)
    kept = [taint for taint in taints_of(node) if not _is_ours(taint) or _id(taint) in desired]
    known = {_id(taint) for taint in kept}
    added = [
        {"key": key, "effect": effect, "timeAdded": format_time(now)}
        for key, effect in desired
        if (key, effect) not in known
    ]
    return [*kept, *added] if added or len(kept) != len(taints_of(node)) else None


def _desired(node: Obj, *, evict: bool) -> list[TaintKey]:
    conditions = (node.get("status") or {}).get("conditions") or ()
    keys = [
        key for condition in conditions if (key := TAINT_BY_CONDITION.get((condition["type"], condition["status"])))
    ]
    desired = [(key, NO_SCHEDULE) for key in keys]
    if node["spec"].get("unschedulable"):
        desired.append((UNSCHEDULABLE, NO_SCHEDULE))
    if evict:
        desired += [(key, NO_EXECUTE) for key in keys if key in _EVICTING_TAINTS]
    return desired


def _is_ours(taint: Obj) -> bool:
    """Return whether a taint follows from the node's state, so that it is removed with its cause."""
    if taint["effect"] == NO_SCHEDULE:
        return taint["key"] in _NO_SCHEDULE_TAINTS
    return taint["effect"] == NO_EXECUTE and taint["key"] in _EVICTING_TAINTS


def _id(taint: Obj) -> TaintKey:
    return taint["key"], taint["effect"]


# -- eviction ----------------------------------------------------------------------------------------------------------


def no_execute(node: Obj) -> list[Obj]:
    """Return the taints of a node with effect NoExecute."""
    return [taint for taint in taints_of(node) if taint["effect"] == NO_EXECUTE]


def tolerates(toleration: Obj, taint: Obj, *, compares: bool = False) -> bool:
    """Return whether a toleration matches a taint (component-helpers' ToleratesTaint).

    Args:
        toleration: a pod's toleration.
        taint: a node's taint.
        compares: True if numbers may be compared (KEP-5471), as the scheduler does; eviction does not.
    """
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    ours, theirs = toleration.get("value") or "", taint.get("value") or ""
    if compares and (compare := _COMPARED.get(operator)):
        return _is_number(ours) and _is_number(theirs) and compare(int(theirs), int(ours))
    return operator == "Exists" or (operator == "Equal" and ours == theirs)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def tolerated_for(tolerations: Sequence[Obj], taints: Sequence[Obj]) -> float | None:
    """Return the seconds that a pod tolerates these taints, None for ever (taint_eviction.go getMinTolerationTime).

    Args:
        tolerations: the pod's tolerations.
        taints: the node's NoExecute taints.
    """
    times = []
    for taint in taints:
        matching = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if matching is None:
            times.append(DEFAULT_TOLERATION if taint["key"] in _EVICTING_TAINTS else 0.0)
        elif matching.get("tolerationSeconds") is not None:
            times.append(max(float(matching["tolerationSeconds"]), 0.0))
    return min(times, default=None)


class TaintTimes:
    """The times at which nodes got their taints: a view of the nodes, updated when pods are synced.

    A taint has it in timeAdded; for a taint without it, as users set them, the time at which it was first seen is
    remembered.
    """

    def __init__(self) -> None:
        self._first: dict[str, dict[TaintKey, float]] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Forget the taints that a node no longer has."""
        del kind
        node = new or old
        assert node is not None
        name = node["metadata"]["name"]
        known = self._first.get(name)
        if known is not None:
            present = {_id(taint) for taint in taints_of(node)} if new is not None else set()
            self._first[name] = {key: since for key, since in known.items() if key in present}
            if not self._first[name]:
                del self._first[name]

    def tainted_since(self, node: Obj, taints: Sequence[Obj], pod: Obj, now: float) -> float:
        """Return the time since which a pod has been on the node with all these taints."""
        known = self._first.setdefault(node["metadata"]["name"], {})
        times = [
            parse_time(taint["timeAdded"]) if taint.get("timeAdded") else known.setdefault(_id(taint), now)
            for taint in taints
        ]
        return max(*times, parse_time(pod["metadata"]["creationTimestamp"]))
