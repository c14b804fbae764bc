from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.schema import Schema, available_versions, load_definitions
from apiserver.apiextensions.structural import StructuralSchema

Obj = dict[str, Any]


@pytest.fixture(scope="session")
def types() -> Schema:
    newest = available_versions()[-1]
    return Schema(load_definitions(newest), newest)


@pytest.fixture(scope="session")
def of_properties(types) -> Callable[..., StructuralSchema]:
    """Return a function that makes the schema of objects with some properties, and other keywords beside them."""

    def made(properties: Obj | None = None, /, **words: Any) -> StructuralSchema:
        return StructuralSchema({"type": "object", "properties": properties or {}} | words, types)

    return made
