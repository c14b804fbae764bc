import importlib.util
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import pytest

from apiserver.app import serving
from apiserver.config import Config, check
from controller_manager.config import Config as ManagerConfig
from controller_manager.manager import managing
from controller_manager.runtime.kubeconfig import Access
from mockube.threads import in_thread

TOKEN = "truth"
CONTROLLERS = ("*", "-scheduler", "-kubelet", "-storageclass")
"""Those whose work the answers show: nothing was placed on a node, and there was no default storage class."""


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file by which TOKEN is an administrator's."""
    path = tmp_path_factory.mktemp("truth") / "tokens.csv"
    path.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    return path


@pytest.fixture(scope="module")
def server_url(tokens: Path) -> Iterator[str]:
    """A server without TLS and without controllers."""
    with in_thread(serving(check(Config(secure_port=0, token_auth_file=tokens)))) as running:
        yield running.url


@pytest.fixture(scope="module")
def controlled_url(tokens: Path) -> Iterator[str]:
    """A server without TLS on which controllers are at work."""
    with in_thread(_controlled(tokens)) as url:
        yield url


@asynccontextmanager
async def _controlled(tokens: Path) -> AsyncIterator[str]:
    config = check(Config(secure_port=0, token_auth_file=tokens, empties_namespaces=False))
    manager = ManagerConfig(controllers=CONTROLLERS, metrics_port=None, election=None)
    async with serving(config) as running, managing(manager, Access(running.url, token=TOKEN)) as managed:
        await managed.until_ready()
        yield running.url


@pytest.fixture(scope="session")
def token() -> str:
    return TOKEN


@pytest.fixture(scope="session")
def module_at():
    """Loads a module by its path: neither the runner beside the repository nor scenarios.py is in a package."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
