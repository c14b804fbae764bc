"""Invariants of any rollout: random edits, pods, lags, lost and repeated events, and restarts of the manager."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api.errors import unavailable
from controller_manager.controllers.deployment.history import int_annotation, is_resized
from controller_manager.controllers.deployment.replica_sets import partition_sets, status_count
from controller_manager.controllers.deployment.rolling import max_pods, min_available
from controller_manager.reconcile.contract import Update, key_of
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET
from controller_manager.reconcile.pod_templates import without_hash
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.replicas import replicas_of

KEY = "default/web"
REVISION = "deployment.kubernetes.io/revision"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
KINDS = (DEPLOYMENT, REPLICA_SET, POD)

shapes = st.fixed_dictionaries(
    {
        "replicas": st.integers(0, 8),
        "surge": st.sampled_from([0, 1, 3, "25%", "100%"]),
        "unavailable": st.sampled_from([0, 1, 2, "25%", "100%"]),
        "revisionHistoryLimit": st.sampled_from([0, 1, 10]),
    }
)
edits = st.one_of(
    st.tuples(st.just("image"), st.sampled_from(["web:1", "web:2", "web:3", "web:bad"])),
    st.tuples(st.just("scale"), st.integers(0, 8)),
    st.tuples(st.sampled_from(["undo", "go_back"]), st.none()),
)
pauses = st.tuples(st.sampled_from(["pause", "resume"]), st.none())
progress = st.tuples(st.just("work"), st.integers(1, 4))
trouble = st.one_of(
    st.tuples(st.sampled_from(["relist", "resync"]), st.sampled_from(KINDS)),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.sampled_from(["unready", "fail", "delete"]), st.integers(0, 20)),
    st.tuples(st.just("sleep"), st.integers(1, 700)),
)
step = st.tuples(st.just("step"), st.none())
lag = st.one_of(
    st.tuples(st.just("deliver"), st.tuples(st.sampled_from(KINDS), st.integers(1, 6))),
    st.tuples(st.just("run"), st.sampled_from(["deployment", "replicaset"])),
)
any_number = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def many(*happenings):
    """Some of these, in any order: now and then a few, now and then a lot."""
    few = st.lists(st.one_of(*happenings), max_size=12)
    return st.one_of(few, st.lists(st.one_of(*happenings), min_size=30, max_size=120))


def do(cluster, name, value):
    """One thing that happens."""
    deeds = {
        "image": cluster.set_image,
        "scale": lambda replicas: cluster.edit(replicas=replicas),
        "pause": lambda _: cluster.edit(paused=True),
        "resume": lambda _: cluster.edit(paused=False),
        "undo": lambda _: undo(cluster),
        "go_back": lambda _: cluster.annotate(**{ROLLBACK_TO: "0"}),
        "work": cluster.work,
        "relist": cluster.relist,
        "resync": lambda kind: cluster.caches.get_or_create(kind).resync(),
        "restart": lambda _: cluster.start(),
        "sleep": lambda seconds: sleep(cluster, seconds),
        "deliver": lambda what: cluster.deliver(*what),
        "run": cluster.run,
    }
    deeds.get(name, lambda number: harm(cluster, name, number))(value)


def sleep(cluster, seconds):
    """Let time pass once caches are up to date: one that lags for 5 minutes is waited for no more, and limits break."""
    for kind in KINDS:
        cluster.deliver(kind)
    cluster.sleep(seconds)


def undo(cluster):
    """Do what kubectl rollout undo does: set the template of the revision before the newest."""
    known = sorted(cluster.sets, key=lambda replica_set: int_annotation(replica_set, REVISION) or 0)
    if len(known) > 1:
        cluster.edit(template=without_hash(known[-2]["spec"]["template"]), paused=False)


def harm(cluster, how, number):
    """Something bad happens to a pod."""
    if not (pods := cluster.pods()):
        return
    pod = pods[number % len(pods)]
    match how:
        case "unready":
            cluster.set_ready(pod, "False")
        case "fail":
            cluster.server.update(POD, pod | {"status": {"phase": "Failed"}}, "status")
        case "delete":
            cluster.server.delete(POD, key_of(pod))


def desired_sizes(cluster):
    return {replica_set["metadata"]["name"]: replicas_of(replica_set) for replica_set in cluster.sets}


def one_set_for_each_template(cluster):
    templates = [without_hash(replica_set["spec"]["template"]) for replica_set in cluster.sets]
    return all(one not in templates[:number] for number, one in enumerate(templates))


@dataclass
class Watchman:
    """Checks every run of the Deployment's controller, and remembers earlier ones."""

    cluster: Any
    sizes: dict[str, Any] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    revision: int = 0

    def look(self, name):
        if name == "deployment" and KEY in self.cluster.caches[DEPLOYMENT]._objects:
            self.check_ceiling_and_floor()
            self.check_revisions()
            assert one_set_for_each_template(self.cluster)
            self.sizes = desired_sizes(self.cluster)

    def check_ceiling_and_floor(self):
        """Check both bounds by what the controller could know."""
        deployment = self.cluster.caches[DEPLOYMENT].get(KEY)
        seen = list(self.cluster.caches[REPLICA_SET])
        sizes = desired_sizes(self.cluster)
        assert sum(sizes.values()) <= max(max_pods(deployment), sum(self.sizes.values()))
        resizing = is_resized(deployment, partition_sets(deployment, seen)) or deployment["spec"].get("paused")
        if not resizing:
            counts = {size["metadata"]["name"]: status_count(size, "availableReplicas") for size in seen}
            before, after = (
                sum(min(number, at.get(name, 0)) for name, number in counts.items()) for at in (self.sizes, sizes)
            )
            assert after >= min(before, min_available(deployment))

    def check_revisions(self):
        for replica_set in self.cluster.sets:
            name, number = replica_set["metadata"]["uid"], int_annotation(replica_set, REVISION)
            assert number is not None
            assert number >= self.revisions.get(name, 0)
            self.revisions[name] = number
        revision = int_annotation(self.cluster.deployment, REVISION) or 0
        assert revision >= self.revision
        self.revision = revision


