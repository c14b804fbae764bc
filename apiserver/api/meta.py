"""Object metadata: the wire type, and readers of the few fields that every object has."""

from typing import Any

Obj = dict[str, Any]
"""A Kubernetes object as it stands on the wire. Objects from a store or cache are read-only: copy what you change."""


def metadata(obj: Obj) -> Obj:
    """The object's metadata, or an empty mapping where it has none (or something that is no mapping)."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def name_of(obj: Obj) -> str:
    """metadata.name, "" where absent."""
    return metadata(obj).get("name") or ""


def namespace_of(obj: Obj) -> str:
    """metadata.namespace, "" where absent or cluster-scoped."""
    return metadata(obj).get("namespace") or ""


def labels_of(obj: Obj) -> dict[str, str]:
    """metadata.labels, empty where absent."""
    return metadata(obj).get("labels") or {}


def annotations_of(obj: Obj) -> dict[str, str]:
    """metadata.annotations, empty where absent."""
    return metadata(obj).get("annotations") or {}


def group_version(api_version: str) -> tuple[str, str]:
    """("apps", "v1") of "apps/v1", ("", "v1") of "v1"."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def api_version(group: str, version: str) -> str:
    """The apiVersion of a group and version: "apps/v1", or "v1" for the core group."""
    return f"{group}/{version}" if group else version
