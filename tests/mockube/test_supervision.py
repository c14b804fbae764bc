"""Processes that are kept alive: those that hang are started again, those that answer are left alone."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from patience import SECONDS

from mockube import supervisor
from mockube.supervisor import Callbacks, supervise

ANSWERS = """
import pathlib, sys
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    print(line, end="", flush=True)
    if number == 20:
        pathlib.Path(sys.argv[1]).touch()
"""
ENDS = "import sys; print('ready', flush=True); [print(sys.stdin.readline(), end='', flush=True) for _ in range(3)]"
HANGS = "import sys, time; print('ready', flush=True); time.sleep(600)"


Run = Callable[[Any], int]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Run, str, float], int]:
    """Return a function that counts the starts of a program with so many seconds for each sign of life."""

    def count(run: Run, program: str, patience: float) -> int:
        for name, seconds in {"CHECK_INTERVAL": 0.05, "HANG_TIMEOUT": patience, "BASE_DELAY": 0.05}.items():
            monkeypatch.setattr(supervisor, name, seconds)
        return run(starts(program, tmp_path / "answered"))

    return count


async def starts(program: str, answered: Path) -> int:
    """Return the number of starts of a program, up to two, or until it has answered twenty times (it makes a file)."""
    lines: list[str] = []
    async with (
        asyncio.timeout(SECONDS),
        supervise([sys.executable, "-c", program, str(answered)], Callbacks(lines.append, lambda: None)),
    ):
        while len(lines) < 2 and not await asyncio.to_thread(answered.exists):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
    return len(lines)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    ("program", "patience", "times"),
    [(HANGS, 1.0, 2), (ANSWERS, 60.0, 1), (ENDS, 60.0, 2), ("print('ready')", 60.0, 2)],
    ids=["one that hangs", "one that answers", "one that ends while it answers", "one that ends"],
)
def test_who_hangs_or_ends_is_started_again_and_who_answers_is_left_alone(
    run: Run, program: str, patience: float, times: int, started: Callable[..., int], caplog: pytest.LogCaptureFixture
) -> None:
    assert started(run, program, patience) == times
    assert ("has given no sign of life for 1 s and is killed" in caplog.text) == (program == HANGS)


def says_what_it_is_told_and_ends_with_its_input(module: str, *flags: str) -> bool:
    command = [sys.executable, "-m", module, *flags, "--until-stdin-ends"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline().startswith("ready")
        process.stdin.write("\n")
        process.stdin.flush()
        said = process.stdout.readline()
        process.stdin.close()
        return (said, process.wait(SECONDS)) == ("\n", 0)


def test_both_servers_give_signs_of_life(up: Any) -> None:
    assert says_what_it_is_told_and_ends_with_its_input("apiserver", "--secure-port=0")
    flags = ("--kubeconfig", str(up().kubeconfig), "--controllers=namespace", "--metrics-bind-address=0")
    assert says_what_it_is_told_and_ends_with_its_input("controller_manager", *flags)
