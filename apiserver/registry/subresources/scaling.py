"""The functions of a kind, built-in or custom, for its scale subresource."""

from collections.abc import Callable
from typing import Any, NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource

SCALE = Resource(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    definition="io.k8s.api.autoscaling.v1.Scale",
    storage_group="autoscaling",
    storage_version="v1",
    storage_prefix="",
)

_METADATA_FIELDS = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
"""The fields that a Scale takes from its object's metadata."""


class ScaleFunctions(NamedTuple):
    """Pure functions of one kind; each may raise an ApiError.

    Attributes:
        missing: the resource as the 404 for a missing object names it on reads.
        read: object → the Scale that a reader gets.
        before: object → the Scale that is about to be changed, for example by a patch.
        scaled: (object, Scale) → the object with the Scale's replicas.
        after: the scaled object as it is stored → the Scale that the writer gets.
    """

    not_found_resource: str
    to_scale: Callable[[Obj], Obj]
    scale_before_write: Callable[[Obj], Obj]
    apply_scale: Callable[[Obj, Obj], Obj]
    scale_after_write: Callable[[Obj], Obj]


def new_scale(meta: Obj, *, desired: Any, current: Any, selector: str) -> Obj:
    """Return a Scale, without spec.replicas if they are 0 or None, and without status.selector if it is empty.

    Args:
        meta: the metadata of the scaled object.
        desired: spec.replicas.
        current: status.replicas.
        selector: status.selector.
    """
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {name: meta[name] for name in _METADATA_FIELDS if name in meta},
        "spec": {"replicas": desired} if desired else {},
        "status": {"replicas": current} | ({"selector": selector} if selector else {}),
    }


def desired_replicas(scale: Obj) -> int:
    """Return spec.replicas of a decoded Scale, 0 if unset."""
    return (scale.get("spec") or {}).get("replicas") or 0
