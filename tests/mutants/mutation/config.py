"""The groups of sources with their tests, and the survivors that are known by name."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TABLES = "tests/mutants"
"""The folder of the tables, below the root of the repository."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sources, the tests that can notice a change there, and the share that they have to kill."""

    sources: Sequence[str]
    tests: Sequence[str]
    goal: int

    def has(self, file: str) -> bool:
        """Return whether a source file belongs to the group."""
        return self.folder(file) is not None

    def folder(self, file: str) -> str | None:
        """Return the folder of the group that holds a source file."""
        return next((each for each in self.sources if file.startswith(f"{each}/")), None)

    def files(self, root: Path) -> list[str]:
        """Return the source files of the group."""
        return [str(path.relative_to(root)) for each in self.sources for path in sorted((root / each).rglob("*.py"))]

    def test_files(self, root: Path) -> list[str]:
        """Return the test files of the group."""
        paths = [root / "tests" / each for each in self.tests]
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("test_*.py")))]
        return [str(file.relative_to(root)) for file in files]


@dataclass(frozen=True, slots=True)
class Survivors:
    """Mutants that may survive, by id, with the reason."""

    equivalent: dict[str, str]
    known: dict[str, str]


def groups(root: Path) -> list[Group]:
    """Read the groups."""
    return [Group(**each) for each in tomllib.loads((root / TABLES / "groups.toml").read_text())["group"]]


def sample(root: Path) -> dict[str, list[str]]:
    """Read the source files of the sample, and the test files that try their mutants."""
    table: dict[str, list[str]] = tomllib.loads((root / TABLES / "groups.toml").read_text()).get("sample", {})
    return {source: [f"tests/{test}" for test in tests] for source, tests in table.items()}


def packages(root: Path) -> list[str]:
    """Return the packages that hold the sources of the groups."""
    return sorted({source.partition("/")[0] for group in groups(root) for source in group.sources})


def survivors(root: Path) -> Survivors:
    """Read the survivors that are known."""
    tables = tomllib.loads((root / TABLES / "survivors.toml").read_text())
    return Survivors(tables.get("equivalent", {}), tables.get("known", {}))
