"""The lives of pods, from their binding to their end."""

import copy

import pytest

from controller_manager.planning.stages.look import Place
from controller_manager.planning.stages.pods import advance

MISSING = "docker.io/library/nginx:1.161"
PULL_ERROR = (
    f'rpc error: code = NotFound desc = failed to pull and unpack image "{MISSING}": '
    f'failed to resolve reference "{MISSING}": {MISSING}: not found'
)


def container(name, image="nginx:1.27", **more):
    return {"name": name, "image": image} | more


# -- running -----------------------------------------------------------------------------------------------------------


def test_a_plain_pod_runs_and_is_ready_after_one_look(live):
    life = live()
    step = life.look()
    assert (life.phase, life.is_ready(), step.wait) == ("Running", True, None)
    assert life.told == [
        'Pulled: Container image "nginx:1.27" already present on machine and can be accessed by the pod',
        "Created: Container created",
        "Started: Container started",
    ]
    assert {told.field_path for told in step.told} == {"spec.containers{web}"}


def test_the_status_of_a_plain_pod_is_whole(live):
    life = live(resources={"requests": {"cpu": "1"}}, volumeMounts=[{"name": "v", "mountPath": "/v", "readOnly": True}])
    life.look()
    status = copy.deepcopy(life.status)
    assert [each["type"] for each in status["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert all(each["status"] == "True" and each["observedGeneration"] == 1 for each in status.pop("conditions"))
    [web] = status.pop("containerStatuses")
    assert web.pop("containerID").startswith("containerd://")
    assert web.pop("imageID").startswith("docker.io/library/nginx@sha256:")
    assert web == {
        "name": "web",
        "image": "docker.io/library/nginx:1.27",
        "state": {"running": {"startedAt": "2027-01-15T08:00:00Z"}},
        "lastState": {},
        "ready": True,
        "started": True,
        "restartCount": 0,
        "resources": {"requests": {"cpu": "1"}},
        "allocatedResources": {"cpu": "1"},
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}],
    }
    assert status == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "observedGeneration": 1,
        "startTime": "2027-01-15T08:00:00Z",
        "hostIP": "172.18.0.2",
        "hostIPs": [{"ip": "172.18.0.2"}],
        "podIP": "10.244.0.2",
        "podIPs": [{"ip": "10.244.0.2"}],
    }


@pytest.mark.parametrize("later", [0.1, 0.9, 60, 86_400])
def test_a_pod_that_runs_stays_as_it_is_and_asks_for_nothing(live, later):
    life = live()
    life.look()
    step = life.look(0.25 + later)
    assert (step.status, list(step.told), step.wait, step.gone) == (None, [], None, False)


def test_an_image_that_is_always_pulled_is_pulled(live):
    life = live(imagePullPolicy="Always")
    life.look()
    assert life.told[:2] == [
        'Pulling: Pulling image "nginx:1.27"',
        'Pulled: Successfully pulled image "nginx:1.27" in 0s (0s including waiting). Image size: 0 bytes.',
    ]


def test_a_pod_of_the_hosts_network_has_the_hosts_address(make_pod):
    step = advance(make_pod(spec={"hostNetwork": True}), Place("node-1", "172.18.0.2", ""), 1_800_000_000)
    assert step.status["podIP"] == step.status["hostIP"] == "172.18.0.2"


def test_a_slow_start_shows_as_creating(live):
    life = live(annotations={"mockube.io/start-after": "5s"})
    step = life.look()
    assert (life.phase, life.shown(), step.wait) == ("Pending", "ContainerCreating", 5.0)
    assert life.condition("PodReadyToStartContainers")["status"] == "True"
    assert life.condition("ContainersReady")["message"] == "containers with unready status: [web]"
    assert life.until(6).phase == "Running"
    assert life.told_at("Started") == [5]


def test_a_new_generation_is_observed(live):
    life = live()
    life.look()
    life.pod["metadata"]["generation"] = 2
    life.look(5)
    assert (life.status["observedGeneration"], life.condition("Ready")["observedGeneration"]) == (2, 2)
    assert life.condition("Ready")["lastTransitionTime"] == "2027-01-15T08:00:00Z"


