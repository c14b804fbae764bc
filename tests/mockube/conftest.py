import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
from patience import SECONDS


@dataclass(frozen=True)
class UpProcess:
    """A `mockube up` of its own process that has said it is ready."""

    process: subprocess.Popen[str]
    greeting: str

    def greeting_match(self, pattern: str) -> str:
        match = re.search(pattern, self.greeting)
        assert match, self.greeting
        return match[1]

    @property
    def url(self) -> str:
        return self.greeting_match(r"ready at (\S+)")

    @property
    def kubeconfig(self) -> str:
        return self.greeting_match(r"export KUBECONFIG=(\S+)")

    def stop(self, name: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """The exit code, and what it printed after its greeting to stdout and at all to stderr."""
        self.process.send_signal(name)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


Start = Callable[..., UpProcess]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "mockube", *map(str, arguments)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The environment of a person with an empty home."""
    hidden = ("KUBECONFIG", "XDG_DATA_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"HOME": str(home)}


@pytest.fixture
def up(environment: dict[str, str]) -> Iterator[Start]:
    """Starts `mockube up` with more arguments, on a free port; what still runs at the end is stopped.

    With `controllers=True` the controllers run too, and the greeting ends with what is said when they are at work.
    """
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path, controllers: bool = False) -> UpProcess:
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
        return UpProcess(process, "".join(lines))

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


# -- documents whose commands are run


Changing = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Document:
    """A document that shows commands and what they print.

    Attributes:
        changing: patterns of what differs from run to run, each with what to take it for.
    """

    text: str
    changing: Changing

    def blocks(self, language: str) -> list[str]:
        """Return the contents of its code fences in a language."""
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)

    @property
    def transcript(self) -> list[tuple[str, str]]:
        """Its commands in their order, each with the output that it shows; lines that go on begin with "> "."""
        lines = []
        for part in re.split(r"^\$ ", "\n".join(self.blocks("console")), flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines()
            more = list(takewhile(lambda line: line.startswith("> "), rest))
            lines.append(("\n".join([first, *(line[2:] for line in more)]), "\n".join(rest[len(more) :])))
        return lines

    def steady(self, text: str) -> str:
        """Return a text without the parts that differ from run to run."""
        for pattern, instead in self.changing:
            text = re.sub(pattern, instead, text, flags=re.MULTILINE)
        return text.rstrip()

    def play(self, directory: Path, environment: dict[str, str], *, after: int = 0) -> None:
        """Run its commands but for the first ones: each has to print what the document shows, and nothing else."""
        for command, output in self.transcript[after:]:
            ran = subprocess.run(
                command,
                shell=True,
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=SECONDS,
            )
            assert (command, self.steady(ran.stdout)) == (command, self.steady(output))


@pytest.fixture
def document() -> Callable[[str, Changing], Document]:
    """document(path, changing): a document of the checkout."""
    return lambda path, changing: Document((Path(__file__).parents[2] / path).read_text(), changing)


@pytest.fixture
def shell(environment: dict[str, str], kubectl_path: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has kubectl, and the kubeconfig of a cluster whose data are in .mockube."""
    path = f"{Path(kubectl_path).parent}:{os.environ['PATH']}"
    return environment | {"PATH": path, "KUBECONFIG": str(tmp_path / ".mockube" / "kubeconfig")}
