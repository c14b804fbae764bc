"""Properties of StatefulSets over random histories: lagging caches, kills, failing pods, and changes at any time."""

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from controller_manager.controllers.statefulset.ordinals import HealthCriteria, ordinal_of
from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import CONTROLLER_REVISION, POD, STATEFUL_SET
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.profile import PROFILES

KEY = "ns/web"
BAD = "bad"

relaxed = settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def desired_ordinals(spec):
    start = (spec.get("ordinals") or {}).get("start") or 0
    return range(start, start + spec["replicas"])


class Watcher:
    """Looks at every request that the controller makes, with what its caches showed when the run began."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.numbers: dict[str, int] = {}
        self.newest = 0
        self.made = 0
        self.total = 0
        cluster.refuse = self.look

    def begin(self):
        self.made = 0

    def look(self, request):
        if request.kind is POD and isinstance(request, Create):
            self.pod_made(request.obj)
        if request.kind is POD and isinstance(request, Delete):
            self.pod_deleted(request)
        if request.kind is CONTROLLER_REVISION and isinstance(request, Create | Update):
            self.numbered(request.obj)

    def view(self):
        """The set and its pods by ordinal as the caches have them."""
        world = self.cluster.world
        parent = world[STATEFUL_SET].get(KEY)
        pods = {ordinal_of("web", pod["metadata"]["name"]): pod for pod in world[POD]}
        return parent["spec"], {ordinal: pod for ordinal, pod in pods.items() if ordinal is not None}

    def healthy(self, spec, pod):
        health = HealthCriteria(self.cluster.now, spec.get("minReadySeconds") or 0)
        return pod is not None and health.is_available(pod) and not pod["metadata"].get("deletionTimestamp")

    def pod_made(self, pod):
        spec, pods = self.view()
        ordinal = ordinal_of("web", pod["metadata"]["name"])
        self.total += 1
        assert ordinal in desired_ordinals(spec)
        assert ordinal not in pods
        names = {name.partition("/")[2] for name in self.cluster.objects[CONTROLLER_REVISION]}
        assert pod["metadata"]["labels"]["controller-revision-hash"] in names
        if spec["podManagementPolicy"] == "OrderedReady":
            self.made += 1
            assert self.made == 1
            assert all(self.healthy(spec, pods.get(below)) for below in desired_ordinals(spec) if below < ordinal)

    def pod_deleted(self, request):
        spec, pods = self.view()
        ordinal = ordinal_of("web", request.key.partition("/")[2])
        pod = pods[ordinal]
        assert request.uid == pod["metadata"]["uid"]
        assert not pod["metadata"].get("deletionTimestamp")
        if pod["status"]["phase"] in ("Failed", "Succeeded") and ordinal in desired_ordinals(spec):
            return
        if ordinal not in desired_ordinals(spec):
            if spec["podManagementPolicy"] == "OrderedReady":
                condemned = {other: state for other, state in pods.items() if other not in desired_ordinals(spec)}
                assert ordinal == max(condemned)
                unhealthy = {other for other, state in condemned.items() if not self.healthy(spec, state)}
                assert ordinal not in unhealthy or unhealthy == {ordinal}
                assert all(self.healthy(spec, pods.get(other)) for other in desired_ordinals(spec))
            return
        assert spec["updateStrategy"]["type"] == "RollingUpdate"
        partition = spec["updateStrategy"]["rollingUpdate"]["partition"]
        assert ordinal >= desired_ordinals(spec).start + partition

    def numbered(self, revision):
        name, number = revision["metadata"]["name"], revision["revision"]
        assert number > self.newest
        assert number > self.numbers.get(name, 0)
        self.numbers[name], self.newest = number, number


def spec_changes(template):
    """Draw the changes that people make, as functions of the cluster."""
    images = st.sampled_from(["v1", "v2", "v3", BAD])
    strategies = st.one_of(
        st.builds(
            lambda partition, budget: {
                "type": "RollingUpdate",
                "rollingUpdate": {"partition": partition, "maxUnavailable": budget},
            },
            st.integers(0, 4),
            st.sampled_from([None, 1, 2, "50%"]),
        ),
        st.just({"type": "OnDelete"}),
    )
    return st.one_of(
        st.builds(lambda n: {"replicas": n}, st.integers(0, 4)),
        st.builds(lambda image: {"template": template(image)}, images),
        st.builds(lambda strategy: {"updateStrategy": strategy}, strategies),
        st.builds(lambda n: {"ordinals": {"start": n}}, st.integers(0, 2)),
        st.builds(lambda n: {"minReadySeconds": n}, st.sampled_from([0, 5])),
    )


NUMBERS = st.integers(0, 5)
STEPS = st.one_of(
    *[st.tuples(st.just("run"), st.none())] * 3,
    *[st.tuples(st.just("serve"), st.none())] * 2,
    *[st.tuples(st.sampled_from(["ready", "gone"]), NUMBERS)] * 3,
    *[st.tuples(st.just("deliver"), NUMBERS)] * 2,
    st.tuples(st.just("run"), NUMBERS),
    st.tuples(st.sampled_from(["unready", "fail", "terminate", "relabel"]), NUMBERS),
    st.tuples(st.sampled_from(["repeat", "restart"]), st.none()),
    st.tuples(st.just("lose"), NUMBERS),
    st.tuples(st.just("tick"), st.integers(1, 6)),
)


def step(cluster, watcher, what, number):
    """One step of a random history; what has a number is killed after so many actions, or is about one of the pods."""
    match what:
        case "run" | "serve" if cluster.queue:
            watcher.begin()
            cluster.run(KEY, fresh=what == "serve", actions=number)
            if number is not None:
                step(cluster, watcher, "restart", None)
        case "repeat":
            cluster.queue.add(KEY)
        case "restart":
            cluster.deliver_all()
            cluster.queue.add(KEY)
        case "tick":
            cluster.now += number
            cluster.queue.update(key for key, at in cluster.timers.items() if at <= cluster.now)
        case "lose":
            cluster.relist(list(cluster.objects)[number % 4])
        case "deliver":
            kind = list(cluster.objects)[number % 4]
            cluster.deliver(kind, min(cluster.seen[kind] + 1, len(cluster.log[kind])))
        case _ if names := CONCERNED.get(what, lambda _: ())(cluster):
            pod_step(cluster, what, names[number % len(names)])


def is_terminating(pod):
    return "deletionTimestamp" in pod["metadata"]


def is_waiting(pod):
    """Return whether a pod may become ready."""
    good = pod["spec"]["containers"][0]["image"] != BAD
    return good and pod["status"]["phase"] in ("Pending", "Running") and not is_ready(pod)


def those(condition):
    return lambda cluster: [name for name in cluster.pods if condition(cluster.pod(name))]


CONCERNED = {
    "ready": those(is_waiting),
    "gone": those(is_terminating),
    "terminate": those(lambda pod: not is_terminating(pod)),
    "unready": those(is_ready),
    "fail": those(lambda pod: pod["status"]["phase"] == "Running"),
    "relabel": those(is_ready),
}


def pod_step(cluster, what, name):
    match what:
        case "ready":
            cluster.ready(name)
        case "gone":
            cluster.gone(name)
        case "terminate":
            cluster.terminate(name)
        case "unready":
            cluster.unready(name)
        case "fail":
            cluster.phase(name, "Failed")
        case "relabel":
            labels = cluster.pod(name)["metadata"]["labels"]
            cluster.relabel(name, {key: value for key, value in labels.items() if not key.startswith("statefulset.")})


def helped(cluster, template):
    """Mend by hand what a StatefulSet cannot: set a good template, and delete the pods that would be waited for."""
    cluster.edit(template=template("v9"), updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    cluster.deliver_all()
    cluster.queue.add(KEY)
    for name in cluster.pods:
        pod = cluster.pod(name)
        if is_waiting(pod):
            cluster.ready(name)
        elif not is_ready(pod) and not is_terminating(pod):
            cluster.terminate(name)


@pytest.mark.parametrize("profile", ["1.35", "1.30", "1.20"])
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@relaxed
@given(data=st.data())
def test_whatever_happens_order_holds_and_the_end_is_right(make_cluster, stateful_set, template, policy, profile, data):
    cluster = make_cluster(stateful_set(podManagementPolicy=policy), profile=PROFILES[profile])
    watcher = Watcher(cluster)
    if profile == "1.20":
        cluster.refuse = lambda _: None  # its ordinals, ages and failed pods are others
    cluster.deliver_all()
    if data.draw(st.booleans()):
        cluster.refuse, look = (lambda _: None), cluster.refuse
        cluster.settle()
        cluster.refuse = look
    changes = spec_changes(template)
    for _ in range(data.draw(st.integers(30, 120))):
        if data.draw(st.integers(0, 9)) == 0:
            change = data.draw(changes)
            if profile == "1.20" and ("ordinals" in change or "minReadySeconds" in change):
                continue
            cluster.edit(**change)
        else:
            step(cluster, watcher, *data.draw(STEPS))
    event(f"pods made: {watcher.total // 3 * 3} or more")

    cluster.refuse = lambda _: None
    helped(cluster, template)
    cluster.settle(steps=900)

    spec = cluster.objects[STATEFUL_SET][KEY]["spec"]
    assert cluster.pods == sorted(f"web-{n}" for n in desired_ordinals(spec))
    assert set(cluster.images().values()) <= {"v9"}
    status = cluster.status
    assert status["currentRevision"] == status["updateRevision"] == cluster.revisions[-1]["metadata"]["name"]
    assert status.get("readyReplicas", 0) == status.get("updatedReplicas", 0) == spec["replicas"]
    numbers = [revision["revision"] for revision in cluster.revisions]
    assert len(set(numbers)) == len(numbers)
    assert cluster.run().quiet


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@relaxed
@given(data=st.data())
def test_a_healthy_update_never_takes_down_more_than_it_may(make_cluster, stateful_set, template, policy, data):
    replicas = data.draw(st.integers(1, 6))
    budget = data.draw(st.sampled_from([None, 1, 2, 3, "25%", "50%"]))
    partition = data.draw(st.integers(0, replicas))
    most = max(budget if isinstance(budget, int) else replicas * int((budget or "0%")[:-1]) // 100, 1)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition, "maxUnavailable": budget}}
    cluster = make_cluster(
        stateful_set(
            podManagementPolicy=policy,
            replicas=replicas,
            updateStrategy=strategy,
            minReadySeconds=data.draw(st.sampled_from([0, 5])),
        )
    )
    cluster.settle()
    watcher = Watcher(cluster)
    cluster.edit(template=template("v2"))
    deepest = 0
    for _ in range(data.draw(st.integers(10, 80))):
        what, number = data.draw(STEPS)
        if what in ("unready", "fail", "terminate"):
            continue
        step(cluster, watcher, what, number)
        spec = cluster.objects[STATEFUL_SET][KEY]["spec"]
        down = [n for n in range(replicas) if not watcher.healthy(spec, cluster.objects[POD].get(f"ns/web-{n}"))]
        assert len(down) <= most
        deepest = max(deepest, len(down))
    event(f"down at most {deepest} of {most}")

    cluster.refuse = lambda _: None
    cluster.deliver_all()
    cluster.settle()
    assert cluster.images() == {f"web-{n}": "v2" if n >= partition else "v1" for n in range(replicas)}
    assert cluster.run().quiet