def test_resources_that_were_resized_are_reported(live):
    life = live(resources={"requests": {"cpu": "1"}})
    life.look()
    life.pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    life.look(5)
    assert life.container()["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    assert life.container()["allocatedResources"] == {"cpu": "2"}


def test_a_container_whose_image_changes_is_started_again(live):
    life = live()
    life.look()
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.28"
    life.look(5)
    web = life.container()
    assert (web["image"], web["restartCount"], web["lastState"]["terminated"]["exitCode"]) == (
        "docker.io/library/nginx:1.28",
        1,
        143,
    )
    assert "Killing: Container web definition changed, will be restarted" in life.told


def test_annotations_that_mean_nothing_are_told_once(live):
    life = live(annotations={"mockube.io/exit-after": "soon"}).until(100)
    assert life.is_ready()
    why = '"soon" is no duration: write "90", "1m30s" or "never"'
    told = [told for told in life.told if told.startswith("Invalid")]
    assert told == [f"InvalidAnnotation: Annotation mockube.io/exit-after is ignored: {why}"]


def test_a_pod_for_which_no_address_is_left_waits_for_one(make_pod):
    step = advance(make_pod(), Place("node-1", "172.18.0.2", ""), 1_800_000_000)
    assert (step.status, step.wait, step.told[0].reason) == (None, 10.0, "FailedCreatePodSandBox")


# -- ready -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probes", "started", "ready"),
    [
        ({}, 0, 0),
        ({"readinessProbe": {}}, 0, 0),
        ({"readinessProbe": {"initialDelaySeconds": 5}}, 0, 5),
        ({"readinessProbe": {"initialDelaySeconds": 5, "successThreshold": 3, "periodSeconds": 2}}, 0, 9),
        ({"startupProbe": {"initialDelaySeconds": 7}}, 7, 7),
        ({"startupProbe": {"initialDelaySeconds": 7}, "readinessProbe": {"initialDelaySeconds": 5}}, 7, 7),
        ({"startupProbe": {"initialDelaySeconds": 3}, "readinessProbe": {"initialDelaySeconds": 5}}, 3, 5),
        ({"livenessProbe": {"initialDelaySeconds": 9}}, 0, 0),
    ],
)
def test_a_container_is_ready_when_its_probes_have_been_asked(live, probes, started, ready):
    life = live(**probes).until(60)
    assert life.is_ready()
    written = [(int(at), step.status["containerStatuses"][0]) for at, step in life.steps if step.status]
    assert next(at for at, status in written if status["started"]) == started
    assert next(at for at, status in written if status["ready"]) == ready


def test_readiness_may_be_put_off_and_is_complained_of_where_there_is_a_probe(live):
    life = live(annotations={"mockube.io/ready-after": "10"}, readinessProbe={"httpGet": {"port": 80}})
    life.until(9)
    assert (life.phase, life.is_ready(), life.condition("Ready")["reason"]) == ("Running", False, "ContainersNotReady")
    assert "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503" in life.told
    assert life.until(11).is_ready()
    assert life.condition("Ready")["lastTransitionTime"] == "2027-01-15T08:00:10Z"
    assert life.told_at("Unhealthy") == [0]


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ({"tcpSocket": {"port": 80}}, "dial tcp 10.244.0.2:80: connect: connection refused"),
        ({"grpc": {"port": 80}}, 'service unhealthy (responded with "NOT_SERVING")'),
        ({"exec": {"command": ["false"]}}, ""),
    ],
)
def test_probes_complain_each_in_its_own_words(live, probe, why):
    life = live("unready.mockube.io/app", readinessProbe=probe)
    life.look()
    assert f"Unhealthy: Readiness probe failed: {why}" in life.told


def test_a_container_that_is_never_ready_asks_for_nothing(live):
    life = live(annotations={"mockube.io/ready-after": "never"})
    life.look()
    assert life.look(1000).wait is None
    assert not life.is_ready()


def test_readiness_gates_are_waited_for(live):
    life = live(spec={"readinessGates": [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]})
    life.look()
    assert life.condition("ContainersReady")["status"] == "True"
    assert life.condition("Ready")["reason"] == "ReadinessGatesNotReady"
    assert life.condition("Ready")["message"] == (
        'corresponding condition of pod readiness gate "example.com/a" does not exist., '
        'corresponding condition of pod readiness gate "example.com/b" does not exist.'
    )
    gates = [{"type": f"example.com/{name}", "status": status} for name, status in (("a", "True"), ("b", "False"))]
    life.pod["status"]["conditions"] += gates
    life.look(1)
    why = 'the status of pod readiness gate "example.com/b" is not "True", but False'
    assert life.condition("Ready")["message"] == why
    gates[1]["status"] = "True"
    life.look(2)
    assert life.is_ready()
    assert [each["type"] for each in life.status["conditions"][:2]] == ["example.com/a", "example.com/b"]


