"""The README's commands are run and their output compared: what it shows is what a person sees."""

import re
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CHANGING = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:6443"),
    (r"after \d+\.\d\d s", "after 0.46 s"),
    (r"\b\d+s\b", "1s"),
    (r"\b(web-[0-9a-f]{8,10})-[a-z0-9]{5}\b", r"\1-xxxxx"),
    (r"\b10\.244\.\d+\.\d+\b", "10.244.0.2"),
    (r"\bnode-\d\b", "node-1"),
    (r"^Waiting for deployment .*\n", ""),
    (r" +$", ""),
    (r" {2,}", "  "),
)


@pytest.fixture
def readme(document: Callable[..., Any]) -> Any:
    return document("README.md", CHANGING)


def test_make_up_does_what_the_transcript_does() -> None:
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "up", "ARGS=--port 0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.splitlines()[-1] == ".venv/bin/mockube up --data-dir .mockube --port 0"


@pytest.mark.kubectl
def test_what_the_readme_shows_is_what_a_person_sees(
    up: Callable[..., Any], shell: dict[str, str], readme: Any, tmp_path: Path
) -> None:
    (start, greeting), *rest = readme.transcript
    assert start == "make up"
    server = up("--data-dir", tmp_path / ".mockube", controllers=True)
    assert readme.steady(server.greeting.replace(str(tmp_path), "$PWD")) == readme.steady(greeting)
    assert len(rest) > 5
    readme.play(tmp_path, shell, after=1)


def test_every_file_of_a_data_directory_is_documented(up: Callable[..., Any], tmp_path: Path) -> None:
    up("--data-dir", tmp_path, controllers=True)
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "data.md").read_text(), re.MULTILINE)
    documented = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert [file for file in files if not any(fnmatch(file, name) for name in documented)] == []
    assert [
        name for name in documented if not any(fnmatch(file, name) for file in files) and name != "store.db-wal"
    ] == []


def test_the_readmes_test_of_an_operator_passes(readme: Any, tmp_path: Path) -> None:
    (example,) = readme.blocks("python")
    (tmp_path / "test_operator.py").write_text(example)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout.splitlines()[-1][:8]) == (0, "2 passed"), ended.stdout


def test_what_the_readme_says_of_the_simulation_is_in_its_document() -> None:
    simulation = (ROOT / "docs" / "simulation.md").read_text()
    annotations = set(re.findall(r"\bmockube\.io/[a-z-]+", README.replace(".mockube.io/", "")))
    images = set(re.findall(r"\b[a-z]+\.mockube\.io/", README))
    assert len(annotations) > 3
    assert len(images) > 1
    assert [name for name in sorted(annotations | images) if name not in simulation] == []


@pytest.mark.parametrize(
    "document", sorted({"README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))})
)
def test_every_link_leads_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not ((ROOT / document).parent / target).exists()] == []
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-")
        for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    assert {*re.findall(r"\]\(#([^)]+)\)", text)} <= anchors
