"""Each rule of a kind has an example that breaks it, and one at its edge that does not: the tables are in rules/.

A table names its kind, a valid object, and the place in it where the given parts of each case are put.
An error that begins with `~` is at that place. Of errors with a long tail, such as a difference, the first line counts.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.registry.validation import VALIDATORS

FILES = sorted((Path(__file__).parent / "rules").glob("*.yaml"))


def _steps(at: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in at.split(".") if step]


def _put(valid: dict[str, Any], at: str, given: Any) -> dict[str, Any]:
    """Return the valid object with given fields at a place; a list replaces the one that is there."""
    obj = copy.deepcopy(valid)
    *above, last = ["obj", *_steps(at)]
    holder: Any = {"obj": obj}
    for step in above:
        holder = holder[step]
    holder[last] = {**holder[last], **given} if isinstance(given, dict) else given
    return obj if at else holder["obj"]


def _cases() -> Iterator[Any]:
    for file in FILES:
        for number, table in enumerate(yaml.safe_load(file.read_text())):
            for index, case in enumerate(table["cases"]):
                yield pytest.param(table, case, id=f"{file.stem}-{number}-{table['kind'].rpartition('/')[2]}-{index}")


def _errors(table: dict[str, Any], obj: dict[str, Any]) -> list[str]:
    group, _, kind = table["kind"].rpartition("/")
    validator = VALIDATORS[group, kind]
    if table.get("update"):
        errors = validator.update(obj, table["valid"])
    elif table.get("status"):
        errors = validator.status_update(obj, table["valid"])
    else:
        errors = validator.create(obj)
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in _steps(table.get("at", "")))[1:]
    return [_shown(str(error).splitlines()[0], path) for error in errors]


def _shown(error: str, path: str) -> str:
    rest = error.removeprefix(path)
    return f"~{rest}" if path and rest != error and rest[0] in ".:[" else error


@pytest.mark.parametrize(("table", "case"), list(_cases()))
def test_each_rule_says_what_is_wrong_and_nothing_else(table: dict[str, Any], case: dict[str, Any]) -> None:
    assert _errors(table, _put(table["valid"], table.get("at", ""), case["given"])) == case["wrong"]
