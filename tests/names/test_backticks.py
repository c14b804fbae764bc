"""Names in backticks, in docstrings and comments, are names of something near: whoever follows one finds it."""

import ast
import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("apiserver", "controller_manager", "etcd", "mockube")
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`")
"""A name in backticks, which may be dotted or called."""


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that occur in a module's code, short strings included: field names, keys, file names."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if len(text) < 60:
                yield text


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names of all that may be a module that this one imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def prose(source: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the docstrings and comments of a module with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def unknown_names(sources: Mapping[str, str]) -> list[str]:
    """Return "FILE:LINE: name" for each name in backticks that neither the folder nor what is imported has.

    A module may be named by its full name from everywhere.

    Args:
        sources: path → text, of all modules.
    """
    trees = {path: ast.parse(source) for path, source in sources.items()}
    names = {path: {*defined_names(tree), *parts(path)} for path, tree in trees.items()}
    modules = {".".join(parts(path)).removesuffix(".__init__"): path for path in sources}
    by_folder: defaultdict[Path, set[str]] = defaultdict(set)
    for path in sources:
        for folder in Path(path).parents:
            by_folder[folder] |= names[path]
    folders = {part for path in sources for part in Path(path).parent.parts}
    unknown = []
    for path, tree in trees.items():
        imported = [names[modules[module]] for module in imported_modules(tree) if module in modules]
        known = folders.union(by_folder[Path(path).parent], *imported, modules, keyword.kwlist, ("py",))
        unknown += [f"{path}:{line}: {name}" for line, name in quoted_names(prose(sources[path], tree), known)]
    return unknown


def quoted_names(texts: Iterable[tuple[int, str]], known: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the names in backticks that are not known, or have a part that is not, with their lines."""
    for line, text in texts:
        for match in NAME.finditer(text):
            if match[1] not in known and not known.issuperset(match[1].split(".")):
                yield line, match[1]


def parts(path: str) -> tuple[str, ...]:
    """Return the folders of a module and its own name."""
    return Path(path).with_suffix("").parts


def test_every_name_in_backticks_is_that_of_something_near():
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    sources = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    assert sum(len(NAME.findall(source)) for source in sources.values()) > 300
    assert unknown_names(sources) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ('"""The most that `take` returns."""\n', ["pods/queue.py:1: take"]),
        ("LIMIT = 1  # see `Queue.take`\n", ["pods/queue.py:1: Queue.take"]),
        ('"""The most that `next_events` returns."""\n\ndef next_events(): ...\n', []),
        ('"""See `store.LARGEST`."""\n', []),
        ('"""See `nodes.far_off`."""\n', []),
        ('"""See `far`."""\n', ["pods/queue.py:1: far"]),
        ('"""See `far`."""\n\nfrom nodes.far_off import limit\n', []),
    ],
)
def test_a_name_that_is_defined_nowhere_near_is_reported_with_its_line(text, unknown):
    others = {"pods/store.py": "LARGEST = 2\n", "nodes/far_off.py": "far = limit = 3\n"}
    assert unknown_names({"pods/queue.py": text} | others) == unknown
