"""The ends of containers, and of pods: some start again, some are over, some are deleted."""

import pytest

from controller_manager.kubelet.pods.lifecycle import next_step


def test_a_crash_loop_backs_off_twice_as_long_each_time(live):
    life = live("crash.mockube.io/app").until(700)
    assert life.event_times("Started") == [0, 1, 11, 31, 71, 151, 311, 611]
    assert (life.phase, life.is_ready(), life.shown()) == ("Running", False, "CrashLoopBackOff")
    web = life.container()
    assert (web["restartCount"], web["lastState"]["terminated"]["exitCode"]) == (7, 1)
    assert web["state"]["waiting"]["message"] == (
        "back-off 5m0s restarting failed container=web pod=web_default(uid-web)"
    )
    assert "BackOff: Back-off restarting failed container web in pod web_default(uid-web)" in life.event_texts


def test_a_crash_loop_shows_the_crash_before_it_shows_the_wait(live):
    life = live("crash.mockube.io/app")
    life.look()
    assert (life.shown(), life.container()["restartCount"]) == ("Error", 0)
    life.until(1.3)
    assert (life.shown(), life.container()["restartCount"]) == ("Error", 1)
    life.until(2.4)
    assert life.shown() == "CrashLoopBackOff"


def test_another_kubelet_goes_on_where_the_first_stopped(live):
    life = live("crash.mockube.io/app").until(40)
    before = life.container()["restartCount"]
    life.look(5000)  # nobody looked for a long time
    assert (life.container()["restartCount"], life.shown()) == (before + 1, "Error")


def test_a_container_may_crash_a_number_of_times_and_then_run(live):
    life = live(annotations={"mockube.io/exit-code": "1", "mockube.io/exit-times": "3"}).until(100)
    assert (life.container()["restartCount"], life.is_ready()) == (3, True)


def test_an_image_that_crashes_may_do_so_a_number_of_times(live):
    life = live("crash.mockube.io/app", annotations={"mockube.io/exit-times": "1"}).until(5)
    assert (life.container()["restartCount"], life.is_ready()) == (1, True)


def test_a_container_that_ends_after_a_time_ends_then(live):
    life = live("busybox", command=["sleep", "30"], spec={"restartPolicy": "Never"})
    assert life.until(29).is_ready()
    life.until(31)
    assert (life.phase, life.shown()) == ("Succeeded", "Completed")
    ended = life.container()["state"]["terminated"]
    assert (ended["startedAt"], ended["finishedAt"]) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:30Z")
    assert life.condition("Ready")["reason"] == "PodCompleted"
    assert life.condition("Initialized")["status"] == "True"
    assert life.condition("PodReadyToStartContainers")["status"] == "False"
    assert life.look(100).status is None


def test_the_end_is_dated_when_it_was_due_though_nobody_looked(live):
    life = live("busybox", command=["sleep", "30"], spec={"restartPolicy": "Never"})
    life.look()
    life.look(500)
    assert life.container()["state"]["terminated"]["finishedAt"] == "2027-01-15T08:00:30Z"


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", 0),
        ("Never", 3, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 3, "Running", 2),
        ("Always", 0, "Running", 2),
    ],
)
def test_the_restart_policy_decides_what_an_end_means(live, policy, code, phase, restarts):
    annotations = {"mockube.io/exit-code": str(code)}
    life = live(annotations=annotations, spec={"restartPolicy": policy}).until(15)
    assert (life.phase, life.container()["restartCount"]) == (phase, restarts)


def test_a_pod_is_as_good_as_all_its_containers(live):
    spec = {"restartPolicy": "Never", "containers": [{"name": name, "image": "nginx:1.27"} for name in "ab"]}
    life = live(annotations={"a.mockube.io/exit-code": "0", "b.mockube.io/exit-after": "5"}, spec=spec)
    assert life.until(3).phase == "Running"
    assert life.condition("Ready")["message"] == "containers with unready status: [a]"
    assert life.until(6).phase == "Succeeded"


def test_out_of_memory_is_told_by_reason_and_code(live):
    life = live(annotations={"mockube.io/oom-after": "3"}, spec={"restartPolicy": "Never"}).until(4)
    ended = life.container()["state"]["terminated"]
    assert (life.phase, ended["reason"], ended["exitCode"]) == ("Failed", "OOMKilled", 137)


