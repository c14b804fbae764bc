"""Notes which lines of the sources a process runs, in pytest's workers and in what tests start.

`make coverage` has every Python process begin with `sitecustomize.py` beside this file, runs pytest with this module as
a plug-in, and then `covered_share.py`.

slipcover takes its probe out of a line once the line has run, so that measuring costs little more than the
instrumentation of each module: 3 s for all of them. That is too long for a process that a test starts and waits for;
there only the files of commands are measured, which workers hardly run.
"""

import atexit
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PACKAGES = ("etcd", "apiserver", "controller_manager", "mockube")
COMMANDS = (
    "mockube",
    "apiserver/__main__.py",
    "apiserver/app.py",
    "controller_manager/__main__.py",
    "controller_manager/flags.py",
    "controller_manager/manager.py",
)
FOLDER = "MOCKUBE_COVERAGE"
"""The variable of the environment that names the folder of what processes measure."""


class _Process:
    """The tracer of this process, from before its first import to its end."""

    slipcover: Any = None


def start() -> None:
    """Begin to measure this process, before it imports anything of ours."""
    if any("exec(eval(sys.stdin.readline()))" in word for word in sys.orig_argv):  # so execnet starts workers
        _instrument(PACKAGES)
    elif "pytest" not in [Path(word).name for word in sys.orig_argv]:
        _instrument(COMMANDS)
        atexit.register(_save)


def _instrument(paths: Sequence[str]) -> None:
    import slipcover  # noqa: PLC0415 - the report does not need it

    _Process.slipcover = slipcover.Slipcover()
    matcher = slipcover.FileMatcher(sources=[str(ROOT / path) for path in paths])
    slipcover.ImportManager(_Process.slipcover, matcher).__enter__()  # until the process ends
    slipcover.importer.SlipcoverLoader.get_code = _code_of  # which `python -m` calls, and slipcover leaves alone
    if paths is PACKAGES:
        slipcover.wrap_pytest(_Process.slipcover, matcher)  # pytest imports what brings a plug-in in its own way


def _code_of(loader: Any, name: str) -> Any:
    return loader.sci.instrument(loader.orig_loader.get_code(name))


def pytest_sessionfinish() -> None:
    """Write down what a worker has run; execnet ends its process without what atexit knows."""
    if _Process.slipcover is not None:
        _save()


def _save() -> None:
    files = _Process.slipcover.get_coverage()["files"]
    lines = {str(Path(name).absolute()): each["executed_lines"] for name, each in files.items()}
    (Path(os.environ[FOLDER]) / f"{os.getpid()}.json").write_text(json.dumps(lines))
