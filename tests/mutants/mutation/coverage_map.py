"""Which tests run which lines, how long each takes, and a cache of that outside of version control."""

import hashlib
import pickle
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutation.config import packages

CACHE = ".mutants/coverage"

_AT_IMPORT = ""
_FIXTURE = "fixture "


@dataclass(frozen=True, slots=True)
class Test:
    """One test that passes.

    Attributes:
        id: its node id.
        seconds: its set-up, call and tear-down, while its coverage was recorded.
        order: its rank in its file.
    """

    id: str
    seconds: float
    order: int

    @property
    def file(self) -> str:
        """The path of its file."""
        return self.id.partition("::")[0]


@dataclass(slots=True)
class FileCoverage:
    """The coverage of the tests of one file.

    Attributes:
        digest: of the file, and of what it imports from tests.
        sources: digests of the source files that were run.
        tests: those that passed, by id.
        failed: ids of those that did not.
        lines: per source file, the lines that a test ran, as bits: bit 7 is line 7.
        at_import: per source file, the lines that were run when it was imported.
    """

    digest: str
    sources: dict[str, str]
    tests: dict[str, Test] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    lines: dict[str, dict[str, int]] = field(default_factory=dict)
    at_import: dict[str, int] = field(default_factory=dict)


class CoverageMap:
    """The coverage of several test files together."""

    def __init__(self, files: Iterable[FileCoverage]) -> None:
        """Merge the files' coverage."""
        self.tests: dict[str, Test] = {}
        self.lines: dict[str, dict[str, int]] = {}
        self._at_import: dict[str, int] = {}
        for each in files:
            self.tests |= each.tests
            for source, lines in each.lines.items():
                self.lines.setdefault(source, {}).update(lines)
            for source, bits in each.at_import.items():
                self._at_import[source] = self._at_import.get(source, 0) | bits

    def covering(self, source: str, lines: Iterable[int]) -> list[Test]:
        """Return the tests that run one of the lines of a source file."""
        mask = sum(1 << line for line in set(lines))
        return [self.tests[name] for name, bits in self.lines.get(source, {}).items() if bits & mask]

    def using(self, source: str) -> list[Test]:
        """Return the tests that run anything of a source file."""
        return [self.tests[name] for name in self.lines.get(source, {})]

    def runs_at_import(self, source: str, line: int) -> bool:
        """Return whether importing the file, or one that uses it, runs the line."""
        return bool(self._at_import.get(source, 0) >> line & 1)


def load(root: Path, test_file: str) -> FileCoverage | None:
    """Return what the cache has of a test file, or None if there is nothing or a file has changed since."""
    path = _cache_path(root, test_file)
    if not path.exists():
        return None
    known: FileCoverage = pickle.loads(path.read_bytes())
    current = known.digest == digest_of_tests(root, test_file)
    current = current and all(_digest(root / source) == digest for source, digest in known.sources.items())
    return known if current else None


def save(root: Path, test_file: str, known: FileCoverage) -> None:
    """Put the coverage of a test file into the cache."""
    path = _cache_path(root, test_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(known))


def _cache_path(root: Path, test_file: str) -> Path:
    return root / CACHE / (test_file.removeprefix("tests/").replace("/", "-") + ".pickle")


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def digest_of_tests(root: Path, test_file: str) -> str:
    """Return a digest of a test file, the conftests above it and the modules that all tests share."""
    above = [parent / "conftest.py" for parent in (root / test_file).parents if parent.is_relative_to(root / "tests")]
    shared = sorted((root / "tests" / "shared").glob("*.py"))
    return "".join(_digest(path) for path in (root / test_file, *above, *shared))


class Recorder:
    """A plug-in of pytest that has coverage.py note each line with the test that runs it.

    What a fixture of a wider scope runs counts for every test that uses the fixture.
    """

    def __init__(self, root: Path, data_file: Path) -> None:
        """Begin at once, so that imports are seen."""
        self._root = root
        self._data_file = data_file
        self._coverage = coverage.Coverage(
            data_file=str(data_file),
            source=[str(root / each) for each in packages(root)],
            config_file=False,
            messages=False,
        )
        self._coverage.start()
        self._current = _AT_IMPORT
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._fixtures: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what the test runs as its own."""
        wide = getattr(item, "_fixtureinfo", None)
        definitions = wide.name2fixturedefs if wide is not None else {}
        self._fixtures[item.nodeid] = [
            _context_of(each[-1]) for each in definitions.values() if each[-1].scope != "function"
        ]
        self._switch(item.nodeid)
        result = yield
        self._switch("between tests")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Note what a wider fixture runs as the fixture's."""
        before = self._current
        if fixturedef.scope != "function":
            self._switch(_context_of(fixturedef))
        result = yield
        if before != self._current:
            self._switch(before)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test takes, and whether it passes."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0) + report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def _switch(self, context: str) -> None:
        self._current = context
        self._coverage.switch_context(context)

    def save(self, test_files: Iterable[str]) -> None:
        """Put what was seen into the cache, by test file."""
        self._coverage.stop()
        self._coverage.save()
        seen: dict[str, dict[str, int]] = {}
        with closing(sqlite3.connect(self._data_file)) as database:
            rows = database.execute(
                "select context, path, numbits from line_bits join file on file.id = file_id"
                " join context on context.id = context_id"
            )
            for context, path, bits in rows:
                source = str(Path(path).relative_to(self._root))
                seen.setdefault(context, {})[source] = int.from_bytes(bits, "little")
        self._data_file.unlink()
        for test_file in test_files:
            save(self._root, test_file, self._of(test_file, seen))

    def _of(self, test_file: str, seen: dict[str, dict[str, int]]) -> FileCoverage:
        names = [name for name in self._seconds if name.startswith(f"{test_file}::")]
        known = FileCoverage(digest_of_tests(self._root, test_file), {})
        known.at_import = seen.get(_AT_IMPORT, {})
        for order, name in enumerate(names):
            if name in self._failed:
                known.failed.append(name)
                continue
            known.tests[name] = Test(name, self._seconds[name], order)
            for context in (name, *self._fixtures[name]):
                for source, bits in seen.get(context, {}).items():
                    lines = known.lines.setdefault(source, {})
                    lines[name] = lines.get(name, 0) | bits
        known.sources = {source: _digest(self._root / source) for source in known.lines}
        return known


def _context_of(definition: pytest.FixtureDef[Any]) -> str:
    return f"{_FIXTURE}{definition.argname} {definition.baseid}"
