"""Updates metadata.managedFields, the owners of fields, on every write of an object from its creation on."""

from apiserver.api.managedfields.field_sets import MEMBER, FieldSet
from apiserver.api.managedfields.managed_fields import (
    ManagerIdentifier,
    cached_identifier,
    entries_after_create,
    entries_after_scale,
    entries_after_update,
    entries_without_replicas,
)
from apiserver.api.meta import Obj, metadata
from apiserver.api.nested_fields import NestedField
from apiserver.api.resources import Resource
from apiserver.api.scale_paths import scale_paths
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Decoded
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.spec_cache import CachedSpec

_REPLICAS = NestedField.parse(".spec.replicas")
"""The field that the Scale of a built-in kind sets."""


def update_managed_fields(registry: Registry, target: Target, old: Obj, new: Obj, options: WriteOptions) -> None:
    """Record the owners of the changed fields in metadata.managedFields."""
    owner, now = _owner(target, options), registry.timestamps.now()
    if target.subresource == "scale":
        _set_owners(new["metadata"], _scaled(registry, target.resource, old, new, owner=owner, time=now))
        return
    if old["metadata"].get("managedFields") and _is_unfit(registry, target.resource, old):
        _set_owners(new["metadata"], [])
        return
    kind = registry.fields_of(target.resource)
    _set_owners(new["metadata"], entries_after_update(old, new, kind, owner=owner, time=now))


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
    """Record the owner of a new object's fields; a cached spec has its field set, a pending one gets it."""
    obj, cached_spec, pending = decoded.obj, decoded.cached_spec, decoded.pending
    resource = target.resource
    kind, now = registry.fields_of(resource), registry.timestamps.now()
    owner, meta = _owner(target, options), obj["metadata"]
    tracked = meta.get("managedFields")
    if cached_spec is None and pending is None:
        emptied = {f"f:{name}": MEMBER for name in decoded.emptied}
        _set_owners(meta, entries_after_create(obj, kind, owner=owner, time=now, known=emptied))
        return
    if cached_spec is not None:
        rest = obj.copy()
        del rest["spec"]
        # an untracked object has nothing to compare with: its field set will only be written
        fields = cached_spec.fields if tracked else cached_spec.written
        _set_owners(meta, entries_after_create(rest, kind, owner=owner, time=now, known={"f:spec": fields}))
        return
    entries = entries_after_create(obj, kind, owner=owner, time=now)
    if pending is not None and entries and not tracked:
        key, spec = pending
        gvk = (resource.group, resource.version, resource.kind)
        registry.spec_caches[gvk].keep(key, CachedSpec.of(spec, key, entries[0]["fieldsV1"]["f:spec"]))
    _set_owners(meta, entries)


def _owner(target: Target, options: WriteOptions) -> ManagerIdentifier:
    return cached_identifier(options.manager, "Update", target.resource.api_version, target.subresource)


def _set_owners(meta: Obj, entries: list[Obj]) -> None:
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)
