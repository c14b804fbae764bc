"""The verb create: a new object is admitted, prepared, named, validated and stored (rest.BeforeCreate, store.go)."""

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.termination import FORBIDDEN_SINCE, NO_CREATION
from apiserver.groups.strategy import Strategy
from apiserver.registry.admission import Attributes
from apiserver.registry.context import Registry, WriteResult, index_attrs
from apiserver.registry.decoding import Body, Decoded
from apiserver.registry.managed_fields_update import RecordCreator, create_managed_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.rest.preconditions import check_namespace
from apiserver.registry.rest.write_checks import (
    attributes_of,
    check_escalation,
    notices,
    refuse_invalid,
    with_admission_warnings,
)
from apiserver.registry.serviceip.transaction import allocate_for_write
from apiserver.registry.storage import key_of, map_store_errors
from apiserver.registry.strategy import strategy_of
from apiserver.registry.validation import validate_create, warnings_of
from etcd.store import Conflict, KeyValue

_ALREADY_EXISTS = 409
NAME_ATTEMPTS = 8
"""The number of generated names to try before the client has to retry (maxNameGenerationCreateAttempts)."""
MAX_GENERATED = 58
"""The characters of generateName that are kept before the suffix of five (names.SimpleNameGenerator)."""
_NOT_ON_CREATION = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


async def create(registry: Registry, target: Target, body: Body, options: WriteOptions) -> WriteResult:
    """Create an object.

    Raises:
        ApiError: 400, 403, 404 (no such namespace), 409 (the name is taken), 422.
    """
    decoded = registry.decoder.decode_new(target.resource, body, validation=options.validation)
    check_namespace(target, decoded.obj)
    body_warnings = decoded.warnings + deduplicate_owners(decoded.obj["metadata"])
    warnings = body_warnings + warnings_of(target.resource, decoded.obj, None, registry.schema.version)
    try:
        written = await insert(registry, target, decoded, options)
    except ApiError as error:
        # only a valid object gets the warnings of its kind
        raise error.prepend_warnings(warnings if error.code == _ALREADY_EXISTS else body_warnings) from error.__cause__
    warnings += written.warnings + notices(target, decoded.obj, None)
    return WriteResult(written.kv, created=True, warnings=warnings) if warnings else written


def check_creatable(registry: Registry, target: Target) -> None:
    """Refuse to create objects of a definition that is being deleted, if the release does so before it reads them.

    Raises:
        ApiError: 405.
    """
    resource = target.resource
    custom = registry.customs.find(resource) if resource.custom else None
    if custom is not None and custom.terminates and int(registry.schema.version.partition(".")[2]) < FORBIDDEN_SINCE:
        raise errors.method_not_supported(resource.group, resource.plural, "create").with_message(NO_CREATION)


async def insert(
    registry: Registry,
    target: Target,
    decoded: Decoded,
    options: WriteOptions,
    *,
    record: RecordCreator = create_managed_fields,
) -> WriteResult:
    """Admit, prepare, name, validate and store a new object that is decoded and defaulted.

    Args:
        registry: the server's collaborators.
        target: the resource and namespace.
        decoded: the object.
        options: who writes and how.
        record: records the owner of its fields.
    """
    obj = decoded.obj
    resource, meta = target.resource, obj["metadata"]
    _check_crd_not_terminating(registry, target, obj)
    version = meta.pop("resourceVersion", "")
    if _is_nonzero_version(version) and not options.dry_run:
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if resource.namespaced:
        meta["namespace"] = target.namespace
    strategy = strategy_of(resource)
    if strategy.has_status:
        obj.pop("status", None)
    for name in _NOT_ON_CREATION:  # before managedFields could own them (rest.WipeObjectMetaSystemFields)
        if name in meta:
            del meta[name]
    record(registry, target, decoded, options)
    attributes = attributes_of("CREATE", target, options, obj=obj)
    written = await with_admission_warnings(attributes, _admit_and_store(registry, attributes, obj, options))
    if options.dry_run and _is_nonzero_version(version):
        # A stored object never keeps the client's resourceVersion; a dry run returns it.
        return written._replace(kv=written.kv._replace(mod_revision=int(version)))
    return written


async def _admit_and_store(registry: Registry, attributes: Attributes, obj: Obj, options: WriteOptions) -> WriteResult:
    """Admit, prepare, name, validate and store a new object."""
    await registry.admission.admit(attributes)
    target, meta = attributes.target, obj["metadata"]
    await check_escalation(registry, target, options, new=obj)
    strategy = strategy_of(target.resource)
    _fill_system_fields(registry, meta)
    attempts, before_naming = 1, b""
    if meta.get("generateName") and not meta.get("name"):
        attempts = NAME_ATTEMPTS
        if strategy.uses_name:
            before_naming = orjson.dumps(obj)
        _generate_name(registry, meta)
    strategy.prepare_create(obj)
    async with allocate_for_write(registry, target, options, new=obj) as allocated_obj:
        attributes.obj = allocated_obj
        return await _try_names(registry, attributes, options, attempts=attempts, before_naming=before_naming)


