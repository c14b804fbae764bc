"""Object metadata: the wire type, and readers of the few fields that every object has."""

from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object in its wire format. Objects from a store or cache are read-only: copy before you change one."""


def metadata(obj: Obj) -> Obj:
    """Return the object's metadata, or an empty mapping if it has none or it is no mapping."""
    value = obj.get("metadata")
    return value if isinstance(value, dict) else {}


def name_of(obj: Obj) -> str:
    """Return metadata.name, or "" if absent."""
    return metadata(obj).get("name") or ""


def namespace_of(obj: Obj) -> str:
    """Return metadata.namespace, or "" if absent or cluster-scoped."""
    return metadata(obj).get("namespace") or ""


def labels_of(obj: Obj) -> dict[str, str]:
    """Return metadata.labels, or an empty dict if absent."""
    return metadata(obj).get("labels") or {}


def annotations_of(obj: Obj) -> dict[str, str]:
    """Return metadata.annotations, or an empty dict if absent."""
    return metadata(obj).get("annotations") or {}


def group_version(api_version: str) -> tuple[str, str]:
    """Return group and version of an apiVersion: ("apps", "v1") for "apps/v1", ("", "v1") for "v1"."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def api_version(group: str, version: str) -> str:
    """Return the apiVersion of a group and version: "apps/v1", or "v1" for the core group."""
    return f"{group}/{version}" if group else version
