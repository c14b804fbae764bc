"""Which mutants run, against which tests, and in which order."""

import ast
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from mutation.config import packages
from mutation.coverage_map import CoverageMap, Test
from mutation.mutants import Mutant
from mutation.processes import Job, module_of

_TIERS = (0.05, 0.5)
"""Seconds: faster tests run before slower ones, and within a tier those of one file together."""


def sampled(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return so many mutants; which, depends on their ids and the seed, and not on the other mutants."""
    ranked = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.id}".encode()).digest())
    return ranked[:count]


class Selection:
    """Chooses the tests of each mutant; those that killed others of the same file come first."""

    def __init__(self, root: Path, covered: CoverageMap, budget: float) -> None:
        """Take the coverage, and the seconds that the tests of one mutant may usually take together."""
        self._root = root
        self._covered = covered
        self._budget = budget
        self._left_out: set[str] = set()
        self._kills: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def job(self, mutant: Mutant) -> Job | None:
        """Return a mutant with its tests, or None if no test runs it."""
        fresh = mutant.at_import or self._covered.runs_at_import(mutant.file, mutant.line)
        tests = [test for test in self.covering(mutant) if test.id not in self._left_out]
        kills = self._kills[mutant.file]
        return Job(mutant, arranged(within(tests, self._budget, kills), kills), fresh) if tests else None

    def covering(self, mutant: Mutant) -> list[Test]:
        """Return all tests that run a mutant, or may depend on what it does at import."""
        covered, file = self._covered, mutant.file
        if not mutant.at_import:
            tests = covered.covering(file, [mutant.line]) or covered.covering(file, range(mutant.line, mutant.last + 1))
            if tests or not covered.runs_at_import(file, mutant.line):
                return tests
        tests = covered.covering(file, mutant.interest) or covered.using(file) or self._of_importers(file)
        return list({test.id: test for test in (*tests, *self._importing(file))}.values())

    def leave_out(self, test: str) -> bool:
        """Use a test no more; return whether it was used until now."""
        known = test in self._left_out
        self._left_out.add(test)
        return not known

    def killed(self, mutant: Mutant, test: str) -> None:
        """Note which test has killed a mutant."""
        self._kills[mutant.file][test] += 1

    def _of_importers(self, file: str) -> list[Test]:
        """Return the tests that run anything of a file that imports this one."""
        files = set(importers(self._root).get(module_of(file), ()))
        tests = [test for each in files for test in self._covered.using(each)]
        return list({test.id: test for test in tests}.values())

    def _importing(self, file: str) -> list[Test]:
        """Return the tests of files that import a file, or another one that does: they may run nothing of it."""
        by_module = importers(self._root)
        direct = by_module.get(module_of(file), ())
        files = {*direct, *(test for each in direct for test in by_module.get(module_of(each), ()))}
        return [test for test in self._covered.tests.values() if test.file in files]


def within(tests: Iterable[Test], budget: float, kills: Counter[str]) -> list[Test]:
    """Return the tests that fit into a budget of seconds: killers first, then a row of each table, by speed."""
    rows: Counter[str] = Counter()
    ranks: dict[str, int] = {}
    by_speed = sorted(tests, key=lambda test: test.seconds)
    for test in by_speed:
        table = test.id.partition("[")[0]
        ranks[test.id] = min(rows[table], 3)
        rows[table] += 1
    ranked = sorted(by_speed, key=lambda test: (-kills[test.id], ranks[test.id]))
    chosen, spent = ranked[:1], ranked[0].seconds if ranked else 0.0
    for test in ranked[1:]:
        if spent + test.seconds <= budget:
            chosen.append(test)
            spent += test.seconds
    return chosen


def arranged(tests: Sequence[Test], kills: Counter[str]) -> list[Test]:
    """Return the tests in the order to run them: killers, then fast ones, then slow ones, each by file."""

    def tier(test: Test) -> int:
        return -1 if kills[test.id] else sum(test.seconds > limit for limit in _TIERS)

    return sorted(tests, key=lambda test: (tier(test), -kills[test.id] if kills[test.id] else 0, test.file, test.order))


@cache
def importers(root: Path) -> dict[str, list[str]]:
    """Return the files that import each module."""
    importing: defaultdict[str, list[str]] = defaultdict(list)
    for folder in (*packages(root), "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            for module in _imported(ast.parse(path.read_text())):
                importing[module].append(str(path.relative_to(root)))
    return dict(importing)


def _imported(tree: ast.AST) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return modules
