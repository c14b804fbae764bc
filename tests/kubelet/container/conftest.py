"""Simulated containers without a manager: processes that are run at once, in time of their own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.execution import execute
from controller_manager.kubelet.container.files import FileSystem, Quota
from controller_manager.kubelet.container.syscalls import Now, Process, Read, Sleep, Write, Yield

NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z."""
STEPS = 100_000


@dataclass
class ProcessResult:
    """The exit code and the output of a process.

    Attributes:
        slept: how many seconds it waited.
    """

    code: int
    out: str = ""
    err: str = ""
    slept: float = 0.0


def run_process(process: Process, given: Iterable[bytes] = (), most: int = STEPS) -> ProcessResult:
    """Run a process to its end, or until it has put out `most` pieces."""
    ran, now, pieces = ProcessResult(0), NOW, iter(given)
    answer: bytes | float | None = None
    try:
        for _ in range(most):
            match process.send(answer):
                case Read():
                    answer = next(pieces, b"")
                case Write(fd, data):
                    answer = None
                    if fd == 1:
                        ran.out += data.decode("utf-8", "surrogateescape")
                    else:
                        ran.err += data.decode("utf-8", "surrogateescape")
                case Sleep(seconds):
                    now, answer = now + seconds, None
                    ran.slept += seconds
                case Now():
                    answer = now
                case Yield():
                    answer = None
    except StopIteration as end:
        ran.code = end.value
    else:
        ran.code = -1
        process.close()
    return ran


@dataclass
class Box:
    """A container, and a way to run commands in it."""

    container: Container = field(
        default_factory=lambda: Container(
            FileSystem(Quota(1_000_000)), "web-0", {"PATH": "/bin", "HOSTNAME": "web-0", "HOME": "/root"}
        )
    )

    def run(
        self, *command: str, given: Iterable[bytes] = (), terminal: bool = False, most: int = STEPS
    ) -> ProcessResult:
        return run_process(execute(self.container, command, terminal=terminal), given, most)

    def sh(self, script: str, *arguments: str, given: Iterable[bytes] = (), most: int = STEPS) -> ProcessResult:
        return self.run("sh", "-c", script, *arguments, given=given, most=most)


@pytest.fixture
def box() -> Box:
    made = Box()
    files = made.container.files
    for path in ("/bin", "/dev", "/etc", "/tmp", "/root"):
        files.make_directory(path, NOW)
    for name in ("cat", "ls"):
        files.write(f"/bin/{name}", b"", NOW).mode = 0o755
    files.open("/dev/null", NOW).device = True
    files.write("/etc/hostname", b"web-0\n", NOW)
    return made


@pytest.fixture(name="run_process")
def _run_process() -> Callable[..., ProcessResult]:
    return run_process
