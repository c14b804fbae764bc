"""The fields that a write can set, and so own (a strategy's GetResetFields and GetResetFieldsFilter)."""

from collections.abc import Mapping

from apiserver.api.managedfields.field_sets import ALL_FIELDS, ANY, MEMBER, FieldFilter, FieldSet
from apiserver.groups.strategy import METADATA_OF_STATUS, StatusUpdate
from apiserver.registry.options import Target
from apiserver.registry.strategy import strategy_of

_ALL_BUT_STATUS = FieldFilter({"f:status": MEMBER})
_RESIZED: FieldSet = {ANY: {"f:resizePolicy": MEMBER, "f:resources": MEMBER}}

_OF_SUBRESOURCES: Mapping[tuple[str, str, str], FieldFilter] = {
    ("", "Namespace", "finalize"): _ALL_BUT_STATUS,
    ("", "Pod", "ephemeralcontainers"): FieldFilter(pattern={"f:spec": {"f:ephemeralContainers": MEMBER}}),
    ("", "Pod", "resize"): FieldFilter(pattern={"f:spec": {"f:containers": _RESIZED, "f:initContainers": _RESIZED}}),
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): FieldFilter(
        {"f:spec": MEMBER, "f:status": {"f:certificate": MEMBER}}
    ),
}
"""(group, kind, subresource) → the fields that a write there can set; any, if it is not here."""


def settable_fields(target: Target) -> FieldFilter:
    """Return the fields that a write to an object or a subresource can set."""
    resource = target.resource
    if target.subresource == "status":
        return FieldFilter({"f:spec": MEMBER, **_kept_metadata(target)})
    if target.subresource:
        return _OF_SUBRESOURCES.get((resource.group, resource.kind, target.subresource), ALL_FIELDS)
    return _ALL_BUT_STATUS if strategy_of(resource).has_status else ALL_FIELDS


def _kept_metadata(target: Target) -> FieldSet:
    """Return the set of the metadata that a status update keeps."""
    if target.resource.custom:
        return {"f:metadata": MEMBER}
    prepare = strategy_of(target.resource).prepare_status_update
    names = prepare.metadata if isinstance(prepare, StatusUpdate) else ()
    if names == METADATA_OF_STATUS:
        return {"f:metadata": MEMBER}
    return {"f:metadata": {f"f:{name}": MEMBER for name in names}} if names else {}
