"""docs/architecture.md tells the truth: its files exist, its paths can be followed, its drawing shows these layers."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
STEPS = re.findall(r"^\| `([\w/]+\.py)` \| `(\w+)` \| (?:`(\w+)`)? ?\|$", TEXT, re.MULTILINE)


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


def test_three_paths_are_told():
    assert len(STEPS) >= 15
    assert TEXT.count("\n### ") == 3


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
