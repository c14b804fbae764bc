"""The fields that a write cannot set, so that it does not own them either (a strategy's GetResetFields)."""

from apiserver.api.managedfields.field_sets import MEMBER, FieldSet
from apiserver.groups.strategy import METADATA_OF_STATUS, StatusUpdate
from apiserver.registry.options import Target
from apiserver.registry.strategy import strategy_of

_STATUS: FieldSet = {"f:status": MEMBER}


def reset_fields(target: Target) -> FieldSet:
    """Return the set of the fields that a write to an object or a subresource cannot change."""
    strategy = strategy_of(target.resource)
    if target.subresource == "status":
        return {"f:metadata": _metadata_of_status(target), "f:spec": MEMBER}
    return _STATUS if not target.subresource and strategy.has_status else MEMBER


def _metadata_of_status(target: Target) -> FieldSet:
    """Return the set of the metadata that a status update keeps; MEMBER for all of them."""
    prepare = strategy_of(target.resource).prepare_status_update
    if target.resource.custom:
        return MEMBER
    names = prepare.metadata if isinstance(prepare, StatusUpdate) else ()
    return MEMBER if names == METADATA_OF_STATUS else {f"f:{name}": MEMBER for name in names}
