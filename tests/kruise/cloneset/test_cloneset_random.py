"""Properties of CloneSets over random histories: lagging caches, kills, slow nodes, and changes at any time."""

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from controller_manager.kruise.cloneset.spec import strategy_of
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import CONTROLLER_REVISION, POD
from controller_manager.reconcile.pods import is_active

relaxed = settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
POLICIES = ["ReCreate", "InPlaceIfPossible", "InPlaceOnly"]
NUMBERS = st.integers(0, 7)
STEPS = st.one_of(
    *[st.tuples(st.just("run"), st.none())] * 4,
    *[st.tuples(st.just("serve"), st.none())] * 2,
    *[st.tuples(st.just("work"), NUMBERS)] * 4,
    *[st.tuples(st.just("deliver"), NUMBERS)] * 2,
    st.tuples(st.just("kill"), NUMBERS),
    st.tuples(st.just("tick"), NUMBERS),
)


def step(found, what, number):
    """One step of a random history."""
    match what:
        case "run" | "serve" if found.queue:
            found.run(fresh=what == "serve")
        case "kill" if found.queue:
            found.run(fresh=False, actions=number)
            found.deliver_all()
            found.queue = True
        case "deliver":
            kind = list(found.seen)[number % len(found.seen)]
            found.deliver(kind, min(found.seen[kind] + 1, len(found.server.log[kind])))
        case "tick":
            found.tick(number)
        case "work" if found.all_pods:
            found.work(found.all_pods[number % len(found.all_pods)]["metadata"]["name"])


class Numbers:
    """Looks at the numbers of revisions as they are written: each is higher than all before."""

    def __init__(self, found):
        self.newest = max((revision["revision"] for revision in found.revisions), default=0)
        found.server.refuse = self.look

    def look(self, request):
        if request.kind is CONTROLLER_REVISION and isinstance(request, Create | Update):
            assert request.obj["revision"] > self.newest
            self.newest = request.obj["revision"]


def rest(found):
    """Let everything come to rest, and all time pass that is waited for."""
    found.deliver_all()
    found.queue = True
    for _ in range(300):
        before = len(found.server.log[POD])
        found.settle()
        found.tick(20)
        if not found.queue and len(found.server.log[POD]) == before:
            found.settle()
            if len(found.server.log[POD]) == before:
                return
    raise AssertionError("the cluster does not come to rest")


def rollings(replicas):
    """What a rolling update may be told, so that it can go on."""
    return st.builds(
        lambda unavailable, surge, partition, grace: {
            "maxUnavailable": unavailable,
            "maxSurge": surge,
            "partition": partition,
            "inPlaceUpdateStrategy": {"gracePeriodSeconds": grace},
        },
        st.sampled_from([0, 1, 2, "20%", "50%", "100%"]),
        st.sampled_from([0, 1, 3, "50%"]),
        st.one_of(st.integers(0, replicas), st.sampled_from(["30%", "99%", "100%"])),
        st.sampled_from([0, 0, 5]),
    ).filter(lambda told: (told["maxUnavailable"], told["maxSurge"]) != (0, 0))


@pytest.mark.parametrize("policy", POLICIES)
@relaxed
@given(data=st.data())
def test_a_healthy_update_keeps_its_floor_and_its_ceiling(cluster, template, policy, data):
    replicas = data.draw(st.integers(1, 7))
    rolling = data.draw(rollings(replicas)) | {"podUpdatePolicy": policy}
    found = cluster(replicas=replicas, rolling=rolling, minReadySeconds=data.draw(st.sampled_from([0, 0, 5])))
    strategy = strategy_of(found.set)
    before = found.names
    Numbers(found)
    found.edit(template=template("web:2"))
    lowest, highest = replicas, replicas
    for what, number in data.draw(st.lists(STEPS, min_size=20, max_size=100)):
        step(found, what, number)
        lowest, highest = min(lowest, found.available), max(highest, len(found.pods))
        assert found.available >= replicas - strategy.max_unavailable
        assert len(found.pods) <= replicas + strategy.max_surge
    event(f"down {replicas - lowest} of {strategy.max_unavailable}")
    rest(found)
    held = strategy.partition if strategy.max_unavailable or strategy.max_surge else replicas
    expected = {"web:1": held, "web:2": replicas - held}
    assert found.images == {image: number for image, number in expected.items() if number}
    assert found.available == replicas
    if policy != "ReCreate" and not strategy.max_surge:
        assert found.names == before
    assert found.run().quiet


def changes(template):
    """What people change, as fields of the spec or of rollingUpdate."""
    images = st.sampled_from(["web:1", "web:2", "web:3", "unready.mockube.io/web:4", "fail.mockube.io/web:5"])
    return st.one_of(
        st.builds(lambda number: ("edit", {"replicas": number}), st.integers(0, 7)),
        st.builds(lambda image: ("edit", {"template": template(image)}), images),
        st.builds(lambda seconds: ("edit", {"minReadySeconds": seconds}), st.sampled_from([0, 5])),
        st.builds(lambda told: ("rolling", told), rollings(7)),
        st.builds(lambda paused: ("rolling", {"paused": paused}), st.booleans()),
        st.builds(lambda policy: ("rolling", {"podUpdatePolicy": policy}), st.sampled_from(POLICIES[:2])),
        st.builds(lambda number: ("name", number), NUMBERS),
        st.builds(lambda number: ("label", number), NUMBERS),
        st.builds(lambda number: ("terminate", number), NUMBERS),
    )


def change(found, what, told):
    if what in ("edit", "rolling"):
        getattr(found, what)(**told)
    elif found.names:
        name = found.names[told % len(found.names)]
        match what:
            case "name":
                found.edit(scaleStrategy={"podsToDelete": [name]})
            case "label":
                found.label(name, specified_delete="true")
            case _:
                found.terminate(name)


TEMPLATES = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


@pytest.mark.parametrize("claims", [(), TEMPLATES])
@relaxed
@given(data=st.data())
def test_whatever_happens_the_end_is_right_and_revisions_grow(new_cluster, template, claims, data):
    found = new_cluster(replicas=data.draw(st.integers(0, 5)), volumeClaimTemplates=list(claims))
    found.deliver_all()
    if data.draw(st.booleans()):
        found.settle()
    Numbers(found)
    wishes = changes(template)
    for _ in range(data.draw(st.integers(20, 80))):
        if data.draw(st.integers(0, 7)) == 0:
            change(found, *data.draw(wishes))
        else:
            step(found, *data.draw(STEPS))
    replicas = data.draw(st.integers(1, 5))
    found.edit(replicas=replicas, template=template("web:9"))
    found.rolling(partition=0, paused=False, maxUnavailable="50%", maxSurge=1)
    rest(found)
    assert found.images == {"web:9": replicas}
    assert found.available == replicas
    status = found.status
    assert status["currentRevision"] == status["updateRevision"] == found.revisions[-1]["metadata"]["name"]
    assert status["updatedAvailableReplicas"] == status["replicas"] == replicas
    assert found.set["spec"]["scaleStrategy"].get("podsToDelete", []) == []
    assert len(found.all_pods) == sum(map(is_active, found.all_pods))
    ids = [pod["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"] for pod in found.pods]
    assert found.claims == (sorted(f"data-web-{each}" for each in ids) if claims else [])
    assert found.run().quiet
