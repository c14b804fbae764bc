"""Random histories of a set: when its controller runs or is killed, what caches see or lose, what nodes do."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from set_cluster import SetCluster

from controller_manager.reconcile.kinds import POD

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
    st.tuples(st.just("lose"), NUMBERS),
    st.tuples(st.just("tick"), NUMBERS),
)


def step(cluster: SetCluster, what: str, number: int) -> None:
    """Do one step of a random history."""
    match what:
        case "run" | "serve" if cluster.queue:
            cluster.run(fresh=what == "serve")
        case "kill" if cluster.queue:
            cluster.run(fresh=False, actions=number)
            cluster.deliver_all()
            cluster.queue = True
        case "deliver":
            kind = list(cluster.seen)[number % len(cluster.seen)]
            cluster.deliver(kind, min(cluster.seen[kind] + 1, len(cluster.server.log[kind])))
        case "lose":
            cluster.relist(list(cluster.seen)[number % len(cluster.seen)])
        case "tick":
            cluster.tick(number)
        case "work" if names := sorted(pod["metadata"]["name"] for pod in cluster.server.objects[POD].values()):
            cluster.work(names[number % len(names)])
