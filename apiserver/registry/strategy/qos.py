"""A pod's quality of service, computed from what its containers request and limit (pkg/apis/core/helper/qos)."""

from collections.abc import Iterable

from apiserver.api.meta import Obj
from apiserver.api.quantity import parse

_COMPUTED = ("cpu", "memory")


def qos_class(pod: Obj) -> str:
    """The status.qosClass of a pod: "BestEffort", "Burstable" or "Guaranteed".

    Pod-level resources count instead of the containers' where there are any; ephemeral containers never count.
    """
    spec = pod["spec"]
    whole = spec.get("resources")
    if whole:
        return _class_of([whole])
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return _class_of([container.get("resources") or {} for container in containers])


def _class_of(parts: Iterable[Obj]) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    every_limit = True
    for part in parts:
        _add(requests, part.get("requests"))
        every_limit &= _add(limits, part.get("limits")) == len(_COMPUTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if every_limit and requests == limits else "Burstable"


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
