"""Where custom kinds keep what a Scale tells of them (the scale subresource of a definition's version)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedField


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The places of a kind in one version.

    Attributes:
        spec_replicas: how many are wanted.
        status_replicas: how many there are.
        label_selector: which they are, as text; None where the definition does not say.
    """

    spec_replicas: NestedField
    status_replicas: NestedField
    label_selector: NestedField | None = None


def scale_paths(version: Obj) -> ScalePaths | None:
    """The places of a kind, None where it cannot be scaled.

    Args:
        version: an entry of a definition's spec.versions.
    """
    given = (version.get("subresources") or {}).get("scale")
    if given is None:
        return None
    selector = given.get("labelSelectorPath")
    return ScalePaths(
        NestedField.at(given["specReplicasPath"]),
        NestedField.at(given["statusReplicasPath"]),
        NestedField.at(selector) if selector else None,
    )
