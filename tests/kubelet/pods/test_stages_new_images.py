"""Pods whose images change while they run: one container is started again, all else stays as it is."""

from triggers import woken

from controller_manager.kubelet.pods.controller import SPEC
from controller_manager.reconcile.contract import Change
from controller_manager.reconcile.kinds import NODE, POD

GATE = "InPlaceUpdateReady"


def two(**more):
    containers = [{"name": name, "image": f"{name}:1", "imagePullPolicy": "IfNotPresent"} for name in ("web", "log")]
    return {"spec": {"containers": containers} | more}


def renew(life, image, name="web", at=100.0, field="containers"):
    """The image of a container changes, and its kubelet looks."""
    spec, meta = life.pod["spec"], life.pod["metadata"]
    changed = [each | {"image": image} if each["name"] == name else each for each in spec[field]]
    life.pod = life.pod | {
        "spec": spec | {field: changed},
        "metadata": meta | {"generation": meta["generation"] + 1},
    }
    return life.look(at)


# -- what runs ---------------------------------------------------------------------------------------------------------


def test_only_the_container_whose_image_changes_is_started_again(live):
    life = live(**two())
    life.look()
    web, log, before = life.container("web"), life.container("log"), dict(life.status)
    step = renew(life, "web:2")
    again = life.container("web")
    assert (again["restartCount"], again["image"], again["ready"]) == (1, "docker.io/library/web:2", True)
    assert again["imageID"] != web["imageID"]
    assert again["containerID"] != web["containerID"]
    assert again["lastState"]["terminated"]["containerID"] == web["containerID"]
    assert again["state"] == {"running": {"startedAt": "2027-01-15T08:01:40Z"}}
    assert life.container("log") == log
    assert {event.field_path for event in step.events} == {"spec.containers{web}"}
    assert [f"{event.reason}: {event.message}" for event in step.events] == [
        "Killing: Container web definition changed, will be restarted",
        'Pulled: Container image "web:2" already present on machine and can be accessed by the pod',
        "Created: Container created",
        "Started: Container started",
    ]
    for kept in ("podIP", "podIPs", "hostIP", "startTime", "phase"):
        assert life.status[kept] == before[kept]
    assert life.status["observedGeneration"] == 2


def test_both_containers_are_started_again_where_both_images_change(live):
    life = live(**two())
    life.look()
    renew(life, "web:2", at=50)
    renew(life, "log:2", name="log", at=60)
    assert [life.container(name)["restartCount"] for name in ("web", "log")] == [1, 1]


def test_a_policy_that_never_restarts_is_not_asked(live):
    life = live(spec={"restartPolicy": "Never"})
    life.look()
    renew(life, "nginx:1.28")
    assert (life.phase, life.container()["restartCount"], life.is_ready()) == ("Running", 1, True)


def test_another_spelling_of_the_same_image_starts_nothing_again(live):
    life = live("nginx:1.27")
    life.look()
    renew(life, "docker.io/library/nginx:1.27")
    assert life.container()["restartCount"] == 0


def test_a_sidecar_is_started_again_in_the_words_of_init_containers(live):
    sidecar = {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}
    life = live(spec={"initContainers": [sidecar]})
    life.look()
    renew(life, "proxy:2", name="proxy", field="initContainers")
    assert life.container("proxy")["restartCount"] == 1
    assert life.container("web")["restartCount"] == 0
    assert "Killing: Init container proxy definition changed" in life.event_texts


def test_what_an_init_container_did_stays_done(live):
    life = live(spec={"initContainers": [{"name": "first", "image": "complete.mockube.io/first:1"}]})
    life.until(5)
    assert life.is_ready()
    renew(life, "complete.mockube.io/first:2", name="first", field="initContainers")
    assert life.container("first")["restartCount"] == 0
    assert not any("definition changed" in event for event in life.event_texts)


def test_a_start_that_takes_time_shows_as_creating(live):
    life = live(annotations={"mockube.io/start-after": "5s"}).until(6)
    assert life.is_ready()
    renew(life, "nginx:1.28", at=100)
    assert (life.shown(), life.phase, life.is_ready()) == ("ContainerCreating", "Running", False)
    assert life.container()["lastState"]["terminated"]["exitCode"] == 143
    life.until(106)
    assert (life.shown(), life.is_ready(), life.container()["restartCount"]) == ("Running", True, 1)
    assert life.event_times("Killing") == [100]


def test_probes_start_again(live):
    life = live(readinessProbe={"initialDelaySeconds": 4}).until(5)
    assert life.is_ready()
    renew(life, "nginx:1.28", at=100)
    assert not life.is_ready()
    assert life.until(104).is_ready()


