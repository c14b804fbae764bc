"""What the scale subresource has to know of a kind, built in or custom."""

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

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
"""What a Scale has of its object's metadata."""


class Scaling(NamedTuple):
    """Pure functions of one kind, each of which may raise an ApiError.

    Attributes:
        missing: the resource as an error names it when the object that is read is not there.
        read: object → the Scale that a reader gets.
        before: object → the Scale that is about to be changed, and to which a patch is applied.
        scaled: (object, Scale) → the object as the Scale wants it.
        after: object as it is stored now → the Scale that the writer gets.
    """

    missing: str
    read: Callable[[Obj], Obj]
    before: Callable[[Obj], Obj]
    scaled: Callable[[Obj, Obj], Obj]
    after: Callable[[Obj], Obj]


def scale_with(meta: Obj, *, wanted: Any, had: Any, selector: str) -> Obj:
    """Return a Scale; replicas that are 0 are left out of its spec, and so is a selector that is empty.

    Args:
        meta: the metadata of the object that it tells of.
        wanted: spec.replicas.
        had: status.replicas.
        selector: status.selector.
    """
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {name: meta[name] for name in _KEPT if name in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": had} | ({"selector": selector} if selector else {}),
    }


def wanted_replicas(scale: Obj) -> int:
    """spec.replicas of a decoded Scale, 0 where it says nothing."""
    return (scale.get("spec") or {}).get("replicas") or 0
