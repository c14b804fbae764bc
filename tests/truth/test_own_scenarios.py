"""What the shared suite does not ask: our answers, checked once, stay as they are."""

import difflib
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module")
def scenarios(module_at):
    return module_at(HERE / "scenarios.py")


def shown(answer):
    return json.dumps(answer, indent=1, ensure_ascii=False).splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_of_a_scenario_stay(scenarios, server_url, token, name):
    wanted, found = scenarios.golden(name), scenarios.run(server_url, token, name)
    assert list(wanted) == list(found)
    for step, answer in wanted.items():
        changes = "\n".join(difflib.unified_diff(shown(answer), shown(found[step]), "golden", "answered", lineterm=""))
        assert not changes, f"{name}/{step}\n{changes}"
