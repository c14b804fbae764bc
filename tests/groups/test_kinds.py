"""Tables of the registry are by group and kind: a key that no release has is a rule that is never asked for."""

import pytest

from apiserver.api.schema import available_versions, load_definitions
from apiserver.groups.rows import builtin_rows
from apiserver.registry import kind_tables
from apiserver.registry.kind_tables import BESIDE_SPEC, DEFAULTS, FIELDS, VERSION_DEFAULTS
from apiserver.registry.strategy import STRATEGIES, SUBRESOURCES
from apiserver.registry.validation import SUBRESOURCE_VALIDATORS, VALIDATORS, WARNINGS

ROWS = [row for version in available_versions() for row in builtin_rows(load_definitions(version))]
KINDS = {(row.group, row.kind) for row in ROWS}
VERSIONS = {(row.group, row.version, row.kind) for row in ROWS} | {(row.group, row.kind, row.version) for row in ROWS}
PARTS = {(row.group, row.kind, name) for row in ROWS for name in row.subresources}


@pytest.mark.parametrize(
    ("table", "known"),
    [
        pytest.param(STRATEGIES, KINDS, id="strategies"),
        pytest.param(SUBRESOURCES, PARTS, id="strategies of subresources"),
        pytest.param(VALIDATORS, KINDS, id="validators"),
        pytest.param(WARNINGS, KINDS, id="warnings"),
        pytest.param(SUBRESOURCE_VALIDATORS, PARTS, id="validators of subresources"),
        pytest.param(DEFAULTS, KINDS, id="defaults"),
        pytest.param(BESIDE_SPEC, KINDS, id="defaults beside the spec"),
        pytest.param(VERSION_DEFAULTS, VERSIONS, id="defaults of a version"),
        pytest.param(FIELDS, KINDS, id="fields"),
        pytest.param(kind_tables.NOTICES, KINDS, id="notices"),
    ],
)
def test_every_key_is_of_a_kind_that_a_release_has(table, known):
    assert set(table) - known == set()
