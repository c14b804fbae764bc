"""Deletes the contents of terminating namespaces, then their finalizer: the namespace controller, if none runs.

The app starts it only if no controller manager does the same (pkg/controller/namespace).
"""

import logging
from collections.abc import Iterator, Sequence

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.namespace_conditions import RemainingContent, update_conditions
from apiserver.api.resources import Resource
from apiserver.api.user import User
from apiserver.groups.core.namespaces import KUBERNETES_FINALIZER
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.purge import background, delete_all
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import prefix_of
from apiserver.registry.store_watch import follow, next_within
from etcd.store import KeyValue, Watcher

log = logging.getLogger("apiserver")

PREFIX = "/registry/namespaces/"
SYSTEM = User("system:serviceaccount:kube-system:namespace-controller", groups=("system:masters",))
OPTIONS = WriteOptions(SYSTEM, manager="kube-controller-manager")
BASE_DELAY, MAX_DELAY = 0.1, 5.0
"""Seconds until a namespace with remaining contents is checked again; the interval doubles."""


class NamespaceDeleter:
    """Deletes the contents of terminating namespaces."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._row = registry.table.find("", "v1", "namespaces")

    async def run(self) -> None:
        """Empty every terminating namespace, until cancelled or the store is closed."""
        await follow(self._registry.storage.store, PREFIX, self._finalize_each)

    async def _finalize_each(self, watcher: Watcher, items: Sequence[KeyValue]) -> None:
        waiting, wait = {kv.key for kv in items if _is_terminating(kv)}, BASE_DELAY
        while True:
            waiting = {key for key in waiting if not await self._try_finalize(key.removeprefix(PREFIX))}
            events = await next_within(watcher, wait if waiting else None)
            wait = BASE_DELAY if events else min(wait * 2, MAX_DELAY)
            waiting |= {event.key for event in events if event.kv and _is_terminating(event.kv)}

    async def _try_finalize(self, name: str) -> bool:
        """Delete the contents of a namespace; return whether nothing is remaining to do."""
        try:
            return await self._finalize(name)
        except ApiError as error:
            if error.code == 404:
                return True
            log.warning("namespace %s cannot be emptied yet: %s", name, error)
            return False

    async def _finalize(self, name: str) -> bool:
        remaining = await self._delete_contents(name)
        target = Target(self._resource, "", name, "status")
        await modify(self._registry, target, lambda old: self._with_conditions(old, remaining), OPTIONS)
        if remaining.kinds or remaining.failures:
            return False
        await modify(self._registry, Target(self._resource, "", name, "finalize"), _without_finalizer, OPTIONS)
        return True

    @property
    def _resource(self) -> Resource:
        assert self._row is not None
        return self._row

    async def _delete_contents(self, namespace: str) -> RemainingContent:
        """Delete all objects of a namespace, and return what remains."""
        remaining, store = RemainingContent(), self._registry.storage.store
        for resource in self._contents():
            prefix = prefix_of(resource, namespace)
            if not store.count(prefix):
                continue
            remaining.failures += await delete_all(self._registry, resource, namespace, background(SYSTEM))
            for kv in store.range(prefix).items:
                remaining.kinds[f"{resource.plural}.{resource.group}"] += 1
                obj = await self._registry.decode(resource, kv)
                remaining.finalizers.update(obj["metadata"].get("finalizers") or ())
        return remaining

    def _contents(self) -> Iterator[Resource]:
        """Yield one row for each storage prefix of namespaced objects."""
        seen = set()
        for row in self._registry.table:
            if row.namespaced and "delete" in row.verbs and row.storage_prefix not in seen:
                seen.add(row.storage_prefix)
                yield row

    def _with_conditions(self, old: Obj, remaining: RemainingContent) -> Obj:
        """Return the namespace with conditions about what remains."""
        status = old.get("status") or {}
        conditions = update_conditions(status.get("conditions") or (), remaining, self._registry.timestamps.now())
        return old | {"metadata": dict(old["metadata"]), "status": status | {"conditions": conditions}}


def _without_finalizer(old: Obj) -> Obj:
    """Return the namespace without the `kubernetes` finalizer."""
    spec = old.get("spec") or {}
    finalizers = [name for name in spec.get("finalizers") or () if name != KUBERNETES_FINALIZER]
    return old | {"metadata": dict(old["metadata"]), "spec": spec | {"finalizers": finalizers}}


def _is_terminating(kv: KeyValue) -> bool:
    """Return whether a namespace is terminating and still has the `kubernetes` finalizer."""
    if kv.index_attrs.fields.get("status.phase") != "Terminating":
        return False
    finalizers = (orjson.loads(kv.value).get("spec") or {}).get("finalizers") or ()
    return KUBERNETES_FINALIZER in finalizers
