"""Prints which share of the sources tests have run, as their processes noted it, and fails below the floor."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage
from line_coverage import FOLDER, PACKAGES, ROOT


@dataclass(frozen=True, order=True)
class File:
    """The lines of a file that have statements, and those of them that no process has run."""

    share: float
    path: str
    statements: int
    missing: list[int]

    def __str__(self) -> str:
        return f"{self.path}: {100 * self.share:.1f} %, not {ranges(self.missing)}"


def lines_of(folder: Path) -> dict[str, set[int]]:
    """Return the lines of each file that any process has run."""
    lines: dict[str, set[int]] = {}
    for process in folder.glob("*.json"):
        for path, numbers in json.loads(process.read_text()).items():
            lines.setdefault(path, set()).update(numbers)
    return lines


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
    folder = Path(os.environ[FOLDER])
    measured = Coverage(data_file=None, config_file=str(ROOT / "pyproject.toml"))
    measured.get_data().add_lines(lines_of(folder))
    reports = files(measured)
    lines, missing = sum(each.statements for each in reports), sum(len(each.missing) for each in reports)
    share, floor = 100 * (lines - missing) / lines, measured.get_option("report:fail_under")
    report = folder / "missing.txt"
    report.write_text("".join(f"{each}\n" for each in reports if each.missing))
    print(
        f"coverage: tests run {share:.2f} % of {lines:,} lines, and the floor is {floor} %; the others are in {report}"
    )
    return int(share < float(str(floor)))


if __name__ == "__main__":
    sys.exit(main())
