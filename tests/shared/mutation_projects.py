"""Projects of a few lines, mutated by the command as a person runs it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SECONDS = 120

MUTANTS = Path(__file__).parents[1] / "mutants"
"""Where the command lies."""

GROUPS = """\
[[group]]
sources = ["planted"]
tests = ["."]
goal = 90
"""

AS_INSTALLED = {
    "planted.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: planted\nVersion: 1\n",
    "planted.egg-info/SOURCES.txt": "planted/__init__.py\nplanted/code.py\n",
    "planted.egg-info/entry_points.txt": "[pytest11]\nplanted = planted\n",
}
"""The project brings a plug-in of pytest, as mockube does: pytest would import its modules in a way of its own."""


@dataclass(frozen=True)
class CommandResult:
    """The exit code and the output of the command."""

    code: int
    out: str
    err: str

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each mutant, by its id without the file."""
        lines = re.findall(r"^\[\d+\] [^:]+:(\S+): (.*?)(?: by .*)?$", self.err, re.MULTILINE)
        return dict(lines)


@dataclass(frozen=True)
class Command:
    """The command on a project of one module, `planted.code`."""

    root: Path

    def plant(
        self, source: str, tests: str, *, survivors: str = "", groups: str = "", more: Mapping[str, str] | None = None
    ) -> None:
        """Write the project, with more files by their paths."""
        files = {
            "planted/__init__.py": "",
            "planted/code.py": source,
            "tests/test_code.py": tests,
            "tests/mutants/groups.toml": GROUPS + groups,
            "tests/mutants/survivors.toml": survivors,
            **AS_INSTALLED,
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
            **(more or {}),
        }
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start it there."""
        return subprocess.Popen(
            [sys.executable, "-m", "mutation", "--jobs", "1", *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": f"{MUTANTS}{os.pathsep}{self.root}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, to be started on a project."""
    return Command(tmp_path)


@pytest.fixture
def mutate(command: Command) -> Callable[..., CommandResult]:
    """mutate(source, tests, *arguments, **tables_and_more): runs the command to its end."""

    def run(source: str, tests: str, *arguments: str, **others: Any) -> CommandResult:
        command.plant(source, tests, **others)
        with command.start(*arguments) as process:
            out, err = process.communicate(timeout=SECONDS)
        return CommandResult(process.returncode, out, err)

    return run
