"""The verbs that write an object whole: create, update, patch; each a short pipeline of the registry's modules."""

from collections.abc import Awaitable, Callable
from functools import partial

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.termination import NO_CREATION
from apiserver.registry.admission import Attributes, Operation
from apiserver.registry.context import Change, Registry, Seen, Written, attached
from apiserver.registry.decode_patched import decode_patched
from apiserver.registry.decoding import Body, Decoded, decode
from apiserver.registry.managed_fields_update import own_fields, own_new_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.patch_body import Patch
from apiserver.registry.preconditions import check_name, check_place, check_uid, check_versions
from apiserver.registry.serviceip.transaction import allocated, give_back
from apiserver.registry.storage import key_of, translated
from apiserver.registry.strategy import SUBRESOURCES as PARTS
from apiserver.registry.strategy import Strategy, strategy_of
from apiserver.registry.strategy.contract import Update
from apiserver.registry.validation import (
    Check,
    validate_create,
    validate_part_update,
    validate_status_update,
    validate_update,
    warnings_of,
)
from etcd.store import Conflict, KeyValue

_TAKEN = 409
NAME_ATTEMPTS = 8
"""How many generated names are tried before the client is told to try again (maxNameGenerationCreateAttempts)."""


async def create(registry: Registry, target: Target, body: Body, options: WriteOptions) -> Written:
    """Make a new object.

    Raises:
        ApiError: 400, 403, 404 (no such namespace), 409 (the name is taken), 422.
    """
    decoded = decode(registry, target.resource, body, validation=options.validation)
    check_place(target, decoded.obj)
    of_body = decoded.warnings + deduplicate_owners(decoded.obj["metadata"])
    warnings = of_body + warnings_of(target.resource, decoded.obj, None, registry.schema.version)
    try:
        written = await insert(registry, target, decoded, options)
    except ApiError as error:
        # only a valid object gets the warnings of its kind
        raise error.warned_before(warnings if error.code == _TAKEN else of_body) from error.__cause__
    warnings += _notices(target, decoded.obj, None)
    return Written(written.kv, created=True, warnings=warnings) if warnings else written


async def insert(registry: Registry, target: Target, decoded: Decoded, options: WriteOptions) -> Written:
    """Make a new object of one that is decoded and defaulted."""
    obj = decoded.obj
    resource, meta = target.resource, obj["metadata"]
    _check_kind_stays(registry, target, obj)
    version = meta.pop("resourceVersion", "")
    if _names_version(version) and not options.dry_run:
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if resource.namespaced:
        meta["namespace"] = target.namespace
    strategy = strategy_of(resource)
    if strategy.has_status:
        obj.pop("status", None)
    for name in _NOT_ON_CREATION:  # before somebody would own them (rest.WipeObjectMetaSystemFields)
        if name in meta:
            del meta[name]
    own_new_fields(registry, target, decoded, options)
    await admit(registry, "CREATE", target, options, obj=obj)
    _fill_system_fields(registry, meta)
    attempts, unnamed = 1, b""
    if meta.get("generateName") and not meta.get("name"):
        attempts, unnamed = NAME_ATTEMPTS, orjson.dumps(obj) if strategy.uses_name else b""
        _generate_name(registry, meta)
    strategy.prepare_create(obj)
    async with allocated(registry, target, options, new=obj) as whole:
        written = await _try_names(registry, target, whole, options, attempts=attempts, unnamed=unnamed)
    if options.dry_run and _names_version(version):  # only what is stored loses the version that the client named
        return written._replace(kv=written.kv._replace(mod_revision=int(version)))
    return written


async def _try_names(
    registry: Registry, target: Target, obj: Obj, options: WriteOptions, *, attempts: int, unnamed: bytes
) -> Written:
    """Store a new object that has a name, under another generated name each time that one is taken.

    Args:
        registry: the server's collaborators.
        target: where it is stored.
        obj: the object with its first name.
        options: who writes and how.
        attempts: how many names are tried; 1 for a name that the client chose.
        unnamed: the object as it was before it had any name, if its strategy writes that into it; else b"".
    """
    for attempt in range(attempts):
        if attempt:
            obj = _renamed(registry, strategy_of(target.resource), obj, unnamed)
        try:
            return await _insert_named(registry, target, obj, options)
        except Conflict as conflict:
            if attempt == attempts - 1:
                raise _taken(target, obj, conflict) from conflict
    raise AssertionError("the last attempt returns or raises")


