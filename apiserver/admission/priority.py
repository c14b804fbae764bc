"""Priority: a pod's priority class becomes a number, and only one class is the default."""

from collections.abc import Iterable
from typing import Protocol

import orjson

from apiserver.admission.latest import Follows, Latest, Reader, find
from apiserver.api.meta import Obj
from apiserver.registry.admission import Attributes, forbidden
from etcd.store import KeyValue

CLASSES = "/registry/priorityclasses/"
DEFAULT: Obj = {"metadata": {"name": ""}, "value": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""What counts where no class is the default (scheduling.DefaultPriorityWhenNoDefaultClassExists)."""
RESOLVED = ("priority", "preemptionPolicy")
"""What the plug-in sets in the spec of a pod; an update that leaves it out means no change."""


class Classes(Follows, Reader, Protocol):
    """What the plug-in needs of a store."""


class Priority:
    """The plug-in of that name (plugin/pkg/admission/priority)."""

    name = "Priority"
    kinds: frozenset[tuple[str, str]] | None = frozenset({("", "Pod"), ("scheduling.k8s.io", "PriorityClass")})

    def __init__(self, store: Classes) -> None:
        self._store = store
        self._default = Latest(store, CLASSES, _lowest_default)

    async def admit(self, attributes: Attributes) -> None:
        """Resolve the priority of a pod; refuse a second default among the classes."""
        resource, obj = attributes.target.resource, attributes.obj
        if obj is None or attributes.target.subresource:
            return
        if resource.kind == "Pod":
            if attributes.old is None:
                await self._resolve(attributes, obj["spec"])
            else:
                _keep(obj["spec"], attributes.old["spec"])
        elif obj.get("globalDefault"):
            self._check_only_default(attributes, obj)

    async def _resolve(self, attributes: Attributes, spec: Obj) -> None:
        """Set the number and the policy of the pod's class, or of the default one."""
        name = spec.get("priorityClassName")
        found = await self._class(attributes, name) if name else self._default.get()
        if found is not DEFAULT:
            spec["priorityClassName"] = found["metadata"]["name"]
        value, policy = found["value"], found.get("preemptionPolicy")
        if spec.setdefault("priority", value) != value:
            why = f"the integer value of priority ({spec['priority']}) {_ADVICE.format(value)}"
            raise forbidden(attributes, why)
        if policy and spec.setdefault("preemptionPolicy", policy) != policy:
            why = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {_ADVICE.format(policy)}"
            raise forbidden(attributes, why)

    async def _class(self, attributes: Attributes, name: str) -> Obj:
        kv = await find(self._store, CLASSES + name)
        if kv is None:
            raise forbidden(attributes, f"no PriorityClass with name {name} was found")
        found: Obj = orjson.loads(kv.value)
        return found

    def _check_only_default(self, attributes: Attributes, obj: Obj) -> None:
        found = self._default.get()["metadata"]["name"]
        if found and (attributes.old is None or found != obj["metadata"].get("name")):
            why = f"PriorityClass {found} is already marked as default. Only one default can exist"
            raise forbidden(attributes, why)


def _lowest_default(classes: Iterable[KeyValue]) -> Obj:
    """Return the class that is the default: of several, which only a race can make, the lowest."""
    # most are none, and need no parsing
    found = (orjson.loads(kv.value) for kv in classes if b'"globalDefault":true' in kv.value)
    return min(found, key=lambda each: int(each["value"]), default=DEFAULT)


_ADVICE = (
    "must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name"
)


def _keep(new: Obj, old: Obj) -> None:
    for field in RESOLVED:
        if field in old and new.get(field) is None:
            new[field] = old[field]
