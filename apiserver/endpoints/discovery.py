"""Discovery: the documents that list groups, versions and resources, computed from the table of resources."""

import base64
import hashlib
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import orjson

from apiserver.api.meta import Obj, api_version
from apiserver.api.resources import Resource, ResourceTable, Subresource
from apiserver.groups.kinds import KINDS
from apiserver.groups.rows import group_rank

AGGREGATED_VERSIONS = ("v2", "v2beta1")
"""The versions of apidiscovery.k8s.io, most preferred first."""

MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
"""Python's names of processors → Go's, which clients expect in the platform of /version."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document as it is sent.

    Attributes:
        etag: the value of the ETag header with its quotes; "" if upstream sends none.
    """

    body: bytes
    etag: str = ""


def verbs_of(row: Resource) -> tuple[str, ...]:
    """Return all verbs of a row."""
    return row.verbs


class Discovery:
    """The discovery documents of a table, each made on first use and kept until the table changes.

    Args:
        table: the rows that are served; call invalidate() when rows are added or removed, or their verbs change.
        minor: the minor version of the emulated Kubernetes release: 34 for v1.34.0.
        address: "host:port" under which clients reach the server.
        other_paths: the paths besides the API's that "/" lists ("/healthz", "/metrics", ...).
        verbs: returns the verbs to list for a row, which may be fewer than it has; a row without any is not listed.
    """

    def __init__(
        self,
        table: ResourceTable,
        *,
        minor: int,
        address: str,
        other_paths: Iterable[str] = (),
        verbs: Callable[[Resource], tuple[str, ...]] = verbs_of,
    ) -> None:
        self._table = table
        self._verbs = verbs
        self._listed: ResourceTable | None = None
        self._minor = minor
        self._address = address
        self._other_paths = tuple(other_paths)
        self._documents: dict[tuple[str, ...], Document | None] = {}
        self._order: dict[str, list[str]] = {}

    def invalidate(self) -> None:
        """Drop all documents: the table has changed."""
        self._listed = None
        self._documents.clear()
        self._order.clear()

    def paths(self) -> Document:
        """GET /: all paths, sorted."""
        return self._cached(("paths",), lambda: _page({"paths": sorted(self._all_paths())}))

    def version(self) -> Document:
        """GET /version."""
        return self._cached(("version",), lambda: _page(version_info(self._minor)))

    def core(self) -> Document:
        """GET /api: the versions of the core group."""
        return self._cached(("core",), lambda: _document(_api_versions(self._groups().get("", []), self._address)))

    def groups(self) -> Document:
        """GET /apis: all groups but the core one."""
        groups = ((group, versions) for group, versions in self._groups().items() if group)
        return self._cached(
            ("groups",),
            lambda: _document(
                {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_api_group(*group) for group in groups]}
            ),
        )

    def group(self, name: str) -> Document | None:
        """GET /apis/NAME; None if the group is not served."""
        versions = self._groups().get(name) if name else None
        if versions is None:
            return None
        head = {"kind": "APIGroup", "apiVersion": "v1"}
        return self._cached(("group", name), lambda: _document(head | _api_group(name, versions)))

    def resources(self, group: str, version: str) -> Document | None:
        """GET /api/v1 or /apis/GROUP/VERSION; None if the version is not served."""
        if version not in self._groups().get(group, []):
            return None
        return self._cached(
            ("resources", group, version),
            lambda: _document(_resource_list(api_version(group, version), self._rows(group, version), self._has_hash)),
        )

    def aggregated(self, root: str, version: str) -> Document:
        """GET /api or /apis as an APIGroupDiscoveryList.

        Args:
            root: "api" for the core group, "apis" for all others.
            version: one of AGGREGATED_VERSIONS. The ETag is the same for all, as upstream's.
        """
        return self._cached(("aggregated", root, version), lambda: self._aggregate(root, version))

    def _cached(self, key: tuple[str, ...], make: Callable[[], Document]) -> Document:
        document = self._documents.get(key)
        if document is None:
            document = self._documents[key] = make()
        return document

    def _groups(self) -> dict[str, list[str]]:
        """Return group → versions, both in the order of discovery."""
        if not self._order:
            groups = self._listed_rows().groups()
            self._order.update((group, groups[group]) for group in sorted(groups, key=group_rank))
        return self._order

    def _listed_rows(self) -> ResourceTable:
        """Return the rows that discovery lists, with the verbs that it lists."""
        if self._listed is None:
            rows_with_verbs = ((row, self._verbs(row)) for row in self._table)
            rows = (row if verbs == row.verbs else replace(row, verbs=verbs) for row, verbs in rows_with_verbs if verbs)
            self._listed = ResourceTable(rows)
        return self._listed

    def _has_hash(self, row: Resource) -> bool:
        """Return whether a row has a storageVersionHash; a custom kind has none if its stored version is not served."""
        if "watch" not in row.verbs:  # what cannot be watched is not stored
            return False
        return not row.custom or self._listed_rows().find(row.group, row.storage_version, row.plural) is not None

    def _rows(self, group: str, version: str) -> list[Resource]:
        rows = (row for row in self._listed_rows() if (row.group, row.version) == (group, version))
        return sorted(rows, key=lambda row: row.plural)

    def _all_paths(self) -> Iterator[str]:
        yield from ("/api", "/apis", "/apis/", *self._other_paths)
        for group, versions in self._groups().items():
            if group:
                yield f"/apis/{group}"
            yield from (f"/apis/{group}/{version}" if group else f"/api/{version}" for version in versions)

    def _aggregate(self, root: str, version: str) -> Document:
        items = [
            {
                "metadata": {"name": group} if group else {},
                "versions": [_aggregated_version(served, self._rows(group, served)) for served in versions],
            }
            for group, versions in self._groups().items()
            if (root == "api") == (group == "")
        ]
        etag = f'"{hashlib.sha512(orjson.dumps(items)).hexdigest().upper()}"'
        head = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
        return _document(head | {"items": items}, etag)