# -- ending and starting again -----------------------------------------------------------------------------------------


def test_a_crash_loop_backs_off_twice_as_long_each_time(live):
    life = live("crash.mockube.io/app").until(700)
    assert life.told_at("Started") == [0, 1, 11, 31, 71, 151, 311, 611]
    assert (life.phase, life.is_ready(), life.shown()) == ("Running", False, "CrashLoopBackOff")
    web = life.container()
    assert (web["restartCount"], web["lastState"]["terminated"]["exitCode"]) == (7, 1)
    assert web["state"]["waiting"]["message"] == (
        "back-off 5m0s restarting failed container=web pod=web_default(uid-web)"
    )
    assert "BackOff: Back-off restarting failed container web in pod web_default(uid-web)" in life.told


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
    spec = {"restartPolicy": "Never", "containers": [container("a"), container("b")]}
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
    assert life.told_at("Killing") == [30]
    assert "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503" in life.told
    assert "Killing: Container web failed liveness probe, will be restarted" in life.told
    web = life.container()
    assert (web["restartCount"], web["lastState"]["terminated"]["exitCode"], web["ready"]) == (1, 137, True)


def test_a_pod_that_is_active_too_long_fails(live):
    life = live(spec={"activeDeadlineSeconds": 60}).until(61)
    assert (life.phase, life.status["reason"]) == ("Failed", "DeadlineExceeded")
    assert life.status["message"] == "Pod was active on the node longer than the specified deadline"
    assert life.container()["state"]["terminated"]["exitCode"] == 137
    assert life.condition("Ready")["reason"] == "PodFailed"
    assert life.told[-2:] == [
        "DeadlineExceeded: Pod was active on the node longer than the specified deadline",
        "Killing: Stopping container web",
    ]


def test_a_pod_may_be_evicted_by_its_node(live):
    life = live(annotations={"mockube.io/evict-after": "10"}).until(11)
    assert (life.phase, life.status["reason"]) == ("Failed", "Evicted")
    assert life.condition("DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert life.told_at("Evicted") == [10]


# -- images that cannot be pulled --------------------------------------------------------------------------------------


def test_a_pull_that_fails_is_tried_again_and_again(live):
    life = live("nginx:1.161").until(75)
    assert life.told_at("Pulling") == [0, 10, 30, 70]
    assert life.told_at("BackOff") == [2, 12, 32, 72]
    assert (life.phase, life.container()["restartCount"]) == ("Pending", 0)
    assert life.told[:5] == [
        'Pulling: Pulling image "nginx:1.161"',
        f'Failed: Failed to pull image "nginx:1.161": {PULL_ERROR}',
        "Failed: Error: ErrImagePull",
        'BackOff: Back-off pulling image "nginx:1.161"',
        "Failed: Error: ImagePullBackOff",
    ]


def test_a_pull_that_fails_shows_why(live):
    life = live("nginx:1.161")
    life.look()
    assert life.container()["state"]["waiting"] == {"reason": "ErrImagePull", "message": PULL_ERROR}
    life.until(3)
    why = f'Back-off pulling image "nginx:1.161": ErrImagePull: {PULL_ERROR}'
    assert life.container()["state"]["waiting"] == {"reason": "ImagePullBackOff", "message": why}


def test_a_pull_that_failed_may_succeed_later(live):
    life = live(annotations={"mockube.io/pull-failures": "2"}).until(31)
    assert life.told_at("Started") == [30]
    assert life.is_ready()


def test_an_image_that_is_put_right_is_taken_at_once(live):
    life = live("nginx:1.161").until(5)
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.16.1"
    life.look(6)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 0)


def test_an_image_that_breaks_under_a_running_container_keeps_its_last_end(live):
    life = live()
    life.look()
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.161"
    life.look(100)
    assert life.shown() == "ImagePullBackOff"
    assert life.container()["lastState"]["terminated"]["exitCode"] == 143
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.27"
    life.look(104)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 1)


