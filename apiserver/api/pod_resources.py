"""The requests and limits of a pod over all its containers (component-helpers/resource/helpers.go)."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from apiserver.api import quantity
from apiserver.api.meta import Obj
from apiserver.api.quantity import Quantity

Amounts = dict[str, Quantity]
"""Resource → amount, such as "cpu" → 500m."""

POD_LEVEL = ("cpu", "memory")
"""The resources whose amount in the pod itself replaces the sum of its containers (SupportedPodLevelResources)."""
HUGE_PAGES = "hugepages-"


def amounts(texts: Mapping[str, Any] | None) -> Amounts:
    """Return the amounts of a ResourceList."""
    return {name: quantity.of(text) for name, text in (texts or {}).items()}


def are_equal(first: Mapping[str, Quantity], second: Mapping[str, Quantity]) -> bool:
    """Return whether two lists have the same amounts, however these are written (1000m is 1)."""
    return {name: each.nanos for name, each in first.items()} == {name: each.nanos for name, each in second.items()}


def pod_amounts(pod: Obj, kind: Literal["requests", "limits"], *, allocated: bool = False) -> Amounts:
    """Return what a pod requests in total, or its limits (PodRequests, PodLimits), without its overhead.

    Init containers run one after the other, so the largest counts; those that go on beside the others (sidecars) count
    for all that start after them.

        containers 1 + 2, sidecar 3, then an init container of 5  →  max(1 + 2 + 3, 3 + 5) = 8

    Args:
        pod: the pod.
        kind: "requests" or "limits".
        allocated: whether to count what a container still has, according to its status, if that is more.
    """
    spec = pod["spec"]
    has = _allocated(pod, kind) if allocated else {}
    total, sidecars, initial = Amounts(), Amounts(), Amounts()
    for container in spec.get("containers") or ():
        _add(total, _container_amounts(container, kind, has))
    for container in spec.get("initContainers") or ():
        own = _container_amounts(container, kind, has)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            own = _sum((own, sidecars))
        _raise_to(initial, own)
    _raise_to(total, initial)
    for name, amount in amounts((spec.get("resources") or {}).get(kind)).items():
        if name in POD_LEVEL or name.startswith(HUGE_PAGES):
            total[name] = amount
    return total


def with_overhead(total: Amounts, pod: Obj, *, of_limits: bool = False) -> Amounts:
    """Return a pod's amounts with its overhead; that is added to limits only where there is a limit."""
    overhead = amounts(pod["spec"].get("overhead"))
    return _sum((total, {name: each for name, each in overhead.items() if not of_limits or name in total}))


def _allocated(pod: Obj, kind: str) -> dict[str, list[Obj]]:
    """Return by container what its status says that it has."""
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    allocated: dict[str, list[Obj]] = {}
    for each in statuses:
        if each.get("resources") is not None:
            given = (each.get("allocatedResources") or {}) if kind == "requests" else {}
            allocated[each["name"]] = [each["resources"].get(kind) or {}, given]
    return allocated


def _container_amounts(container: Obj, kind: str, allocated: Mapping[str, list[Obj]]) -> Amounts:
    own = amounts((container.get("resources") or {}).get(kind))
    for texts in allocated.get(container.get("name", ""), ()):
        _raise_to(own, amounts(texts))
    return own


def _sum(lists: Iterable[Mapping[str, Quantity]]) -> Amounts:
    total = Amounts()
    for each in lists:
        _add(total, each)
    return total


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, others: Mapping[str, Quantity]) -> None:
    for name, amount in others.items():
        if name not in total or amount.nanos > total[name].nanos:
            total[name] = amount
