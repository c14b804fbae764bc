"""Fixtures that all tests share."""

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import etcd_clusters
import hypothesis
import pytest
import yaml
from loop_leaks import check_loops_when_closed
from patience import SECONDS

from controller_manager.runtime.clock import Clock

# The fixtures that tests of several folders share, and those of tests/mutants, which lies on the path as tests/truth
# does: a conftest.py in each of them would be two modules of one name.
pytest_plugins = ["builtin_kinds", "controller_stage", "mutation_projects"]

# An assertion that fails there says what differs, as it does in a test.
pytest.register_assert_rewrite("fake_server", "kruise_admission")

# A shell has what it starts in the background ignore SIGINT, which everything that tests start would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest-asyncio asks for the present loop before its first test, gets one made, and never closes it; told that there is
# none, it makes none.
asyncio.set_event_loop(None)

# Neither an example nor the making of one goes by the clock.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def closed_connections() -> Iterator[None]:
    """A test that closes a loop while connections on it are open fails."""
    with pytest.MonkeyPatch.context() as patch:
        check_loops_when_closed(patch)
        yield


@pytest.fixture(scope="session")
def kubectl_path() -> str:
    """The path of kubectl; without it the test is skipped, and in CI it fails."""
    path = shutil.which("kubectl")
    if path is None and os.environ.get("CI"):
        pytest.fail("kubectl is not on PATH")
    return path or pytest.skip("kubectl is not on PATH")


@pytest.fixture(scope="session")
def clusters() -> ModuleType:
    """The module etcd_clusters; without etcd on this machine the test is skipped, and in CI it fails."""
    if shutil.which("etcd") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("etcd is not on PATH: install etcd-server")
    return etcd_clusters


