"""Every kind of the newest release: as many cells as columns, documented columns, and nothing that raises."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from apiserver.endpoints.tables import printer_of

RELEASE = "v1.37.0-local"
GVK = "x-kubernetes-group-version-kind"


@cache
def definitions() -> dict[str, Any]:
    path = files("kubernetes_validate") / "kubernetes-json-schema" / RELEASE / "_definitions.json"
    kinds: dict[str, Any] = json.loads(path.read_text())["$defs"]
    return kinds


def kinds() -> list[tuple[str, str, str]]:
    """(group, kind, definition) of everything that has metadata and is no list."""
    return [
        (gvk["group"], gvk["kind"], name)
        for name, schema in definitions().items()
        for gvk in schema.get(GVK, ())
        if "metadata" in schema.get("properties", {}) and not gvk["kind"].endswith(("List", "Options"))
    ]


def sample(schema: Any, leaf: Any, depth: int = 7) -> Any:
    """An object with all its fields, and `leaf` wherever the schema wants a string, a number or a boolean."""
    if "$ref" in schema:
        schema = definitions()[schema["$ref"].rpartition("/")[2]]
    if not depth:
        return leaf
    if "properties" in schema:
        return {name: sample(field, leaf, depth - 1) for name, field in schema["properties"].items()}
    if "items" in schema:
        return [sample(schema["items"], leaf, depth - 1)]
    if isinstance(schema.get("additionalProperties"), dict):
        return {"key": sample(schema["additionalProperties"], leaf, depth - 1)}
    return leaf


EVERY_KIND = pytest.mark.parametrize(("group", "kind", "definition"), kinds())


@EVERY_KIND
@pytest.mark.parametrize(
    "obj", [{}, {"metadata": None, "spec": None, "status": None}, {"metadata": "a", "spec": [], "status": 7}]
)
def test_an_empty_or_odd_object_has_as_many_cells_as_columns(group: str, kind: str, definition: str, obj: Any) -> None:
    columns = printer_of(group, kind).column_definitions({})
    cells = printer_of(group, kind).row(obj).cells_at(0.0)
    # Upstream gives the addresses an age without a column for it.
    assert len(cells) == len(columns) + (kind == "IPAddress")


@EVERY_KIND
@pytest.mark.parametrize("leaf", ["7", 7, True, None, {}, []])
def test_values_of_another_type_never_raise(group: str, kind: str, definition: str, leaf: Any) -> None:
    obj = sample(definitions()[definition], leaf)
    cells = printer_of(group, kind).row(obj).cells_at(0.0)
    assert json.dumps(cells)


@EVERY_KIND
def test_every_column_is_documented(group: str, kind: str, definition: str) -> None:
    undocumented = [
        c["name"] for c in printer_of(group, kind).column_definitions(definitions()) if not c["description"]
    ]
    assert undocumented == []


@EVERY_KIND
def test_one_column_is_the_name_and_wide_columns_are_the_exception(group: str, kind: str, definition: str) -> None:
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
        ("apiextensions.k8s.io", "CustomResourceDefinition", "Name Created-At", ""),
    ],
)
def test_what_kubectl_shows_and_what_it_shows_with_wide(group: str, kind: str, narrow: str, wide: str) -> None:
    columns = printer_of(group, kind).column_definitions({})
    names = [" ".join(c["name"].replace(" ", "-") for c in columns if c["priority"] == p) for p in (0, 1)]
    assert names == [narrow, wide]
