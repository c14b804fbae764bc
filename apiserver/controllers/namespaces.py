"""Empties namespaces that are being deleted and lets them go: the work of a namespace controller, while there is none.

The one caller is the app, which starts it only where no controller manager does the same (pkg/controller/namespace).
"""

import logging
from collections.abc import Iterator, Sequence

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.namespace_conditions import Remaining, updated
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
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
"""Seconds until a namespace in which something remains is looked at again; each time twice as long."""


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
            events = await next_within(watcher, wait if waiting else None)
            wait = FIRST_WAIT if events else min(wait * 2, LONGEST_WAIT)
            waiting |= {event.key for event in events if event.kv and _terminates(event.kv)}

    async def _try(self, name: str) -> bool:
        """Return whether nothing is left to do for a namespace."""
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

    async def _empty(self, namespace: str) -> Remaining:
        """Delete all that is in a namespace, and tell what remains."""
        left, store = Remaining(), self._registry.storage.store
        for resource in self._contents():
            prefix = prefix_of(resource, namespace)
            if not store.count(prefix):
                continue
            left.failures += await delete_all(self._registry, resource, namespace, background(SYSTEM))
            for kv in store.range(prefix).items:
                left.kinds[f"{resource.plural}.{resource.group}"] += 1
                obj = self._registry.codecs.of(resource).decode(kv)
                left.finalizers.update(obj["metadata"].get("finalizers") or ())
        return left

    def _contents(self) -> Iterator[Resource]:
        """Yield one row for each place where objects of namespaces lie."""
        seen = set()
        for row in self._registry.table:
            if row.namespaced and "delete" in row.verbs and row.storage_prefix not in seen:
                seen.add(row.storage_prefix)
                yield row

    def _described(self, old: Obj, left: Remaining) -> Obj:
        """Return the namespace with conditions that tell how far it is."""
        status = old.get("status") or {}
        conditions = updated(status.get("conditions") or (), left, self._registry.timestamps.now())
        return old | {"metadata": dict(old["metadata"]), "status": status | {"conditions": conditions}}


def _released(old: Obj) -> Obj:
    """Return the namespace without the finalizer that stood for its content."""
    spec = old.get("spec") or {}
    finalizers = [name for name in spec.get("finalizers") or () if name != KUBERNETES_FINALIZER]
    return old | {"metadata": dict(old["metadata"]), "spec": spec | {"finalizers": finalizers}}


def _terminates(kv: KeyValue) -> bool:
    """Return whether a namespace is being deleted and still waits for its content."""
    if kv.index_attrs.fields.get("status.phase") != "Terminating":
        return False
    finalizers = (orjson.loads(kv.value).get("spec") or {}).get("finalizers") or ()
    return KUBERNETES_FINALIZER in finalizers