@pytest.fixture(scope="session")
def shared_etcd(clusters: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An etcd of one member for all tests of this worker; each keeps to a key prefix of its own."""
    with clusters.running(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture
def patient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores over etcd wait for members as long as it takes: a slow machine is not a dead one."""
    for name in (
        "cluster.CALL_TIMEOUT",
        "cluster._CONNECT_TIMEOUT",
        "cluster.SLOT_TIMEOUT",
        "cluster_store.CATCH_UP_TIMEOUT",
    ):
        monkeypatch.setattr(f"etcd.{name}", SECONDS / 3)


class LoopClock(Clock):
    """The loop's time, which looptime makes pass; it began at START, which is 2027-01-15T08:00:00Z."""

    START = 1_800_000_000.0

    def now(self) -> float:
        return self.START + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


@pytest.fixture
def loop_clock() -> LoopClock:
    """A clock that tells the loop's time."""
    return LoopClock()


def _binaries() -> dict[str, str]:
    """Return the kubectls of this machine: those beside the PATH's and in MOCKUBE_KUBECTLS, else that of the PATH.

    Each by its release as its name tells it: "1.27" of kubectl.1.27.
    """
    default = shutil.which("kubectl")
    given = [Path(path) for path in os.environ.get("MOCKUBE_KUBECTLS", "").split(":") if path]
    beside = sorted(Path(default).resolve().parent.glob("kubectl[.-]*")) if default else []
    paths = [path for path in (*beside, *given) if os.access(path, os.X_OK)]
    versions = {path.name.removeprefix("kubectl").strip(".-"): str(path) for path in paths}
    return versions or ({"default": default} if default else {})


BINARIES = _binaries()


@pytest.fixture(scope="module", params=list(BINARIES) or ["none"])
def each_binary(request: pytest.FixtureRequest, kubectl_path: str) -> str:
    """The path of every kubectl there is, one after the other."""
    return BINARIES[request.param]


@pytest.fixture(scope="session")
def wait_for() -> Callable[[Callable[[], Any]], Any]:
    """wait_for(function): call it until its result is true, and return that."""

    def wait(what: Callable[[], Any]) -> Any:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if value := what():
                return value
            time.sleep(0.05)
        raise AssertionError("it does not come true")

    return wait


@dataclass(frozen=True)
class CommandResult:
    """The exit code and the output of one command."""

    line: str
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return self.out + self.err


@dataclass(frozen=True)
class Kubectl:
    """One kubectl with a kubeconfig, a home and a working directory of its own."""

    binary: str
    directory: Path
    namespace: str
    environment: dict[str, str] = field(repr=False)

    def start(self, line: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command whose output is read as it comes."""
        return subprocess.Popen(
            [self.binary, *shlex.split(line)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env=self.environment | environment,
        )

    def run(self, line: str, given: str = "", **environment: str) -> CommandResult:
        """Run a command to its end; `given` is its standard input."""
        process = self.start(line, **environment)
        try:
            out, err = process.communicate(given, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"kubectl {line} hangs: {out}{err}")
        return CommandResult(line, process.returncode, out, "".join(_without_own(err)))

    def says(self, line: str, pattern: str, given: str = "", **environment: str) -> str:
        """Run a command that must succeed; its output, stdout and then stderr, must match the pattern as a whole."""
        return self._said(self.run(line, given, **environment), pattern, code=0)

    def refuses(self, line: str, pattern: str, given: str = "", **environment: str) -> str:
        """Run a command that must fail with such words."""
        return self._said(self.run(line, given, **environment), pattern, code=1)

    def output(self, line: str, given: str = "") -> str:
        """Return what a command prints to stdout; it must succeed."""
        ran = self.run(line, given)
        assert ran.code == 0, ran
        return ran.out

    def settle(self) -> None:
        """Wait until every pod is Ready and none is on its way out."""
        ready = '{range .items[*]}{.metadata.deletionTimestamp}{.status.conditions[?(@.type=="Ready")].status} {end}'
        end = time.monotonic() + SECONDS
        while set(statuses := self.output(f"get pods -o 'jsonpath={ready}'").split()) - {"True"}:
            assert time.monotonic() < end, f"the pods do not settle: {statuses}"
            time.sleep(0.05)

    def file(self, name: str, text: str) -> str:
        """A file in the working directory, and its name."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def _said(self, ran: CommandResult, pattern: str, *, code: int) -> str:
        words = ran.words.rstrip("\n")
        assert (ran.code == 0) == (code == 0), f"kubectl {ran.line} ended with {ran.code}: {words}"
        assert re.fullmatch(pattern, words, re.DOTALL), f"kubectl {ran.line} says:\n{words}\n\nnot:\n{pattern}"
        return words


_OF_THE_CLIENT = (
    "exceeds the supported minor version skew",
    "This version information is deprecated",
    # kubectl 1.33 may read the empty message by which a server begins before it has made the stream; later releases
    # wait until all streams are made (readyChan in client-go's tools/remotecommand/websocket.go)
    "Unknown stream id 1, discarding message",
)
"""Lines on stderr in which clients of some releases write of themselves."""


def _without_own(err: str) -> Iterator[str]:
    """Yield the lines of stderr, without those that a client says of itself."""
    return (line for line in err.splitlines(keepends=True) if not any(words in line for words in _OF_THE_CLIENT))


@pytest.fixture(scope="session")
def kubectl_at(kubectl_path: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Kubectl]:
    """Return a function that makes a kubectl (by default the PATH's) for a kubeconfig and an existing namespace."""
    home = tmp_path_factory.mktemp("home")

    def make(kubeconfig: Path, *, namespace: str = "default", binary: str = kubectl_path) -> Kubectl:
        directory = tmp_path_factory.mktemp(namespace)
        config = yaml.safe_load(kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = namespace
        (directory / "kubeconfig").write_text(yaml.safe_dump(config))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(directory / "kubeconfig"),
            "TMPDIR": str(directory),
        }
        return Kubectl(binary, directory, namespace, environment)

    return make
