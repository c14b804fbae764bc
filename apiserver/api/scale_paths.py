"""The fields of custom objects that their Scale shows (the scale subresource of a CRD's version)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedField


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The fields of a Scale in the objects of a kind and version.

    Attributes:
        spec_replicas: the number of desired replicas.
        status_replicas: the number of actual replicas.
        label_selector: the replicas' label selector as text; None if the CRD names no such field.
    """

    spec_replicas: NestedField
    status_replicas: NestedField
    label_selector: NestedField | None = None


def scale_paths(version: Obj) -> ScalePaths | None:
    """Return the scale fields of a kind, or None if it cannot be scaled.

    Args:
        version: an entry of a CRD's spec.versions.
    """
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return ScalePaths(
        NestedField.parse(scale["specReplicasPath"]),
        NestedField.parse(scale["statusReplicasPath"]),
        NestedField.parse(selector) if selector else None,
    )
