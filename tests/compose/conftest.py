import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import compose_networks
import compose_stack
import pytest

Stack = Any
Kubectl = Any


@pytest.fixture(scope="session")
def etcd_path() -> None:
    """Require etcd and etcdctl: without them the test is skipped, and in CI it fails."""
    for command in ("etcd", "etcdctl"):
        if shutil.which(command) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{command} is not on PATH")


@pytest.fixture
def contained(etcd_path: None, tmp_path: Path) -> Iterator[Stack]:
    """The services of compose.yaml, as they are in containers; the test is skipped if this machine permits none."""
    with compose_networks.network(4) as network:
        if network is None:
            pytest.skip("only root can make networks and mounts of its own")
        with compose_stack.standing_contained(tmp_path, network) as stack:
            yield stack


@pytest.fixture(scope="module")
def stack(etcd_path: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The services of compose.yaml, as processes."""
    with compose_stack.standing(tmp_path_factory.mktemp("compose")) as stack:
        yield stack


@pytest.fixture(scope="module")
def kubectl(stack: Stack, kubectl_at: Callable[..., Kubectl]) -> Kubectl:
    """A kubectl with the kubeconfig that is for the host."""
    return kubectl_at(stack.volume("certificates") / "kubeconfig")
