"""Counts what the objects of a namespace use of its quotas (pkg/controller/resourcequota).

The server itself charges a quota when it admits an object, before that is stored. So new objects and new usage trigger
nothing here, or a run between the two would take the charge back; what is deleted, ends or shrinks does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, namespace_of
from apiserver.api.pod_resources import Amounts, amounts, are_equal
from apiserver.api.quota import (
    ALIASES,
    NONE,
    Evaluator,
    GroupResource,
    add,
    attributes_classes,
    evaluator_of,
    mask,
    total_usage,
)
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    Change,
    ControllerSpec,
    Enqueue,
    Key,
    Listers,
    Plan,
    Update,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import CLAIM, EVERYTHING, POD, RESOURCE_QUOTA, SERVICE

ALL: Key = ""
"""The key under which all quotas are counted again."""
SYNC_PERIOD = 300.0
"""Seconds between two counts of everything (--resource-quota-sync-period)."""
_ENDED = ("Failed", "Succeeded")


@dataclass(frozen=True, slots=True)
class CountedResource:
    """A resource that a quota limits, with all its objects in the namespace."""

    evaluator: Evaluator
    objects: tuple[Obj, ...]


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """A quota, and the objects that may count for it."""

    quota: Obj
    resources: tuple[CountedResource, ...]


@dataclass(frozen=True, slots=True)
class AllQuotas:
    """The keys of all quotas."""

    keys: tuple[Key, ...]


# -- triggers ----------------------------------------------------------------------------------------------------------


def _quotas(listers: Listers, obj: Obj) -> Iterable[Key]:
    """Return the keys of the quotas in an object's namespace."""
    quotas = listers[RESOURCE_QUOTA]
    if not len(quotas):
        return ()
    return [key_of(quota) for quota in quotas.by_index(NAMESPACE_INDEX, namespace_of(obj))]


def _quota_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Return a quota that is new, or limits something else than before."""
    if change.new is None:
        return ()
    if change.old is not None and (change.old["spec"].get("hard") == change.new["spec"].get("hard")):
        return ()
    return (key_of(change.new),)


def _deleted(listers: Listers, change: Change) -> Iterable[Key]:
    return _quotas(listers, change.obj) if change.new is None else ()


def _pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the quotas of a pod that has ended, or whose resources have changed in place."""
    old, new = change.old, change.new
    if old is None or new is None:
        return ()
    ended = _phase(new) in _ENDED and _phase(old) not in _ENDED
    return _quotas(listers, new) if ended or _resources(old) != _resources(new) else ()


def _phase(pod: Obj) -> str:
    return (pod.get("status") or {}).get("phase") or ""


def _resources(pod: Obj) -> list[Obj | None]:
    return [container.get("resources") for container in pod["spec"].get("containers") or ()]


def _service_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the quotas of a Service that has become one of another type."""
    old, new = change.old, change.new
    if old is None or new is None or old["spec"].get("type") == new["spec"].get("type"):
        return ()
    return _quotas(listers, new)


def _claim_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the quotas of a claim that got other storage or another attributes class (RequiresQuotaReplenish)."""
    old, new = change.old, change.new
    if old is None or new is None:
        return ()
    allocated = [(claim.get("status") or {}).get("allocatedResources") for claim in (old, new)]
    same = allocated[0] == allocated[1] and attributes_classes(old) == attributes_classes(new)
    return () if same else _quotas(listers, new)


# -- observe and reconcile ---------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> QuotaUsage | AllQuotas | None:
    """Return a quota with all that may count for it, or None if it is gone."""
    if key == ALL:
        return AllQuotas(tuple(key_of(quota) for quota in listers[RESOURCE_QUOTA]))
    quota = listers[RESOURCE_QUOTA].get(key)
    if quota is None:
        return None
    resources = []
    for resource in _limited_resources(quota["spec"].get("hard") or {}):
        group, plural = resource
        cache = listers.find(f"{plural}.{group}" if group else plural)
        if cache is not None:
            objects = tuple(cache.by_index(NAMESPACE_INDEX, namespace_of(quota)))
            resources.append(CountedResource(evaluator_of(resource), objects))
    return QuotaUsage(quota, tuple(resources))


def _limited_resources(hard: Iterable[str]) -> list[GroupResource]:
    """Return the resources whose objects use something of what a quota limits."""
    limited: dict[GroupResource, None] = {}
    for name in hard:
        if name.startswith("count/"):
            plural, _, group = name.removeprefix("count/").partition(".")
            limited[group, plural] = None
        elif name in ALIASES:
            limited["", name] = None
    for plural in ("pods", "services", "persistentvolumeclaims"):
        if evaluator_of(("", plural)).matching(hard):
            limited["", plural] = None
    return list(limited)


def reconcile(observed: QuotaUsage | AllQuotas, now: float) -> Plan:
    """Write what is used into the status of the quota, if that has changed."""
    if isinstance(observed, AllQuotas):
        yield Enqueue(observed.keys)
        return
    quota = observed.quota
    hard, status = quota["spec"].get("hard") or {}, quota.get("status") or {}
    used = mask(amounts(status.get("used")) | _usage(observed, now), hard)
    if status.get("hard") == hard and status.get("used") is not None and are_equal(used, amounts(status["used"])):
        return
    texts = {name: str(amount) for name, amount in used.items()}
    yield Update(RESOURCE_QUOTA, quota | {"status": {"hard": hard, "used": texts}}, "status")


def _usage(observed: QuotaUsage, now: float) -> Amounts:
    """Return what the objects in the quota's scopes use of what it limits (quota.CalculateUsage)."""
    usage = Amounts()
    hard = observed.quota["spec"].get("hard") or {}
    for resource in observed.resources:
        tracked = resource.evaluator.matching(hard)
        total = total_usage(resource.evaluator, observed.quota, resource.objects, now)
        usage = add(usage, dict.fromkeys(tracked, NONE) | mask(total, tracked))
    return usage


SPEC = ControllerSpec(
    name="resourcequota",
    watches=(
        Watch(RESOURCE_QUOTA, _quota_changed),
        Watch(POD, _pod_changed),
        Watch(SERVICE, _service_changed),
        Watch(CLAIM, _claim_changed),
        Watch(EVERYTHING, _deleted),
    ),
    observe=observe,
    reconcile=reconcile,
    source="resourcequota-controller",
    account="resourcequota-controller",
    flag="resource-quota",
    queue="resourcequota_primary",
    sync_period=SYNC_PERIOD,
    periodic_keys=(ALL,),
)
