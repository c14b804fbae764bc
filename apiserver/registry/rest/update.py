"""The verb update, and changes by a function: the newest state is changed and stored, with retries on conflicts."""

from collections.abc import Awaitable, Callable
from functools import partial

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.groups.strategy import Strategy, Update
from apiserver.registry.admission import Attributes
from apiserver.registry.context import Change, Current, Registry, WriteResult, index_attrs
from apiserver.registry.custom_conversion import with_conversions
from apiserver.registry.decoding import Body
from apiserver.registry.managed_fields_update import RecordOwners, update_managed_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.rest.create import insert
from apiserver.registry.rest.preconditions import check_name, check_namespace, check_uid, check_versions
from apiserver.registry.rest.write_checks import (
    attributes_of,
    check_escalation,
    check_may_create,
    notices,
    refuse_invalid,
    with_admission_warnings,
    write_warnings,
)
from apiserver.registry.serviceip.transaction import allocate_for_write, release_deleted
from apiserver.registry.storage import key_of, map_store_errors
from apiserver.registry.strategy import SUBRESOURCES as PARTS
from apiserver.registry.strategy import strategy_of
from apiserver.registry.validation import Check, validate_status_update, validate_subresource_update, validate_update
from etcd.store import KeyValue


async def update(registry: Registry, target: Target, body: Body, options: WriteOptions) -> WriteResult:
    """Replace an object, or its status; create it if it is absent and the kind allows that.

    Raises:
        ApiError: 400, 404, 409 (stale or another object), 422.
    """
    seen = await _read_current(registry, target) if target.subresource == "status" else None
    stored_spec = seen.obj.get("spec") if seen else None
    decoded = registry.decoder.decode(target.resource, body, validation=options.validation, stored_spec=stored_spec)
    obj = decoded.obj
    check_name(target, obj)
    check_namespace(target, obj)
    warnings = decoded.warnings + deduplicate_owners(obj["metadata"])
    kind_warnings: tuple[str, ...] = ()

    def change(old: Obj) -> Obj:
        nonlocal kind_warnings
        check_uid(target, obj, old)
        kind_warnings = write_warnings(registry, target, obj, old)
        return obj | {"metadata": dict(obj["metadata"])}

    try:
        written = await modify(registry, target, change, options, seen=seen)
    except ApiError as error:
        if error.code != 404:
            raise error.prepend_warnings(warnings) from error.__cause__
        check_uid(target, obj, {"metadata": {}})
        if target.subresource or not target.resource.create_on_update:
            raise
        obj["metadata"].pop("resourceVersion", None)
        kind_warnings = notices(target, obj, None)
        await check_may_create(registry, target, options)
        written = await insert(registry, target, decoded, options)
    return written._replace(warnings=warnings + written.warnings + kind_warnings)


async def _read_current(registry: Registry, target: Target) -> Current | None:
    """Return the object as this server knows it, None if unknown; the write builds on the newest state all the same."""
    kv = registry.storage.store.get(key_of(target.resource, target.namespace, target.name))
    return None if kv is None else Current(kv, await registry.decode(target.resource, kv))


async def modify(
    registry: Registry,
    target: Target,
    change: Change,
    options: WriteOptions,
    *,
    seen: Current | None = None,
    record: RecordOwners = update_managed_fields,
) -> WriteResult:
    """Change a stored object by a function, with retries on conflicts unless the change names a resourceVersion.

    Args:
        registry: the server's collaborators.
        target: the object to change; its subresource selects the strategy that prepares and validates.
        change: returns the new object for the old one, which it does not change; it may run several times.
        options: who writes and how.
        seen: the object as the caller has seen it; not decoded again if it is still that state.
        record: records the owners of the new object's fields.

    Raises:
        ApiError: 404, 409, 422, and the errors of the change.
    """
    strategy = strategy_of(target.resource)
    prepare, check = _rules(registry, target, strategy)

    async def attempt(kv: KeyValue) -> WriteResult:
        old = seen.obj if seen and seen.kv is kv else await registry.decode(target.resource, kv)
        new = await with_conversions(lambda: change(old))
        check_versions(target, strategy, new, old)
        _keep_system_fields(new["metadata"], old["metadata"])
        attributes = attributes_of("UPDATE", target, options, obj=new, old=old)
        return await with_admission_warnings(attributes, admitted(attributes, Current(kv, old), new))

    async def admitted(attributes: Attributes, current: Current, new: Obj) -> WriteResult:
        await registry.admission.admit(attributes)
        old = current.obj
        await check_escalation(registry, target, options, new=new, old=old)
        prepare(new, old)
        await with_conversions(lambda: record(registry, target, old, new, options))
        async with allocate_for_write(registry, target, options, new=new, old=old) as allocated_obj:
            warnings = refuse_invalid(registry, target, allocated_obj, check(target.resource, allocated_obj, old), old)
            strategy.canonicalize(allocated_obj)
            attributes.obj = allocated_obj
            await registry.admission.validate(attributes)
            written = await _replace(registry, target, current, allocated_obj, options)
            return written._replace(warnings=warnings) if warnings else written

    return await _write_change(registry, target, attempt, options)


