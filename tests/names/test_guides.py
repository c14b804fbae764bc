"""The guides tell the truth: files exist, and excerpts are in the file that is named last before them."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver.groups.kind import BuiltinKind

ROOT = Path(__file__).parents[2]
GUIDES = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("adding-a-*.md"))}
FILE = re.compile(
    r"`((?:apiserver|bench|controller_manager|docs|etcd|mockube|tests)/[\w./-]*|README\.md|CHANGELOG\.md)`"
)
MOST_LINES = 150


def excerpts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the excerpts of a guide that are not what a terminal shows: (file, lines)."""
    for fence in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if fence[1] != "console":
            yield FILE.findall(text[: fence.start()])[-1], fence[2]


EXCERPTS = [
    pytest.param(file, lines, id=f"{name}-{number}")
    for name, text in GUIDES.items()
    for number, (file, lines) in enumerate(excerpts(text))
]


@pytest.mark.parametrize(("file", "lines"), EXCERPTS)
def test_an_excerpt_is_in_its_file(file: str, lines: str) -> None:
    assert lines in (ROOT / file).read_text()


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_is_short_and_names_files_that_exist(name: str) -> None:
    files = FILE.findall(GUIDES[name])
    assert len(files) > 8
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert len(GUIDES[name].splitlines()) <= MOST_LINES
    assert len([*excerpts(GUIDES[name])]) >= 4


def test_the_table_of_facts_names_attributes_of_a_kind() -> None:
    rows = re.findall(r"^\| `pkg/.*\| ([^|]*) \|$", GUIDES["adding-a-kind.md"], re.MULTILINE)
    attributes = {field.name for field in dataclasses.fields(BuiltinKind)}
    assert len(rows) == 4
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} <= attributes
