"""The built-in kinds that tests of several folders look up."""

import pytest

from apiserver.api.resources import Resource
from apiserver.api.schema import available_versions, load_definitions
from apiserver.groups.rows import builtin_rows


@pytest.fixture(scope="session")
def rows() -> dict[str, Resource]:
    """The newest release's kinds by their names, of those that are served in several versions the last."""
    return {row.kind: row for row in builtin_rows(load_definitions(available_versions()[-1]))}
