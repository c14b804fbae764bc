"""Every kind, in the newest release that has it: as many cells as columns, documented columns, nothing that raises."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from apiserver.endpoints.tables import printer_of
from apiserver.groups.kinds import ALL_KINDS

RELEASES = range(37, 24, -1)
GVK = "x-kubernetes-group-version-kind"


@cache
def definitions(minor: int) -> dict[str, Any]:
    path = files("kubernetes_validate") / "kubernetes-json-schema" / f"v1.{minor}.0-local" / "_definitions.json"
    schemas: dict[str, Any] = json.loads(path.read_text())["$defs"]
    return schemas


def kinds() -> Iterator[Any]:
    """(group, kind, definition, minor) of everything that has metadata and is no list."""
    known: set[tuple[str, str]] = set()
    for minor in RELEASES:
        newer = frozenset(known)
        for name, schema in definitions(minor).items():
            for gvk in schema.get(GVK, ()):
                key = gvk["group"], gvk["kind"]
                if "metadata" not in schema.get("properties", {}) or gvk["kind"].endswith(("List", "Options")):
                    continue
                if key not in newer and (minor == RELEASES[0] or key in ALL_KINDS):
                    known.add(key)
                    yield pytest.param(*key, name, minor, id=f"{name}-{minor}")


def sample(minor: int, schema: Any, leaf: Any, depth: int = 7) -> Any:
    """An object with all its fields, and `leaf` wherever the schema wants a string, a number or a boolean."""
    if "$ref" in schema:
        schema = definitions(minor)[schema["$ref"].rpartition("/")[2]]
    if not depth:
        return leaf
    if "properties" in schema:
        return {name: sample(minor, field, leaf, depth - 1) for name, field in schema["properties"].items()}
    if "items" in schema:
        return [sample(minor, schema["items"], leaf, depth - 1)]
    if isinstance(schema.get("additionalProperties"), dict):
        return {"key": sample(minor, schema["additionalProperties"], leaf, depth - 1)}
    return leaf


EVERY_KIND = pytest.mark.parametrize(("group", "kind", "definition", "minor"), [*kinds()])


@EVERY_KIND
@pytest.mark.parametrize(
    "obj", [{}, {"metadata": None, "spec": None, "status": None}, {"metadata": "a", "spec": [], "status": 7}]
)
def test_an_empty_or_odd_object_has_as_many_cells_as_columns(
    group: str, kind: str, definition: str, minor: int, obj: Any
) -> None:
    columns = printer_of(group, kind).column_definitions({})
    cells = printer_of(group, kind).row(obj).cells_at(0.0)
    # Upstream gives the addresses an age without a column for it.
    assert len(cells) == len(columns) + (kind == "IPAddress")


@EVERY_KIND
@pytest.mark.parametrize("leaf", ["7", 7, True, None, {}, []])
def test_values_of_another_type_never_raise(group: str, kind: str, definition: str, minor: int, leaf: Any) -> None:
    obj = sample(minor, definitions(minor)[definition], leaf)
    cells = printer_of(group, kind).row(obj).cells_at(0.0)
    assert json.dumps(cells)


@EVERY_KIND
def test_every_column_is_documented(group: str, kind: str, definition: str, minor: int) -> None:
    undocumented = [
        c["name"] for c in printer_of(group, kind).column_definitions(definitions(minor)) if not c["description"]
    ]
    assert undocumented == []


@EVERY_KIND
def test_one_column_is_the_name_and_wide_columns_are_the_exception(
    group: str, kind: str, definition: str, minor: int
) -> None:
    columns = printer_of(group, kind).column_definitions({})
    assert sum(column["name"] == "Name" for column in columns) == (kind != "Status")
    assert {column["priority"] for column in columns} <= {0, 1}
    assert {column["type"] for column in columns} <= {"string", "integer", "boolean", "date"}


def test_a_column_stands_on_the_wire_with_all_its_fields() -> None:
    name, created = printer_of("", "LimitRange").column_definitions({})
    assert name == {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
    assert created == {"name": "Created At", "type": "date", "format": "", "description": "", "priority": 0}


@pytest.mark.parametrize(
    ("group", "kind", "narrow", "wide"),
    [
        ("", "Pod", "Name Ready Status Restarts Age", "IP Node Nominated-Node Readiness-Gates"),
        ("apps", "Deployment", "Name Ready Up-to-date Available Age", "Containers Images Selector"),
        ("batch", "Job", "Name Status Completions Duration Age", "Containers Images Selector"),
        (
            "batch",
            "CronJob",
            "Name Schedule Timezone Suspend Active Last-Schedule Age",
            "Containers Images Selector",
        ),
        ("", "Event", "Last-Seen Type Reason Object Message", "Subobject Source First-Seen Count Name"),
        (
            "",
            "PersistentVolumeClaim",
            "Name Status Volume Capacity Access-Modes StorageClass VolumeAttributesClass Age",
            "VolumeMode",
        ),
        ("rbac.authorization.k8s.io", "RoleBinding", "Name Role Age", "Users Groups ServiceAccounts"),
        ("scheduling.k8s.io", "PriorityClass", "Name Value Global-Default Age PreemptionPolicy", ""),
        ("networking.k8s.io", "IPAddress", "Name ParentRef", ""),
        ("networking.k8s.io", "ClusterCIDR", "Name PerNodeHostBits IPv4 IPv6 Age", "NodeSelector"),
        ("resource.k8s.io", "ResourceClass", "Name DriverName Age", ""),
        ("resource.k8s.io", "ResourceClaimParameters", "Name GeneratedFrom Age", ""),
        ("resource.k8s.io", "PodScheduling", "Name SelectedNode Age", ""),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "Name Created-At", ""),
    ],
)
def test_what_kubectl_shows_and_what_it_shows_with_wide(group: str, kind: str, narrow: str, wide: str) -> None:
    columns = printer_of(group, kind).column_definitions({})
    names = [" ".join(c["name"].replace(" ", "-") for c in columns if c["priority"] == p) for p in (0, 1)]
    assert names == [narrow, wide]
