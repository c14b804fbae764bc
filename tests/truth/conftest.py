from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS
from truth import Server

from apiserver.app import serving
from apiserver.config import Config, check
from controller_manager.config import Config as ManagerConfig
from controller_manager.manager import run_manager
from controller_manager.runtime.kubeconfig import ClientConfig
from mockube.threads import in_thread

TOKEN = "truth"
NOT_RECORDED: tuple[str, ...] = ()
"""The default admission plug-ins that the recorded servers did without."""
CONTROLLERS = ("*", "-scheduler", "-kubelet", "-storageclass")
"""The controllers whose work the recorded answers show: no pod had a node, and there was no default storage class."""


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A token file that makes TOKEN an administrator's."""
    path = tmp_path_factory.mktemp("truth") / "tokens.csv"
    path.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    return path


def config(tokens: Path, **settings: Any) -> Config:
    """Return the settings of a server that sends the warnings of real servers alone, with the recorded plug-ins."""
    return Config(
        secure_port=0,
        token_auth_file=tokens,
        warn_unsupported=False,
        disable_admission_plugins=NOT_RECORDED,
        **settings,
    )


@pytest.fixture(scope="module")
def newest_server(tokens: Path) -> Iterator[Server]:
    """A server of the newest release, without TLS and without controllers."""
    with in_thread(serving(check(config(tokens)))) as running:
        yield Server(running.url, TOKEN, patience=SECONDS)


@pytest.fixture(scope="module")
def server_of_1_36(tokens: Path) -> Iterator[Server]:
    """A server of Kubernetes 1.36, without TLS and without controllers."""
    with in_thread(serving(check(config(tokens, kubernetes_version="1.36")))) as running:
        yield Server(running.url, TOKEN, patience=SECONDS)


@pytest.fixture(scope="module")
def controlled_server(tokens: Path) -> Iterator[Server]:
    """A server of the newest release, without TLS, beside a controller manager."""
    with in_thread(_controlled(tokens)) as url:
        yield Server(url, TOKEN, patience=SECONDS)


@asynccontextmanager
async def _controlled(tokens: Path) -> AsyncIterator[str]:
    manager = ManagerConfig(controllers=CONTROLLERS, metrics_port=None, election=None)
    settings = check(config(tokens, empties_namespaces=False))
    async with serving(settings) as running, run_manager(manager, ClientConfig(running.url, token=TOKEN)) as managed:
        await managed.wait_until_ready()
        yield running.url
