"""Taints that follow from a node's state, and how long a pod tolerates those that throw it out."""

from collections.abc import Callable, Mapping, Sequence

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import seconds, stamp

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint that stands for spec.unschedulable: who tolerates it may go to a cordoned node."""

BY_CONDITION: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
"""Type and status of a condition → the taint that follows (node_lifecycle_controller.go)."""
DEFAULT_TOLERATION = 300.0
"""Seconds for which pods stay on a node that is not ready, where they say nothing of it. Upstream's admission writes it
into each pod (DefaultTolerationSeconds); a server without that plug-in means the same."""
_KEPT_OFF = frozenset((*BY_CONDITION.values(), UNSCHEDULABLE))
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {"Lt": int.__lt__, "Gt": int.__gt__}
_THROWN_OUT = frozenset((NOT_READY, UNREACHABLE))

Kept = tuple[str, str]
"""A taint's key and effect, which tell it from others."""


def taints_of(node: Obj) -> Sequence[Obj]:
    """A node's taints."""
    return node["spec"].get("taints") or ()


def wanted_taints(node: Obj, now: float, *, evict: bool) -> list[Obj] | None:
    """The taints that a node should have, None where it has them.

    Args:
        node: whose conditions decide; taints that do not follow from conditions stay.
        now: when new ones are added.
        evict: False where pods stay on nodes that are not ready, as when no node is.
    """
    wanted = _wanted(node, evict=evict)
    kept = [taint for taint in taints_of(node) if not _is_ours(taint) or _id(taint) in wanted]
    known = {_id(taint) for taint in kept}
    added = [
        {"key": key, "effect": effect, "timeAdded": stamp(now)} for key, effect in wanted if (key, effect) not in known
    ]
    return [*kept, *added] if added or len(kept) != len(taints_of(node)) else None


def _wanted(node: Obj, *, evict: bool) -> list[Kept]:
    conditions = (node.get("status") or {}).get("conditions") or ()
    keys = [key for each in conditions if (key := BY_CONDITION.get((each["type"], each["status"])))]
    wanted = [(key, NO_SCHEDULE) for key in keys]
    if node["spec"].get("unschedulable"):
        wanted.append((UNSCHEDULABLE, NO_SCHEDULE))
    if evict:
        wanted += [(key, NO_EXECUTE) for key in keys if key in _THROWN_OUT]
    return wanted


def _is_ours(taint: Obj) -> bool:
    """Whether a taint goes with what it followed from."""
    if taint["effect"] == NO_SCHEDULE:
        return taint["key"] in _KEPT_OFF
    return taint["effect"] == NO_EXECUTE and taint["key"] in _THROWN_OUT


def _id(taint: Obj) -> Kept:
    return taint["key"], taint["effect"]


# -- pods that are thrown out ------------------------------------------------------------------------------------------


def no_execute(node: Obj) -> list[Obj]:
    """The taints of a node that throw pods out."""
    return [taint for taint in taints_of(node) if taint["effect"] == NO_EXECUTE]


def tolerates(toleration: Obj, taint: Obj, *, compares: bool = False) -> bool:
    """Whether a toleration is for a taint (component-helpers' ToleratesTaint).

    Args:
        toleration: of a pod.
        taint: of a node.
        compares: whether numbers may be compared (KEP-5471), as the scheduler does; who throws pods out does not.
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
    """Seconds that a pod stays on a node with such taints, None for ever (taint_eviction.go getMinTolerationTime).

    Args:
        tolerations: of the pod.
        taints: of the node, those that throw out.
    """
    times = []
    for taint in taints:
        matching = next((each for each in tolerations if tolerates(each, taint)), None)
        if matching is None:
            times.append(DEFAULT_TOLERATION if taint["key"] in _THROWN_OUT else 0.0)
        elif matching.get("tolerationSeconds") is not None:
            times.append(max(float(matching["tolerationSeconds"]), 0.0))
    return min(times, default=None)


class Since:
    """Since when nodes have their taints: a view of the nodes, filled as pods are looked at.

    A taint tells it by timeAdded; of one that does not, as people put it there, the first look is remembered.
    """

    def __init__(self) -> None:
        self._first: dict[str, dict[Kept, float]] = {}

    def change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """What a node has no longer is forgotten."""
        del kind
        node = new or old
        assert node is not None
        name = node["metadata"]["name"]
        known = self._first.get(name)
        if known is not None:
            there = {_id(taint) for taint in taints_of(node)} if new is not None else set()
            self._first[name] = {key: since for key, since in known.items() if key in there}
            if not self._first[name]:
                del self._first[name]

    def of(self, node: Obj, taints: Sequence[Obj], pod: Obj, now: float) -> float:
        """Since when a pod has been on a node with all these taints."""
        known = self._first.setdefault(node["metadata"]["name"], {})
        times = [
            seconds(taint["timeAdded"]) if taint.get("timeAdded") else known.setdefault(_id(taint), now)
            for taint in taints
        ]
        return max(*times, seconds(pod["metadata"]["creationTimestamp"]))
