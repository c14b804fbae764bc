"""Tables of the registry are by group and kind: a key that no release has is a rule that is never asked for."""

import pytest

from apiserver.api.builtin import builtin_rows
from apiserver.api.schema import available_versions, load_definitions
from apiserver.api.validation import metadata
from apiserver.registry import defaults, fields, strategy, unsupported, validation
from apiserver.registry.validation import subresources

ROWS = [row for version in available_versions() for row in builtin_rows(load_definitions(version))]
KINDS = {(row.group, row.kind) for row in ROWS}
VERSIONS = {(row.group, row.version, row.kind) for row in ROWS} | {(row.group, row.kind, row.version) for row in ROWS}
PARTS = {(row.group, row.kind, name) for row in ROWS for name in row.subresources}


@pytest.mark.parametrize(
    ("table", "known"),
    [
        pytest.param(strategy.STRATEGIES, KINDS, id="strategies"),
        pytest.param(strategy.SUBRESOURCES, PARTS, id="strategies of subresources"),
        pytest.param(validation.VALIDATORS, KINDS, id="validators"),
        pytest.param(validation.WARNINGS, KINDS, id="warnings"),
        pytest.param(subresources.PART_VALIDATORS, PARTS, id="validators of subresources"),
        pytest.param(metadata.NAME_RULES, KINDS, id="names"),
        pytest.param(defaults.DEFAULTS, KINDS, id="defaults"),
        pytest.param(defaults.BESIDE_SPEC, KINDS, id="defaults beside the spec"),
        pytest.param(defaults.VERSION_DEFAULTS, VERSIONS, id="defaults of a version"),
        pytest.param(fields.FIELDS, KINDS, id="fields"),
        pytest.param(unsupported.NOTICES, KINDS, id="notices"),
    ],
)
def test_every_key_is_of_a_kind_that_a_release_has(table, known):
    assert set(table) - known == set()
