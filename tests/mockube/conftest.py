import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 60


@dataclass(frozen=True)
class Up:
    """A `mockube up` of its own process that has said it is ready."""

    process: subprocess.Popen[str]
    greeting: str

    def found(self, pattern: str) -> str:
        match = re.search(pattern, self.greeting)
        assert match, self.greeting
        return match[1]

    @property
    def url(self) -> str:
        return self.found(r"ready at (\S+)")

    @property
    def kubeconfig(self) -> str:
        return self.found(r"export KUBECONFIG=(\S+)")

    def stop(self, name: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """The exit code, and what it printed after its greeting to stdout and at all to stderr."""
        self.process.send_signal(name)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


Start = Callable[..., Up]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "mockube", *map(str, arguments)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """That of a person with an empty home."""
    hidden = ("KUBECONFIG", "XDG_DATA_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"HOME": str(home)}


@pytest.fixture
def up(environment: dict[str, str]) -> Iterator[Start]:
    """Starts `mockube up` with more arguments, on a free port; what still runs at the end is stopped.

    With `controllers=True` the controllers run too, and the greeting ends with what is said when they are at work.
    """
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path, controllers: bool = False) -> Up:
        process = subprocess.Popen(
            command("up", "--port", "0", *arguments, *(() if controllers else ("--api-only",))),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        started.append(process)
        assert process.stdout
        lines: list[str] = []
        while ("at work" if controllers else "Ctrl-C") not in "".join(lines[-1:]):
            line = process.stdout.readline()
            assert line, f"it ended: {process.communicate(timeout=SECONDS)}"
            lines.append(line)
        return Up(process, "".join(lines))

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)


@pytest.fixture
def refused(environment: dict[str, str]) -> Callable[..., str]:
    """The one line with which a command line is refused."""

    def run(*arguments: str | Path) -> str:
        ended = subprocess.run(
            command(*arguments), capture_output=True, text=True, env=environment, timeout=SECONDS, check=False
        )
        assert (ended.returncode, ended.stdout) == (2, ""), ended
        assert ended.stderr.endswith("\n")
        assert ended.stderr.count("\n") == 1, ended.stderr
        return ended.stderr[:-1]

    return run
