"""Resources as whole numbers: what a pod requests and a node has to give; cpu counts in thousandths."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from apiserver.api import quantity
from apiserver.api.meta import Obj

Amounts: TypeAlias = Mapping[str, int]
"""Resource → how much of it, cpu in thousandths, the others in whole units."""

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_BASIC = (CPU, MEMORY, STORAGE)
_POD_LEVEL = frozenset((CPU, MEMORY))
_HUGE_PAGES = "hugepages-"

MISSING: Amounts = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""What counts, in scores alone, for a container that requests nothing (scheduler/util/pod_resources.go)."""

_NOTHING: Amounts = {}


def amounts(listed: Obj | None) -> dict[str, int]:
    """A ResourceList as numbers; what schedulers do not count is left out (framework.Resource.Add).

    Raises:
        QuantityError: an amount is none.
    """
    found = {}
    for name, text in (listed or {}).items():
        if name == CPU:
            found[name] = quantity.of(text).milli_value
        elif name in _BASIC or name == PODS or _is_scalar(name):
            found[name] = quantity.of(text).value
    return found


def _is_scalar(name: str) -> bool:
    """Whether it is an extended resource, huge pages or volumes to attach (IsScalarResourceName)."""
    return "/" in name or name.startswith((_HUGE_PAGES, "attachable-volumes-"))


def requests_of(spec: Obj, missing: Amounts = _NOTHING) -> dict[str, int]:
    """What a pod needs while it runs or starts, whichever is more (component-helpers/resource PodRequests).

    Args:
        spec: of the pod; what its status says of a resize under way is not regarded.
        missing: what a container counts for that requests nothing of a resource.

    Raises:
        QuantityError: an amount is none.
    """
    pod_level = _pod_level(spec)
    if pod_level and missing:
        known = requests_of(spec)
        missing = {name: amount for name, amount in missing.items() if name not in known}
    running = _sum(_container(container, missing) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        needed = _sum((_container(container, missing), sidecars))
        if container.get("restartPolicy") == "Always":
            sidecars = needed
            running = _sum((running, _container(container, missing)))
        starting = _most(starting, needed)
    total = _most(running, starting) | pod_level
    return _sum((total, amounts(spec.get("overhead"))))


def _container(container: Obj, missing: Amounts) -> Amounts:
    found = amounts((container.get("resources") or {}).get("requests"))
    return {**missing, **found} if missing else found


def _pod_level(spec: Obj) -> dict[str, int]:
    """What is requested for the pod as a whole, which counts instead of its containers' sum."""
    found = amounts((spec.get("resources") or {}).get("requests"))
    return {name: n for name, n in found.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)}


def _sum(parts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def in_order(requests: Amounts) -> tuple[tuple[str, int], ...]:
    """What is requested at all, in the order in which a lack of it is told: cpu, memory, storage, then by name."""
    known = [(name, requests[name]) for name in _BASIC if requests.get(name)]
    return (*known, *sorted((name, n) for name, n in requests.items() if n and name not in _BASIC and name != PODS))
