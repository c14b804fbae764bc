"""The answers of a real API server, beside the repository: how many of them ours gives, scenario by scenario."""

import copy
import json
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
TRUTH = HERE.parents[1].parent / "shared" / "truth"
SCORE = tomllib.loads((HERE / "score.toml").read_text())
LEAST = 0.98
"""The part of the answers in scope that have to be the same."""
AT_ONCE = 12
"""How many scenarios run side by side; each has a namespace of its own, and most of their time is waiting."""
LONGEST_WAIT = 6
"""Seconds after which a scenario does not wait any longer for what does not come."""

pytestmark = pytest.mark.skipif(not TRUTH.is_dir(), reason=f"there are no answers of a real server at {TRUTH}")


@dataclass(frozen=True)
class Result:
    """How a scenario went: the names of its compared steps, with what differs in each."""

    differences: dict[str, list[str]]

    @property
    def same(self) -> int:
        return sum(not found for found in self.differences.values())

    def told(self) -> str:
        return "\n".join(
            line
            for step, found in self.differences.items()
            if found
            for line in (f"  {step}", *(f"      {difference}" for difference in found[:8]))
        )


def hurried(scenario):
    """The scenario with its waits cut: what comes at all comes soon, from a server in this process."""
    scenario = copy.deepcopy(scenario)
    for step in scenario["steps"]:
        if step.get("wait"):
            step["wait"] = min(step["wait"], LONGEST_WAIT)
    return scenario


def compared(truth, server, name):
    """Run one scenario with the functions of the runner that recorded the answers."""
    scenario = hurried(yaml.safe_load((TRUTH / "scenarios" / f"{name}.yaml").read_text()))
    golden = json.loads((TRUTH / "golden" / f"{name}.json").read_text())
    answers = truth.run(server, scenario)
    found = {}
    for step in scenario["steps"]:
        if step.get("setup"):
            continue
        drop = step.get("ignore", []) + scenario.get("ignore", [])
        want = truth.without(truth.normal(golden[step["name"]], {}), drop)
        got = truth.without(answers[step["name"]], drop)
        if "only" in step:
            want, got = truth.picked(want, step["only"]), truth.picked(got, step["only"])
        found[step["name"]] = list(truth.differences(want, got))
    return Result(found)


@pytest.fixture(scope="module")
def results(server_url, controlled_url, token, module_at):
    truth = module_at(TRUTH / "truth.py")
    alone, controlled = (truth.Server(url, token, None) for url in (server_url, controlled_url))

    def run(name):
        return compared(truth, controlled if name in SCORE["controllers"]["scenarios"] else alone, name)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(SCORE["same"], pool.map(run, SCORE["same"]), strict=True))


def test_every_scenario_is_in_the_score_or_left_to_later():
    found = {path.stem for path in (TRUTH / "scenarios").glob("*.yaml")}
    assert found == set(SCORE["same"]) | set(SCORE["later"]["scenarios"])


def test_no_scenario_has_fewer_same_answers_than_its_score(results):
    sunk = {name: result for name, result in results.items() if result.same < SCORE["same"][name]}
    assert not sunk, "\n".join(
        f"{name}: {result.same} of {len(result.differences)} answers the same, {SCORE['same'][name]} before\n"
        f"{result.told()}"
        for name, result in sunk.items()
    )


def test_nearly_all_answers_in_scope_are_the_real_ones(results):
    later = {tuple(step.split("/")) for step in SCORE["later"]["steps"]}
    answers = [
        not differs
        for name, result in results.items()
        for step, differs in result.differences.items()
        if (name, step) not in later
    ]
    assert sum(answers) / len(answers) >= LEAST
