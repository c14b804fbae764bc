"""Processes that are kept alive: those that hang are started again, those that answer are left alone."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from mockube import supervision
from mockube.supervision import Told, supervised

ANSWERS = "import sys; print('ready', flush=True); [print(line, end='', flush=True) for line in sys.stdin]"
ENDS = "import sys; print('ready', flush=True); [print(sys.stdin.readline(), end='', flush=True) for _ in range(3)]"
HANGS = "import sys, time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"PULSE": 0.05, "HUNG": 1.0, "FIRST_WAIT": 0.05}.items():
        monkeypatch.setattr(supervision, name, seconds)


async def starts(program: str, seconds: float) -> int:
    """How often a program is started in so many seconds, or until it has been twice."""
    lines: list[str] = []
    twice = asyncio.Event()

    def ready(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            twice.set()

    async with supervised([sys.executable, "-c", program], Told(ready, lambda: None)):
        try:
            async with asyncio.timeout(seconds):
                await twice.wait()
        except TimeoutError:
            pass
    return len(lines)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    ("program", "seconds", "times"),
    [(HANGS, 30, 2), (ANSWERS, 2.5, 1), (ENDS, 30, 2), ("print('ready')", 30, 2)],
    ids=["one that hangs", "one that answers", "one that ends while it answers", "one that ends"],
)
def test_who_hangs_or_ends_is_started_again_and_who_answers_is_left_alone(
    run: Callable[[Any], int], program: str, seconds: float, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(starts(program, seconds)) == times
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
        return (said, process.wait(30)) == ("\n", 0)


def test_both_servers_give_signs_of_life(up: Any) -> None:
    assert says_what_it_is_told_and_ends_with_its_input("apiserver", "--secure-port=0")
    flags = ("--kubeconfig", str(up().kubeconfig), "--controllers=namespace", "--metrics-bind-address=0")
    assert says_what_it_is_told_and_ends_with_its_input("controller_manager", *flags)