async def _try_names(
    registry: Registry, attributes: Attributes, options: WriteOptions, *, attempts: int, before_naming: bytes
) -> WriteResult:
    """Store a new object that has a name; each time its name is taken, generate another one.

    Args:
        registry: the server's collaborators.
        attributes: the write, whose object has its first name.
        options: who writes and how.
        attempts: the number of names to try; 1 for a name that the client chose.
        before_naming: the object as JSON before it had a name, if its strategy writes the name into other fields;
            else b"".
    """
    target, obj = attributes.target, attributes.obj
    assert obj is not None
    for attempt in range(attempts):
        if attempt:
            obj = attributes.obj = _with_new_name(registry, strategy_of(target.resource), obj, before_naming)
        try:
            return await _validate_and_store(registry, attributes, obj, options)
        except Conflict as conflict:
            if attempt == attempts - 1:
                raise _already_exists(target, obj, conflict) from conflict
    raise AssertionError("the last attempt returns or raises")


def _generate_name(registry: Registry, meta: Obj) -> None:
    meta["name"] = meta["generateName"][:MAX_GENERATED] + registry.ids.suffix()


def _with_new_name(registry: Registry, strategy: Strategy, obj: Obj, before_naming: bytes) -> Obj:
    """Return a new object under the next generated name."""
    renamed: Obj = orjson.loads(before_naming) if before_naming else obj
    _generate_name(registry, renamed["metadata"])
    if before_naming:
        strategy.prepare_create(renamed)
    return renamed


async def _validate_and_store(
    registry: Registry, attributes: Attributes, obj: Obj, options: WriteOptions
) -> WriteResult:
    """Validate a new object that has its name, and store it.

    Raises:
        Conflict: the name is taken.
    """
    target = attributes.target
    invalid = validate_create(target.resource, obj, registry.schema.version)
    refuse_invalid(registry, target, obj, invalid)
    strategy_of(target.resource).canonicalize(obj)
    await registry.admission.validate(attributes)
    return await _store_new(registry, target, obj, options)


def _is_nonzero_version(text: str) -> bool:
    """Return whether a new object has a valid resourceVersion other than 0; invalid ones are dropped silently."""
    return text.isascii() and text.isdigit() and text.strip("0") != ""


def _check_crd_not_terminating(registry: Registry, target: Target, obj: Obj) -> None:
    """Refuse a new custom object whose definition is being deleted, or was deleted during the request."""
    resource = target.resource
    if not resource.custom:
        return
    custom = registry.customs.find(resource)
    if custom is None:
        raise errors.unknown_path()
    if custom.terminates:
        name = obj["metadata"].get("name") or ""
        raise errors.forbidden(resource.group, resource.plural, name=name, why=NO_CREATION)


async def _store_new(registry: Registry, target: Target, obj: Obj, options: WriteOptions) -> WriteResult:
    """Store a new object; a dry run only makes sure that its name is free.

    Raises:
        Conflict: the name is taken.
    """
    resource = target.resource
    _check_crd_not_terminating(registry, target, obj)  # admission may have waited
    codec = registry.codecs.codec_of(resource)
    key = key_of(resource, target.namespace, obj["metadata"]["name"])
    value = await codec.encode_prepared(obj)
    attrs = index_attrs(resource, obj, codec)
    store = registry.storage.store
    if options.dry_run:
        existing = store.get(key)
        if existing is not None:
            raise Conflict(existing)
        return WriteResult(KeyValue(key, value, 0, 0, attrs), created=True)
    with map_store_errors():
        ttl = registry.ttl_of(resource)
        return WriteResult(await store.put(key, value, expect=0, index_attrs=attrs, ttl=ttl), created=True)


def _already_exists(target: Target, obj: Obj, conflict: Conflict) -> ApiError:
    """Return the 409 for a name that another object has (rest.CheckGeneratedNameError)."""
    meta = obj["metadata"]
    make_error = errors.generate_name_conflict if meta.get("generateName") else errors.already_exists
    error = make_error(target.resource.group, target.resource.plural, meta["name"])
    current = conflict.current
    if current is not None and b'"deletionTimestamp":"' in current.value:
        error.message = f"object is being deleted: {error.message}"
    return error


def _fill_system_fields(registry: Registry, meta: Obj) -> None:
    meta["uid"] = registry.ids.uid()
    meta["creationTimestamp"] = registry.timestamps.now()
