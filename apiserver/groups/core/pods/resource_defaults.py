"""Defaults of pod-level resources, derived from the containers' resources (KEP-2837)."""

from collections.abc import Iterable

from apiserver.api.meta import Obj
from apiserver.api.quantity import Quantity, parse
from apiserver.api.validation.resource_lists import HUGE_PAGES

Amounts = dict[str, Quantity]

_OVERCOMMITTED = ("cpu", "memory")


def default_pod_resources(spec: Obj) -> None:
    """Set the missing amounts in spec.resources; a pod without pod-level resources stays as it is.

    Limits of huge pages are the containers' limits; requests are the containers' requests, or else the pod's limits;
    limits of cpu and memory are the containers' if the pod has only requests and every container has a limit.
    """
    resources = spec.get("resources")
    if not resources:
        return
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    limit = _aggregate(spec, "limits")
    _fill(limits, limit, (name for name in limit if name.startswith(HUGE_PAGES) and name not in requests))
    if limits:
        _fill(requests, _aggregate(spec, "requests"), _OVERCOMMITTED)
        requests = {name: amount for name, amount in limits.items() if _is_supported(name)} | requests
    else:
        _fill(limits, limit, (name for name in _OVERCOMMITTED if _all_limit(spec, name)))
    for field, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            resources[field] = amounts


def _fill(amounts: Obj, aggregated: Amounts, names: Iterable[str]) -> None:
    for name in names:
        if name in aggregated and name not in amounts:
            amounts[name] = str(aggregated[name])


def _is_supported(name: str) -> bool:
    return name in _OVERCOMMITTED or name.startswith(HUGE_PAGES)


def _all_limit(spec: Obj, name: str) -> bool:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return all(name in ((container.get("resources") or {}).get("limits") or {}) for container in containers)


def _aggregate(spec: Obj, field: str) -> Amounts:
    """Return the most that the containers need at once: all running ones, or an init container and earlier sidecars."""
    running: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("containers") or ():
        running = _sum(running, _amounts(container, field))
    for container in spec.get("initContainers") or ():
        needed = _sum(_amounts(container, field), sidecars)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, _amounts(container, field))
            sidecars = needed
        starting = _largest(starting, needed)
    return _largest(running, starting)


def _amounts(container: Obj, field: str) -> Amounts:
    return {name: parse(amount) for name, amount in ((container.get("resources") or {}).get(field) or {}).items()}


def _sum(amounts: Amounts, added: Amounts) -> Amounts:
    return amounts | {name: amounts[name] + amount if name in amounts else amount for name, amount in added.items()}


def _largest(amounts: Amounts, others: Amounts) -> Amounts:
    return amounts | {
        name: amount for name, amount in others.items() if name not in amounts or amount.nanos > amounts[name].nanos
    }