async def _write_change(
    registry: Registry, target: Target, attempt: Callable[[KeyValue], Awaitable[WriteResult]], options: WriteOptions
) -> WriteResult:
    storage = registry.storage
    return await storage.guaranteed_update(
        target.resource, target.namespace, target.name, attempt, read_latest=options.dry_run
    )


def _rules(registry: Registry, target: Target, strategy: Strategy) -> tuple[Update, Check]:
    """Return the functions that prepare and validate an update of the object, its status or another subresource."""
    resource, name = target.resource, target.subresource
    validate = partial(validate_update, release=registry.schema.version)
    if not name:
        return strategy.prepare_update, validate
    if name == "status":
        return strategy.prepare_status_update, validate_status_update
    part = PARTS.get((resource.group, resource.kind, name))
    if part is None:
        return strategy.prepare_update, validate
    return part.prepare_update, validate_subresource_update(name)


async def rewrite(registry: Registry, target: Target, change: Change, options: WriteOptions) -> WriteResult:
    """Change a stored object as the server itself does: without admission, validation or managedFields.

    The change may run several times, since conflicts are retried (upstream's GuaranteedUpdate).

    Raises:
        ApiError: 404, and the errors of the change.
    """

    async def attempt(kv: KeyValue) -> WriteResult:
        old = await registry.decode(target.resource, kv)
        return await _replace(registry, target, Current(kv, old), change(old), options)

    return await _write_change(registry, target, attempt, options)


async def _replace(registry: Registry, target: Target, seen: Current, new: Obj, options: WriteOptions) -> WriteResult:
    """Store the new object over exactly the state that it was made from; do nothing if it is unchanged."""
    resource, store, kv = target.resource, registry.storage.store, seen.kv
    codec = registry.codecs.codec_of(resource)
    # compared twice, in case a change mutated shared parts; what an older schema stored is stored again
    if new == seen.obj and new == codec.decode(kv) and codec.is_canonical(kv):
        return WriteResult(kv)
    emptied = _emptied_finalizers(new, kv)
    value = await codec.encode_prepared(new)
    attrs = index_attrs(resource, new, codec)
    if options.dry_run:
        return WriteResult(kv._replace(value=value, index_attrs=attrs))
    with map_store_errors():
        if emptied:
            event = await store.delete(kv.key, expect=kv.mod_revision)
            await release_deleted(registry, kv, event.revision)
            return WriteResult(kv._replace(value=value, index_attrs=attrs))
        ttl = registry.ttl_of(resource)
        return WriteResult(await store.put(kv.key, value, expect=kv.mod_revision, index_attrs=attrs, ttl=ttl))


def _emptied_finalizers(new: Obj, kv: KeyValue) -> bool:
    """Return whether this update removes the last finalizer of an object under deletion (ShouldDeleteDuringUpdate)."""
    meta = new["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or b'"deletionTimestamp":"' not in kv.value:
        return False
    if (new.get("spec") or {}).get("finalizers") and new["kind"] == "Namespace":
        return False
    return not meta.get("deletionGracePeriodSeconds")


_IMMUTABLE_FIELDS = ("generation", "creationTimestamp", "deletionTimestamp")
"""Fields that an update cannot change, whatever it contains."""
_OMITTABLE_FIELDS = ("name", "namespace", "uid", "deletionGracePeriodSeconds")
"""Fields that an update may omit; other values are refused."""


def _keep_system_fields(new: Obj, old: Obj) -> None:
    """Keep the fields that an update can neither set nor clear (rest.BeforeUpdate)."""
    new.pop("selfLink", None)
    new.pop("generation", None)
    new.update({name: old[name] for name in _IMMUTABLE_FIELDS if name in old})
    for name in _OMITTABLE_FIELDS:
        if name in old and not new.get(name):
            new[name] = old[name]
