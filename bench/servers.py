"""The two servers, each a process of its own: ours as users start it, and the bare one beside it."""

import http.client
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from creators import unverified

Ask = Callable[..., bytes]
"""Sends a request (method, path, body, headers) and returns the body of the response."""
HERE = Path(__file__).parent
PATIENCE = 60.0
"""The seconds that a server may take to start."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes:
        process: its id.
        port: of 127.0.0.1.
        token: of a user who may do everything.
        ready: seconds from its start until it answered that it is ready.
        manager: the id of the controller manager's process, 0 if it does not run.
    """

    process: int
    port: int
    token: str
    ready: float = 0.0
    manager: int = 0

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"https://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        """Send one request on a new connection.

        Raises:
            RuntimeError: the answer was not 2xx.
        """
        with self.asking() as ask:
            return ask(method, path, body, headers)

    @contextmanager
    def asking(self) -> Iterator[Ask]:
        """Yield a function that sends requests on one connection."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=unverified(), timeout=60)

        def ask(method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
            connection.request(method, path, body, {"Authorization": f"Bearer {self.token}", **(headers or {})})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
            return content

        try:
            yield ask
        finally:
            connection.close()

    def memory(self) -> int:
        """The bytes of the server's resident memory."""
        return _resident(self.process)

    def manager_memory(self) -> int:
        """The bytes of its controller manager's resident memory."""
        return _resident(self.manager)

    def processor_seconds(self) -> float:
        """Return the processor time that the server and its controller manager have used so far, in seconds."""
        return sum(_processor_seconds(process) for process in (self.process, self.manager))


@contextmanager
def ours(directory: Path, *flags: str) -> Iterator[Server]:
    """Run our server on a data directory, which may hold the data of an earlier run; `flags` go to mockube up."""
    port = _free_port()
    command = [*_up(port, directory), "--api-only", *flags]
    with (directory.parent / "mockube.log").open("ab") as log:
        began = time.perf_counter()
        with _process(command, log) as process:
            _await_ready(process, port)
            ready = time.perf_counter() - began
            token = (directory / "pki" / "tokens.csv").read_text().partition(",")[0]
            yield Server(process.pid, port, token, ready)


@contextmanager
def etcd(directory: Path) -> Iterator[str]:
    """Run an etcd of one member; yield its URL."""
    client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    command = [
        "etcd", "--data-dir", str(directory), "--logger", "zap", "--log-level", "error",
        "--listen-client-urls", client, "--advertise-client-urls", client, "--quota-backend-bytes", str(8 * 2**30),
        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
    ]  # fmt: skip
    with (directory.parent / "etcd.log").open("ab") as log, _process(command, log) as process:
        end = time.monotonic() + PATIENCE
        while not _answers(f"{client}/health"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("etcd does not become ready")
            time.sleep(0.05)
        yield client


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def managed(directory: Path, *, nodes: int, pods: int) -> Iterator[Server]:
    """Run our server with controllers and simulated nodes for this many pods each; yield it once they work."""
    port = _free_port()
    command = [
        *_up(port, directory),
        "--nodes",
        str(nodes),
        f"--manager-flag=--node-pods={pods}",
        "--metrics-port",
        "0",
    ]
    with (directory.parent / "mockube.log").open("ab") as log, _process(command, log) as process:
        assert process.stdout is not None
        if not any(b"at work" in line for line in process.stdout):
            raise RuntimeError(f"the server ended with exit code {process.wait()}")
        token = (directory / "pki" / "tokens.csv").read_text().partition(",")[0]
        yield Server(process.pid, port, token, manager=_child(process.pid))


def _up(port: int, directory: Path) -> list[str]:
    return [sys.executable, "-m", "mockube", "up", "--port", str(port), "--data-dir", str(directory)]


def _child(process: int) -> int:
    output = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, check=True).stdout
    return int(output.split()[0])


def _resident(process: int) -> int:
    output = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=True).stdout
    return int(output) * 1024


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def bare(certificates: Path, answers: Path) -> Iterator[Server]:
    """Run the bare server with the certificates of ours."""
    command = [sys.executable, str(HERE / "bare.py"), "--pki", str(certificates), "--answers", str(answers)]
    with (answers.parent / "bare.log").open("ab") as log, _process(command, log) as process:
        assert process.stdout is not None
        yield Server(process.pid, int(process.stdout.readline()), "none")


@contextmanager
def _process(command: list[str], log: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the end of the context."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_ready(process: subprocess.Popen[bytes], port: int) -> None:
    """Request /readyz repeatedly, each time on a new connection, until the answer is 200.

    Raises:
        RuntimeError: the process ended, or time did.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with exit code {process.returncode}")
        if _is_ready(port):
            return
        time.sleep(0.002)
    raise RuntimeError("the server does not become ready")


def _is_ready(port: int) -> bool:
    try:
        plain = socket.create_connection(("127.0.0.1", port), timeout=5)
    except OSError:
        return False
    try:
        with unverified().wrap_socket(plain) as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def import_seconds() -> float:
    """Return how long `python -c "import aiohttp"` takes, in seconds."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import aiohttp"], check=True, env=dict(os.environ))
    return time.perf_counter() - began
