"""Rows as a person sees them: column name → cell, one hour after the object was made."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.endpoints.tables import printer_of

NOW = 1_704_070_800.0  # 2024-01-01T01:00:00Z
CREATED = "2024-01-01T00:00:00Z"

Printed = Callable[[str, str, Obj], dict[str, Any]]


@pytest.fixture
def printed() -> Printed:
    def show(group: str, kind: str, body: Obj) -> dict[str, Any]:
        metadata = {"name": "x", "creationTimestamp": CREATED, **body.get("metadata", {})}
        printer = printer_of(group, kind)
        names = [column["name"] for column in printer.defined({})]
        cells = printer.row({**body, "metadata": metadata}).at(NOW)
        return dict(zip(names, cells, strict=False))

    return show
