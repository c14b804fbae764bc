"""The verb apply: a PATCH whose body is a configuration, which creates the object or is merged into it."""

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, metadata
from apiserver.registry.configuration import AppliedObject, Applier, new_object
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.decoding import YAML_ERRORS
from apiserver.registry.kind_versions import KindVersions
from apiserver.registry.managed_fields_update import recording, set_managed_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.rest.create import insert
from apiserver.registry.rest.patch_body import ApplyPatch
from apiserver.registry.rest.preconditions import check_name, check_namespace
from apiserver.registry.rest.update import modify
from apiserver.registry.rest.write_checks import check_may_create, notices, write_warnings
from apiserver.registry.settable_fields import settable_fields
from apiserver.registry.storage import key_of
from apiserver.registry.validation import warnings_of

CREATE_ATTEMPTS = 5
"""The number of attempts to create an object that others create and delete meanwhile."""
_SYSTEM_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink")


async def apply(registry: Registry, target: Target, patch: ApplyPatch, options: WriteOptions) -> WriteResult:
    """Apply a configuration to an object, in the request's version; create the object if it is absent.

    Raises:
        ApiError: 400, 404, 409, 422, 500 for a configuration that does not fit its schema, as upstream.
    """
    request = _Request(registry, target, patch, options)
    for attempt in range(CREATE_ATTEMPTS):
        try:
            return await (request.create() if request.creates() else request.update())
        except ApiError as error:
            was_raced = error.code in (404, 409) and error.reason in ("NotFound", "AlreadyExists")
            if attempt + 1 == CREATE_ATTEMPTS or not (was_raced and request.is_raced()):
                raise
    raise AssertionError("the last attempt returns or raises")


class _Request:
    """One apply; whether it creates or updates is decided by what is stored when it begins."""

    def __init__(self, registry: Registry, target: Target, patch: ApplyPatch, options: WriteOptions) -> None:
        self._registry = registry
        self._target = target
        self._patch = patch
        self._options = options
        self._creates = False
        self._applied = AppliedObject({}, [])
        self._warnings: tuple[str, ...] = ()

    def creates(self) -> bool:
        """Return whether the object is absent, and the apply is to the object itself."""
        self._creates = not self._target.subresource and not self._exists()
        return self._creates

    def is_raced(self) -> bool:
        """Return whether the object has come or gone since the attempt began."""
        return not self._target.subresource and self._creates == self._exists()

    def _exists(self) -> bool:
        target = self._target
        return self._registry.storage.store.get(key_of(target.resource, target.namespace, target.name)) is not None

    async def update(self) -> WriteResult:
        """Apply to the stored object."""
        written = await modify(self._registry, self._target, self._change, self._options, record=self._record)
        return written._replace(warnings=(*self._warnings, *written.warnings))

    def _record(self, registry: Registry, target: Target, old: Obj, new: Obj, options: WriteOptions) -> None:
        recording(self._applied.entries)(registry, target, old, new, options)

    def _change(self, old: Obj) -> Obj:
        applied = self._applied = self._apply_to(old)
        if applied.obj is old:
            obj = old | {"metadata": dict(old["metadata"])}
        else:
            decoder, resource = self._registry.decoder, self._target.resource
            obj = decoder.decode_applied(resource, applied.obj, stored_spec=self._kept_spec(old)).obj
        self._check_target(obj)
        warnings = deduplicate_owners(obj["metadata"], patched=True)
        self._warnings = (*self._repeated, *warnings, *write_warnings(self._registry, self._target, obj, old))
        return obj

    def _kept_spec(self, old: Obj) -> Obj | None:
        """Return the spec that an apply to the status leaves as it is, so that it need not be decoded again."""
        spec: Obj | None = old.get("spec")
        return spec if self._target.subresource == "status" and self._applied.obj.get("spec") is spec else None

    async def create(self) -> WriteResult:
        """Create the object from the configuration."""
        registry, target = self._registry, self._target
        applied = self._apply_to(new_object(target))
        decoded = registry.decoder.decode_applied(target.resource, applied.obj)
        obj = decoded.obj
        if uid := metadata(obj).get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(target.resource.group, target.resource.plural, name=target.name, why=why)
        for name in _SYSTEM_FIELDS:  # rest.WipeObjectMetaSystemFields
            obj["metadata"].pop(name, None)
        self._check_target(obj)
        warnings = (*self._repeated, *deduplicate_owners(obj["metadata"], patched=True))

        def record(*_: object) -> None:
            set_managed_fields(obj["metadata"], applied.entries)

        try:
            await check_may_create(registry, target, self._options)
            written = await insert(registry, target, decoded, self._options, record=record)
        except ApiError as error:
            raise error.prepend_warnings(warnings) from error.__cause__
        warnings += warnings_of(target.resource, obj, None, registry.schema.version) + notices(target, obj, None)
        return WriteResult(written.kv, created=True, warnings=warnings)

    def _check_target(self, obj: Obj) -> None:
        check_namespace(self._target, obj)
        check_name(self._target, obj)

    def _apply_to(self, live: Obj) -> AppliedObject:
        """Apply the configuration to a state of the object.

        Raises:
            ApiError: 400 for a body that cannot be read or, if asked for, has repeated keys.
        """
        patch, target = self._patch, self._target
        if patch.problem:
            raise errors.bad_request(f"error decoding YAML: {patch.problem}")
        registry = self._registry
        versions = KindVersions(registry, target.resource)
        applier = Applier(target, self._options, versions, settable_fields(target), registry.timestamps.now())
        applied = applier.apply(live, patch.document)
        if patch.repeated and self._options.validation == "Strict":
            listed = YAML_ERRORS + "\n  ".join(("", *patch.repeated))
            raise errors.bad_request(f"error strict decoding YAML: error converting YAML to JSON: yaml: {listed[6:]}")
        return applied

    @property
    def _repeated(self) -> tuple[str, ...]:
        return () if self._options.validation == "Ignore" else self._patch.repeated
