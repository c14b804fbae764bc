"""pytest fixtures for synchronous and asynchronous tests against a cluster: the server has a thread of its own.

    def test_my_operator(kube_cluster):
        run_operator(kube_cluster.kubeconfig)

pytest loads this module in every run, so it imports the server only when a test asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mockube.cluster import Cluster

NODES = 3
"""The number of nodes of a cluster with nodes."""


@pytest.fixture
def kube_cluster() -> Iterator["Cluster"]:
    """A cluster of this test's own, empty except for the objects that every cluster has."""
    yield from _cluster()


@pytest.fixture(scope="session")
def kube_cluster_session() -> Iterator["Cluster"]:
    """A cluster that all tests of the session share: for tests that make namespaces of their own."""
    yield from _cluster()


@pytest.fixture
def kube_cluster_with_nodes() -> Iterator["Cluster"]:
    """A cluster of this test's own whose controllers work and whose three simulated nodes run pods."""
    yield from _cluster(NODES)


@pytest.fixture(scope="session")
def kube_cluster_with_nodes_session() -> Iterator["Cluster"]:
    """A cluster with controllers and nodes that all tests of the session share."""
    yield from _cluster(NODES)


def _cluster(nodes: int = 0) -> Iterator["Cluster"]:
    from mockube.cluster import Cluster  # pytest loads this module in every run

    with Cluster(nodes=nodes) as cluster:
        yield cluster
