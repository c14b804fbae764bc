"""Which lines of the sources the tests run, in pytest's workers and in the processes that tests start.

`make coverage` has every Python process begin with `sitecustomize.py` beside this file, runs pytest with this module as
a plug-in, and then this module as a script, which prints the share and fails where it is below the floor.

Workers run nearly everything, and fast: slipcover takes its probe out of a line once the line has run, so that
measuring costs little more than the instrumentation of each module (3 s for all of them). That is too long for a
process that a test starts and waits for. There coverage.py traces, and only the files that hardly anything else runs:
the commands.
"""

import atexit
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[3]
PACKAGES = ("etcd", "apiserver", "controller_manager", "mockube")
COMMANDS = ("*/mockube/*", "*/__main__.py", "*/apiserver/app.py", "*/controller_manager/manager.py", "*/flags.py")
"""The files of commands, for coverage.py."""
FOLDER = "MOCKUBE_COVERAGE"
"""The variable of the environment that names the folder of what processes measure."""


class _Worker:
    """What a worker measures with, from before its first import to the end of its session; a process has one."""

    slipcover: Any = None


def start() -> None:
    """Begin to measure this process, before it imports anything of ours."""
    if any("exec(eval(sys.stdin.readline()))" in word for word in sys.orig_argv):  # so execnet starts workers
        _start_slipcover()
    elif not any("pytest" in word for word in sys.orig_argv):
        tracer = Coverage(data_file=_data_file(), data_suffix=True, include=COMMANDS, messages=False, config_file=False)
        tracer.start()
        atexit.register(_save, tracer)


def _data_file() -> str:
    return str(Path(os.environ[FOLDER]) / "lines")


def _save(tracer: Coverage) -> None:
    tracer.stop()
    tracer.save()


def _start_slipcover() -> None:
    import slipcover  # noqa: PLC0415 - only workers need it

    _Worker.slipcover = slipcover.Slipcover()
    matcher = slipcover.FileMatcher(sources=[str(ROOT / package) for package in PACKAGES])
    slipcover.ImportManager(_Worker.slipcover, matcher).__enter__()  # until the process ends
    slipcover.wrap_pytest(_Worker.slipcover, matcher)  # pytest imports packages that bring plug-ins in its own way


def pytest_sessionfinish() -> None:
    """Write down what a worker has run; execnet ends its process without what atexit knows."""
    if _Worker.slipcover is not None:
        files = _Worker.slipcover.get_coverage()["files"]
        data = CoverageData(basename=_data_file(), suffix=True)
        data.add_lines({str((ROOT / name).resolve()): each["executed_lines"] for name, each in files.items()})
        data.write()


# -- what all processes have run ---------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class File:
    """The lines of a file that have statements, and those of them that no process has run."""

    share: float
    path: str
    statements: int
    missing: list[int]

    def __str__(self) -> str:
        return f"{self.path}: {100 * self.share:.1f} %, not {ranges(self.missing)}"


def files(measured: Coverage) -> list[File]:
    """Return all source files, those that are run least first."""
    return sorted(_file(measured, path) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def _file(measured: Coverage, path: Path) -> File:
    _, statements, _, missing, _ = measured.analysis2(str(path))
    share = 1 - len(missing) / len(statements) if statements else 1.0
    return File(share, str(path.relative_to(ROOT)), len(statements), missing)


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as text: "1, 3-5"."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def main() -> int:
    """Print the share of the lines that were run; return 1 if it is below the floor."""
    measured = Coverage(data_file=_data_file(), config_file=str(ROOT / "pyproject.toml"), messages=False)
    measured.combine([os.environ[FOLDER]], keep=True)
    found = files(measured)
    lines, missing = sum(each.statements for each in found), sum(len(each.missing) for each in found)
    share, floor = 100 * (lines - missing) / lines, measured.get_option("report:fail_under")
    report = Path(os.environ[FOLDER]) / "missing.txt"
    report.write_text("".join(f"{each}\n" for each in found if each.missing))
    print(
        f"coverage: tests run {share:.2f} % of {lines:,} lines, and the floor is {floor} %; the others are in {report}"
    )
    return int(share < float(str(floor)))


if __name__ == "__main__":
    sys.exit(main())