def test_an_unhealthy_container_is_killed_and_started_again(live):
    probe = {"httpGet": {"port": 80}, "failureThreshold": 3, "periodSeconds": 5}
    life = live(annotations={"mockube.io/unhealthy-after": "20"}, livenessProbe=probe).until(32)
    assert life.event_times("Killing") == [30]
    assert "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503" in life.event_texts
    assert "Killing: Container web failed liveness probe, will be restarted" in life.event_texts
    web = life.container()
    assert (web["restartCount"], web["lastState"]["terminated"]["exitCode"], web["ready"]) == (1, 137, True)


def test_a_pod_that_is_active_too_long_fails(live):
    life = live(spec={"activeDeadlineSeconds": 60}).until(61)
    assert (life.phase, life.status["reason"]) == ("Failed", "DeadlineExceeded")
    assert life.status["message"] == "Pod was active on the node longer than the specified deadline"
    assert life.container()["state"]["terminated"]["exitCode"] == 137
    assert life.condition("Ready")["reason"] == "PodFailed"
    assert life.event_texts[-2:] == [
        "DeadlineExceeded: Pod was active on the node longer than the specified deadline",
        "Killing: Stopping container web",
    ]


def test_a_pod_may_be_evicted_by_its_node(live):
    life = live(annotations={"mockube.io/evict-after": "10"}).until(11)
    assert (life.phase, life.status["reason"]) == ("Failed", "Evicted")
    assert life.condition("DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert life.event_times("Evicted") == [10]


# -- being deleted -----------------------------------------------------------------------------------------------------


@pytest.fixture
def deleted(live):
    """A pod that runs, and whose deletion was asked for ten seconds later."""

    def make(*args, grace=30, meta=None, **more):
        life = live(*args, **more)
        life.until(10)
        until = f"2027-01-15T08:00:{10 + grace:02}Z"
        life.pod["metadata"] |= {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace} | (meta or {})
        life.steps.clear()
        return life

    return make


def test_a_pod_that_is_deleted_stops_and_goes_at_once(deleted):
    life = deleted()
    step = life.look(10.1)
    assert (step.delete, step.status, step.wait, life.event_texts) == (
        True,
        None,
        None,
        ["Killing: Stopping container web"],
    )


def test_a_pod_that_never_ran_goes_at_once(make_pod, node_context):
    meta = {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    step = next_step(make_pod(meta=meta), node_context, 1_800_000_001)
    assert (step.delete, list(step.events)) == (True, [])


@pytest.mark.parametrize(
    ("more", "gone_at"),
    [
        ({"annotations": {"mockube.io/stop-after": "12"}}, 22),
        ({"annotations": {"mockube.io/stop-after": "forever"}}, 40),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, 15),
        ({"annotations": {"mockube.io/stop-after": "12"}, "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}, 27),
    ],
)
def test_a_pod_may_take_its_time_to_stop_but_no_more_than_its_grace(deleted, more, gone_at):
    life = deleted(**more)
    life.until(60)
    assert next(int(at) for at, step in life.steps if step.delete) == gone_at
    assert life.event_times("Killing") == [10]


def test_a_shorter_grace_is_heeded(deleted):
    life = deleted(annotations={"mockube.io/stop-after": "forever"})
    life.look(11)
    life.pod["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:13Z", "deletionGracePeriodSeconds": 1}
    assert life.look(13).delete


def test_a_pod_whose_grace_is_over_and_that_is_still_there_goes_at_once_and_without_a_word(deleted):
    step = deleted(grace=0).look(10.1)
    assert (step.delete, step.status, step.wait, list(step.events)) == (True, None, None, [])


@pytest.mark.parametrize(
    ("annotations", "code"),
    [({}, 143), ({"mockube.io/stop-after": "5"}, 143), ({"mockube.io/stop-after": "forever"}, 137)],
)
def test_who_holds_a_pod_is_told_how_it_ended(deleted, annotations, code):
    life = deleted(annotations=annotations, meta={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    life.until(41)
    assert (life.phase, life.container()["state"]["terminated"]["exitCode"]) == ("Failed", code)
    assert life.condition("Ready")["reason"] == "PodFailed"
    life.pod["metadata"]["deletionGracePeriodSeconds"] = 0
    life.steps.clear()
    step = life.look(50)
    assert (step.status, step.delete, list(step.events)) == (None, False, [])


def test_what_never_started_is_said_to_be_unknown(deleted):
    life = deleted("nginx:1.161", meta={"finalizers": ["example.com/held"]})
    life.look(11)
    assert (life.phase, life.container()["state"]["terminated"]["reason"]) == ("Failed", "ContainerStatusUnknown")


def test_a_pod_that_has_ended_just_goes(deleted):
    life = deleted("busybox", command=["true"], spec={"restartPolicy": "Never"})
    step = life.look(11)
    assert (step.delete, step.status, list(step.events)) == (True, None, [])
