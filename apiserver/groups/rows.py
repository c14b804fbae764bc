"""The resources of the built-in kinds: the facts in their files, joined with a Kubernetes release's definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, Subresource, version_rank
from apiserver.groups.kind import CREATE, BuiltinKind
from apiserver.groups.kinds import KINDS

GET = ("get",)
UPDATE = ("update",)
EDIT = ("get", "patch", "update")
STREAM = ("create", "get")
PROXY = ("create", "delete", "get", "patch", "update")


@dataclass(frozen=True, slots=True)
class SubresourceSpec:
    """A subresource: its verbs and the kind of its bodies; without a kind, its parent's."""

    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = "v1"


SUBRESOURCES = {
    "approval": SubresourceSpec(EDIT),
    "attach": SubresourceSpec(STREAM, "PodAttachOptions"),
    "binding": SubresourceSpec(CREATE, "Binding"),
    "ephemeralcontainers": SubresourceSpec(EDIT),
    "eviction": SubresourceSpec(CREATE, "Eviction", "policy"),
    "exec": SubresourceSpec(STREAM, "PodExecOptions"),
    "finalize": SubresourceSpec(UPDATE),
    "log": SubresourceSpec(GET),
    "portforward": SubresourceSpec(STREAM, "PodPortForwardOptions"),
    "resize": SubresourceSpec(EDIT),
    "scale": SubresourceSpec(EDIT, "Scale", "autoscaling"),
    "status": SubresourceSpec(EDIT),
    "token": SubresourceSpec(CREATE, "TokenRequest", "authentication.k8s.io"),
}
PROXY_SUBRESOURCES = {kind: SubresourceSpec(PROXY, f"{kind}ProxyOptions") for kind in ("Node", "Pod", "Service")}
"""Kind → its subresource "proxy", which has options of its own."""


_RANKS = {group: rank for rank, group in enumerate(KINDS)}

COHABITATING_RESOURCES = {("events.k8s.io", "Event"): ("", "v1")}
"""Kinds that are stored as another group's kind of the same name (upstream's cohabitating resources)."""


def builtin_rows(definitions: Mapping[str, Obj], minor: int | None = None) -> list[Resource]:
    """Return the resources that a release serves.

    Every version of a kind in KINDS that has a definition is served; the most stable and newest one is stored.

    Args:
        definitions: the release's OpenAPI definitions by name.
        minor: the minor release, None for the newest.
    """
    served: dict[tuple[str, str], dict[str, str]] = {}
    for name, schema in definitions.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            served.setdefault((gvk["group"], gvk["kind"]), {})[gvk["version"]] = name
    return [
        row
        for group, kinds in KINDS.items()
        for kind in kinds
        for row in _rows(kind, group, served.get((group, kind.name), {}), definitions, minor)
    ]


def group_rank(group: str) -> tuple[int, str]:
    """Return the sort key of a group in discovery: built-in groups as in KINDS, then custom ones by name."""
    return _RANKS.get(group, len(_RANKS)), group


def plural_of(kind: BuiltinKind) -> str:
    """Return the plural name of a kind: "ingresses" for "Ingress" (meta.UnsafeGuessKindToResource)."""
    if kind.plural:
        return kind.plural
    name = kind.name.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _rows(
    kind: BuiltinKind, group: str, served: Mapping[str, str], definitions: Mapping[str, Obj], minor: int | None
) -> Iterator[Resource]:
    """Yield the kind's resources, one per version that the release has, most preferred first."""
    versions = sorted(served, key=version_rank, reverse=True)
    plural = plural_of(kind)
    for version in versions:
        storage_group, storage_version = COHABITATING_RESOURCES.get((group, kind.name), (group, versions[0]))
        parts = _subresource_names(kind, definitions[served[version]], minor)
        yield Resource(
            group=group,
            version=version,
            kind=kind.name,
            plural=plural,
            singular=kind.name.lower(),
            namespaced=kind.namespaced,
            definition=served[version],
            storage_group=storage_group,
            storage_version=storage_version,
            storage_prefix=kind.prefix or plural,
            verbs=kind.verbs,
            short_names=kind.short,
            categories=kind.categories,
            fields=kind.fields,
            create_on_update=kind.creates_on_update,
            returns_deleted=kind.returns_deleted,
            subresources={name: _subresource(name, kind=kind, group=group, version=version) for name in sorted(parts)},
        )


def _subresource_names(kind: BuiltinKind, definition: Obj, minor: int | None) -> list[str]:
    """Return the names of the subresources that a kind has in a release."""
    has_status = kind.verbs != CREATE and "status" in definition.get("properties", {})
    names = (*kind.subresources, "status") if has_status else kind.subresources
    since = kind.newer_subresources
    return [
        name
        for name in names
        if name not in kind.gated_subresources and (minor is None or since.get(name, minor) <= minor)
    ]


def _subresource(name: str, *, kind: BuiltinKind, group: str, version: str) -> Subresource:
    part = PROXY_SUBRESOURCES[kind.name] if name == "proxy" else SUBRESOURCES[name]
    if part.kind:
        return Subresource(name=name, verbs=part.verbs, kind=part.kind, group=part.group, version=part.version)
    return Subresource(name=name, verbs=part.verbs, kind=kind.name, group=group, version=version)
