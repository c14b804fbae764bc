"""A pod's quality of service, computed from what its containers request and limit (pkg/apis/core/helper/qos)."""

from functools import lru_cache

import orjson

from apiserver.api.meta import Obj
from apiserver.api.quantity import parse

_COMPUTED = ("cpu", "memory")

_REMEMBERED = 1024
"""How much JSON of resources may be worth its memory: pods of one template have the same."""


def qos_class(pod: Obj) -> str:
    """The status.qosClass of a pod: "BestEffort", "Burstable" or "Guaranteed".

    Pod-level resources count instead of the containers' where there are any; ephemeral containers never count.
    """
    spec = pod["spec"]
    whole = spec.get("resources")
    if whole:
        return _class_of(orjson.dumps([whole]))
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    resources = orjson.dumps([container.get("resources") for container in containers])
    return _known_class_of(resources) if len(resources) <= _REMEMBERED else _class_of(resources)


def _class_of(resources: bytes) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    every_limit = True
    for part in orjson.loads(resources):
        given = part or {}
        _add(requests, given.get("requests"))
        every_limit &= _add(limits, given.get("limits")) == len(_COMPUTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if every_limit and requests == limits else "Burstable"


_known_class_of = lru_cache(maxsize=1024)(_class_of)


def _add(total: dict[str, int], resources: Obj | None) -> int:
    """Adds the positive amounts of cpu and memory, in billionths; tells how many there are."""
    if not resources:
        return 0
    found = 0
    for name in _COMPUTED:
        amount = parse(resources[name]).nanos if name in resources else 0
        if amount > 0:
            total[name] = total.get(name, 0) + amount
            found += 1
    return found
