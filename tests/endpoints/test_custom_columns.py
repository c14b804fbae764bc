"""Rows of custom kinds: columns as definitions ask for them, cells of the right type or none."""

from collections.abc import Sequence
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.endpoints.custom_columns import custom_printer
from apiserver.endpoints.tables import Tables, printer_of

NOW = 1_704_070_800.0  # 2024-01-01T01:00:00Z
DOCUMENTED = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "properties": {"name": {"description": "a name"}, "creationTimestamp": {"description": "a time"}}
    }
}


def column(kind: str, path: str, **more: Any) -> Obj:
    return {"name": "Shown", "type": kind, "jsonPath": path} | more


def cell(kind: str, value: Any) -> Any:
    return cell_at(column(kind, ".v"), {"v": value})


def cell_at(asked: Obj, obj: Obj) -> Any:
    name, shown = custom_printer([asked]).row({"metadata": {"name": "x"}} | obj).cells_at(NOW)
    assert name == "x"
    return shown


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("integer", 42, 42),
        ("integer", 3.14, 3),
        ("integer", -3.99, -3),
        ("integer", 1e300, -(1 << 63)),
        ("integer", True, None),
        ("integer", "foo", None),
        ("integer", None, None),
        ("number", 42, 42),
        ("number", 3.14, 3.14),
        ("number", 1e300, 1e300),
        ("number", (1 << 53) + 1, 1 << 53),
        ("number", True, None),
        ("number", "foo", None),
        ("boolean", 1, None),
        ("boolean", 0.5, None),
        ("boolean", True, True),
        ("boolean", False, False),
        ("boolean", "true", None),
        ("string", "foo", "foo"),
        ("string", "", ""),
        ("string", 42, "42"),
        ("string", 3.1415926, "3.1415926"),
        ("string", 1e6, "1e+06"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", {"b": 1, "a": "<x>"}, '{"a":"\\u003cx\\u003e","b":1}'),
        ("string", ["foo", 42, [1, 2]], '["foo",42,[1,2]]'),
        ("string", [], "[]"),
        ("date", 42, None),
        ("date", 3.14, None),
        ("date", True, None),
        ("date", None, None),
        ("date", "2023-12-31T12:30:00Z", "12h"),
        ("date", "2024-01-01T01:00:00+01:00", "60m"),
        ("date", "2024-01-01T00:59:29.600000Z", "30s"),
        ("date", "2024-01-01T0:58:30Z", "90s"),
        ("date", "2024-01-01T13:00:00Z", "<invalid>"),
        ("date", "2024-01-01", "<invalid>"),
        ("date", "soon", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", "null", "<unknown>"),
        ("date", "0001-01-01T00:00:00Z", "<unknown>"),
        ("date", "0002-01-01T00:00:00Z", "292y"),
        ("fancy", "foo", None),
    ],
)
def test_a_cell_has_the_type_of_its_column_or_is_null(kind: str, value: Any, shown: Any):
    cell_value = cell(kind, value)
    assert (cell_value, type(cell_value)) == (shown, type(shown))


SERVERS = {"spec": {"servers": [{"hosts": ["foo"], "ports": [1]}, {"hosts": ["bar", "baz"], "ports": [2, 3]}]}}


@pytest.mark.parametrize(
    ("kind", "path", "shown"),
    [
        ("string", ".spec.servers[0].hosts[0]", "foo"),
        ("string", ".spec.servers[0].hosts", '["foo"]'),
        ("string", ".spec.servers[1].hosts", '["bar","baz"]'),
        ("string", ".spec.servers[*].hosts", '["foo"]'),
        ("string", ".spec.servers[*].hosts[*]", "foo"),
        ("string", ".spec.servers[?(@.ports[0]==2)].hosts[1]", "baz"),
        ("integer", ".spec.servers[1].ports[0]", 2),
        ("integer", ".spec.servers[1].ports", None),
        ("string", ".spec.servers[2].hosts", None),
        ("string", ".spec.servers[0][0]", None),
        ("string", ".spec.missing", None),
        ("string", ".spec.missing.more[0]", None),
        ("string", ".spec.servers[?(@.hosts=='foo')]", None),
        ("string", ".spec.servers[1:].ports[0]}{.spec", "2"),
        ("string", ".spec.servers[1:].ports[0]}{.spec[0]", None),
        ("string", ".", None),
    ],
)
def test_a_cell_is_the_first_of_what_a_path_finds(kind: str, path: str, shown: Any):
    assert cell_at(column(kind, path), SERVERS) == shown


def test_columns_stand_behind_the_name_as_they_are_asked_for():
    given = [
        column("string", ".spec.alpha"),
        column("integer", ".spec.beta", name="Beta", description="see definition#field", format="int64", priority=42),
    ]
    assert custom_printer(given).column_definitions(DOCUMENTED) == [
        {"name": "Name", "type": "string", "format": "name", "description": "a name", "priority": 0},
        {
            "name": "Shown",
            "type": "string",
            "format": "",
            "description": "Custom resource definition column (in JSONPath format): .spec.alpha",
            "priority": 0,
        },
        {"name": "Beta", "type": "integer", "format": "int64", "description": "see definition#field", "priority": 42},
    ]


