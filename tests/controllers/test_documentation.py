"""docs/controllers.md: its tables are what the code says."""

import argparse
import inspect
import re
import subprocess
import sys
from pathlib import Path

from controller_manager.flags import parser
from controller_manager.known_controllers import CONTROLLERS
from controller_manager.reconcile.profile import PROFILES, Profile

GENERAL = (
    *("workqueue_", "rest_client_", "leader_election_"),
    *("controller_runtime_max_concurrent_reconciles", "controller_runtime_active_workers"),
)
"""The prefixes of metrics that no controller names."""
TEXT = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, row by row."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    cells = [re.split(r" \| ?", line) for line in lines]
    return [row for row in cells[1:] if set("".join(row)) - {"-"}]


def test_every_controller_is_documented_with_its_queue_and_its_flag() -> None:
    documented = [(name, queue, flag) for name, _, queue, flag in table("What runs")]
    flags = {name: f"`--concurrent-{spec.flag}-syncs`" if spec.flag else "" for name, spec in CONTROLLERS.items()}
    assert documented == [(f"`{name}`", f"`{spec.queue or name}`", flags[name]) for name, spec in CONTROLLERS.items()]


def flag_row(action: argparse.Action) -> list[str]:
    value = action.metavar or action.dest.upper()
    shown = {0: "", "?": f" [{value}]"}.get(action.nargs, f" {value}")
    given = f"{action.default:g}" if isinstance(action.default, float) else str(action.default)
    default = "" if action.default in (None, "", False) else f"`{given}`"
    about = str(action.help).partition(f": {min(CONTROLLERS)}")[0]
    return [f"`{', '.join(action.option_strings)}{shown}`", default.replace("True", "true"), about]


def test_the_flags_are_those_that_help_tells() -> None:
    actions = [action for action in parser()._actions if not isinstance(action, argparse._HelpAction)]
    assert table("Flags") == [flag_row(action) for action in actions]
    said = subprocess.run(
        [sys.executable, "-m", "controller_manager", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"--[a-z][a-z-]*", said)) - {"--help"} == {
        flag for row in table("Flags") for flag in re.findall(r"--[a-z][a-z-]*", row[0])
    }


def test_the_releases_differ_as_their_profiles_do() -> None:
    documented = re.findall(r"^    (\w+): (.*)\.$", inspect.getdoc(Profile) or "", re.MULTILINE)
    assert [name for name, _ in documented] == list(Profile.__slots__)
    assert table("Which release they are") == [
        [text, *("yes" if getattr(profile, name) else "no" for profile in PROFILES.values())]
        for name, text in documented
    ]
    assert f"| what differs | {' | '.join(PROFILES)} |" in TEXT


def defined_metrics() -> dict[str, tuple[str, ...]]:
    """Name → labels of what controllers measure and of what is read of them."""
    metrics = {}
    for spec in CONTROLLERS.values():
        for metric in (*spec.metrics, *(gauge.metric for gauge in spec.gauges)):
            metrics[metric.name] = metric.labels
    return metrics


def test_every_metric_of_a_controller_is_documented_with_its_labels() -> None:
    documented = {
        name: tuple(label for label in labels.split(", ") if label)
        for names, _, labels in table("Metrics")
        for name in re.findall(r"`(\w+)`", names)
    }
    general = {name for name in documented if name.startswith(GENERAL)}
    assert {name: labels for name, labels in documented.items() if name not in general} == defined_metrics()
