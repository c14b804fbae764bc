import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from apiserver.app import serving
from apiserver.config import Config, check
from mockube.threads import in_thread

TOKEN = "truth"


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without TLS that takes TOKEN for an administrator's."""
    tokens = tmp_path_factory.mktemp("truth") / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    with in_thread(serving(check(Config(secure_port=0, token_auth_file=tokens)))) as running:
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
