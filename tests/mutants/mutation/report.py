"""The printed report: progress, survivors as diffs, and a table by folder."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.config import Group, Survivors
from mutation.mutants import Mutant
from mutation.processes import ERROR, KILLED, SURVIVED, TIMEOUT, Verdict

UNCOVERED = "not covered"
EQUIVALENT = "equivalent"
NAMED = "known"

_COLUMNS = ("mutants", KILLED, TIMEOUT, SURVIVED, UNCOVERED, EQUIVALENT, ERROR)


@dataclass(frozen=True, slots=True)
class Result:
    """A mutant and its verdict."""

    mutant: Mutant
    verdict: Verdict
    tests: int = 0


class Report:
    """The results of one run."""

    def __init__(self, root: Path, named: Survivors, groups: Sequence[Group]) -> None:
        """Take the survivors that have a name."""
        self._root = root
        self._named = named
        self._groups = groups
        self.results: list[Result] = []

    def add(self, result: Result) -> None:
        """Take one more result."""
        self.results.append(result)

    def unnamed(self) -> list[Result]:
        """Return the mutants that live and should not: survivors, uncovered ones, that are in no table."""
        return [each for each in self.results if self._lives(each) and not self._is_named(each.mutant)]

    def errors(self) -> list[Result]:
        """Return the mutants whose runner broke."""
        return [each for each in self.results if each.verdict.status == ERROR]

    def details(self) -> str:
        """Return the diff of each unnamed survivor, and each error."""
        parts = []
        for each in sorted(self.unnamed(), key=lambda each: (each.mutant.file, each.mutant.line)):
            mutant = each.mutant
            tried = f"{each.tests} tests pass" if each.tests else "no test runs this line"
            parts.append(f"{mutant.file}:{mutant.line}: {mutant.id}: {tried}\n{mutant.diff(self._root)}\n")
        parts += [f"error: {each.mutant.id}: {each.verdict.by}" for each in self.errors()]
        return "\n".join(parts)

    def table(self) -> str:
        """Return the table: a row for each folder, and one for all."""
        rows: dict[str, list[Result]] = {}
        for each in self.results:
            rows.setdefault(self._folder(each.mutant.file), []).append(each)
        lines = [_line("folder", (*_COLUMNS, "share", "goal"))]
        for folder in sorted(rows):
            goal = next((f"{group.goal} %" for group in self._groups if folder in group.sources), "")
            lines.append(_line(folder, (*self._counts(rows[folder]), goal)))
        if len(rows) > 1:
            lines.append(_line("all", (*self._counts(self.results), "")))
        return "\n".join(lines)

    def _counts(self, results: Iterable[Result]) -> list[str]:
        counts = Counter(self._kind(each) for each in results)
        total = counts.total()
        killed = counts[KILLED] + counts[TIMEOUT]
        judged = total - counts[EQUIVALENT] - counts[ERROR]
        share = f"{100 * killed / judged:.0f} %" if judged else "-"
        return [str(total), *(str(counts[kind]) for kind in _COLUMNS[1:]), share]

    def _kind(self, result: Result) -> str:
        lives = self._lives(result) and result.mutant.id in self._named.equivalent
        return EQUIVALENT if lives else result.verdict.status

    def _folder(self, file: str) -> str:
        return next((folder for group in self._groups if (folder := group.folder(file))), file)

    def _lives(self, result: Result) -> bool:
        return result.verdict.status in {SURVIVED, UNCOVERED}

    def _is_named(self, mutant: Mutant) -> bool:
        return mutant.id in self._named.equivalent or mutant.id in self._named.known


def _line(folder: str, cells: Sequence[str]) -> str:
    return f"{folder:<32}" + "".join(
        f"{cell:>{max(len(title), 5) + 2}}" for cell, title in zip(cells, (*_COLUMNS, "share", "goal"), strict=True)
    )
