import asyncio
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from apiserver.app import serving
from apiserver.config import Config, check
from mockube import Cluster
from mockube.threads import in_thread


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of a release that all the clients know."""
    with Cluster(kubernetes_version="1.34") as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> str:
    """A namespace of this test's own."""
    trust = ssl.create_default_context(cafile=cluster.ca_file)
    connection = HTTPSConnection(cluster.url.removeprefix("https://"), context=trust, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"generateName": "client-"}}), headers)
    made = json.load(connection.getresponse())
    connection.close()
    name: str = made["metadata"]["name"]
    return name


@dataclass(frozen=True)
class ForgetfulServer:
    """A server that can be made to forget its history."""

    url: str
    token: str
    forget: Callable[[], None]


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[ForgetfulServer]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,admin,1,"system:masters"\n')
    with in_thread(serving(check(Config(secure_port=0, token_auth_file=tokens)))) as running:
        store: Any = running.registry.storage.store

        def forget() -> None:
            asyncio.run_coroutine_threadsafe(store.compact(store.revision), store._loop).result()

        yield ForgetfulServer(running.url, "secret", forget)


@pytest.fixture
def pod() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
    }


@pytest.fixture
def deployment(pod: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
