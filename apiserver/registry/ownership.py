"""Who owns what after a write: metadata.managedFields, kept from the first write of an object on."""

from apiserver.api.field_sets import MEMBER
from apiserver.api.managed_fields import Owner, created, known_owner, updated
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Decoded
from apiserver.registry.moulds import Mould
from apiserver.registry.options import Target, WriteOptions


def own_fields(registry: Registry, target: Target, old: Obj, new: Obj, options: WriteOptions) -> None:
    """Note in metadata.managedFields whose the changed fields are."""
    kind, now = registry.fields_of(target.resource), registry.timestamps.now()
    _set_owners(new["metadata"], updated(old, new, kind, owner=_owner(target, options), time=now))


def own_new_fields(registry: Registry, target: Target, decoded: Decoded, options: WriteOptions) -> None:
    """The same for a new object, whose spec's fields may be known from its mould, or are noted for one."""
    obj, mould, draft = decoded.obj, decoded.mould, decoded.draft
    resource = target.resource
    kind, now = registry.fields_of(resource), registry.timestamps.now()
    owner, meta = _owner(target, options), obj["metadata"]
    tracked = meta.get("managedFields")
    if mould is None and draft is None:
        emptied = {f"f:{name}": MEMBER for name in decoded.emptied}
        _set_owners(meta, created(obj, kind, owner=owner, time=now, known=emptied))
        return
    if mould is not None:
        rest = obj.copy()
        del rest["spec"]
        fields = mould.fields if tracked else mould.written  # nothing to compare with: it will only be written
        _set_owners(meta, created(rest, kind, owner=owner, time=now, known={"f:spec": fields}))
        return
    entries = created(obj, kind, owner=owner, time=now)
    if draft is not None and entries and not tracked:
        key, spec = draft
        place = (resource.group, resource.version, resource.kind)
        registry.moulds[place].keep(key, Mould.of(spec, key, entries[0]["fieldsV1"]["f:spec"]))
    _set_owners(meta, entries)


def _owner(target: Target, options: WriteOptions) -> Owner:
    return known_owner(options.manager, "Update", target.resource.api_version, target.subresource)


def _set_owners(meta: Obj, entries: list[Obj]) -> None:
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)
