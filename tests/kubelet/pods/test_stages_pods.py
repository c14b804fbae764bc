"""The lives of pods: how they start, run and become ready."""

import copy

import pytest

from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext


def test_a_plain_pod_runs_and_is_ready_after_one_look(live):
    life = live()
    step = life.look()
    assert (life.phase, life.is_ready(), step.wait) == ("Running", True, None)
    assert life.event_texts == [
        'Pulled: Container image "nginx:1.27" already present on machine and can be accessed by the pod',
        "Created: Container created",
        "Started: Container started",
    ]
    assert {event.field_path for event in step.events} == {"spec.containers{web}"}


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
    assert (step.status, list(step.events), step.wait, step.delete) == (None, [], None, False)


def test_an_image_that_is_always_pulled_is_pulled(live):
    life = live(imagePullPolicy="Always")
    life.look()
    assert life.event_texts[:2] == [
        'Pulling: Pulling image "nginx:1.27"',
        'Pulled: Successfully pulled image "nginx:1.27" in 0s (0s including waiting). Image size: 0 bytes.',
    ]


def test_a_pod_of_the_hosts_network_has_the_hosts_address(make_pod):
    step = next_step(make_pod(spec={"hostNetwork": True}), NodeContext("node-1", "172.18.0.2", ""), 1_800_000_000)
    assert step.status is not None
    assert step.status["podIP"] == step.status["hostIP"] == "172.18.0.2"


def test_a_slow_start_shows_as_creating(live):
    life = live(annotations={"mockube.io/start-after": "5s"})
    step = life.look()
    assert (life.phase, life.shown(), step.wait) == ("Pending", "ContainerCreating", 5.0)
    assert life.condition("PodReadyToStartContainers")["status"] == "True"
    assert life.condition("ContainersReady")["message"] == "containers with unready status: [web]"
    assert life.until(6).phase == "Running"
    assert life.event_times("Started") == [5]


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
    assert "Killing: Container web definition changed, will be restarted" in life.event_texts


def test_annotations_that_mean_nothing_are_told_once(live):
    life = live(annotations={"mockube.io/exit-after": "soon"}).until(100)
    assert life.is_ready()
    why = '"soon" is no duration: write "90", "1m30s" or "never"'
    messages = [messages for messages in life.event_texts if messages.startswith("Invalid")]
    assert messages == [f"InvalidAnnotation: Annotation mockube.io/exit-after is ignored: {why}"]


def test_a_pod_for_which_no_address_is_left_waits_for_one(make_pod):
    step = next_step(make_pod(), NodeContext("node-1", "172.18.0.2", ""), 1_800_000_000)
    assert (step.status, step.wait, step.events[0].reason) == (None, 10.0, "FailedCreatePodSandBox")


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
    assert "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503" in life.event_texts
    assert life.until(11).is_ready()
    assert life.condition("Ready")["lastTransitionTime"] == "2027-01-15T08:00:10Z"
    assert life.event_times("Unhealthy") == [0]


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
    assert f"Unhealthy: Readiness probe failed: {why}" in life.event_texts


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
