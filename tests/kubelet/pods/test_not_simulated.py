"""docs/simulation.md says which fields of a Pod the simulated kubelets leave alone."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "simulation.md").read_text()
SECTION = DOCUMENT.partition("\n## What is not simulated\n")[2].partition("\n## ")[0]
FIELDS = re.findall(r"`([a-zA-Z]+)`", SECTION)
SOURCES = "\n".join(path.read_text() for path in (ROOT / "controller_manager").rglob("*.py"))
DEFINITIONS = (ROOT / "apiserver" / "api" / "protobuf" / "messages.json").read_text()


def test_there_are_such_fields() -> None:
    assert len(FIELDS) > 10


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_not_simulated_is_one_of_pods_that_nothing_in_the_manager_reads(field: str) -> None:
    assert re.search(rf"\b{field}\b", DEFINITIONS)
    assert not re.search(rf'"{field}"', SOURCES)
