"""Strategies by kind: how creation and updates prepare an object (pkg/registry/*/*/strategy.go).

Custom kinds have two: one with the status as a subresource, and one with the status as an ordinary field.
"""

from collections.abc import Mapping

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.groups.kinds import ALL_KINDS
from apiserver.groups.strategy import Strategy, differ, increment_generation, keep_field


def strategy_of(resource: Resource) -> Strategy:
    """Return the strategy of a row; a custom kind protects its status only if the status is a subresource."""
    custom = CUSTOM_WITH_STATUS if "status" in resource.subresources else CUSTOM
    return STRATEGIES.get((resource.group, resource.kind), custom)


def _create_custom(obj: Obj) -> None:
    obj["metadata"]["generation"] = 1


def _create_custom_with_status(obj: Obj) -> None:
    obj.pop("status", None)
    obj["metadata"]["generation"] = 1


def _update_custom(new: Obj, old: Obj) -> None:
    """Increment the generation if anything but the metadata changes."""
    if differ(new, old):
        increment_generation(new, old)


def _update_custom_with_status(new: Obj, old: Obj) -> None:
    keep_field(new, old, "status")
    _update_custom(new, old)


def _update_custom_status(new: Obj, old: Obj) -> None:
    """Take only the status and managedFields from a status update."""
    update = dict(new)
    new.clear()
    new.update(old)
    keep_field(new, update, "status")
    new["metadata"] = dict(old["metadata"])
    keep_field(new["metadata"], update["metadata"], "managedFields")


CUSTOM = Strategy(_create_custom, _update_custom, _update_custom_status, allow_unconditional_update=False)

CUSTOM_WITH_STATUS = Strategy(
    _create_custom_with_status,
    _update_custom_with_status,
    _update_custom_status,
    has_status=True,
    allow_unconditional_update=False,
)

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    key: kind.strategy for key, kind in ALL_KINDS.items() if kind.strategy is not None
}
"""(group, kind) → its strategy; a kind that is not here is a custom one."""

SUBRESOURCES: Mapping[tuple[str, str, str], Strategy] = {
    (*key, name): strategy for key, kind in ALL_KINDS.items() for name, strategy in kind.subresource_strategies.items()
}
"""(group, kind, subresource) → the strategy whose prepare_update serves it; all but /status and /scale."""
