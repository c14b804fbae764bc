"""Updates metadata.managedFields, the owners of fields, on every write of an object from its creation on."""

from collections.abc import Callable

from apiserver.api.managedfields.field_sets import MEMBER, FieldSet
from apiserver.api.managedfields.managed_fields import (
    ManagerIdentifier,
    cached_identifier,
    decode_stored,
    entries_after_create,
    entries_after_scale,
    entries_after_update,
    entries_without_replicas,
)
from apiserver.api.managedfields.typed_validation import TypedValueError
from apiserver.api.meta import Obj, metadata
from apiserver.api.nested_fields import NestedField
from apiserver.api.resources import Resource
from apiserver.api.scale_paths import scale_paths
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Decoded
from apiserver.registry.kind_versions import KindVersions
from apiserver.registry.options import Target, WriteOptions

_REPLICAS = NestedField.parse(".spec.replicas")
"""The field that the Scale of a built-in kind sets."""

RecordOwners = Callable[[Registry, Target, Obj, Obj, WriteOptions], None]
"""Records the owners of an object's fields in its metadata, given the object that it replaces and the new one."""
RecordCreator = Callable[[Registry, Target, Decoded, WriteOptions], None]
"""Records the owners of the fields of an object that is created."""


def update_managed_fields(registry: Registry, target: Target, old: Obj, new: Obj, options: WriteOptions) -> None:
    """Record the owners of the changed fields in metadata.managedFields."""
    owner, now = _owner(target, options), registry.timestamps.now()
    if target.subresource == "scale":
        set_managed_fields(new["metadata"], _scaled(registry, target.resource, old, new, owner=owner, time=now))
        return
    if old["metadata"].get("managedFields") and _is_unfit(registry, target.resource, old):
        set_managed_fields(new["metadata"], [])
        return
    kind, versions = registry.fields_of(target.resource), KindVersions(registry, target.resource)
    try:
        entries = entries_after_update(old, new, kind, owner=owner, time=now, versions=versions)
    except TypedValueError:  # another version that has owners cannot hold the object (FieldManager.UpdateNoErrors)
        entries = []
    set_managed_fields(new["metadata"], entries)


def _is_unfit(registry: Registry, resource: Resource, old: Obj) -> bool:
    """Return whether a custom object has a value of another type than its schema, so that its fields cannot be owned.

    Another schema wrote it (FieldManager.UpdateNoErrors); an update keeps such values, but cannot add any.
    """
    custom = registry.customs.find(resource)
    return custom is not None and not custom.structural.fits_types(old)


def _scaled(
    registry: Registry, resource: Resource, old: Obj, new: Obj, *, owner: ManagerIdentifier, time: str
) -> list[Obj]:
    stored: list[Obj] = metadata(old).get("managedFields") or []
    custom = registry.customs.find(resource)
    if custom is not None:
        versions = custom.versions.entries
        return entries_without_replicas(
            stored, {f"{resource.group}/{name}": _replicas_of(entry) for name, entry in versions.items()}
        )
    before, after = _REPLICAS.read_int64(old) or 0, _REPLICAS.read_int64(new) or 0
    if before == after:
        return stored
    return entries_after_scale(stored, _set_of(_REPLICAS), gone=not after, owner=owner, time=time)


def _replicas_of(version: Obj) -> FieldSet | None:
    """Return the set of the field that the Scale sets in a version of a definition, None if there is none."""
    paths = scale_paths(version)
    return None if paths is None else _set_of(paths.spec_replicas)


def _set_of(field: NestedField) -> FieldSet:
    fields = MEMBER
    for name in reversed(field.names):
        fields = {f"f:{name}": fields}
    return fields


def create_managed_fields(registry: Registry, target: Target, decoded: Decoded, options: WriteOptions) -> None:
    """Record the owner of a new object's fields."""
    obj, meta = decoded.obj, decoded.obj["metadata"]
    kind, now = registry.fields_of(target.resource), registry.timestamps.now()
    known: FieldSet = {f"f:{name}": MEMBER for name in decoded.empty_lists}
    if decoded.field_sets:
        obj, tracked = obj.copy(), meta.get("managedFields")
        for name, field_set in decoded.field_sets.items():
            del obj[name]
            # an untracked object has nothing to compare with: its sets will only be written
            known[f"f:{name}"] = field_set.fields if tracked else field_set.json
    set_managed_fields(meta, entries_after_create(obj, kind, owner=_owner(target, options), time=now, known=known))


def recording(entries: list[Obj]) -> RecordOwners:
    """Return the function that records owners who are known already, as those of an applied object are.

    Times that alone would change are kept, so that an apply that changes nothing writes nothing
    (fieldmanager.IgnoreManagedFieldsTimestampsTransformer).
    """

    def record(_registry: Registry, _target: Target, old: Obj, new: Obj, _options: WriteOptions) -> None:
        stored: list[Obj] = metadata(old).get("managedFields") or []
        set_managed_fields(new["metadata"], stored)
        if entries != stored and (_by_owner(entries) != _by_owner(stored) or new != old):
            set_managed_fields(new["metadata"], entries)

    return record


def _by_owner(entries: list[Obj]) -> dict[ManagerIdentifier, tuple[str, FieldSet]]:
    """Return the entries by owner, without times."""
    return {owner: (owned.api_version, owned.fields) for owner, owned in decode_stored(entries).items()}


def _owner(target: Target, options: WriteOptions) -> ManagerIdentifier:
    return cached_identifier(options.manager, "Update", target.resource.api_version, target.subresource)


def set_managed_fields(meta: Obj, entries: list[Obj]) -> None:
    """Record owners in an object's metadata."""
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)