def come_to_rest(cluster):
    """End well: a good template, no pause, healthy pods."""
    cluster.edit(paused=False)
    cluster.settle()
    cluster.set_image("web:end")
    for _ in range(20):
        cluster.settle()
        unready = [pod for pod in cluster.pods() if not is_ready(pod)]
        for pod in unready:
            cluster.set_ready(pod)
        if not unready:
            break
    cluster.settle()


def check_rest(cluster):
    """All is new and available, revisions differ, and nobody writes any more."""
    deployment = cluster.deployment
    sizes = cluster.sizes
    assert sizes.pop("web:end") == replicas_of(deployment) == len(cluster.pods())
    assert not any(sizes.values())
    assert cluster.progress == "True/NewReplicaSetAvailable"
    numbers = [int_annotation(replica_set, REVISION) for replica_set in cluster.sets]
    assert len(set(numbers)) == len(numbers)
    assert int_annotation(deployment, REVISION) == max(number for number in numbers if number is not None)
    cluster.writes.clear()
    cluster.start()
    cluster.sleep(5000)
    cluster.settle()
    assert cluster.writes == []


@any_number
@given(shape=shapes, happenings=many(lag, lag, lag, progress, edits, pauses, trouble))
def test_limits_hold_whatever_happens_and_all_ends_well(make_cluster, shape, happenings):
    cluster = make_cluster("web:1", **shape)
    cluster.after = Watchman(cluster).look
    for name, value in happenings:
        do(cluster, name, value)
    come_to_rest(cluster)
    check_rest(cluster)


@any_number
@given(shape=shapes, happenings=many(progress, progress, edits, pauses, step))
def test_pods_are_never_fewer_nor_more_than_a_rollout_may_have(make_cluster, shape, happenings):
    """Where ReplicaSets keep up, pods that are ready stay so, and no size is changed, the floor is that of pods."""
    cluster = make_cluster("web:1", **shape)
    held = False
    for name, value in [*happenings, *[("step", None), ("work", 3)] * 3]:
        held = held and name != "scale"
        if name == "step":
            keep_up(cluster)
            deployment, ready = cluster.deployment, sum(map(is_ready, cluster.pods()))
            floor = min_available(deployment)
            held = held or (ready >= floor and not is_resized(deployment, partition_sets(deployment, cluster.sets)))
            assert not held or ready >= floor
            assert len(cluster.pods()) == sum(desired_sizes(cluster).values())
            assert not held or len(cluster.pods()) <= max_pods(deployment)
            cluster.run("deployment")
        else:
            do(cluster, name, value)
    come_to_rest(cluster)
    check_rest(cluster)


