"""Defaults by kind: the values that Kubernetes fills in for fields that an object leaves out.

A kind's file in `apiserver.groups` has what pkg/apis/*/*/defaults.go and `+default` markers set, and the mirroring of
deprecated fields that conversions do. Pure, in place, on an object that the decoder has just made: nulls and empty
optional values are gone and quantities canonical.
"""

from collections.abc import Mapping

from apiserver.api.meta import Obj
from apiserver.groups.kind import Default
from apiserver.groups.kinds import ALL_KINDS

DEFAULTS: Mapping[tuple[str, str], Default] = {
    key: kind.default for key, kind in ALL_KINDS.items() if kind.default is not None
}
"""(group, kind) → the function that defaults an object in place, in every version; absent: no defaults."""

VERSION_DEFAULTS: Mapping[tuple[str, str, str], Default] = {
    (group, version, name): default
    for (group, name), kind in ALL_KINDS.items()
    for version, default in kind.version_defaults.items()
}
"""(group, version, kind) → the function of a kind whose versions differ."""

BESIDE_SPEC: Mapping[tuple[str, str], Default] = {
    key: kind.default_beside_spec for key, kind in ALL_KINDS.items() if kind.default_beside_spec is not None
}
"""(group, kind) → the function that sets defaults outside the spec, for objects whose spec has its defaults already."""


def set_defaults(group: str, version: str, kind: str, obj: Obj) -> None:
    """Set the defaults of a freshly decoded object in place; do nothing for a kind without defaults."""
    default = DEFAULTS.get((group, kind)) or VERSION_DEFAULTS.get((group, version, kind))
    if default is not None:
        default(obj)
