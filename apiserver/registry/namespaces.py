"""Empties namespaces that are being deleted and lets them go: the work of a namespace controller, while there is none.

The one caller is the app, which starts it only where no controller manager does the same (pkg/controller/namespace).
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.user import User
from apiserver.registry import deletion
from apiserver.registry.context import Registry
from apiserver.registry.following import follow
from apiserver.registry.operations import modify
from apiserver.registry.options import DeleteOptions, Target, WriteOptions
from apiserver.registry.storage import prefix_of
from apiserver.registry.strategy.cluster import KUBERNETES_FINALIZER
from etcd.store import Event, KeyValue, Watcher

log = logging.getLogger("apiserver")

PREFIX = "/registry/namespaces/"
SYSTEM = User("system:serviceaccount:kube-system:namespace-controller", groups=("system:masters",))
OPTIONS = WriteOptions(SYSTEM, manager="kube-controller-manager")
AT_ONCE = 64
"""How many objects are deleted at a time, so that the store commits them together."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
"""Seconds until a namespace in which something remains is looked at again; each time twice as long."""


@dataclass(slots=True)
class Left:
    """What remains of a namespace's content.

    Attributes:
        kinds: "resource.group" → how many objects.
        finalizers: finalizer → how many objects wait for it.
        failures: what could not be deleted, and why.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class NamespaceDeleter:
    """Waits for namespaces to terminate."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._row = registry.table.find("", "v1", "namespaces")

    async def run(self) -> None:
        """Empty every namespace that terminates, until cancelled or the store is closed."""
        await follow(self._registry.storage.store, PREFIX, self._finish_each)

    async def _finish_each(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        waiting, wait = {kv.key for kv in found if _terminates(kv)}, FIRST_WAIT
        while True:
            waiting = {key for key in waiting if not await self._try(key.removeprefix(PREFIX))}
            events = await _next(watcher, wait if waiting else None)
            wait = FIRST_WAIT if events else min(wait * 2, LONGEST_WAIT)
            waiting |= {event.key for event in events if event.kv and _terminates(event.kv)}

    async def _try(self, name: str) -> bool:
        """Whether nothing is left to do for a namespace."""
        try:
            return await self._finish(name)
        except ApiError as error:
            if error.code == 404:
                return True
            log.warning("namespace %s cannot be emptied yet: %s", name, error)
            return False

    async def _finish(self, name: str) -> bool:
        left = await self._empty(name)
        target = Target(self._resource, "", name, "status")
        await modify(self._registry, target, lambda old: self._described(old, left), OPTIONS)
        if left.kinds or left.failures:
            return False
        await modify(self._registry, Target(self._resource, "", name, "finalize"), _released, OPTIONS)
        return True

    @property
    def _resource(self) -> Resource:
        assert self._row is not None
        return self._row

    async def _empty(self, namespace: str) -> Left:
        """Delete all that is in a namespace, and tell what remains."""
        left, store = Left(), self._registry.storage.store
        for resource in self._contents():
            prefix = prefix_of(resource, namespace)
            if not store.count(prefix):
                continue
            items = store.range(prefix).items
            for start in range(0, len(items), AT_ONCE):
                async with asyncio.TaskGroup() as group:
                    for kv in items[start : start + AT_ONCE]:
                        group.create_task(self._delete(resource, kv, left))
            for kv in store.range(prefix).items:
                left.kinds[f"{resource.plural}.{resource.group}"] += 1
                obj = self._registry.codecs.of(resource).decode(kv)
                left.finalizers.update(obj["metadata"].get("finalizers") or ())
        return left

    def _contents(self) -> Iterator[Resource]:
        """One row for each place where objects of namespaces lie."""
        seen = set()
        for row in self._registry.table:
            if row.namespaced and "delete" in row.verbs and row.storage_prefix not in seen:
                seen.add(row.storage_prefix)
                yield row

    async def _delete(self, resource: Resource, kv: KeyValue, left: Left) -> None:
        place = kv.attached.fields
        target = Target(resource, place["metadata.namespace"], place["metadata.name"])
        options = DeleteOptions(SYSTEM, grace_period=0, propagation="Background")
        try:
            await deletion.delete(self._registry, target, options)
        except ApiError as error:
            if error.code != 404:
                left.failures.append(str(error))

    def _described(self, old: Obj, left: Left) -> Obj:
        """The namespace with conditions that tell how far it is."""
        status, now = old.get("status") or {}, self._registry.timestamps.now()
        before = {condition["type"]: condition for condition in status.get("conditions") or ()}
        for condition in conditions(left):
            was = before.get(condition["type"], {})
            since = was.get("lastTransitionTime") if was.items() >= condition.items() else now
            before[condition["type"]] = condition | {"lastTransitionTime": since}
        return old | {"metadata": dict(old["metadata"]), "status": status | {"conditions": list(before.values())}}


def conditions(left: Left) -> Iterator[Obj]:
    """What the conditions of a terminating namespace say (deletion/status_condition_utils.go)."""
    yield _condition("NamespaceDeletionDiscoveryFailure", GOOD)
    yield _condition("NamespaceDeletionGroupVersionParsingFailure", GOOD)
    failed = f"Failed to delete all resource types, {len(left.failures)} remaining: {', '.join(left.failures)}"
    yield _condition("NamespaceDeletionContentFailure", left.failures and failed)
    kinds = f"Some resources are remaining: {_counted(left.kinds, 'has')}"
    yield _condition("NamespaceContentRemaining", left.kinds and kinds)
    finalizers = f"Some content in the namespace has finalizers remaining: {_counted(left.finalizers, 'in')}"
    yield _condition("NamespaceFinalizersRemaining", left.finalizers and finalizers)


GOOD = ""
"""Nothing is wrong, or left."""

WORDS: Mapping[str, tuple[str, str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered", ""),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
        "",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
        "ContentDeletionFailed",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed", "SomeResourcesRemain"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
        "SomeFinalizersRemain",
    ),
}
"""Type → reason and message where all is well, and the reason where not."""


def _condition(kind: str, message: object) -> Obj:
    reason, well, unwell = WORDS[kind]
    if not message:
        return {"type": kind, "status": "False", "reason": reason, "message": well}
    return {"type": kind, "status": "True", "reason": unwell, "message": message}


def _counted(counts: Mapping[str, int], word: str) -> str:
    return ", ".join(f"{name} {word} {counts[name]} resource instances" for name in sorted(counts))


def _released(old: Obj) -> Obj:
    """The namespace without the finalizer that stood for its content."""
    spec = old.get("spec") or {}
    finalizers = [name for name in spec.get("finalizers") or () if name != KUBERNETES_FINALIZER]
    return old | {"metadata": dict(old["metadata"]), "spec": spec | {"finalizers": finalizers}}


def _terminates(kv: KeyValue) -> bool:
    """Whether a namespace is being deleted and still waits for its content."""
    if kv.attached.fields.get("status.phase") != "Terminating":
        return False
    finalizers = (orjson.loads(kv.value).get("spec") or {}).get("finalizers") or ()
    return KUBERNETES_FINALIZER in finalizers


async def _next(watcher: Watcher, seconds: float | None) -> Sequence[Event]:
    """The next events, none if none come in time; without a time they are waited for."""
    try:
        async with asyncio.timeout(seconds):
            return await watcher.next()
    except TimeoutError:
        return ()
