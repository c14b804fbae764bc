"""The kinds that controllers name are those that the server serves."""

from controller_manager.runtime import kinds
from controller_manager.runtime.discovery import discover
from controller_manager.runtime.kinds import DEPLOYMENT, EVERYTHING, NODE, POD, Kind, Served


async def test_the_server_serves_every_kind_that_a_controller_names(client):
    served = await discover(client)
    named = [kind for kind in vars(kinds).values() if isinstance(kind, Kind) and kind != EVERYTHING]
    builtin = [kind for kind in named if kind.group != "apps.kruise.io"]
    assert [kind for kind in builtin if kind not in served.verbs] == []
    assert len(builtin) >= 20


def test_a_kind_is_known_by_its_resource_and_is_at_its_path():
    assert [str(kind) for kind in (POD, DEPLOYMENT)] == ["pods", "deployments.apps"]
    assert (POD.api_version, DEPLOYMENT.api_version) == ("v1", "apps/v1")
    assert NODE.path("", "n", "status") == "/api/v1/nodes/n/status"
    assert DEPLOYMENT.path("d") == "/apis/apps/v1/namespaces/d/deployments"
    assert Kind("g", "v1", "A", "as").namespaced


def test_only_preferred_kinds_that_can_do_it_all_are_chosen():
    served = Served({POD: frozenset({"list", "watch"}), NODE: frozenset({"list"})}, (NODE, POD))
    assert list(served.able_to("list", "watch")) == [POD]
    assert list(served.able_to("list")) == [NODE, POD]
    assert (served.named("v1", "Node"), served.named("v2", "Node")) == (NODE, None)
    assert served == Served(dict(served.verbs), served.preferred)
    assert "_named" not in repr(served)
