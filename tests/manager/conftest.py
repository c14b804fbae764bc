"""Clusters with controllers and nodes, and what kubectl makes of them."""

import json
import logging
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mockube.cluster import Cluster

Kubectl = Any


class Accidents(logging.Handler):
    """Keeps what the controllers' log tells of plans that failed in a way nobody foresaw."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(self.format(record))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster with three nodes and all controllers, none of which may stumble."""
    accidents = Accidents()
    logger = logging.getLogger("controller_manager")
    logger.addHandler(accidents)
    try:
        with Cluster(nodes=3) as cluster:
            yield cluster
    finally:
        logger.removeHandler(accidents)
    assert not accidents.told


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def kubectl(cluster: Cluster, kubectl_at: Callable[..., Kubectl], numbers: Iterator[int]) -> Iterator[Kubectl]:
    """A kubectl in a namespace of the test's own, which goes with it."""
    namespace = f"test-{next(numbers)}"
    kubectl = kubectl_at(cluster.kubeconfig, namespace=namespace)
    kubectl.told(f"create namespace {namespace}")
    yield kubectl
    kubectl.told(f"delete namespace {namespace} --wait=false")


@pytest.fixture
def deployment() -> Callable[..., str]:
    """Writes a Deployment as JSON: what its pods are annotated with, and its spec but for selector and template."""

    def write(name: str = "web", image: str = "nginx:1", annotations: Any = None, **spec: Any) -> str:
        return _workload("Deployment", name, image, annotations or {}, spec)

    return write


@pytest.fixture
def stateful_set() -> Callable[..., str]:
    """Writes a StatefulSet as JSON: what its pods are annotated with, and its spec but for selector and template."""

    def write(name: str = "db", image: str = "postgres:1", annotations: Any = None, **spec: Any) -> str:
        return _workload("StatefulSet", name, image, annotations or {}, {"serviceName": name} | spec)

    return write


def _workload(kind: str, name: str, image: str, annotations: dict[str, str], spec: dict[str, Any]) -> str:
    labels = {"app": name}
    containers = [{"name": "main", "image": image}]
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": labels}, "template": template} | spec
    return json.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and "kubectl" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kubectl)
