"""The parts of a pod that an in-place update of OpenKruise keeps, and the state of the update."""

from apiserver.api.meta import Obj

GATE = "InPlaceUpdateReady"


def identity(pod: Obj) -> tuple[str, ...]:
    """Return what another pod would have otherwise: name, uid, node, address, and when it started."""
    meta, status = pod["metadata"], pod["status"]
    return meta["name"], meta["uid"], pod["spec"]["nodeName"], status["podIP"], status["startTime"]


def state_of(pod: Obj, type_: str) -> str | None:
    """Return the status of a pod's condition, or None if it has none of that type."""
    return next((each["status"] for each in pod["status"]["conditions"] if each["type"] == type_), None)


def lifecycle(pod: Obj) -> str:
    """Return the state of a pod's life, as its set has labelled it."""
    state: str = pod["metadata"]["labels"]["lifecycle.apps.kruise.io/state"]
    return state