def keep_up(cluster):
    """Let caches see everything, and ReplicaSets do all that they have to."""
    running = True
    while running:
        for kind in KINDS:
            cluster.deliver(kind)
        running = cluster.run("replicaset")
    cluster.deliver(DEPLOYMENT)


@any_number
@given(replicas=st.integers(0, 5), happenings=many(progress, edits, step))
def test_to_recreate_never_has_pods_of_two_templates(make_cluster, replicas, happenings):
    """But for a pause in the middle: it brings the new set to its size at once, as upstream does."""
    cluster = make_cluster("web:1", replicas=replicas, strategy={"type": "Recreate"})
    for name, value in [*happenings, *[("step", None), ("work", 3)] * 3]:
        if name == "step":
            keep_up(cluster)
            cluster.run("deployment")
        else:
            do(cluster, name, value)
        owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in cluster.server.objects[POD].values()}
        assert len(owners) <= 1
    come_to_rest(cluster)
    check_rest(cluster)


@pytest.mark.parametrize("kind", KINDS)
def test_events_told_twice_change_nothing(make_cluster, kind):
    cluster = make_cluster("web:1", replicas=3)
    cluster.settle()
    cluster.writes.clear()
    for obj in list(cluster.server.objects[kind].values()):
        cluster.server.unseen[kind] += [(obj, False), (obj, False)]
    cluster.settle()
    assert cluster.writes == []


late = st.one_of(
    *[st.tuples(st.sampled_from(["step", "keep"]), st.none())] * 3,
    st.tuples(st.just("keep_silently"), st.none()),
    st.tuples(st.just("deliver"), st.tuples(st.sampled_from((DEPLOYMENT, REPLICA_SET)), st.integers(1, 6))),
    st.tuples(st.just("relist"), st.sampled_from((DEPLOYMENT, REPLICA_SET))),
    st.tuples(st.just("restart"), st.none()),
)
reversals = st.one_of(
    st.tuples(st.just("image"), st.sampled_from(["web:1", "web:2", "web:3", "web:bad"])),
    st.tuples(st.sampled_from(["undo", "go_back"]), st.none()),
)


def refuse_status(request):
    """Refuse status updates of ReplicaSets: they do what they should, but nobody can see it."""
    is_status_write = isinstance(request, Update) and request.kind is REPLICA_SET and request.subresource == "status"
    return unavailable("later") if is_status_write else None


def secure(cluster):
    """Count the pods that are ready and will stay, whatever the ReplicaSets do about their current sizes."""
    sizes = [(replica_set["metadata"]["name"], replicas_of(replica_set)) for replica_set in cluster.sets]
    return sum(min(size, sum(map(is_ready, cluster.pods(of=name)))) for name, size in sizes)


@any_number
@given(shape=shapes, happenings=many(*[late] * 7, *[progress] * 2, reversals))
def test_what_is_late_known_of_replica_sets_breaks_no_floor(make_cluster, shape, happenings):
    """Statuses may be as old as they like: where pods stay ready and no size is changed, enough of them stay."""
    cluster = make_cluster("web:1", **shape)
    cluster.settle()
    floor = min_available(cluster.deployment)
    assert secure(cluster) >= floor
    for name, value in happenings:
        match name:
            case "keep" | "keep_silently":
                cluster.server.refuse = refuse_status if name == "keep_silently" else lambda _: None
                for kind in KINDS:
                    cluster.deliver(kind)
                cluster.run("replicaset")
                cluster.server.refuse = lambda _: None
            case "step":
                for kind in KINDS:
                    cluster.deliver(kind)
                cluster.run("deployment")
            case _:
                do(cluster, name, value)
        assert secure(cluster) >= floor
    come_to_rest(cluster)
    check_rest(cluster)
