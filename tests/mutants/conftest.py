"""Projects of a few lines, mutated by the command as a person runs it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 120

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
class Ran:
    """What the command came to."""

    code: int
    out: str
    err: str

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each mutant, by its id without the file."""
        lines = re.findall(r"^\[\d+\] [^:]+:(\S+): (.*?)(?: by .*)?$", self.err, re.MULTILINE)
        return dict(lines)


@pytest.fixture
def mutate(tmp_path: Path) -> Callable[..., Ran]:
    """mutate(source, tests, *arguments, survivors="", groups=""): on a project of one module, `planted.code`."""

    def run(source: str, tests: str, *arguments: str, survivors: str = "", groups: str = "") -> Ran:
        files = {
            "planted/__init__.py": "",
            "planted/code.py": source,
            "tests/test_code.py": tests,
            "tests/mutants/groups.toml": GROUPS + groups,
            "tests/mutants/survivors.toml": survivors,
            **AS_INSTALLED,
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
        }
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{tmp_path}"}
        done = subprocess.run(
            [sys.executable, "-m", "mutation", "--jobs", "1", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