def _generate_name(registry: Registry, meta: Obj) -> None:
    meta["name"] = meta["generateName"][:MAX_GENERATED] + registry.ids.suffix()


def _renamed(registry: Registry, strategy: Strategy, obj: Obj, unnamed: bytes) -> Obj:
    """Return a new object under the next generated name."""
    renamed: Obj = orjson.loads(unnamed) if unnamed else obj
    _generate_name(registry, renamed["metadata"])
    if unnamed:
        strategy.prepare_create(renamed)
    return renamed


async def _insert_named(registry: Registry, target: Target, obj: Obj, options: WriteOptions) -> Written:
    """Validate a new object that has its name, and store it.

    Raises:
        Conflict: the name is taken.
    """
    wrong = validate_create(target.resource, obj, registry.schema.version)
    _warned_of_rules(registry, target, obj, wrong)
    strategy_of(target.resource).canonicalize(obj)
    return await _insert_once(registry, target, obj, options)


def _names_version(text: str) -> bool:
    """Whether a new object claims to be stored already; what is no version at all is dropped without a word."""
    return text.isascii() and text.isdigit() and text.strip("0") != ""


MAX_GENERATED = 58
"""How much of generateName is kept before its suffix of five (names.SimpleNameGenerator)."""


def _check_kind_stays(registry: Registry, target: Target, obj: Obj) -> None:
    """Refuse a new custom object whose definition goes, or went while the request was under way."""
    resource = target.resource
    if not resource.custom:
        return
    custom = registry.customs.find(resource)
    if custom is None:
        raise errors.unknown_path()
    if custom.terminates:
        name = obj["metadata"].get("name") or ""
        raise errors.forbidden(resource.group, resource.plural, name=name, why=NO_CREATION)


async def _insert_once(registry: Registry, target: Target, obj: Obj, options: WriteOptions) -> Written:
    resource = target.resource
    _check_kind_stays(registry, target, obj)  # admission may have waited
    codec = registry.codecs.of(resource)
    key = key_of(resource, target.namespace, obj["metadata"]["name"])
    value = codec.encode(obj)
    beside = attached(resource, obj, codec)
    store = registry.storage.store
    if options.dry_run:
        existing = store.get(key)
        if existing is not None:
            raise Conflict(existing)
        return Written(KeyValue(key, value, 0, 0, beside), created=True)
    with translated():
        ttl = registry.ttl_of(resource)
        return Written(await store.put(key, value, expect=0, attached=beside, ttl=ttl), created=True)


def _taken(target: Target, obj: Obj, conflict: Conflict) -> ApiError:
    """Return the refusal of a name that another object has (rest.CheckGeneratedNameError)."""
    meta = obj["metadata"]
    refusal = errors.generate_name_conflict if meta.get("generateName") else errors.already_exists
    error = refusal(target.resource.group, target.resource.plural, meta["name"])
    current = conflict.current
    if current is not None and b'"deletionTimestamp":"' in current.value:
        error.message = f"object is being deleted: {error.message}"
    return error


_NOT_ON_CREATION = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def _fill_system_fields(registry: Registry, meta: Obj) -> None:
    meta["uid"] = registry.ids.uid()
    meta["creationTimestamp"] = registry.timestamps.now()


async def update(registry: Registry, target: Target, body: Body, options: WriteOptions) -> Written:
    """Replace an object, or its status; where the kind allows it, make it if it is absent.

    Raises:
        ApiError: 400, 404, 409 (stale or another object), 422.
    """
    seen = _seen(registry, target) if target.subresource == "status" else None
    kept = seen.obj.get("spec") if seen else None
    decoded = decode(registry, target.resource, body, validation=options.validation, kept=kept)
    obj = decoded.obj
    check_name(target, obj)
    check_place(target, obj)
    warnings = decoded.warnings + deduplicate_owners(obj["metadata"])
    told: tuple[str, ...] = ()

    def change(old: Obj) -> Obj:
        nonlocal told
        check_uid(target, obj, old)
        told = _warnings(registry, target, obj, old)
        return obj | {"metadata": dict(obj["metadata"])}

    try:
        written = await modify(registry, target, change, options, seen=seen)
    except ApiError as error:
        if error.code != 404:
            raise error.warned_before(warnings) from error.__cause__
        check_uid(target, obj, {"metadata": {}})
        if target.subresource or not target.resource.create_on_update:
            raise
        obj["metadata"].pop("resourceVersion", None)
        told = _notices(target, obj, None)
        written = await insert(registry, target, decoded, options)
    return written._replace(warnings=warnings + written.warnings + told)