# -- what waits --------------------------------------------------------------------------------------------------------


def test_an_image_that_cannot_be_pulled_keeps_the_old_one_in_the_status(live):
    life = live()
    life.look()
    before = life.container()
    renew(life, "fail.mockube.io/app:2", at=100)
    after = life.container()
    assert (life.shown(), life.is_ready(), life.phase) == ("ErrImagePull", False, "Running")
    assert (after["image"], after["imageID"], after["restartCount"]) == (before["image"], before["imageID"], 0)
    life.until(175)
    assert [at for at in life.event_times("Pulling") if at] == [100, 110, 130, 170]
    renew(life, "nginx:1.28", at=176)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 1)


def test_going_back_from_an_image_that_cannot_be_pulled_starts_the_old_one(live):
    life = live()
    life.look()
    renew(life, "fail.mockube.io/app:2", at=100)
    renew(life, "nginx:1.27", at=101)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 1)


def test_another_image_that_cannot_be_pulled_is_tried_at_once(live):
    life = live("fail.mockube.io/app:1").until(15)
    renew(life, "fail.mockube.io/app:2", at=16)
    assert 'Pulling: Pulling image "fail.mockube.io/app:2"' in life.event_texts
    assert life.event_times("Pulling") == [0, 10, 16]


def test_a_crash_loop_ends_at_once_where_the_image_is_put_right(live):
    life = live("crash.mockube.io/app").until(60)
    assert life.shown() == "CrashLoopBackOff"
    count = life.container()["restartCount"]
    renew(life, "nginx:1.28", at=61)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, count + 1)


def test_a_container_that_ended_for_good_stays_so(live):
    life = live("complete.mockube.io/app", spec={"restartPolicy": "OnFailure"}).until(5)
    assert life.phase == "Succeeded"
    renew(life, "nginx:1.28", at=10)
    assert life.phase == "Succeeded"


# -- gates -------------------------------------------------------------------------------------------------------------


def with_condition(life, status):
    others = [each for each in life.status["conditions"] if each["type"] != GATE]
    condition = {"type": GATE, "status": status, "lastTransitionTime": "2027-01-15T08:00:00Z"}
    life.pod = life.pod | {"status": life.status | {"conditions": [*others, condition]}}


def test_a_pod_is_ready_only_while_its_gate_is_open(live):
    life = live(spec={"readinessGates": [{"conditionType": GATE}]})
    life.look()
    assert (life.is_ready(), life.condition("ContainersReady")["status"]) == (False, "True")
    with_condition(life, "True")
    life.look(10)
    assert life.is_ready()
    with_condition(life, "False")
    life.look(20)
    assert life.condition("Ready")["message"] == f'the status of pod readiness gate "{GATE}" is not "True", but False'
    renew(life, "nginx:1.28", at=30)
    assert (life.is_ready(), life.condition("ContainersReady")["status"]) == (False, "True")
    with_condition(life, "True")
    life.look(40)
    assert life.condition("Ready")["lastTransitionTime"] == "2027-01-15T08:00:40Z"


# -- what a kubelet looks at -------------------------------------------------------------------------------------------


def triggered(world, old, new):
    """Return the keys that a change of a pod enqueues at the kubelets."""
    return woken(SPEC, world, POD, Change(old, new))


def test_a_kubelet_looks_where_an_image_changes_or_a_gate_closes(live, make_world, make_node):
    world = make_world(SPEC, {NODE: [make_node()]})
    life = live(spec={"readinessGates": [{"conditionType": GATE}]})
    with_condition(life, "True")
    life.look()
    settled = life.pod
    labelled = settled | {"metadata": settled["metadata"] | {"labels": {"a": "b"}}}
    assert triggered(world, settled, labelled) == []
    with_condition(life, "False")
    assert triggered(world, settled, life.pod) == ["default/web"]
    renewed = settled | {"metadata": settled["metadata"] | {"generation": 2}}
    assert triggered(world, settled, renewed) == ["default/web"]


def test_a_kubelet_looks_where_a_server_counts_no_generations(live, make_world, make_node):
    world = make_world(SPEC, {NODE: [make_node()]})
    life = live()
    del life.pod["metadata"]["generation"]
    life.look()
    settled = life.pod
    spec = settled["spec"] | {"containers": [settled["spec"]["containers"][0] | {"image": "nginx:1.28"}]}
    assert triggered(world, settled, settled | {"spec": spec}) == ["default/web"]
    assert triggered(world, settled, dict(settled)) == []