def test_an_image_that_breaks_during_a_back_off_is_noticed_at_the_next_start(live):
    life = live("crash.mockube.io/app").until(5)
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.161"
    life.until(20)
    assert (life.shown(), life.container()["lastState"]["terminated"]["exitCode"]) == ("ImagePullBackOff", 1)
    assert life.phase == "Running"
    life.pod["spec"]["containers"][0]["image"] = "Nginx"
    assert life.until(32).shown() == "InvalidImageName"


def test_a_name_that_is_no_image_waits_for_another(live):
    life = live("Nginx")
    life.until(60)
    told = (
        'Failed to apply default image tag "Nginx": couldn\'t parse image name "Nginx": '
        "invalid reference format: repository name (library/Nginx) must be lowercase"
    )
    assert life.container()["state"]["waiting"] == {"reason": "InvalidImageName", "message": told}
    assert life.told == [f"InspectFailed: {told}", "Failed: Error: InvalidImageName"]
    life.pod["spec"]["containers"][0]["image"] = "nginx"
    life.look(61)
    assert life.is_ready()


# -- init containers ---------------------------------------------------------------------------------------------------


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
    assert life.told_at("Started") == [0, 3, 7]


def test_init_containers_that_are_not_understood_end_at_once(with_inits):
    life = with_inits(container("a", "migrate:1"), container("b", "migrate:1"))
    life.look()
    assert life.is_ready()
    assert life.told_at("Started") == [0, 0, 0]


def test_an_init_container_that_fails_is_tried_again(with_inits):
    life = with_inits(container("a"), annotations={"a.mockube.io/exit-code": "1"}).until(5)
    assert (life.phase, life.shown("a"), life.shown()) == ("Pending", "CrashLoopBackOff", "PodInitializing")


def test_an_init_container_that_recovers_lets_the_pod_start(with_inits):
    annotations = {"a.mockube.io/exit-code": "1", "a.mockube.io/exit-times": "2"}
    life = with_inits(container("a", "migrate:1"), annotations=annotations).until(30)
    assert (life.container("a")["restartCount"], life.is_ready()) == (2, True)
    assert life.told_at("Started") == [0, 1, 11, 11]


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
    assert life.told[-1] == "Killing: Stopping container proxy"


def test_a_container_for_debugging_is_started_and_counts_for_nothing(live):
    life = live()
    life.look()
    life.pod["spec"]["ephemeralContainers"] = [container("debugger", "busybox", stdin=True)]
    step = life.look(5)
    assert (life.shown("debugger"), life.is_ready()) == ("Running", True)
    assert step.told[-1].field_path == "spec.ephemeralContainers{debugger}"


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
    assert (step.gone, step.status, step.wait, life.told) == (True, None, None, ["Killing: Stopping container web"])


def test_a_pod_that_never_ran_goes_at_once(make_pod, place):
    meta = {"deletionTimestamp": "2027-01-15T08:00:30Z", "deletionGracePeriodSeconds": 30}
    step = advance(make_pod(meta=meta), place, 1_800_000_001)
    assert (step.gone, list(step.told)) == (True, [])


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
    assert next(int(at) for at, step in life.steps if step.gone) == gone_at
    assert life.told_at("Killing") == [10]


def test_a_shorter_grace_is_heeded(deleted):
    life = deleted(annotations={"mockube.io/stop-after": "forever"})
    life.look(11)
    life.pod["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:13Z", "deletionGracePeriodSeconds": 1}
    assert life.look(13).gone


def test_a_pod_whose_grace_is_over_and_that_is_still_there_goes_at_once_and_without_a_word(deleted):
    step = deleted(grace=0).look(10.1)
    assert (step.gone, step.status, step.wait, list(step.told)) == (True, None, None, [])


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
    assert (step.status, step.gone, list(step.told)) == (None, False, [])


def test_what_never_started_is_said_to_be_unknown(deleted):
    life = deleted("nginx:1.161", meta={"finalizers": ["example.com/held"]})
    life.look(11)
    assert (life.phase, life.container()["state"]["terminated"]["reason"]) == ("Failed", "ContainerStatusUnknown")


def test_a_pod_that_has_ended_just_goes(deleted):
    life = deleted("busybox", command=["true"], spec={"restartPolicy": "Never"})
    step = life.look(11)
    assert (step.gone, step.status, list(step.told)) == (True, None, [])
