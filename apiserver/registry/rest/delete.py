"""The verbs that delete: preconditions, grace, finalizers and propagation, of one object and of a collection."""

import calendar
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.termination import mark_for_deletion
from apiserver.groups.strategy import Strategy
from apiserver.registry.admission import Attributes
from apiserver.registry.clock import rfc3339
from apiserver.registry.context import Current, Registry, index_attrs
from apiserver.registry.options import DeleteOptions, ListOptions, Target
from apiserver.registry.serviceip.transaction import release_deleted
from apiserver.registry.storage import map_store_errors
from apiserver.registry.strategy import strategy_of
from etcd.store import KeyValue

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
JOBS_LEAVE_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
PAGE_SIZE = 10_000
"""The number of objects that deletecollection lists at once (store.go's deleteCollectionPageSize)."""


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The outcome of a delete.

    Attributes:
        kv: the last state of the object.
        gone: False if it is only marked and waits for its finalizers or its grace period.
        warnings: the texts for the Warning headers of the response.
    """

    kv: KeyValue
    gone: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletedCollection:
    """The outcome of a deletecollection.

    Attributes:
        items: the objects as they were listed.
        warnings: the texts for the Warning headers of the response, each once.
    """

    items: list[KeyValue]
    warnings: tuple[str, ...]


def deletion_warnings(target: Target, options: DeleteOptions) -> tuple[str, ...]:
    """Return the warning that a deleted Job leaves its pods if no policy is set (pkg/registry/batch/job/storage)."""
    resource = target.resource
    if options.propagation or (resource.group, resource.kind) != ("batch", "Job"):
        return ()
    return (JOBS_LEAVE_PODS,)


async def delete(
    registry: Registry, target: Target, options: DeleteOptions, *, is_admitted: bool = False
) -> DeleteResult:
    """Delete an object, or mark it if finalizers or a grace period keep it.

    Args:
        registry: the server's collaborators.
        target: the object to delete.
        options: who deletes and how.
        is_admitted: whether admission has let another request pass that brings the deletion about, as an eviction does.

    Raises:
        ApiError: 403, 404, 409 (a precondition fails).
    """

    async def attempt(kv: KeyValue) -> DeleteResult:
        obj = await registry.decode(target.resource, kv)
        (_check_namespace_uid if _is_namespace(target) else _check_preconditions)(target, obj["metadata"], options)
        if is_admitted:
            return await _delete_once(registry, target, Current(kv, obj), options)
        attributes = Attributes("DELETE", target, options.user, None, obj, options.dry_run, options.given)
        return await _admit_and_delete(registry, attributes, Current(kv, obj), options)

    storage = registry.storage
    return await storage.guaranteed_update(
        target.resource, target.namespace, target.name, attempt, read_latest=options.dry_run
    )


async def _admit_and_delete(
    registry: Registry, attributes: Attributes, current: Current, options: DeleteOptions
) -> DeleteResult:
    """Run both phases of admission on a delete, then delete (rest.AdmissionToValidateObjectDeleteFunc)."""
    warnings = attributes.warnings
    try:
        await registry.admission.admit(attributes)
        await registry.admission.validate(attributes)
        deleted = await _delete_once(registry, attributes.target, current, options)
    except ApiError as error:
        raise error.prepend_warnings(tuple(warnings)) from error.__cause__
    return replace(deleted, warnings=tuple(warnings)) if warnings else deleted


async def _delete_once(registry: Registry, target: Target, current: Current, options: DeleteOptions) -> DeleteResult:
    kv, obj = current
    if _is_namespace(target):
        return await _delete_namespace(registry, target, kv, obj, options)
    if _is_definition(target):
        return await _delete_definition(registry, target, kv, obj, options)
    strategy = strategy_of(target.resource)
    meta = obj["metadata"]
    old = {"metadata": dict(meta)}
    graceful = strategy.graceful and _set_grace_period(registry, obj, options)
    if graceful is None:
        return DeleteResult(kv, gone=False)
    finalizers = _finalizers(strategy, meta, options)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if finalizers and not graceful:
        _set_deletion_timestamp(registry, meta)
    if finalizers or graceful:
        if meta != old["metadata"]:
            kv = await _store_or_remove(registry, target, kv, obj, options)
        if finalizers or meta.get("deletionGracePeriodSeconds"):
            return DeleteResult(kv, gone=False)
    return await _remove(registry, kv, options)


async def _remove(registry: Registry, kv: KeyValue, options: DeleteOptions) -> DeleteResult:
    if options.dry_run:
        return DeleteResult(kv, gone=True)
    with map_store_errors():
        event = await registry.storage.store.delete(kv.key, expect=kv.mod_revision)
    await release_deleted(registry, kv, event.revision)
    return DeleteResult(kv._replace(mod_revision=event.revision), gone=True)


async def _store_or_remove(
    registry: Registry, target: Target, kv: KeyValue, obj: Obj, options: DeleteOptions
) -> KeyValue:
    codec = registry.codecs.codec_of(target.resource)
    value = await codec.encode_prepared(obj)
    attrs = index_attrs(target.resource, obj, codec)
    if options.dry_run:
        return kv._replace(value=value, index_attrs=attrs)
    with map_store_errors():
        ttl = registry.ttl_of(target.resource)
        return await registry.storage.store.put(kv.key, value, expect=kv.mod_revision, index_attrs=attrs, ttl=ttl)


def _check_preconditions(target: Target, meta: Obj, options: DeleteOptions) -> None:
    if options.uid and options.uid != meta.get("uid"):
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
    elif options.resource_version and options.resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta['resourceVersion']}). The object might have been modified"
        )
    else:
        return
    # upstream names the kind here, where other conflicts name the resource
    raise errors.conflict(target.resource.group, target.resource.kind, name=target.name, why=why)


def _check_namespace_uid(target: Target, meta: Obj, options: DeleteOptions) -> None:
    """Check the preconditions of a namespace, for which upstream has another message."""
    preconditions = {
        "UID": (options.uid, meta.get("uid")),
        "ResourceVersion": (options.resource_version, meta["resourceVersion"]),
    }
    for name, (expected, actual) in preconditions.items():
        if expected and expected != actual:
            why = f"Precondition failed: {name} in precondition: {expected}, {name} in object meta: {actual}"
            raise errors.conflict("", "namespaces", name=target.name, why=why)


def _set_grace_period(registry: Registry, obj: Obj, options: DeleteOptions) -> bool | None:
    """Set a pod's deletionTimestamp and grace period (rest.BeforeDelete).

    Returns:
        Whether the deletion is graceful; None if the grace period of an earlier delete stands.
    """
    meta, requested = obj["metadata"], options.grace_period
    if requested is not None and requested < 0:
        requested = 1
    if meta.get("deletionTimestamp"):
        current = meta.get("deletionGracePeriodSeconds") or 0
        if not current:
            return False
        if requested is None or requested >= current:
            return None
        _shorten_grace_period(registry, meta, requested=requested, current=current)
        return True
    seconds = _grace_period(obj, requested)
    meta["deletionTimestamp"] = rfc3339(registry.clock.now() + _wrap_int64(seconds))
    meta["deletionGracePeriodSeconds"] = seconds
    if meta.get("generation"):
        meta["generation"] += 1
    return True


def _shorten_grace_period(registry: Registry, meta: Obj, *, requested: int, current: int) -> None:
    now = int(registry.clock.now())
    end = _seconds(meta["deletionTimestamp"]) - _wrap_int64(current) + _wrap_int64(requested)
    if end < now:
        end, requested = now, min(requested, 1)
    meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = rfc3339(end), requested


def _wrap_int64(seconds: int) -> int:
    """Return seconds as a time.Duration holds them: its nanoseconds overflow after 292 years (rest.BeforeDelete)."""
    modulus = 2**64
    return ((seconds * 10**9 + modulus // 2) % modulus - modulus // 2) // 10**9


def _grace_period(pod: Obj, requested: int | None) -> int:
    """Return the grace period of a pod, 0 if no node runs it (pod/strategy.go's CheckGracefulDelete)."""
    spec, phase = pod.get("spec") or {}, (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    seconds: int = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
    return seconds if seconds >= 0 else 1


def _seconds(timestamp: str) -> int:
    return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S"))


def _finalizers(strategy: Strategy, meta: Obj, options: DeleteOptions) -> list[str]:
    """Return the finalizers with those of the garbage collector added or removed by the propagation policy."""
    finalizers: list[str] = meta.get("finalizers") or []
    others = [f for f in finalizers if f not in (ORPHAN, FOREGROUND)]
    match options.propagation or _propagation_of(finalizers) or strategy.default_propagation:
        case "Orphan":
            return [*others, ORPHAN]
        case "Foreground":
            return [*others, FOREGROUND]
        case _:
            return others


def _propagation_of(finalizers: list[str]) -> str:
    for finalizer in finalizers:
        if finalizer in (ORPHAN, FOREGROUND):
            return "Orphan" if finalizer == ORPHAN else "Foreground"
    return ""


def _set_deletion_timestamp(registry: Registry, meta: Obj) -> None:
    """Mark the object as being deleted (store.go's markAsDeleting)."""
    now = registry.timestamps.now()
    if not meta.get("deletionTimestamp") and meta.get("generation"):
        meta["generation"] += 1
    if not meta.get("deletionTimestamp") or meta["deletionTimestamp"] > now:
        meta["deletionTimestamp"] = now
    meta["deletionGracePeriodSeconds"] = 0


def _is_namespace(target: Target) -> bool:
    return target.resource.plural == "namespaces" and not target.resource.group


async def _delete_namespace(
    registry: Registry, target: Target, kv: KeyValue, obj: Obj, options: DeleteOptions
) -> DeleteResult:
    """Mark a namespace as terminating; remove it once it has no finalizers (core/namespace/storage)."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = registry.timestamps.now()
        obj["status"] = (obj.get("status") or {}) | {"phase": "Terminating"}
        kv = await _store_or_remove(registry, target, kv, obj, options)
    if meta.get("finalizers") or (obj.get("spec") or {}).get("finalizers"):
        return DeleteResult(kv, gone=False)
    return await _remove(registry, kv, options)


def _is_definition(target: Target) -> bool:
    resource = target.resource
    return (resource.group, resource.plural) == ("apiextensions.k8s.io", "customresourcedefinitions")


async def _delete_definition(
    registry: Registry, target: Target, kv: KeyValue, obj: Obj, options: DeleteOptions
) -> DeleteResult:
    """Mark a CustomResourceDefinition; remove it once its finalizer, and so its objects, are gone."""
    definition = mark_for_deletion(obj, registry.timestamps.now())
    if definition is not None:
        kv = await _store_or_remove(registry, target, kv, definition, options)
    elif not obj["metadata"].get("finalizers"):
        return await _remove(registry, kv, options)
    return DeleteResult(kv, gone=False)


async def delete_collection(
    registry: Registry, target: Target, selection: ListOptions, options: DeleteOptions
) -> DeletedCollection:
    """Delete all selected objects, page by page; those that others delete meanwhile are no error.

    Raises:
        ApiError: the error for the first object that cannot be deleted.
    """
    listed: list[KeyValue] = []
    warnings: dict[str, None] = {}
    while True:
        page = await registry.storage.list(
            target.resource, target.namespace, replace(selection, limit=selection.limit or PAGE_SIZE)
        )
        for kv in page.items:
            warnings |= dict.fromkeys(await _delete_listed(registry, target, kv, options))
        listed += page.items
        if not page.token or selection.limit:
            return DeletedCollection(listed, tuple(warnings))
        selection = replace(selection, continue_token=page.token, resource_version="", match="")


async def _delete_listed(registry: Registry, target: Target, kv: KeyValue, options: DeleteOptions) -> Sequence[str]:
    """Delete one object of a collection, and return the warnings of its admission."""
    fields = kv.index_attrs.fields
    listed = Target(target.resource, fields.get("metadata.namespace", ""), fields["metadata.name"])
    try:
        return (await delete(registry, listed, options)).warnings
    except ApiError as error:
        if error.code != 404:
            raise
        return ()
