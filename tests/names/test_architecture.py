"""docs/architecture.md tells the truth: its files exist, its paths can be followed, its drawing shows these layers."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
STEP = r"^\| `([\w/]+\.py)` \| `(\w+)` \| [^|]*\| (?:`(\w+)`(?:, here `(\w+)`)?)? ?\|$"
PATHS = [
    re.findall(STEP, table, re.MULTILINE) for table in re.split(r"\n\n", TEXT) if re.search(STEP, table, re.MULTILINE)
]
"""The paths, each as its steps: file, function, what it calls, and the name of that where it is defined."""
STEPS = [(file, function, callee) for path in PATHS for file, function, callee, _ in path]


def functions(file: str) -> dict[str, list[ast.AST]]:
    """The functions of a file by name."""
    by_name: dict[str, list[ast.AST]] = {}
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            by_name.setdefault(node.name, []).append(node)
    return by_name


def called_in(node: ast.AST) -> set[str]:
    """The names of all that a function calls, hands on or reads off an object."""
    names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return names | {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_three_paths_are_told_without_a_gap():
    assert TEXT.count("\n### ") == 3
    assert len(PATHS) == 6
    for path in PATHS:
        assert len(path) >= 5
        assert [here or callee for _, _, callee, here in path[:-1]] == [function for _, function, _, _ in path[1:]]
        assert path[-1][2] == ""


def rooms() -> list[str]:
    """The folders in the table of rooms."""
    section = TEXT.partition("## Rooms")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([\w/]+)/` \|", section, re.MULTILINE)


def test_every_room_is_in_the_table():
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/__init__.py")}
    inner = {name for name in packages if name.startswith(("apiserver/", "controller_manager/"))}
    assert set(rooms()) == inner | {"mockube", "etcd"}


@pytest.mark.parametrize(("file", "function", "callee"), STEPS)
def test_each_step_of_a_path_exists_and_calls_the_next(file, function, callee):
    defined = functions(file)
    assert function in defined
    assert not callee or any(callee in called_in(node) for node in defined[function])


def test_all_files_and_folders_that_are_named_exist():
    named = re.findall(r"`((?:apiserver|controller_manager|etcd|docs)/[\w/.]*)`", TEXT)
    assert len(named) > 25
    assert [name for name in named if "GROUP" not in name and "NAME" not in name and not (ROOT / name).exists()] == []


def test_the_drawing_is_of_the_layers_that_are_held():
    spec = importlib.util.spec_from_file_location("architecture_svg", ROOT / "docs" / "architecture_svg.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "architecture.svg").read_text() == module.drawing(), "run python docs/architecture_svg.py"


def test_every_folder_of_tests_has_its_row():
    rows = re.findall(r"^\| (`[^|]*) \| [^|]* \| [^|]* \|$", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE)
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == folders
