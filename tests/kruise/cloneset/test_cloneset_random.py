"""Properties of CloneSets over random histories: lagging caches, kills, slow nodes, and changes at any time."""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from set_histories import NUMBERS, POLICIES, STEPS, relaxed, step

from controller_manager.kruise.cloneset.spec import strategy_of
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import CONTROLLER_REVISION, POD
from controller_manager.reconcile.pods import is_active


class Numbers:
    """Looks at the numbers of revisions as they are written: each is higher than all before."""

    def __init__(self, cluster):
        self.newest = max((revision["revision"] for revision in cluster.revisions), default=0)
        cluster.server.refuse = self.look

    def look(self, request):
        if request.kind is CONTROLLER_REVISION and isinstance(request, Create | Update):
            assert request.obj["revision"] > self.newest
            self.newest = request.obj["revision"]


def rest(cluster):
    """Let everything come to rest, and all time pass that is waited for."""
    cluster.deliver_all()
    cluster.queue = True
    for _ in range(300):
        before = len(cluster.server.log[POD])
        cluster.settle()
        cluster.tick(20)
        if not cluster.queue and len(cluster.server.log[POD]) == before:
            cluster.settle()
            if len(cluster.server.log[POD]) == before:
                return
    raise AssertionError("the cluster does not come to rest")


def rollings(replicas):
    """Draw settings of a rolling update with which it can go on."""
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
    ).filter(lambda fields: (fields["maxUnavailable"], fields["maxSurge"]) != (0, 0))


@pytest.mark.parametrize("policy", POLICIES)
@relaxed
@given(data=st.data())
def test_a_healthy_update_keeps_its_floor_and_its_ceiling(settled_cluster, template, policy, data):
    replicas = data.draw(st.integers(1, 7))
    rolling = data.draw(rollings(replicas)) | {"podUpdatePolicy": policy}
    cluster = settled_cluster(replicas=replicas, rolling=rolling, minReadySeconds=data.draw(st.sampled_from([0, 0, 5])))
    strategy = strategy_of(cluster.set)
    before = cluster.names
    Numbers(cluster)
    cluster.edit(template=template("web:2"))
    lowest, highest = replicas, replicas
    for what, number in data.draw(st.lists(STEPS, min_size=20, max_size=100)):
        step(cluster, what, number)
        lowest, highest = min(lowest, cluster.available), max(highest, len(cluster.pods))
        assert cluster.available >= replicas - strategy.max_unavailable
        assert len(cluster.pods) <= replicas + strategy.max_surge
    event(f"down {replicas - lowest} of {strategy.max_unavailable}")
    rest(cluster)
    held = strategy.partition if strategy.max_unavailable or strategy.max_surge else replicas
    expected = {"web:1": held, "web:2": replicas - held}
    assert cluster.images == {image: number for image, number in expected.items() if number}
    assert cluster.available == replicas
    if policy != "ReCreate" and not strategy.max_surge:
        assert cluster.names == before
    assert cluster.run().quiet


def changes(template):
    """Draw the changes that people make, as fields of the spec or of rollingUpdate."""
    images = st.sampled_from(["web:1", "web:2", "web:3", "unready.mockube.io/web:4", "fail.mockube.io/web:5"])
    return st.one_of(
        st.builds(lambda number: ("edit", {"replicas": number}), st.integers(0, 7)),
        st.builds(lambda image: ("edit", {"template": template(image)}), images),
        st.builds(lambda seconds: ("edit", {"minReadySeconds": seconds}), st.sampled_from([0, 5])),
        st.builds(lambda fields: ("rolling", fields), rollings(7)),
        st.builds(lambda paused: ("rolling", {"paused": paused}), st.booleans()),
        st.builds(lambda policy: ("rolling", {"podUpdatePolicy": policy}), st.sampled_from(POLICIES[:2])),
        st.builds(lambda number: ("name", number), NUMBERS),
        st.builds(lambda number: ("label", number), NUMBERS),
        st.builds(lambda number: ("terminate", number), NUMBERS),
    )


def change(current, what, fields):
    if what in ("edit", "rolling"):
        getattr(current, what)(**fields)
    elif current.names:
        name = current.names[fields % len(current.names)]
        match what:
            case "name":
                current.edit(scaleStrategy={"podsToDelete": [name]})
            case "label":
                current.label(name, specified_delete="true")
            case _:
                current.terminate(name)


TEMPLATES = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


@pytest.mark.parametrize("claims", [(), TEMPLATES])
@relaxed
@given(data=st.data())
def test_whatever_happens_the_end_is_right_and_revisions_grow(new_cluster, template, claims, data):
    cluster = new_cluster(replicas=data.draw(st.integers(0, 5)), volumeClaimTemplates=list(claims))
    cluster.deliver_all()
    if data.draw(st.booleans()):
        cluster.settle()
    Numbers(cluster)
    wishes = changes(template)
    for _ in range(data.draw(st.integers(20, 80))):
        if data.draw(st.integers(0, 7)) == 0:
            change(cluster, *data.draw(wishes))
        else:
            step(cluster, *data.draw(STEPS))
    replicas = data.draw(st.integers(1, 5))
    cluster.edit(replicas=replicas, template=template("web:9"))
    cluster.rolling(partition=0, paused=False, maxUnavailable="50%", maxSurge=1)
    rest(cluster)
    assert cluster.images == {"web:9": replicas}
    assert cluster.available == replicas
    status = cluster.status
    assert status["currentRevision"] == status["updateRevision"] == cluster.revisions[-1]["metadata"]["name"]
    assert status["updatedAvailableReplicas"] == status["replicas"] == replicas
    assert cluster.set["spec"]["scaleStrategy"].get("podsToDelete", []) == []
    assert len(cluster.all_pods) == sum(map(is_active, cluster.all_pods))
    ids = [pod["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"] for pod in cluster.pods]
    assert cluster.claims == (sorted(f"data-web-{each}" for each in ids) if claims else [])
    assert cluster.run().quiet
