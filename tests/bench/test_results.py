"""Results say which commit was measured, and anybody who has the repository can look at it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted(path for path in (ROOT / "bench" / "results").glob("*.json") if path.name != "latest.json")


def git(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", "-C", str(directory), *who, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_the_commit_of_a_result_is_in_the_repository(path: Path) -> None:
    if shutil.which("git") is None or git(ROOT, "rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("older commits are not here: this is no git checkout, or a shallow one (git fetch --unshallow)")
    commit = json.loads(path.read_text())["machine"]["commit"]
    assert git(ROOT, "merge-base", "--is-ancestor", commit, "HEAD").returncode == 0, f"{commit} is not in the history"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own with the bench in it, all of it committed."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here: install it to try the bench in a repository")
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
        assert git(tmp_path, *arguments).returncode == 0
    return tmp_path


def unnamed(checkout: Path) -> str:
    """The reason why no commit names what is measured."""
    program = "import machine; print(machine.unnamed())"
    output = subprocess.run([sys.executable, "-c", program], cwd=checkout / "bench", capture_output=True, check=True)
    return output.stdout.decode().strip()


def test_a_clean_checkout_is_named_by_its_commit(checkout: Path) -> None:
    assert unnamed(checkout) == ""


@pytest.mark.parametrize("name", ["bench/rows.py", "apiserver.py"])
def test_a_change_that_is_not_committed_is_named(checkout: Path, name: str) -> None:
    (checkout / name).write_text("# changed\n")
    assert name in unnamed(checkout)


def test_results_that_are_not_committed_yet_do_not_matter(checkout: Path) -> None:
    (checkout / "bench" / "results" / "more.json").write_text("{}")
    assert unnamed(checkout) == ""


def test_a_place_outside_git_has_no_commit(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    assert "no git checkout" in unnamed(checkout)


def test_the_bench_does_not_begin_to_measure_what_no_commit_names(checkout: Path) -> None:
    rows = checkout / "bench" / "rows.py"
    rows.write_text(rows.read_text() + "# changed\n")
    command = [sys.executable, str(checkout / "bench" / "run.py"), "--json", str(checkout / "bench/results/more.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "bench/rows.py" in done.stderr
    assert "Commit or undo the changes" in done.stderr
    assert not (checkout / "bench/results/more.json").exists()