GO_VERSIONS = {
    **dict.fromkeys((25, 26), "go1.19"),
    **dict.fromkeys((27, 28), "go1.20"),
    29: "go1.21",
    **dict.fromkeys((30, 31), "go1.22"),
    32: "go1.23",
    **dict.fromkeys((33, 34), "go1.24"),
    35: "go1.25",
    36: "go1.26",
}
"""Minor release → the version of Go that its components are built with, which some clients parse."""


def version_info(minor: int) -> Obj:
    """Return the document GET /version of the release v1.<minor>.0 (k8s.io/apimachinery/pkg/version.Info)."""
    emulation = {
        "emulationMajor": "1",
        "emulationMinor": str(minor),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(minor - 1),
    }
    machine, git_version = platform.machine(), f"v1.{minor}.0"
    return {
        "major": "1",
        "minor": str(minor),
        **(emulation if minor >= 33 else {}),  # the first release with these fields
        "gitVersion": git_version,
        "gitCommit": hashlib.sha1(git_version.encode(), usedforsecurity=False).hexdigest(),  # as long as a real one
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": GO_VERSIONS.get(minor, GO_VERSIONS[max(GO_VERSIONS)]),
        "compiler": "gc",
        "platform": f"{platform.system().lower()}/{MACHINES.get(machine, machine)}",
    }


def storage_version_hash(row: Resource) -> str:
    """Return the hash by which clients notice that a kind's stored version has changed; only stored kinds have one."""
    stored = f"{row.storage_group}/{row.storage_version}/{row.kind}"
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


def _page(content: Obj) -> Document:
    """Return a document that is not an API object; upstream always pretty-prints those (WriteRawJSON)."""
    return Document(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def _document(content: Obj, etag: str = "") -> Document:
    return Document(orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE), etag)


def _api_versions(versions: list[str], address: str) -> Obj:
    """Return the APIVersions of the core group, without apiVersion: it is older than versioned discovery."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": addresses}


def _api_group(group: str, versions: list[str]) -> Obj:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _resource_list(group_version: str, rows: list[Resource], has_hash: Callable[[Resource], bool]) -> Obj:
    entries = [entry for row in rows for entry in (_resource(row, hashed=has_hash(row)), *_subresources(row))]
    versioned = {"apiVersion": "v1"} if "/" in group_version else {}
    return {"kind": "APIResourceList", **versioned, "groupVersion": group_version, "resources": entries}


def _resource(row: Resource, *, hashed: bool) -> Obj:
    entry: Obj = {
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": row.verbs,
        **_nicknames(row),
    }
    if hashed:
        entry["storageVersionHash"] = storage_version_hash(row)
    return entry


def _subresources(row: Resource) -> Iterator[Obj]:
    for part in row.subresources.values():
        foreign = {} if _shares_version(part, row) else {"group": part.group, "version": part.version}
        yield {
            "name": f"{row.plural}/{part.name}",
            "singularName": "",
            "namespaced": row.namespaced,
            **foreign,
            "kind": part.kind,
            "verbs": part.verbs,
        }


def _nicknames(row: Resource) -> Obj:
    names = {"shortNames": row.short_names, "categories": row.categories}
    return {key: value for key, value in names.items() if value}


def _shares_version(part: Subresource, row: Resource) -> bool:
    return (part.group, part.version) == (row.group, row.version)


def _aggregated_version(version: str, rows: list[Resource]) -> Obj:
    return {"version": version, "resources": [_aggregated_resource(row) for row in rows], "freshness": "Current"}


def _aggregated_resource(row: Resource) -> Obj:
    entry: Obj = {
        "resource": row.plural,
        "responseKind": _response_kind(row, row),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": row.verbs,
        **_nicknames(row),
    }
    parts = [
        {"subresource": part.name, "responseKind": _response_kind(part, row), "verbs": part.verbs}
        for part in row.subresources.values()
    ]
    return entry | {"subresources": parts} if parts else entry


def _response_kind(body: Resource | Subresource, row: Resource) -> Obj:
    """Return the responseKind; built-in kinds omit a group and version that are the same as their row's."""
    is_same_version = (body.group, body.version) == (row.group, row.version)
    group, version = ("", "") if is_same_version and row.group in KINDS else (body.group, body.version)
    return {"group": group, "version": version, "kind": body.kind}
