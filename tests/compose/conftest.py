import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Stack = Any
Kubectl = Any


def _module(name: str) -> ModuleType:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"compose_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def stacks() -> ModuleType:
    """What stack.py has."""
    return _module("stack")


@pytest.fixture(scope="session")
def etcd_path() -> None:
    """There are etcd and etcdctl; a machine without skips the test, unless it is the one that decides."""
    for command in ("etcd", "etcdctl"):
        if shutil.which(command) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{command} is not on PATH")


@pytest.fixture
def contained(stacks: ModuleType, etcd_path: None, tmp_path: Path) -> Iterator[Stack]:
    """The services of compose.yaml, as they are in containers; a machine where we may not make those skips the test."""
    with _module("networks").network(4) as network:
        if network is None:
            pytest.skip("only root can make networks and mounts of its own")
        with stacks.standing_contained(tmp_path, network) as stack:
            yield stack


@pytest.fixture(scope="module")
def stack(stacks: ModuleType, etcd_path: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The services of compose.yaml, as processes."""
    with stacks.standing(tmp_path_factory.mktemp("compose")) as stack:
        yield stack


@pytest.fixture(scope="module")
def kubectl(stack: Stack, kubectl_at: Callable[..., Kubectl]) -> Kubectl:
    """A kubectl with the kubeconfig that is for the host."""
    return kubectl_at(stack.volume("certificates") / "kubeconfig")
