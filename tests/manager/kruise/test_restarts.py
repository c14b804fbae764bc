"""A manager that is killed amid its work, and the next one that finishes it."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mockube.cluster import Cluster

Kind = Any
Web = Any
Write = Callable[..., str]

ALONE = "--leader-elect=false"
"""Without a lease, which would have to run out first."""


@pytest.fixture
def apart() -> Iterator[Cluster]:
    """A server that has no manager of its own."""
    with Cluster(kruise=True) as cluster:
        yield cluster


def test_a_rollout_goes_on_where_it_was_when_the_manager_was_killed(
    apart: Cluster, manage: Any, kubectl_at: Any, web: Web, kind: Kind, united: Write
) -> None:
    """Row D44 of UnitedDeployments: no workload, no pod and no revision is made twice."""
    first = manage(apart.kubeconfig, ALONE)
    assert first.line().startswith("ready")
    web = type(web)(kubectl_at(apart.kubeconfig), web.settles)
    web.apply(united(kind, replicas=9))
    web.done(9)
    before = {name: each["metadata"]["uid"] for name, each in web.workloads(kind).items()}
    slow = {"mockube.io/ready-after": "700ms"}
    web.apply(united(kind, "nginx:2", annotations=slow, replicas=9))
    web.settles(lambda: web.status.get("updatedReplicas"))
    first.ended(signal.SIGKILL)
    assert web.status["updatedReplicas"] < 9
    web.apply(united(kind, "nginx:3", replicas=10))
    assert manage(apart.kubeconfig, ALONE).line().startswith("ready")
    web.done(10)
    assert {image for images in web.images.values() for image in images} == {"nginx:3"}
    assert {name: each["metadata"]["uid"] for name, each in web.workloads(kind).items()} == before
    assert sorted(web.revisions.values()) == [1, 2, 3]
    web.settles(lambda: web.events == [f"SuccessfulUpdateSubset: Create 3 Subset ({kind.name})"])
