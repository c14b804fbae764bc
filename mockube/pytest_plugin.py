"""Fixtures for tests against a cluster, in tests of both kinds: the server has a thread of its own.

    def test_my_operator(kube_cluster):
        run_operator(kube_cluster.kubeconfig)

pytest loads this module in every run, so it imports the server only when a test asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mockube.cluster import Cluster


@pytest.fixture
def kube_cluster() -> Iterator["Cluster"]:
    """A cluster of this test's own, empty but for what every cluster has."""
    yield from _cluster()


@pytest.fixture(scope="session")
def kube_cluster_session() -> Iterator["Cluster"]:
    """A cluster that all tests of the session share: for tests that make namespaces of their own."""
    yield from _cluster()


def _cluster() -> Iterator["Cluster"]:
    from mockube.cluster import Cluster

    with Cluster() as cluster:
        yield cluster
