"""Answers of real servers, and the project's own checked answers: which of them ours gives, step by step.

`differences.toml` names each step whose answer is another one, by reason. Every other answer has to agree, and a step
that agrees may not be named there, so the set of answers that agree only grows.
"""

import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from comparison import compare, compared_steps
from truth import Run, load_golden, load_scenario

HERE = Path(__file__).parent
DIFFERENCES = tomllib.loads((HERE / "differences.toml").read_text())
RECORDED = {"kube-apiserver-1.20.2": 72, "apiextensions-1.36.4": 39}
"""Suites that a real server answered, with the number of their scenarios."""
SUITES = (*RECORDED, "own")
NOT_BUILT = "not-built"
"""The reason of differences that are out of scope until a feature is built."""
CONTROLLED = frozenset(
    ("read-table-apps", "write-generation", "write-propagation", "write-quota", "write-scale", "write-status")
)
"""Scenarios that ask for what controllers do."""
WAIT_FOR_NOTHING = 5
"""Seconds to wait, in scenarios that wait for what a missing feature does, for what cannot come."""
AT_ONCE = 12
"""The scenarios that run side by side; each has a namespace of its own, and most of their time is waiting."""


def scenario_names(suite):
    return sorted(path.stem for path in (HERE / suite / "scenarios").glob("*.yaml"))


def load(suite, name):
    return (
        load_scenario(HERE / suite / "scenarios" / f"{name}.yaml"),
        load_golden(HERE / suite / "golden" / f"{name}.json"),
    )


def listed(suite, *, reason=None):
    """Return the steps, as (scenario, step), that differences.toml lists for a suite."""
    return {
        (name, step)
        for each, scenarios in DIFFERENCES.get(suite, {}).items()
        if reason in (None, each)
        for name, steps in scenarios.items()
        for step in steps
    }


def waits_for_nothing(suite, scenario):
    """Return whether a scenario waits for what a missing feature would do."""
    missing = listed(suite, reason=NOT_BUILT)
    return any("until" in step and (scenario["name"], step["name"]) in missing for step in scenario["steps"])


def all_steps(suite):
    return {(name, step["name"]) for name in scenario_names(suite) for step in compared_steps(load(suite, name)[0])}


@pytest.fixture(scope="module")
def compare_scenario(newest_server, controlled_server, server_of_1_36):
    def run(suite, name):
        server = server_of_1_36 if suite == "apiextensions-1.36.4" else newest_server
        server = controlled_server if name in CONTROLLED else server
        scenario, golden = load(suite, name)
        listed_steps = {step for each, step in listed(suite) if each == name}
        expected = {step: answer for step, answer in golden.items() if step not in listed_steps}
        longest = WAIT_FOR_NOTHING if waits_for_nothing(suite, scenario) else None
        return compare(scenario, golden, Run(server, scenario, expected, longest_wait=longest).answers())

    return run


@pytest.mark.parametrize("suite", SUITES)
def test_exactly_the_listed_answers_differ(suite, compare_scenario):
    names = scenario_names(suite)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(zip(names, pool.map(lambda name: compare_scenario(suite, name), names), strict=True))
    differing = {(name, step): lines for name in names for step, lines in results[name].items() if lines}
    fallen = [
        "\n".join((f"{name}/{step}", *(f"    {line}" for line in differing[name, step][:8])))
        for name, step in sorted(set(differing) - listed(suite))
    ]
    assert not fallen, "these answers differ and are not listed in differences.toml:\n" + "\n".join(fallen)
    risen = sorted(f"{name}/{step}" for name, step in listed(suite) - set(differing))
    assert not risen, f"these answers agree now: take them out of differences.toml, so that they stay so: {risen}"


@pytest.mark.parametrize("suite", SUITES)
def test_every_question_has_its_recorded_answer(suite):
    names = scenario_names(suite)
    assert len(names) == RECORDED.get(suite, len(names)) > 0
    for name in names:
        scenario, golden = load(suite, name)
        assert set(golden) == {step["name"] for step in compared_steps(scenario)}, name


@pytest.mark.parametrize("suite", SUITES)
def test_every_listed_difference_is_a_step(suite):
    assert listed(suite) <= all_steps(suite)


def test_the_projects_own_answers_have_no_differences():
    assert not listed("own")


@pytest.mark.parametrize("suite", RECORDED)
def test_the_documented_numbers_are_the_measured_ones(suite):
    questions, differing, not_built = len(all_steps(suite)), len(listed(suite)), len(listed(suite, reason=NOT_BUILT))
    scope = questions - not_built
    same = questions - differing
    document = (HERE.parents[1] / "docs" / "compatibility.md").read_text()
    of_all, of_scope = f"{100 * same / questions:.1f} %", f"{100 * same / scope:.1f} %"
    row = f"| {suite} | {questions:,} | {same:,} ({of_all}) | {scope:,} | {of_scope} |"
    assert row in document.splitlines()
