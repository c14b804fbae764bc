"""ResourceQuota: charges the quotas of a namespace for what is written into it, and refuses what exceeds one."""

import asyncio
from collections.abc import Iterable
from weakref import WeakValueDictionary

import orjson

from apiserver.admission.latest import NamespaceLister
from apiserver.api.meta import Obj
from apiserver.api.pod_resources import Amounts, amounts
from apiserver.api.quota import (
    IGNORED,
    Evaluator,
    add,
    attributes_classes,
    evaluator_of,
    increase,
    is_in_scopes,
    mask,
)
from apiserver.api.user import User
from apiserver.registry.admission import CREATE, UPDATE, Attributes, Handles, forbidden
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import modify
from etcd.store import KeyValue

QUOTAS = "/registry/resourcequotas/"
SERVER = WriteOptions(User("system:apiserver", groups=("system:masters",)), manager="kube-apiserver")
"""The writer of the usage in the status of a quota: the server itself, as its own client."""

POD, SERVICE, CLAIM = ("", "Pod"), ("", "Service"), ("", "PersistentVolumeClaim")


class ResourceQuota:
    """The plug-in of that name (k8s.io/apiserver/pkg/admission/plugin/resourcequota)."""

    name = "ResourceQuota"
    handles = (
        Handles(CREATE),
        Handles(UPDATE, frozenset((SERVICE, CLAIM))),
        Handles(UPDATE, frozenset((CLAIM,)), frozenset(("status",))),
        Handles(UPDATE, frozenset((POD,)), frozenset(("resize",))),
    )

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lister = NamespaceLister(registry.storage.store, QUOTAS, _quota)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def validate(self, attributes: Attributes) -> None:
        """Charge the quotas that the object counts for; a dry run only checks them.

        Raises:
            ApiError: 403, a quota is exceeded, or the object does not specify what a quota needs to know.
        """
        target = attributes.target
        if not self._lister.get(target.namespace) or not target.namespace:
            return
        resource = (target.resource.group, target.resource.plural)
        if resource in IGNORED or not _may_change_usage(attributes):
            return
        evaluator = evaluator_of(resource)
        # one write at a time charges the quotas of a namespace: many would only make each other try again
        lock = self._locks.setdefault(target.namespace, asyncio.Lock())
        async with lock:
            await self._charge(attributes, evaluator)

    async def _charge(self, attributes: Attributes, evaluator: Evaluator) -> None:
        """Check all quotas before the first is charged (checkQuotas)."""
        now = self._registry.clock.now()
        quotas = [
            quota for quota in self._lister.get(attributes.target.namespace) if _matches(attributes, evaluator, quota)
        ]
        delta = _delta(attributes, evaluator, now)
        if not any(amount.nanos for amount in delta.values()):
            return
        for quota in quotas:
            _new_usage(attributes, quota, delta)
        if attributes.dry_run:
            return
        for quota in quotas:
            if mask(delta, _hard(quota)):
                await self._update_status(attributes, quota, delta)

    async def _update_status(self, attributes: Attributes, quota: Obj, delta: Amounts) -> None:
        """Write the new usage into a quota's status; it is checked again if the quota has changed meanwhile."""

        def change(old: Obj) -> Obj:
            used = {name: str(amount) for name, amount in _new_usage(attributes, old, delta).items()}
            return old | {"status": {**(old.get("status") or {}), "used": used}}

        resource = self._registry.table.find("", "v1", "resourcequotas")
        assert resource is not None
        meta = quota["metadata"]
        await modify(self._registry, Target(resource, meta["namespace"], meta["name"], "status"), change, SERVER)


def _quota(kv: KeyValue) -> Obj:
    quota: Obj = orjson.loads(kv.value)
    return quota


def _may_change_usage(attributes: Attributes) -> bool:
    """Return whether a write of a claim's status changes what the claim uses (RequiresQuotaReplenish)."""
    old, new = attributes.old, attributes.obj
    if attributes.target.subresource != "status" or old is None or new is None:
        return True
    allocated = [(each.get("status") or {}).get("allocatedResources") for each in (old, new)]
    return allocated[0] != allocated[1] or attributes_classes(old) != attributes_classes(new)


def _hard(quota: Obj) -> Amounts:
    return amounts((quota.get("status") or {}).get("hard"))


def _matches(attributes: Attributes, evaluator: Evaluator, quota: Obj) -> bool:
    """Return whether an object counts for a quota (CheckRequest).

    Raises:
        ApiError: 403, the object does not specify what the quota needs to know, or nobody has counted yet what is used.
    """
    assert attributes.obj is not None
    name, hard = quota["metadata"]["name"], _hard(quota)
    tracked = sorted(evaluator.matching(hard))
    if not tracked or not is_in_scopes(evaluator, quota, attributes.obj):
        return False
    if missing := evaluator.missing(tracked, attributes.obj):
        raise forbidden(attributes, f"failed quota: {name}: {missing}")
    used = (quota.get("status") or {}).get("used") or {}
    if any(resource not in used for resource in tracked):
        raise forbidden(attributes, f"status unknown for quota: {name}, resources: {','.join(tracked)}")
    return True


def _delta(attributes: Attributes, evaluator: Evaluator, now: float) -> Amounts:
    """Return what the write adds to the usage.

    Raises:
        ApiError: 403, the object requests a negative amount.
    """
    assert attributes.obj is not None
    usage = evaluator.usage(attributes.obj, now)
    if negative := sorted(name for name, amount in usage.items() if amount.nanos < 0):
        raise forbidden(attributes, f"quota usage is negative for resource(s): {','.join(negative)}")
    return usage if attributes.old is None else increase(usage, evaluator.usage(attributes.old, now))


def _new_usage(attributes: Attributes, quota: Obj, delta: Amounts) -> Amounts:
    """Return the usage of a quota after the write.

    Raises:
        ApiError: 403, it would exceed the quota.
    """
    hard, used = _hard(quota), amounts((quota.get("status") or {}).get("used"))
    requested = mask(delta, hard)
    new = add(used, requested)
    exceeded = [name for name in requested if new[name].nanos > hard[name].nanos]
    if exceeded:
        parts = (f"requested: {_pretty(requested, exceeded)}", f"used: {_pretty(used, exceeded)}")
        why = f"exceeded quota: {quota['metadata']['name']}, {', '.join(parts)}, limited: {_pretty(hard, exceeded)}"
        raise forbidden(attributes, why)
    return new


def _pretty(listed: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amount}" for name, amount in sorted(mask(listed, names).items()))
