"""Clusters with controllers and nodes, and kubectls for them."""

import asyncio
import base64
import json
import logging
import re
import select
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from patience import SECONDS

from mockube.cluster import Cluster

Kubectl = Any
_FORBIDDEN = 'is forbidden: User "system:'
"""A part of the message of a refusal by RBAC."""


class Accidents(logging.Handler):
    """Keeps the log lines of a cluster's controllers about reconciles that failed unforeseen, or for want of a role.

    Other tests of the same process have controllers that fail on purpose, in other threads than a `Cluster` has.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = self.format(record)
        if record.threadName == "mockube" and (record.levelno >= logging.ERROR or _FORBIDDEN in message):
            self.messages.append(message)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster with three nodes and all controllers; an error that any of them logs fails the test."""
    accidents = Accidents()
    logger = logging.getLogger("controller_manager")
    logger.addHandler(accidents)
    try:
        with Cluster(nodes=3) as cluster:
            yield cluster
    finally:
        logger.removeHandler(accidents)
    assert not accidents.messages


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def kubectl(cluster: Cluster, kubectl_at: Callable[..., Kubectl], numbers: Iterator[int]) -> Iterator[Kubectl]:
    """A kubectl in a namespace of the test's own, which goes with it."""
    namespace = f"test-{next(numbers)}"
    kubectl = kubectl_at(cluster.kubeconfig, namespace=namespace)
    kubectl.output(f"create namespace {namespace}")
    yield kubectl
    kubectl.output(f"delete namespace {namespace} --wait=false")


@pytest.fixture
def deployment() -> Callable[..., str]:
    """Return a function that writes a Deployment as JSON, by its pods' annotations and fields of its spec."""

    def write(name: str = "web", image: str = "nginx:1", annotations: Any = None, **spec: Any) -> str:
        return _workload("Deployment", name, image, annotations or {}, spec)

    return write


@pytest.fixture
def stateful_set() -> Callable[..., str]:
    """Return a function that writes a StatefulSet as JSON, by its pods' annotations and fields of its spec."""

    def write(name: str = "db", image: str = "postgres:1", annotations: Any = None, **spec: Any) -> str:
        return _workload("StatefulSet", name, image, annotations or {}, {"serviceName": name} | spec)

    return write


def _workload(kind: str, name: str, image: str, annotations: dict[str, str], spec: dict[str, Any]) -> str:
    labels = {"app": name}
    containers = [{"name": "main", "image": image}]
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": labels}, "template": template} | spec
    return json.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


# -- servers and managers in processes of their own


@dataclass(frozen=True)
class Running:
    """A process of ours, and the file with its stderr."""

    process: subprocess.Popen[str]
    said: Path

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], SECONDS)[0], f"it says nothing: {self.said.read_text()}"
        line = self.process.stdout.readline()
        assert line, f"it ended: {self.said.read_text()}"
        return line

    def send(self, name: signal.Signals) -> None:
        self.process.send_signal(name)

    def ended(self, name: signal.Signals | None = None) -> int:
        """The exit code, after a signal or by itself."""
        if name is not None:
            self.send(name)
        return self.process.wait(SECONDS)


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a module of ours with arguments; what still runs at the end is killed, also if it is stopped."""
    running: list[Running] = []

    def start(module: str, *arguments: str | Path) -> Running:
        said = tmp_path / f"{module}-{len(running)}.stderr"
        command = [sys.executable, "-m", module, *map(str, arguments)]
        with said.open("w") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        running.append(Running(process, said))
        return running[-1]

    yield start
    for each in running:
        each.process.kill()
        each.process.communicate()


@dataclass(frozen=True)
class Server:
    """An API server in a process of its own."""

    running: Running
    port: int
    kubeconfig: Path


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Callable[..., Server]:
    """Starts an API server, on a free port and in memory if nothing else is said, and waits until it is ready."""

    def serve(*, port: int = 0, store: str = "memory") -> Server:
        data = tmp_path / "data"
        running = start("mockube", "up", "--api-only", "--port", str(port), "--store", store, "--data-dir", data)
        match = re.search(r"is ready at https://127\.0\.0\.1:(\d+) ", running.line())
        assert match
        return Server(running, int(match[1]), data / "kubeconfig")

    return serve


@pytest.fixture
def manage(start: Start) -> Callable[..., Running]:
    """Starts a manager for the server of a kubeconfig; it prints a line when it works."""

    def manage(kubeconfig: Path, *flags: str) -> Running:
        return start(
            "controller_manager", f"--kubeconfig={kubeconfig}", "--nodes=3", "--metrics-bind-address=0", *flags
        )

    return manage


@asynccontextmanager
async def _asking(kubeconfig: Path) -> AsyncIterator[aiohttp.ClientSession]:
    config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    headers = {"Authorization": f"Bearer {user['token']}"}
    async with aiohttp.ClientSession(cluster["server"], headers=headers, connector=connector) as session:
        yield session


@pytest.fixture
def asking() -> Callable[[Path], AbstractAsyncContextManager[aiohttp.ClientSession]]:
    """An HTTP client with the rights of a kubeconfig's user."""
    return _asking


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and "kubectl" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kubectl)
