"""Priority: resolves a pod's priority class to its value, and allows only one default class."""

from collections.abc import Iterable
from typing import Protocol

import orjson

from apiserver.admission.latest import ComputedValue, RangeWatcher, Reader, get_synced
from apiserver.api.meta import Obj
from apiserver.registry.admission import WRITES, Attributes, Handles, forbidden
from etcd.store import KeyValue

CLASSES = "/registry/priorityclasses/"
DEFAULT: Obj = {"metadata": {"name": ""}, "value": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""The class of pods without one if no class is the default (scheduling.DefaultPriorityWhenNoDefaultClassExists)."""
RESOLVED = ("priority", "preemptionPolicy")
"""The fields that the plug-in sets in a pod's spec; an update that omits them does not change them."""


class Classes(RangeWatcher, Reader, Protocol):
    """The part of a store that the plug-in uses."""


class Priority:
    """The plug-in of that name (plugin/pkg/admission/priority)."""

    name = "Priority"
    handles = (Handles(WRITES, frozenset((("", "Pod"), ("scheduling.k8s.io", "PriorityClass")))),)

    def __init__(self, store: Classes) -> None:
        self._store = store
        self._default = ComputedValue(store, CLASSES, _lowest_default)

    async def admit(self, attributes: Attributes) -> None:
        """Resolve the priority of a pod; refuse a second default class."""
        resource, obj = attributes.target.resource, attributes.obj
        assert obj is not None
        if resource.kind == "Pod":
            if attributes.old is None:
                await self._resolve(attributes, obj["spec"])
            else:
                _keep_priority(obj["spec"], attributes.old["spec"])
        elif obj.get("globalDefault"):
            self._check_only_default(attributes, obj)

    async def _resolve(self, attributes: Attributes, spec: Obj) -> None:
        """Set priority and preemptionPolicy from the pod's class, or from the default one."""
        name = spec.get("priorityClassName")
        priority_class = await self._class(attributes, name) if name else self._default.get()
        if priority_class is not DEFAULT:
            spec["priorityClassName"] = priority_class["metadata"]["name"]
        value, policy = priority_class["value"], priority_class.get("preemptionPolicy")
        if spec.setdefault("priority", value) != value:
            why = f"the integer value of priority ({spec['priority']}) {_ADVICE.format(value)}"
            raise forbidden(attributes, why)
        if policy and spec.setdefault("preemptionPolicy", policy) != policy:
            why = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {_ADVICE.format(policy)}"
            raise forbidden(attributes, why)

    async def _class(self, attributes: Attributes, name: str) -> Obj:
        kv = await get_synced(self._store, CLASSES + name)
        if kv is None:
            raise forbidden(attributes, f"no PriorityClass with name {name} was found")
        priority_class: Obj = orjson.loads(kv.value)
        return priority_class

    def _check_only_default(self, attributes: Attributes, obj: Obj) -> None:
        default_name = self._default.get()["metadata"]["name"]
        if default_name and (attributes.old is None or default_name != obj["metadata"].get("name")):
            why = f"PriorityClass {default_name} is already marked as default. Only one default can exist"
            raise forbidden(attributes, why)


def _lowest_default(classes: Iterable[KeyValue]) -> Obj:
    """Return the default class; if there are several, which only a race can cause, the lowest."""
    # most classes are not the default, and are not parsed
    defaults = (orjson.loads(kv.value) for kv in classes if b'"globalDefault":true' in kv.value)
    return min(defaults, key=lambda each: int(each["value"]), default=DEFAULT)


_ADVICE = (
    "must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name"
)


def _keep_priority(new: Obj, old: Obj) -> None:
    for field in RESOLVED:
        if field in old and new.get(field) is None:
            new[field] = old[field]
