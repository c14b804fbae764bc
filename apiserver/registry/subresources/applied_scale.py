"""Apply to the scale of an object: the owners of its replicas are those of the Scale (managedfields.ScaleHandler)."""

from typing import NamedTuple

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.managedfields.field_sets import ALL_FIELDS, MEMBER, FieldSet, difference, intersection
from apiserver.api.managedfields.managed_fields import Managed, ManagerIdentifier, decode_stored, encode
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj, group_version, metadata
from apiserver.api.nested_fields import NestedField
from apiserver.api.scale_paths import scale_paths
from apiserver.registry.configuration import Applier, check_kind
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.patch_body import ApplyPatch
from apiserver.registry.subresources.scaling import SCALE

REPLICAS = NestedField.parse(".spec.replicas")
"""The replicas of a Scale, and of an object of a built-in kind."""

_UNCONVERTIBLE = (
    "(/{name}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: "
    "autoscaling/v1"
)
"""The end of the message with which upstream refuses to change the Scale of a custom object."""


class AppliedScale(NamedTuple):
    """The outcome of an apply to a Scale.

    Attributes:
        scale: the new Scale.
        entries: the managedFields of the object that it scales.
    """

    scale: Obj
    entries: list[Obj]


def apply_to_scale(
    registry: Registry, target: Target, patch: ApplyPatch, options: WriteOptions, *, obj: Obj, scale: Obj
) -> AppliedScale:
    """Apply a configuration to the Scale of an object.

    Args:
        registry: the server's collaborators.
        target: the object.
        patch: the configuration.
        options: who applies and how.
        obj: the live object.
        scale: its Scale.

    Raises:
        ApiError: 400, 409, and 500 where upstream cannot apply to the Scale of a custom object.
    """
    if patch.problem:
        raise errors.bad_request(f"error decoding YAML: {patch.problem}")
    replicas = _ReplicasFields(registry, target)
    parent = decode_stored(metadata(obj).get("managedFields") or ())
    of_scale = replicas.of_scale(parent)
    live = scale | {"metadata": scale["metadata"] | {"managedFields": encode(of_scale)}}
    check_kind(live, patch.document)
    is_custom = target.resource.custom
    if is_custom and not of_scale:
        why = _UNCONVERTIBLE.format(name="")
        raise ApiError(500, "", f"failed to create manager for existing fields: failed to convert live object {why}")
    applier = Applier(target, options, _ScaleVersions(registry), ALL_FIELDS, registry.timestamps.now())
    applied = applier.apply(live, patch.document)
    if is_custom and applied.obj is not live:
        why = _UNCONVERTIBLE.format(name=metadata(patch.document).get("name") or "")
        raise ApiError(500, "", f"failed to convert new object {why}")
    return AppliedScale(applied.obj, encode(replicas.of_parent(parent, decode_stored(applied.entries))))


class _ScaleVersions:
    """The only version of a Scale."""

    def __init__(self, registry: Registry) -> None:
        self._kind = registry.field_schema.root(SCALE.definition)

    def kind(self, api_version: str) -> Struct | None:
        """Return the Scale."""
        return self._kind if api_version == SCALE.api_version else None

    def convert(self, obj: Obj, _api_version: str) -> Obj:
        """Return the Scale, which has one version."""
        return obj


class _ReplicasFields:
    """The field that a Scale sets, in each version of the kind that it scales."""

    def __init__(self, registry: Registry, target: Target) -> None:
        self._registry = registry
        self._target = target

    def of_scale(self, parent: Managed) -> Managed:
        """Return the owners of the replicas as owners of the Scale's (ToSubresource)."""
        return {
            _in_scale(owner): owned._replace(fields=set_of(REPLICAS), api_version=SCALE.api_version)
            for owner, owned in parent.items()
            if (fields := self._fields(owned.api_version)) and intersection(owned.fields, fields)
        }

    def of_parent(self, parent: Managed, of_scale: Managed) -> Managed:
        """Return the owners of the object after an apply to its Scale (ToParent)."""
        result: Managed = {}
        left = of_scale.copy()
        for owner, owned in parent.items():
            fields = self._fields(owned.api_version)
            if fields is None:
                continue
            is_owner = bool(fields and intersection(owned.fields, fields))
            if not is_owner or left.pop(_in_scale(owner), None) is not None:
                result[owner] = owned
            elif rest := difference(owned.fields, fields):
                result[owner] = owned._replace(fields=rest)
        version = self._target.resource.api_version
        for owner, owned in left.items():
            if fields := self._fields(version):
                own = (
                    owner
                    if owner.operation == "Apply"
                    else ManagerIdentifier(owner.manager, owner.operation, version, owner.subresource)
                )
                result[own] = owned._replace(fields=fields, api_version=version)
        return result

    def _fields(self, api_version: str) -> FieldSet | None:
        """Return the set of the replicas in a version; MEMBER if it has no scale, None if there is no such version."""
        custom = self._registry.customs.find(self._target.resource)
        group, version = group_version(api_version)
        if custom is None:
            return set_of(REPLICAS) if group == self._target.resource.group else None
        entry = custom.versions.entries.get(version) if group == custom.resource.group else None
        if entry is None:
            return None
        paths = scale_paths(entry)
        return MEMBER if paths is None else set_of(paths.spec_replicas)


def _in_scale(owner: ManagerIdentifier) -> ManagerIdentifier:
    version = SCALE.api_version if owner.operation == "Update" else ""
    return ManagerIdentifier(owner.manager, owner.operation, version, owner.subresource)


def set_of(field: NestedField) -> FieldSet:
    """Return the set of one field."""
    fields = MEMBER
    for name in reversed(field.names):
        fields = {f"f:{name}": fields}
    return fields