def _warnings(registry: Registry, target: Target, new: Obj, old: Obj) -> tuple[str, ...]:
    """What the writer of a whole object is warned of; those of its parts are not."""
    if target.subresource:
        return ()
    return warnings_of(target.resource, new, old, registry.schema.version) + _notices(target, new, old)


def _notices(target: Target, new: Obj, old: Obj | None) -> tuple[str, ...]:
    """Return the warnings for the writer of a whole object that is stored and not carried out."""
    resource = target.resource
    return resource.notices(new, old) if resource.notices else ()


def _seen(registry: Registry, target: Target) -> Seen | None:
    """The object as far as it is known without waiting; what is written builds on the newest state all the same."""
    kv = registry.storage.store.get(key_of(target.resource, target.namespace, target.name))
    return None if kv is None else Seen(kv, registry.codecs.of(target.resource).decode(kv))


async def modify(
    registry: Registry, target: Target, change: Change, options: WriteOptions, *, seen: Seen | None = None
) -> Written:
    """Change a stored object by a function, again when the race is lost and the change names no resourceVersion.

    Args:
        registry: the server's collaborators.
        target: what to change; its subresource decides which strategy prepares and validates.
        change: makes the new object from the old one, which it leaves as it is; it may run several times.
        options: who writes and how.
        seen: the object as the caller has seen it; not parsed again if it is still that.

    Raises:
        ApiError: 404, 409, 422, and what the change raises.
    """
    strategy = strategy_of(target.resource)
    prepare, check = _rules(registry, target, strategy)

    async def attempt(kv: KeyValue) -> Written:
        old = seen.obj if seen and seen.kv is kv else registry.codecs.of(target.resource).decode(kv)
        new = change(old)
        check_versions(target, strategy, new, old)
        _keep_system_fields(new["metadata"], old["metadata"])
        await admit(registry, "UPDATE", target, options, obj=new, old=old)
        prepare(new, old)
        own_fields(registry, target, old, new, options)
        async with allocated(registry, target, options, new=new, old=old) as whole:
            warnings = _warned_of_rules(registry, target, whole, check(target.resource, whole, old), old)
            strategy.canonicalize(whole)
            written = await _replace(registry, target, Seen(kv, old), whole, options)
            return written._replace(warnings=warnings) if warnings else written

    return await _changed(registry, target, attempt, options)


async def _changed(
    registry: Registry, target: Target, attempt: Callable[[KeyValue], Awaitable[Written]], options: WriteOptions
) -> Written:
    storage = registry.storage
    return await storage.change(target.resource, target.namespace, target.name, attempt, sure=options.dry_run)


def _rules(registry: Registry, target: Target, strategy: Strategy) -> tuple[Update, Check]:
    """What prepares and what validates an update of the whole object, of its status or of another part of it."""
    resource, name = target.resource, target.subresource
    validate = partial(validate_update, release=registry.schema.version)
    if not name:
        return strategy.prepare_update, validate
    if name == "status":
        return strategy.prepare_status_update, validate_status_update
    part = PARTS.get((resource.group, resource.kind, name))
    if part is None:
        return strategy.prepare_update, validate
    return part.prepare_update, validate_part_update(name)


async def rewrite(registry: Registry, target: Target, change: Change, options: WriteOptions) -> Written:
    """Change a stored object as the server itself does, with neither admission, validation nor owners of fields.

    The change may run several times, since a lost race is run again (upstream's GuaranteedUpdate).

    Raises:
        ApiError: 404, and what the change raises.
    """

    async def attempt(kv: KeyValue) -> Written:
        old = registry.codecs.of(target.resource).decode(kv)
        return await _replace(registry, target, Seen(kv, old), change(old), options)

    return await _changed(registry, target, attempt, options)


