"""Reports the words that this project does not use, in names and docstrings: `python tests/names/words.py [PATH …]`.

A reader who knows Kubernetes and Python should understand each name at first sight. Files that still have such words
are listed in pending.txt, by name; a file that is not listed must have none, and one that has none must not be listed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PENDING = Path(__file__).parent / "pending.txt"
SOURCES = ("apiserver", "controller_manager", "etcd", "mockube", "tests", "bench", "docs")
"""The folders that the rules hold for: the packages, their tests, the bench and the scripts of the documents."""

NAMES = {"found", "mine", "place", "told", "wanted"}
"""Names of variables, parameters and functions that do not say what they hold or return."""
CLASSES = {"Asked", "Due", "Look", "Pass", "Place", "Seen", "Standing", "Told", "Wanted", "Work"}
"""Names of classes that are a role and no thing."""
OPENING = re.compile(r"(What|Whether|Who|Whom|How)\b(?!.*\?$)")
"""Words that no docstring begins with: it says what is returned or done ("Return the pods that…")."""
PHRASES = re.compile(
    r"\b(anew|whom|be it|(?:is|are) told of|of which|(?:that|which|what|who) (?:is|are|was|were) none|of none)\b",
    re.IGNORECASE,
)
"""Phrases that read like a riddle."""


def problems(path: Path) -> Iterator[str]:
    """Yield "FILE:LINE: what is wrong" for each word in a file."""
    name = path.relative_to(ROOT)
    for node in ast.walk(ast.parse(path.read_text())):
        for line, text in _of_node(node):
            yield f"{name}:{line}: {text}"


def _of_node(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ClassDef) and node.name in CLASSES:
        yield node.lineno, f"class {node.name}: name the thing, not its role"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
        yield node.lineno, f"{node.id}: say what it holds"
    if isinstance(node, ast.arg) and node.arg in NAMES:
        yield node.lineno, f"{node.arg}: say what it holds"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _of_function(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        yield from _of_docstring(node.lineno, node.value.value)


def _of_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    if function.name in NAMES:
        yield function.lineno, f"{function.name}: say what it returns"
    for match in PHRASES.finditer(function.name.replace("_", " ")):
        yield function.lineno, f'{function.name}: "{match[0]}"'


def _of_docstring(line: int, doc: str) -> Iterator[tuple[int, str]]:
    """Yield what is wrong with the docstring of a module, a class, a function or, below its definition, a name."""
    if OPENING.match(doc):
        yield line, f'docstring "{doc.split(maxsplit=1)[0]} …": begin with what it is or does, such as "Return …"'
    for match in PHRASES.finditer(doc):
        yield line, f'docstring: "{match[0]}"'


def files() -> list[Path]:
    """Return all files that the rules hold for."""
    return sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py"))


def main(arguments: list[str]) -> int:
    """Check the paths, or all files against pending.txt (which --write brings up to date); return the exit code."""
    if arguments and arguments != ["--write"]:
        paths = [path for each in map(Path, arguments) for path in ([each] if each.is_file() else each.rglob("*.py"))]
        lines = [line for path in sorted(paths) for line in problems(path.resolve())]
        print("\n".join(lines) or "no such words")
        return 1 if lines else 0
    bad = {str(path.relative_to(ROOT)) for path in files() if any(problems(path))}
    if arguments:
        PENDING.write_text("".join(f"{name}\n" for name in sorted(bad)))
    pending = set(PENDING.read_text().split())
    for name in sorted(bad - pending):
        print("\n".join(problems(ROOT / name)))
    for name in sorted(pending - bad):
        print(f"{name} has none of these words any more: take it out of {PENDING.relative_to(ROOT)}")
    print(f"{len(pending)} of {len(files())} files still have words that the project does not use")
    return 0 if bad == pending else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
