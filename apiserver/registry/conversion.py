"""Conversions by kind and version: which objects differ between the served and the stored version."""

from collections.abc import Mapping

from apiserver.api.resources import Resource
from apiserver.groups.conversion import Conversion
from apiserver.groups.kinds import ALL_KINDS

CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    (group, version, name): conversion
    for (group, name), kind in ALL_KINDS.items()
    for version, conversion in kind.version_conversions().items()
}
"""(group, served version, kind) → its conversion to and from the stored version, for versions that differ."""


def conversion_of(resource: Resource) -> Conversion | None:
    """Return the conversion between the version of a row and the stored one, None if their objects are alike."""
    candidate = CONVERSIONS.get((resource.group, resource.version, resource.kind))
    return None if candidate is None or resource.storage_version in candidate.alike else candidate
