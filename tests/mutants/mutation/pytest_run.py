"""Run chosen tests in this process with a mutant in it, and report the outcome over a pipe."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

from mutation.install import is_hooked

START, FAILED, PASSED, BROKEN, UNCOLLECTED = "start", "failed", "passed", "broken", "uncollected"
"""The messages of a runner: a test starts; one has failed; all have passed; it is broken; tests cannot be collected."""

Send = Callable[[str, str], None]


def arguments(test_files: Iterable[str], basetemp: Path) -> list[str]:
    """Return the arguments of a pytest whose runs leave nothing behind."""
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp", str(basetemp)]
    plain = ["--assert=plain", "-Wignore::pytest.PytestAssertRewriteWarning"]  # pytest imports nothing in its own way
    return [*quiet, *plain, *sorted(test_files)]


def settle_hypothesis() -> None:
    """Have it try the same examples each time, keep none, and not look for the smallest that fails."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        deadline=None,
        phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")


def quiet() -> None:
    """Let this process and those that it starts write nowhere."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def report_to(connection: Connection) -> Send:
    """Return what sends a word and its detail."""
    return lambda word, detail: connection.send((word, detail))


class Failures:
    """A plug-in that keeps the first test that fails."""

    def __init__(self) -> None:
        """Begin with none."""
        self.first = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure of any phase."""
        if report.failed and not self.first:
            self.first = report.nodeid


def run_items(session: pytest.Session, chosen: Sequence[str], failures: Failures, send: Send) -> None:
    """Run tests in this order until one fails."""
    by_id = {item.nodeid: item for item in session.items}
    missing = [name for name in chosen if name not in by_id]
    if missing:
        send(BROKEN, f"pytest does not collect {missing[0]}")
        return
    items = [by_id[name] for name in chosen]
    for item, following in zip(items, [*items[1:], None], strict=True):
        send(START, item.nodeid)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.first:
            send(FAILED, failures.first)
            return
    send(PASSED, "")


def as_collected(collected: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the tests to run where a change makes tables of tests others: for rows that are gone, the other rows."""
    there = set(collected)
    kept = [name for name in chosen if name in there]
    tables = {name.partition("[")[0] for name in chosen if name not in there}
    return [*kept, *(name for name in collected if name.partition("[")[0] in tables and name not in kept)]


class ChosenTests:
    """A plug-in for a pytest of its own: runs the chosen tests alone, in their order."""

    def __init__(self, module: str, chosen: Sequence[str], send: Send) -> None:
        """Take the module that is changed, and the node ids."""
        self._module = module
        self._chosen = chosen
        self._send = send
        self._failures = Failures()
        self.looped = False

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the plugin that notes failures."""
        config.pluginmanager.register(self._failures)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        if session.testsfailed:
            return True
        self.looped = True
        if not is_hooked(self._module):
            self._send(BROKEN, f"{self._module} was imported without the mutant")
            return True
        names = as_collected([item.nodeid for item in session.items], self._chosen) if self._module else self._chosen
        run_items(session, names, self._failures, self._send)
        return True


def run_fresh(module: str, chosen: Sequence[str], basetemp: Path, send: Send) -> None:
    """Run a pytest of its own in this process, which imports the changed module with all others."""
    plugin = ChosenTests(module, chosen, send)
    settle_hypothesis()
    problem = "pytest ended before the tests began"
    try:
        pytest.main(arguments({name.partition("::")[0] for name in chosen}, basetemp), plugins=[plugin])
    except Exception as error:  # noqa: BLE001 - of a plug-in that imports the mutant
        problem = repr(error)
    if not plugin.looped:
        send(UNCOLLECTED, problem)


def leave(send: Send, work: Callable[[], None]) -> NoReturn:
    """Do this process's work and end it, whatever happens, without what Python does at its end."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - it must not go on as a copy of its parent
        with suppress(Exception):
            send(BROKEN, repr(error))
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        os._exit(0)
