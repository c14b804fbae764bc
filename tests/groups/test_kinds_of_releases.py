"""The tables by kind: a row for a kind that no release serves would never be used."""

from collections.abc import Mapping
from typing import Any

import pytest

from apiserver.api.schema import available_versions
from apiserver.registry.bootstrap.cluster import GROUP_PRIORITIES
from apiserver.registry.kind_tables import BESIDE_SPEC, CONVERSIONS, DEFAULTS, FIELDS, NOTICES, VERSION_DEFAULTS
from apiserver.registry.strategy import STRATEGIES, SUBRESOURCES
from apiserver.registry.subresources import VIRTUAL
from apiserver.registry.validation import SUBRESOURCE_VALIDATORS, VALIDATORS, WARNINGS
from apiserver.release import load_release

ROWS = [row for version in available_versions() for row in load_release(version).rows]
KINDS = {(row.group, row.kind) for row in ROWS}
BY_KIND = {
    "defaults": DEFAULTS,
    "defaults beside the spec": BESIDE_SPEC,
    "fields": FIELDS,
    "notices": NOTICES,
    "strategies": STRATEGIES,
    "validators": VALIDATORS,
    "warnings": WARNINGS,
}


WORKLOADS = {("apps.kruise.io", kind) for kind in ("CloneSet", "StatefulSet", "UnitedDeployment")}


@pytest.mark.parametrize("table", BY_KIND.values(), ids=BY_KIND)
def test_rows_are_of_kinds_that_a_release_serves(table: Mapping[tuple[str, str], Any]) -> None:
    assert table.keys() - KINDS - WORKLOADS == set()


def test_every_stored_kind_has_a_strategy() -> None:
    assert {(row.group, row.kind) for row in ROWS if (row.group, row.plural) not in VIRTUAL} <= STRATEGIES.keys()


def test_priorities_are_of_groups_that_a_release_serves() -> None:
    assert GROUP_PRIORITIES.keys() - {row.group for row in ROWS} == set()


def test_rows_of_versions_are_of_versions_that_a_release_serves() -> None:
    served = {(row.group, row.version, row.kind) for row in ROWS}
    assert VERSION_DEFAULTS.keys() - served == set()
    assert CONVERSIONS.keys() - served == set()


def test_rows_of_subresources_are_of_those_that_kinds_have() -> None:
    served = {(row.group, row.kind, name) for row in ROWS for name in row.subresources}
    assert SUBRESOURCES.keys() - served == set()
    assert SUBRESOURCE_VALIDATORS.keys() - served == set()
    assert VIRTUAL.keys() - {(row.group, row.plural) for row in ROWS} == set()
