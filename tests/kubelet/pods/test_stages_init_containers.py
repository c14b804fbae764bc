"""Containers beside a pod's own: those that come before, those that stay with it, and those for debugging."""

import pytest


def container(name, image="nginx:1.27", **more):
    return {"name": name, "image": image} | more


@pytest.fixture
def with_inits(live):
    return lambda *inits, **more: live(spec={"initContainers": list(inits)} | more.pop("spec", {}), **more)


def test_init_containers_run_one_after_the_other(with_inits):
    a, b = container("a", "busybox", command=["sleep", "3"]), container("b", "busybox", command=["sleep", "4"])
    life = with_inits(a, b)
    life.until(1)
    assert (life.phase, life.shown("a"), life.shown("b"), life.shown()) == (
        "Pending",
        "Running",
        "PodInitializing",
        "PodInitializing",
    )
    initialized = life.condition("Initialized")
    assert (initialized["reason"], initialized["message"]) == (
        "ContainersNotInitialized",
        "containers with incomplete status: [a b]",
    )
    life.until(4)
    assert (life.shown("a"), life.container("a")["ready"], life.shown("b")) == ("Completed", True, "Running")
    life.until(8)
    assert (life.phase, life.is_ready(), life.condition("Initialized")["status"]) == ("Running", True, "True")
    assert life.event_times("Started") == [0, 3, 7]


def test_init_containers_that_are_not_understood_end_at_once(with_inits):
    life = with_inits(container("a", "migrate:1"), container("b", "migrate:1"))
    life.look()
    assert life.is_ready()
    assert life.event_times("Started") == [0, 0, 0]


def test_an_init_container_that_fails_is_tried_again(with_inits):
    life = with_inits(container("a"), annotations={"a.mockube.io/exit-code": "1"}).until(5)
    assert (life.phase, life.shown("a"), life.shown()) == ("Pending", "CrashLoopBackOff", "PodInitializing")


def test_an_init_container_that_recovers_lets_the_pod_start(with_inits):
    annotations = {"a.mockube.io/exit-code": "1", "a.mockube.io/exit-times": "2"}
    life = with_inits(container("a", "migrate:1"), annotations=annotations).until(30)
    assert (life.container("a")["restartCount"], life.is_ready()) == (2, True)
    assert life.event_times("Started") == [0, 1, 11, 11]


def test_an_init_container_that_fails_for_good_fails_the_pod(with_inits):
    life = with_inits(container("a"), annotations={"a.mockube.io/exit-code": "1"}, spec={"restartPolicy": "Never"})
    life.look()
    assert (life.phase, life.shown("a"), life.shown()) == ("Failed", "Error", "PodInitializing")


def test_a_sidecar_starts_before_the_pod_and_stays(with_inits):
    proxy = container("proxy", restartPolicy="Always", startupProbe={"initialDelaySeconds": 3})
    life = with_inits(proxy, container("a", "migrate:1"))
    life.until(2)
    assert (life.phase, life.shown("proxy"), life.shown("a")) == ("Pending", "Running", "PodInitializing")
    life.until(4)
    assert (life.phase, life.is_ready(), life.shown("proxy")) == ("Running", True, "Running")
    assert life.container("proxy")["ready"]


def test_a_sidecar_that_crashes_makes_the_pod_unready_and_is_started_again(with_inits):
    proxy = container("proxy", restartPolicy="Always")
    life = with_inits(proxy, annotations={"proxy.mockube.io/exit-after": "5"})
    assert life.until(4).is_ready()
    life.until(5.5)
    assert (life.phase, life.is_ready(), life.condition("Initialized")["status"]) == ("Running", False, "True")
    assert life.condition("Ready")["message"] == "containers with unready status: [proxy]"
    assert life.until(7).is_ready()


def test_sidecars_go_when_the_pod_is_done(with_inits):
    proxy = container("proxy", restartPolicy="Always")
    life = with_inits(proxy, spec={"restartPolicy": "Never"}, annotations={"web.mockube.io/exit-after": "5"}).until(6)
    assert (life.phase, life.shown("proxy")) == ("Succeeded", "Error")
    assert life.event_texts[-1] == "Killing: Stopping container proxy"


def test_a_container_for_debugging_is_started_and_counts_for_nothing(live):
    life = live()
    life.look()
    life.pod["spec"]["ephemeralContainers"] = [container("debugger", "busybox", stdin=True)]
    step = life.look(5)
    assert (life.shown("debugger"), life.is_ready()) == ("Running", True)
    assert step.events[-1].field_path == "spec.ephemeralContainers{debugger}"
