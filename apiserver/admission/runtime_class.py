"""RuntimeClass: gives pods the overhead and the scheduling of their RuntimeClass."""

import orjson

from apiserver.admission.latest import ParsedObjects, Reader, get_synced
from apiserver.api.meta import Obj
from apiserver.api.pod_resources import amounts, are_equal
from apiserver.registry.admission import CREATE, Attributes, Handles, forbidden
from etcd.store import KeyValue

MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
WITHOUT = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass:
    """The plug-in of that name (plugin/pkg/admission/runtimeclass)."""

    name = "RuntimeClass"
    handles = (Handles(CREATE, frozenset((("", "Pod"),))),)

    def __init__(self, store: Reader) -> None:
        self._store = store
        self._classes = ParsedObjects(_parsed)

    async def admit(self, attributes: Attributes) -> None:
        """Set the overhead, the node selector and the tolerations of a pod's RuntimeClass.

        Raises:
            ApiError: 403, there is no such class, or the pod contradicts it.
        """
        assert attributes.obj is not None
        spec: Obj = attributes.obj["spec"]
        if spec.get("runtimeClassName") is None:
            return
        runtime_class = await self._class(attributes, spec["runtimeClassName"])
        if (overhead := _overhead(runtime_class)) is not None:
            if spec.get("overhead") is not None and not are_equal(amounts(spec["overhead"]), amounts(overhead)):
                raise forbidden(attributes, MISMATCH)
            spec["overhead"] = overhead
        if (scheduling := runtime_class.get("scheduling")) is not None:
            _set_scheduling(attributes, spec, scheduling)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a pod whose overhead is not that of its RuntimeClass.

        Raises:
            ApiError: 403.
        """
        assert attributes.obj is not None
        spec: Obj = attributes.obj["spec"]
        name, overhead = spec.get("runtimeClassName"), spec.get("overhead")
        defined = _overhead(await self._class(attributes, name)) if name is not None else None
        if defined is None:
            if overhead is not None:
                raise forbidden(attributes, WITHOUT)
        elif not are_equal(amounts(defined), amounts(overhead)):
            raise forbidden(attributes, MISMATCH)

    async def _class(self, attributes: Attributes, name: str) -> Obj:
        kv = await get_synced(self._store, f"/registry/runtimeclasses/{name}")
        if kv is None:
            raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return self._classes.get(kv)


def _parsed(kv: KeyValue) -> Obj:
    runtime_class: Obj = orjson.loads(kv.value)
    return runtime_class


def _overhead(runtime_class: Obj) -> Obj | None:
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _set_scheduling(attributes: Attributes, spec: Obj, scheduling: Obj) -> None:
    """Add the node selector and the tolerations of a class to those of a pod (setScheduling)."""
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            conflict = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise forbidden(attributes, f"conflict: {conflict}; pod.spec.nodeSelector[{key}] = {selector[key]}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    own = spec.get("tolerations") or []
    added = [each for each in scheduling.get("tolerations") or () if each not in own]
    if added:
        spec["tolerations"] = [*own, *added]
