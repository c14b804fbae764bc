"""Resources as integers: what a pod requests and a node has; cpu in thousandths."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from apiserver.api import quantity
from apiserver.api.meta import Obj

Amounts: TypeAlias = Mapping[str, int]
"""Resource → how much of it, cpu in thousandths, the others in whole units."""

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_BASIC_RESOURCES = (CPU, MEMORY, STORAGE)
_POD_LEVEL = frozenset((CPU, MEMORY))
_HUGE_PAGES = "hugepages-"

DEFAULT_REQUESTS: Amounts = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""The amounts that scores use for a container that requests nothing (scheduler/util/pod_resources.go)."""

_NO_AMOUNTS: Amounts = {}


def parse_amounts(listed: Obj | None) -> dict[str, int]:
    """Parse a ResourceList; resources that schedulers do not count are left out (framework.Resource.Add).

    Raises:
        QuantityError: an amount is not a quantity.
    """
    parsed = {}
    for name, text in (listed or {}).items():
        if name == CPU:
            parsed[name] = quantity.of(text).milli_value
        elif name in _BASIC_RESOURCES or name == PODS or _is_scalar(name):
            parsed[name] = quantity.of(text).value
    return parsed


def _is_scalar(name: str) -> bool:
    """Return True for an extended resource, huge pages or attachable volumes (IsScalarResourceName)."""
    return "/" in name or name.startswith((_HUGE_PAGES, "attachable-volumes-"))


def pod_requests(spec: Obj, missing: Amounts = _NO_AMOUNTS) -> dict[str, int]:
    """Return the larger of what a pod needs while it runs and while it starts (component-helpers/resource PodRequests).

    Args:
        spec: of the pod; a resize under way in its status is not regarded.
        missing: the amounts that count for a container that does not request the resource.

    Raises:
        QuantityError: an amount is not a quantity.
    """
    pod_level = _pod_level_requests(spec)
    if pod_level and missing:
        known = pod_requests(spec)
        missing = {name: amount for name, amount in missing.items() if name not in known}
    running = _sum(_container_requests(container, missing) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        needed = _sum((_container_requests(container, missing), sidecars))
        if container.get("restartPolicy") == "Always":
            sidecars = needed
            running = _sum((running, _container_requests(container, missing)))
        starting = _maximum(starting, needed)
    total = _maximum(running, starting) | pod_level
    return _sum((total, parse_amounts(spec.get("overhead"))))


def _container_requests(container: Obj, missing: Amounts) -> Amounts:
    requests = parse_amounts((container.get("resources") or {}).get("requests"))
    return {**missing, **requests} if missing else requests


def _pod_level_requests(spec: Obj) -> dict[str, int]:
    """Return the requests of the pod as a whole, which count instead of the sum of its containers."""
    requests = parse_amounts((spec.get("resources") or {}).get("requests"))
    return {name: n for name, n in requests.items() if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)}


def _sum(parts: Iterable[Amounts]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _maximum(first: Amounts, second: Amounts) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def in_order(requests: Amounts) -> tuple[tuple[str, int], ...]:
    """Return the nonzero requests in the order in which shortages are reported: cpu, memory, storage, then by name."""
    known = [(name, requests[name]) for name in _BASIC_RESOURCES if requests.get(name)]
    return (
        *known,
        *sorted((name, n) for name, n in requests.items() if n and name not in _BASIC_RESOURCES and name != PODS),
    )
