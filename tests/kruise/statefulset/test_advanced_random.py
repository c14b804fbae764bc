"""Properties of Advanced StatefulSets over random histories: lagging caches, kills, and changes at any time."""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from set_histories import POLICIES, STEPS, relaxed, step

from controller_manager.controllers.statefulset.ordinals import ordinal_of
from controller_manager.kruise.statefulset.reserved_ordinals import usable_ordinals
from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CONTROLLER_REVISION, POD
from controller_manager.reconcile.pods import is_ready

KEY = "ns/web"


class Watcher:
    """Looks at every request that the controller makes, with what its caches show of the set and its pods."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.newest = max((revision["revision"] for revision in cluster.revisions), default=0)
        cluster.server.refuse = self.look

    def look(self, request):
        if request.kind is POD and isinstance(request, Create):
            self.pod_made(request.obj)
        if request.kind is POD and isinstance(request, Delete):
            self.pod_deleted(request)
        if request.kind is CONTROLLER_REVISION and isinstance(request, Create | Update):
            assert request.obj["revision"] > self.newest
            self.newest = request.obj["revision"]

    def seen(self):
        world = self.cluster.world
        pods = {ordinal_of("web", pod["metadata"]["name"]): pod for pod in world[POD]}
        return world[ADVANCED_STATEFUL_SET].get(KEY), pods

    def pod_made(self, pod):
        parent, pods = self.seen()
        ordinal = ordinal_of("web", pod["metadata"]["name"])
        assert ordinal is not None
        assert ordinal in usable_ordinals(parent)
        assert ordinal not in pods
        if parent["spec"]["podManagementPolicy"] == "OrderedReady":
            below = [each for each in usable_ordinals(parent) if each < ordinal]
            assert all(each in pods and is_ready(pods[each]) for each in below)

    def pod_deleted(self, request):
        _, pods = self.seen()
        pod = pods[ordinal_of("web", request.key.partition("/")[2])]
        assert request.uid == pod["metadata"]["uid"]
        assert not pod["metadata"].get("deletionTimestamp")


def at_rest(cluster):
    cluster.deliver_all()
    cluster.queue = True
    cluster.rest()


def expected(cluster, *, old, new):
    """The images at rest: of the first usable ordinals the old one."""
    spec = cluster.set["spec"]
    held = spec["updateStrategy"]["rollingUpdate"]["partition"]
    return {ordinal: old if index < held else new for index, ordinal in enumerate(usable_ordinals(cluster.set))}


def rollings(replicas, policy):
    return st.builds(
        lambda budget, partition, grace, minimum: {
            "maxUnavailable": budget,
            "partition": partition,
            "podUpdatePolicy": policy,
            "inPlaceUpdateStrategy": {"gracePeriodSeconds": grace},
            "minReadySeconds": minimum,
        },
        st.sampled_from([1, 2, 3, "25%", "50%", "100%"]),
        st.integers(0, replicas),
        st.sampled_from([0, 0, 5]),
        st.sampled_from([0, 0, 5]),
    )


RESERVED = st.lists(st.one_of(st.integers(0, 6), st.sampled_from(["0-1", "2-3", "4-6"])), max_size=3)


def budget_of(share, replicas):
    return max(share if isinstance(share, int) else replicas * int(share[:-1]) // 100, 1)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@relaxed
@given(data=st.data())
def test_a_healthy_update_never_takes_down_more_than_it_may(settled_cluster, template, policy, parallel, data):
    replicas = data.draw(st.integers(1, 6))
    rolling = data.draw(rollings(replicas, policy))
    cluster = settled_cluster(
        replicas=replicas, parallel=parallel, rolling=rolling, reserveOrdinals=data.draw(RESERVED)
    )
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.all(POD)}
    assert cluster.ordinals == list(usable_ordinals(cluster.set))
    Watcher(cluster)
    cluster.edit(template=template("web:2"))
    most, deepest = budget_of(rolling["maxUnavailable"], replicas), 0
    for what, number in data.draw(st.lists(STEPS, min_size=20, max_size=100)):
        step(cluster, what, number)
        down = replicas - len(cluster.ordinals) + len(cluster.down)
        assert down <= most
        deepest = max(deepest, down)
    event(f"down {deepest} of {most}")
    at_rest(cluster)
    assert cluster.images == expected(cluster, old="web:1", new="web:2")
    assert cluster.down == []
    if policy != "ReCreate":
        assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.all(POD)} == before
    assert cluster.run().quiet


def changes(template):
    """Draw the changes that people make to a spec."""
    return st.one_of(
        st.builds(lambda number: {"replicas": number}, st.integers(0, 5)),
        st.builds(lambda given: {"reserveOrdinals": given}, RESERVED),
        st.builds(lambda start: {"ordinals": {"start": start}}, st.integers(0, 3)),
        st.builds(lambda image: {"template": template(image)}, st.sampled_from(["web:1", "web:2", "web:3"])),
        st.builds(lambda policy: {"podManagementPolicy": policy}, st.sampled_from(["OrderedReady", "Parallel"])),
        st.builds(lambda most: {"scaleStrategy": {"maxUnavailable": most}}, st.sampled_from([1, 2, "50%"])),
    )


def meddle(data, cluster, template):
    """Change the set, or do something to one of its pods."""
    what = data.draw(st.sampled_from(["edit", "roll", "label", "evict", "terminate"]))
    names = [pod["metadata"]["name"] for pod in cluster.all(POD)]
    if what == "edit":
        cluster.edit(**data.draw(changes(template)))
    elif what == "roll":
        cluster.rolling(**data.draw(rollings(5, data.draw(st.sampled_from(POLICIES)))), paused=data.draw(st.booleans()))
    elif names and what == "label":
        cluster.give_up(data.draw(st.sampled_from(names)))
    elif names:
        getattr(cluster, what)(data.draw(st.sampled_from(names)))


def helped(cluster, template):
    """Mend by hand what the set cannot: in order, two condemned pods that failed wait for each other."""
    cluster.rolling(paused=False, partition=0, podUpdatePolicy="InPlaceIfPossible")
    cluster.edit(template=template("web:9"))
    for pod in cluster.all(POD):
        if pod["status"]["phase"] == "Failed":
            cluster.terminate(pod["metadata"]["name"])


@relaxed
@given(data=st.data())
def test_whatever_happens_ordinals_are_kept_and_the_end_is_right(new_cluster, template, data):
    cluster = new_cluster(parallel=data.draw(st.booleans()), reserveOrdinals=data.draw(RESERVED))
    Watcher(cluster)
    for _ in range(data.draw(st.integers(20, 90))):
        if data.draw(st.integers(0, 7)) == 0:
            meddle(data, cluster, template)
        else:
            step(cluster, *data.draw(STEPS))
    helped(cluster, template)
    at_rest(cluster)
    event(f"{len(cluster.ordinals)} pods, {len(cluster.revisions)} revisions")
    assert cluster.ordinals == list(usable_ordinals(cluster.set))
    assert set(cluster.images.values()) <= {"web:9"}
    assert cluster.down == []
    assert not any("apps.kruise.io/specified-delete" in pod["metadata"]["labels"] for pod in cluster.all(POD))
    status = cluster.status
    assert status["currentRevision"] == status["updateRevision"] == cluster.revisions[-1]["metadata"]["name"]
    assert status["readyReplicas"] == status["updatedReplicas"] == cluster.set["spec"]["replicas"]
    assert cluster.run().quiet
