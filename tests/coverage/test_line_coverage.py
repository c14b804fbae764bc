"""Lines that tests run are noted in workers and in the commands that tests start; a share below the floor fails."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import covered_share
import pytest
from patience import SECONDS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "tests" / "coverage" / "site"


PLANTED = """\
from etcd.store import Conflict

def test_it():
    assert str(Conflict(None))
"""


@pytest.fixture
def measured(tmp_path: Path) -> Any:
    """measured(*arguments): runs Python so, and has it note its lines in the folder "noted"."""
    folder = tmp_path / "noted"
    folder.mkdir()
    environment = os.environ | {"MOCKUBE_COVERAGE": str(folder), "PYTHONPATH": str(SITE)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    return run


def line_of(path: str, text: str) -> int:
    """Return the number of the only line of a file that has a text."""
    (number,) = (each for each, line in enumerate((ROOT / path).read_text().splitlines(), start=1) if text in line)
    return number


def test_a_worker_notes_the_lines_that_its_tests_run_and_no_others(measured, tmp_path):
    test = tmp_path / "test_planted.py"
    test.write_text(PLANTED)
    options = ("-p", "line_coverage", "-n", "1", "--rootdir", str(tmp_path), "-c", os.devnull)
    done = measured("-m", "pytest", *options, str(test))
    assert done.returncode == 0, done.stdout + done.stderr
    noted = covered_share.lines_of(tmp_path / "noted")[str(ROOT / "etcd/store.py")]
    assert line_of("etcd/store.py", "at revision {") in noted
    assert line_of("etcd/store.py", "the newest revision is") not in noted


@pytest.mark.parametrize("arguments", [("--version",), ("backup", "--help", "/tmp/pytest-of-me/pytest-0/data")])
def test_a_command_that_a_test_starts_notes_its_lines(measured, tmp_path, arguments):
    assert measured("-m", "mockube", *arguments).returncode == 0
    assert covered_share.lines_of(tmp_path / "noted")[str(ROOT / "mockube/__main__.py")]


def test_a_share_below_the_floor_fails_and_says_which_lines_are_not_run(measured, tmp_path):
    assert measured("-m", "mockube", "--version").returncode == 0
    done = measured(str(SITE / "covered_share.py"))
    assert done.returncode == 1, done.stderr
    assert "the floor is" in done.stdout
    assert "\netcd/mvcc.py: 0.0 %, not " in (tmp_path / "noted" / "missing.txt").read_text()


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((7,), "7"), ((1, 3, 4, 5), "1, 3-5"), ((1, 2, 4, 5, 9), "1-2, 4-5, 9")]
)
def test_neighbouring_lines_are_told_as_one_range(numbers, text):
    assert covered_share.ranges(numbers) == text
