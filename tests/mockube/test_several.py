"""Several servers on one port, and several managers with one leader, each a process of its own over one etcd."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from loop_leaks import open_transports
from patience import SECONDS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def children(process: int) -> dict[int, str]:
    """Processes that a process has started, with their command lines."""
    processes = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            words = (each / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == process:
            processes[int(each.name)] = b" ".join(words).decode()
    return processes


def of_module(process: int, module: str) -> list[int]:
    return sorted(child for child, words in children(process).items() if f"-m {module} " in words)


@pytest.fixture
def several(up: Any, shared_etcd: Any, tmp_path: Path) -> Any:
    """Two servers and two managers."""
    return up("--store", shared_etcd.url, "--apiservers", "2", "--managers", "2", controllers=True)


def test_several_servers_need_a_store_that_they_can_share(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "mockube", "up", "--apiservers", "2", "--api-only"]
    ran = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 2
    assert ran.stderr == (
        "mockube: --apiservers 2: several servers need a store that they can share; give --store http://HOST:PORT of "
        "an etcd cluster, or leave it at one server\n"
    )


@asynccontextmanager
async def session(kubeconfig: dict[str, Any]) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """The servers' URL, and a client that opens a connection for each request, so that all of them are asked.

    A connection over TLS is closed when its server has answered the farewell, which the client does not wait for.
    """
    cluster, token = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]["token"]
    trust = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": f"Bearer {token}"}) as client:
        yield cluster["server"], client
    await until(lambda: not open_transports(asyncio.get_running_loop()))


@pytest.fixture
def kubeconfig(several: Any) -> Any:
    return yaml.safe_load(Path(several.kubeconfig).read_text())


async def test_servers_that_are_started_again_one_by_one_lose_nothing_that_they_have_acknowledged(
    several: Any, kubeconfig: Any
) -> None:
    """Clients see nothing worse than a connection that breaks, or a 503 that asks them to try again."""
    keeper, module = several.process.pid, "apiserver"
    acknowledged: list[str] = []
    odd: list[str] = []
    done = asyncio.Event()
    numbers = count()

    async def write(url: str, client: aiohttp.ClientSession) -> None:
        while not done.is_set():
            name = f"a{next(numbers)}"
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            try:
                async with client.post(url + CONFIG_MAPS, json=body) as answer:
                    text = await answer.text()
                    if answer.status == 201:
                        acknowledged.append(name)
                    elif answer.status != 503:
                        odd.append(f"{answer.status} {text}")
            except aiohttp.ClientConnectionError:
                continue

    async with session(kubeconfig) as (url, client):
        writers = [asyncio.create_task(write(url, client)) for _ in range(4)]
        for stop in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
            (old,) = await until(lambda: of_module(keeper, module))
            before = len(acknowledged)
            os.kill(old, stop)
            await until(lambda old=old: of_module(keeper, module) not in ([], [old]))
            await until(lambda before=before: len(acknowledged) > before + 50)
        done.set()
        await asyncio.gather(*writers)
        async with client.get(url + CONFIG_MAPS) as answer:
            stored = {each["metadata"]["name"] for each in (await answer.json())["items"]}
    assert odd == []
    assert [name for name in acknowledged if name not in stored] == []


async def until(is_so: Any) -> Any:
    """Call until the result is true, and return it."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if outcome := is_so():
            return outcome
        await asyncio.sleep(0.02)
    raise AssertionError("it does not come true")


def test_one_manager_leads_and_another_takes_over_when_it_dies(several: Any, kubectl_at: Any, wait_for: Any) -> None:
    kubectl = kubectl_at(Path(several.kubeconfig))
    managers = wait_for(lambda: (processes := of_module(several.process.pid, "controller_manager"))[1:] and processes)
    kubectl.output("create deployment web --image=nginx --replicas=2")
    kubectl.output("rollout status deployment/web --timeout=300s")
    for replicas, manager in zip((4, 6), managers, strict=True):  # one of them leads; those that die come back
        os.kill(manager, signal.SIGKILL)
        kubectl.output(f"scale deployment web --replicas={replicas}")
        ready = "get deployment web -o jsonpath={.status.readyReplicas}"
        wait_for(lambda ready=ready, replicas=replicas: kubectl.output(ready) == str(replicas))


def test_servers_share_no_port_with_a_stranger(environment: dict[str, str], shared_etcd: Any) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as stranger:
        port = str(stranger.getsockname()[1])
        command = [sys.executable, "-m", "mockube", "up", "--apiservers", "2", "--api-only", "--port", port]
        command += ["--store", shared_etcd.url]
        ran = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"mockube: cannot listen on 127.0.0.1:{port}: Address already in use; choose another ")
