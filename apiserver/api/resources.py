"""Resources: one row per served kind and version, and the table that paths, discovery and storage derive from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, api_version

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object, such as pods/status or deployments/scale.

    Attributes:
        name: the path's last part.
        verbs: its verbs.
        group, version, kind: the kind of its bodies, as discovery's responseKind gives it.
    """

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str
    version: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind in one version, as the API serves it.

    Attributes:
        plural: the resource's name, as in paths ("pods").
        definition: the key of its schema among the OpenAPI definitions.
        storage_group, storage_version: the storage version; others are converted on the way in and out.
        storage_prefix: the prefix of its keys: "/registry/<storage_prefix>/<namespace>/<name>"; shared by all versions.
        fields: the fields that selectors may name besides metadata.name and metadata.namespace.
        kept_fields: the fields of all its versions that are indexed for selectors, if these are more than `fields`.
        create_on_update: PUT of an absent name creates it.
        returns_deleted: DELETE answers with the object instead of a Status.
        deprecation: the warning to its users, "" for none.
        notices: (new, old or None for a new object) → the warnings to a client that parts of the object are stored
            without effect here; None if all objects take effect.
        custom: whether it comes from a CRD, not from the release.
        list_kind: the kind of its lists, such as "PodList"; derived from the kind if omitted.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    definition: str
    storage_group: str
    storage_version: str
    storage_prefix: str
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    kept_fields: tuple[str, ...] = ()
    create_on_update: bool = False
    returns_deleted: bool = False
    deprecation: str = ""
    notices: Callable[[Obj, Obj | None], tuple[str, ...]] | None = None
    custom: bool = False
    list_kind: str = ""
    subresources: dict[str, Subresource] = field(default_factory=dict)
    api_version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", api_version(self.group, self.version))
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")


class ResourceTable:
    """All resources that a server serves, found by path or by kind; rows may be added and removed at run time."""

    def __init__(self, rows: Iterable[Resource] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_prefix: dict[str, list[Resource]] | None = None
        for row in rows:
            self.add(row)

    def add(self, row: Resource) -> None:
        """Add a row; it replaces a row of the same group, version and plural."""
        self._by_path[row.group, row.version, row.plural] = row
        self._by_prefix = None

    def remove(self, row: Resource) -> None:
        """Remove a row, if it is in the table."""
        self._by_path.pop((row.group, row.version, row.plural), None)
        self._by_prefix = None

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the row at a path, or None if nothing is served there."""
        return self._by_path.get((group, version, plural))

    def equivalents(self, resource: Resource, subresource: str) -> tuple[Resource, ...]:
        """Return the other rows with the same stored objects: other versions, and other groups that share the kind.

        (EquivalentResourcesFor of k8s.io/apimachinery/pkg/runtime/mapper.go)

        Args:
            resource: the row.
            subresource: the subresource that they must have as well, "" for the object itself.
        """
        if not resource.storage_prefix:
            return ()
        by_prefix = self._by_prefix
        if by_prefix is None:
            by_prefix = self._by_prefix = {}
            for row in self:
                by_prefix.setdefault(row.storage_prefix, []).append(row)
        rows = by_prefix.get(resource.storage_prefix, ())
        return tuple(
            row
            for row in rows
            if (row.group, row.version) != (resource.group, resource.version)
            and (not subresource or subresource in row.subresources)
        )

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._by_path.values()))  # rows of custom kinds may be added and removed meanwhile

    def groups(self) -> dict[str, list[str]]:
        """Return the versions of each group, most preferred first; groups are in the order of their first row."""
        by_group: dict[str, list[str]] = {}
        for row in self:
            versions = by_group.setdefault(row.group, [])
            if row.version not in versions:
                versions.append(row.version)
        return {group: sorted(sorted(versions), key=version_rank, reverse=True) for group, versions in by_group.items()}


def version_rank(version: str) -> tuple[int, int, int]:
    """Return the sort key for v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > others (k8s.io/apimachinery/pkg/version)."""
    for stability, rank in (("alpha", 0), ("beta", 1)):
        major, separator, minor = version[1:].partition(stability)
        if separator and version[0] == "v" and major.isdecimal() and minor.isdecimal():
            return rank, int(major), int(minor)
    if version[:1] == "v" and version[1:].isdecimal():
        return 2, int(version[1:]), 0
    return -1, 0, 0
