"""Defaults of volumes and of their sources."""

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.groups.core.pods.images import pull_policy
from apiserver.groups.quantities import round_up_to_milli

FILE_MODE = 0o644

TOKEN_SECONDS = 3600

SOURCE_CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "configMap": {"defaultMode": FILE_MODE},
    "downwardAPI": {"defaultMode": FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {"defaultMode": FILE_MODE},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": {"defaultMode": FILE_MODE},
}
"""Volume source (of pods and of PersistentVolumes) → its fields' default values."""


def default_volume(volume: Obj) -> None:
    """Set the defaults of a pod's volume; one without a source is an emptyDir."""
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
        return
    for kind, source in volume.items():
        if kind != "name":
            default_source(kind, source)


def default_source(kind: str, source: Obj) -> None:
    """Set the defaults of one volume source, given its field name."""
    for name, value in SOURCE_CONSTANTS.get(kind, {}).items():
        source.setdefault(name, value)
    if kind in _SOURCES:
        _SOURCES[kind](source)


def default_claim_spec(spec: Obj) -> None:
    """Set the defaults of the spec of a claim or of a claim template."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.get("resources") or {}
    round_up_to_milli(resources.get("requests"))
    round_up_to_milli(resources.get("limits"))


def default_field_reference(source: Obj) -> None:
    """Set the defaults of the fieldRef of an environment variable's source or of a downwardAPI file."""
    reference = source.get("fieldRef")
    if reference is not None:
        reference.setdefault("apiVersion", "v1")


def _default_downward(source: Obj) -> None:
    for item in source.get("items") or ():
        default_field_reference(item)


def _default_projected(source: Obj) -> None:
    for projection in source.get("sources") or ():
        if "downwardAPI" in projection:
            _default_downward(projection["downwardAPI"])
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)


def _default_ephemeral(source: Obj) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template.setdefault("spec", {}))


def _default_image(source: Obj) -> None:
    source.setdefault("pullPolicy", pull_policy(source.get("reference", "")))


_SOURCES: Mapping[str, Callable[[Obj], None]] = {
    "downwardAPI": _default_downward,
    "ephemeral": _default_ephemeral,
    "image": _default_image,
    "projected": _default_projected,
}