def test_without_columns_there_is_the_age():
    printer = custom_printer([])
    assert printer.column_definitions(DOCUMENTED)[1:] == [
        {"name": "Age", "type": "date", "format": "", "description": "a time", "priority": 0}
    ]
    row = printer.row({"metadata": {"name": "x", "creationTimestamp": "2024-01-01T00:00:00Z"}})
    assert (row.cells_at(NOW), row.cells_at(NOW + 3600)) == (["x", "60m"], ["x", "120m"])
    assert printer.row({"metadata": {"name": "x"}}).cells_at(NOW) == ["x", None]


def test_behind_an_invalid_path_no_columns_are_shown():
    printer = custom_printer([column("string", ".a"), column("string", ".b[x]"), column("string", ".c")])
    assert [each["name"] for each in printer.column_definitions({})] == ["Name", "Shown"]
    assert printer.row({"metadata": {"name": "x"}, "a": "1", "c": "3"}).cells_at(NOW) == ["x", "1"]


WIDGET = [
    column("integer", ".spec.size"),
    column("string", ".spec.owner", priority=1, description="who"),
    column("boolean", ".spec.on"),
    column("number", ".spec.ratio"),
    column("string", ".spec.list[0].name"),
    column("string", ".spec.list[*].name"),
    column("string", '.status.conditions[?(@.type=="Ready")].status'),
    column("string", ".spec.map"),
    column("date", ".metadata.creationTimestamp"),
]


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        (
            {
                "spec": {
                    "size": 3, "owner": "me", "on": True, "ratio": 0.5,
                    "list": [{"name": "x"}, {"name": "y"}], "map": {"a": 1},
                },
                "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
            },
            [3, "me", True, 0.5, "x", "x", "True", '{"a":1}'],
        ),
        ({}, [None] * 8),
        (
            {"spec": {"size": "three", "owner": 5, "on": "yes", "ratio": 7, "list": [], "map": "text"}},
            [None, "5", None, 7, None, None, None, "text"],
        ),
    ],
)  # fmt: skip
def test_full_empty_and_odd_objects_have_the_cells_that_a_real_server_gives_them(obj: Obj, cells: list[Any]):
    metadata = {"name": "x", "creationTimestamp": "2024-01-01T00:00:00Z"}
    assert custom_printer(WIDGET).row({"metadata": metadata} | obj).cells_at(NOW) == ["x", *cells, "60m"]


def row(kind: str = "Widget", group: str = "example.com") -> Resource:
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=True,
        definition="",
        storage_group=group,
        storage_version="v1",
        storage_prefix="",
    )


def names(tables: Tables, resource: Resource) -> list[str]:
    return [each["name"] for each in tables.column_definitions(tables.printer(resource))]


def test_a_server_knows_the_columns_of_custom_and_of_built_in_kinds():
    columns: dict[str, Sequence[Obj]] = {"Widget": [column("string", ".a")], "Gadget": ()}
    tables = Tables({}, lambda resource: columns.get(resource.kind))
    assert names(tables, row()) == ["Name", "Shown"]
    assert names(tables, row("Gadget")) == ["Name", "Age"]
    assert tables.printer(row("Pod", "")) is printer_of("", "Pod")
    assert names(tables, row("Unknown")) == ["Name", "Created At"]


def test_columns_that_changed_are_seen_once_the_tables_are_told():
    columns: dict[str, Sequence[Obj]] = {"Widget": [column("string", ".a")]}
    tables = Tables({}, lambda resource: columns.get(resource.kind))
    before = tables.printer(row())
    assert tables.printer(row()) is before
    columns["Widget"] = [column("string", ".a", name="Other")]
    tables.invalidate()
    assert names(tables, row()) == ["Name", "Other"]


def test_the_scale_of_a_custom_kind_shows_nothing_where_nothing_is_wanted():
    tables = Tables(DOCUMENTED, lambda resource: () if resource.group == "example.com" else None)
    scale: Obj = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "x", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {},
        "status": {"replicas": 2},
    }
    printer = tables.computed(row(), scale)
    assert [(each["name"], each["type"], each["description"]) for each in tables.column_definitions(printer)] == [
        ("Name", "string", "a name"),
        ("Desired", "integer", "Number of desired replicas"),
        ("Available", "integer", "Number of actual replicas"),
        ("Age", "date", "a time"),
    ]
    assert printer.row(scale).cells_at(NOW) == ["x", None, 2, "60m"]
    assert tables.computed(row("Deployment", "apps"), scale).row(scale).cells_at(NOW) == ["x", 0, 2, "60m"]
