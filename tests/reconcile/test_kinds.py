"""The kinds that controllers name are those that the server serves."""

from dataclasses import replace

from controller_manager.reconcile import kinds
from controller_manager.reconcile.kinds import DEPLOYMENT, EVERYTHING, NODE, POD, Kind, Served
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.discovery import discover
from controller_manager.runtime.kubeconfig import load_kubeconfig
from mockube import Cluster


async def test_the_server_serves_every_kind_that_a_controller_names():
    async with Cluster(kruise=True) as cluster, Client(load_kubeconfig(cluster.kubeconfig), Clock()) as client:
        served = await discover(client)
    named = [kind for kind in vars(kinds).values() if isinstance(kind, Kind) and kind != EVERYTHING]
    assert [kind for kind in named if kind not in served.verbs] == []
    assert len(named) >= 23


def test_a_kind_is_known_by_its_resource_and_is_at_its_path():
    assert [str(kind) for kind in (POD, DEPLOYMENT)] == ["pods", "deployments.apps"]
    assert (POD.api_version, DEPLOYMENT.api_version) == ("v1", "apps/v1")
    assert NODE.path("", "n", "status") == "/api/v1/nodes/n/status"
    assert DEPLOYMENT.path("d") == "/apis/apps/v1/namespaces/d/deployments"
    assert Kind("g", "v1", "A", "as").namespaced


def test_only_preferred_kinds_that_can_do_it_all_are_chosen():
    served = Served({POD: frozenset({"list", "watch"}), NODE: frozenset({"list"})}, (NODE, POD))
    assert list(served.supporting("list", "watch")) == [POD]
    assert list(served.supporting("list")) == [NODE, POD]
    assert (served.find_kind("v1", "Node"), served.find_kind("v2", "Node")) == (NODE, None)
    assert served == Served(dict(served.verbs), served.preferred)
    assert "_named" not in repr(served)


def test_a_copy_of_what_is_served_with_other_kinds_knows_those_alone():
    served = Served({POD: frozenset()}, (POD,))
    other = replace(served, verbs={NODE: frozenset()}, preferred=(NODE,))
    assert (other.find_kind("v1", "Node"), other.find_kind("v1", "Pod")) == (NODE, None)
    assert (served.find_kind("v1", "Node"), served.find_kind("v1", "Pod")) == (None, POD)
