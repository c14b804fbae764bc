"""A pod's quality of service class, computed from its requests and limits (pkg/apis/core/helper/qos)."""

from functools import lru_cache

import orjson

from apiserver.api.meta import Obj
from apiserver.api.quantity import parse

_COMPUTED = ("cpu", "memory")

_MAX_CACHED_BYTES = 1024
"""The largest JSON of resources, in bytes, that is cached: pods of one template share one entry."""


def qos_class(pod: Obj) -> str:
    """Return the status.qosClass of a pod: "BestEffort", "Burstable" or "Guaranteed".

    Pod-level resources, if any, count instead of the containers' resources; ephemeral containers never count.
    """
    spec = pod["spec"]
    pod_resources = spec.get("resources")
    if pod_resources:
        return _class_of(orjson.dumps([pod_resources]))
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    resources = orjson.dumps([container.get("resources") for container in containers])
    return _cached_class_of(resources) if len(resources) <= _MAX_CACHED_BYTES else _class_of(resources)


def _class_of(resources: bytes) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    every_limit = True
    for entry in orjson.loads(resources):
        container_resources = entry or {}
        _add(requests, container_resources.get("requests"))
        every_limit &= _add(limits, container_resources.get("limits")) == len(_COMPUTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if every_limit and requests == limits else "Burstable"


_cached_class_of = lru_cache(maxsize=1024)(_class_of)


def _add(total: dict[str, int], resources: Obj | None) -> int:
    """Add the positive amounts of cpu and memory, in billionths, to the total; return the number of such amounts."""
    if not resources:
        return 0
    added = 0
    for name in _COMPUTED:
        amount = parse(resources[name]).nanos if name in resources else 0
        if amount > 0:
            total[name] = total.get(name, 0) + amount
            added += 1
    return added