async def _replace(registry: Registry, target: Target, seen: Seen, new: Obj, options: WriteOptions) -> Written:
    """Store the new object over exactly the state that it was made from; nothing if it changes nothing."""
    resource, store, kv = target.resource, registry.storage.store, seen.kv
    codec = registry.codecs.of(resource)
    # looked at twice, should a change reach into what both share; what is stored by an older schema is stored anew
    if new == seen.obj and new == codec.decode(kv) and codec.keeps(kv):
        return Written(kv)
    emptied = _emptied_finalizers(new, kv)
    value = codec.encode(new)
    beside = attached(resource, new, codec)
    if options.dry_run:
        return Written(kv._replace(value=value, attached=beside))
    with translated():
        if emptied:
            event = await store.delete(kv.key, expect=kv.mod_revision)
            await give_back(registry, kv, event.revision)
            return Written(kv._replace(value=value, attached=beside))
        ttl = registry.ttl_of(resource)
        return Written(await store.put(kv.key, value, expect=kv.mod_revision, attached=beside, ttl=ttl))


def _emptied_finalizers(new: Obj, kv: KeyValue) -> bool:
    """Whether this update is the last thing a deletion waited for (store.go's ShouldDeleteDuringUpdate)."""
    meta = new["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or b'"deletionTimestamp":"' not in kv.value:
        return False
    if (new.get("spec") or {}).get("finalizers") and new["kind"] == "Namespace":
        return False
    return not meta.get("deletionGracePeriodSeconds")


_FIXED = ("generation", "creationTimestamp", "deletionTimestamp")
"""What an update cannot change, whatever it says."""
_KEPT = ("name", "namespace", "uid", "deletionGracePeriodSeconds")
"""What an update need not say; saying something else is refused."""


def _keep_system_fields(new: Obj, old: Obj) -> None:
    """What an update can neither set nor clear stays (rest.BeforeUpdate)."""
    new.pop("selfLink", None)
    new.pop("generation", None)
    new.update({name: old[name] for name in _FIXED if name in old})
    for name in _KEPT:
        if name in old and not new.get(name):
            new[name] = old[name]


def admit(
    registry: Registry, operation: Operation, target: Target, options: WriteOptions, *, obj: Obj, old: Obj | None = None
) -> Awaitable[None]:
    """Ask admission whether the write may pass."""
    return registry.admission.admit(Attributes(operation, target, options.user, obj, old, options.dry_run))


def _warned_of_rules(
    registry: Registry, target: Target, obj: Obj, found: list[FieldError], old: Obj | None = None
) -> tuple[str, ...]:
    """Refuse an invalid object, and return what the rules of its schema warn of.

    Args:
        registry: the server's collaborators.
        target: what is written.
        obj: the object.
        found: what is wrong with it already.
        old: what it replaces.

    Raises:
        ApiError: 422, with the warnings.
    """
    warnings: tuple[str, ...] = ()
    if (custom := registry.customs.find(target.resource)) is not None:
        verdict = custom.judge(obj, old, of_status=target.subresource == "status")
        found, warnings = found + verdict.errors, tuple(verdict.warnings)
    if found:
        resource, name = target.resource, obj["metadata"].get("name") or ""
        raise errors.invalid(resource.group, resource.kind, name=name, errors=found).warned_before(warnings)
    return warnings


async def patch(registry: Registry, target: Target, patch: Patch, options: WriteOptions) -> Written:
    """Change an object by a patch, which sees it in the request's version.

    Raises:
        ApiError: 400, 404, 409, 422.
    """
    of_body: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    def change(old: Obj) -> Obj:
        nonlocal of_body, told
        decoded = decode_patched(registry, target, patch, old=old, validation=options.validation)
        check_name(target, decoded.obj)
        check_place(target, decoded.obj)
        of_body, told = decoded.warnings, _warnings(registry, target, decoded.obj, old)
        return decoded.obj

    try:
        written = await modify(registry, target, change, options)
    except ApiError as error:
        raise error.warned_before(of_body) from error.__cause__
    return written._replace(warnings=of_body + written.warnings + told)
