from functools import partial
from typing import Any

import pytest

from controller_manager.kubelet.container.downward_api import PodEnvironment
from controller_manager.kubelet.container.environment import environment_of
from controller_manager.kubelet.container.files import Directory, Quota
from controller_manager.kubelet.container.log_output import LogSource, log_lines
from controller_manager.kubelet.container.rootfs import new_container
from controller_manager.kubelet.container.runs import ContainerRun, NoLogError, current_run, run_to_log

NOW = 1_800_000_000.0
CONFIG = {"data": {"COLOUR": "red", "nested.txt": "line\n"}}
SERVICES = [
    {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443}]}},
    {"metadata": {"name": "no-address"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
]
AROUND = PodEnvironment(
    config_map={"cm": CONFIG}.get,
    services=SERVICES,
    node={"status": {"allocatable": {"cpu": "32", "memory": "256Gi"}}},
    root_ca="-----BEGIN",
)


def pod(container: Any = None, *, annotations: Any = None, volumes: Any = (), **spec: Any) -> Any:
    return {
        "metadata": {
            "name": "web-0",
            "namespace": "shop",
            "uid": "u-1",
            "labels": {"app": "web"},
            "annotations": annotations or {},
        },
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "robot",
            "containers": [{"name": "web", "image": "nginx"} | (container or {})],
            "volumes": list(volumes),
        }
        | spec,
        "status": {"podIP": "10.244.0.5", "hostIP": "10.0.0.1", "podIPs": [{"ip": "10.244.0.5"}, {"ip": "fd00::5"}]},
    }


def furnish(seen: Any, kept: Any = lambda _: Directory(mounted=True)) -> Any:
    container = seen["spec"]["containers"][0]
    return new_container(seen, container, AROUND, quota=Quota(1_000_000), kept=kept, now=NOW)


# -- the environment


ENV = [
    ({"value": "x"}, "x"),
    ({"value": "$(FIRST)-$(NOPE)-$$(FIRST)-$(KUBERNETES_SERVICE_HOST)"}, "one-$(NOPE)-$(FIRST)-10.96.0.1"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, "web-0"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}, "shop"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}, "u-1"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}, "web"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, "node-1"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "spec.serviceAccountName"}}}, "robot"),
    ({"valueFrom": {"fieldRef": {"fieldPath": "status.podIPs"}}}, "10.244.0.5,fd00::5"),
    ({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, "1"),
    ({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}, "500"),
    ({"valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Gi"}}}, "256"),
    ({"valueFrom": {"configMapKeyRef": {"name": "cm", "key": "COLOUR"}}}, "red"),
]


@pytest.mark.parametrize(("variable", "value"), ENV)
def test_a_variable_has_the_value_that_its_spec_says(variable, value):
    env = [{"name": "FIRST", "value": "one"}, {"name": "V"} | variable]
    seen = pod({"env": env, "resources": {"limits": {"cpu": "500m"}}})
    assert environment_of(seen, seen["spec"]["containers"][0], AROUND)["V"] == value


@pytest.mark.parametrize(
    "source",
    [
        {"secretKeyRef": {"name": "s", "key": "k"}},
        {"configMapKeyRef": {"name": "nope", "key": "k"}},
        {"configMapKeyRef": {"name": "cm", "key": "nope"}},
    ],
)
def test_a_variable_that_is_not_to_be_had_is_left_out(source):
    seen = pod({"env": [{"name": "V", "valueFrom": source}]})
    assert "V" not in environment_of(seen, seen["spec"]["containers"][0], AROUND)


def test_the_environment_begins_with_the_path_and_tells_of_services():
    seen = pod(
        {"envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}], "env": [{"name": "HOME", "value": "/h"}]}
    )
    environment = environment_of(seen, seen["spec"]["containers"][0], AROUND)
    assert list(environment)[:3] == ["PATH", "HOSTNAME", "HOME"]
    assert environment["P_COLOUR"] == "red"
    assert {name: environment[name] for name in environment if name.startswith("KUBERNETES")} == {
        "KUBERNETES_PORT": "tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
        "KUBERNETES_PORT_443_TCP_PORT": "443",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "443",
    }
    assert not [name for name in environment if name.startswith("NO_ADDRESS")]


# -- the files


def test_a_container_has_the_files_that_a_kubelet_writes():
    files = furnish(pod(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a", "b"]}])).files
    assert files.read("/etc/hostname") == b"web-0\n"
    assert files.read("/etc/hosts").endswith(b"10.244.0.5\tweb-0\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n")
    assert files.read("/etc/resolv.conf").startswith(b"search shop.svc.cluster.local ")


VOLUMES = [
    ({"configMap": {"name": "cm"}}, {"COLOUR": b"red", "nested.txt": b"line\n"}),
    ({"configMap": {"name": "cm", "items": [{"key": "COLOUR", "path": "deep/c"}]}}, {"deep/c": b"red"}),
    ({"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}, {"name": b"web-0"}),
    ({"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}, {"l": b'app="web"'}),
    (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "cm"}}]}},
        {"COLOUR": b"red"},
    ),
    ({"projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}, {"ca.crt": b"-----BEGIN"}),
]


@pytest.mark.parametrize(("volume", "contents"), VOLUMES)
def test_a_volume_holds_what_it_is_made_of(volume, contents):
    mounts = [{"name": "v", "mountPath": "/mnt/v"}]
    files = furnish(pod({"volumeMounts": mounts}, volumes=[{"name": "v"} | volume])).files
    assert {path: files.read(f"/mnt/v/{path}") for path in contents} == contents


def test_a_part_of_a_volume_may_be_mounted():
    mounts = [{"name": "c", "mountPath": "/etc/nested.txt", "subPath": "nested.txt"}]
    mounts += [{"name": "e", "mountPath": "/data", "subPath": "web"}]
    volume = Directory(mounted=True)
    volumes = [{"name": "c", "configMap": {"name": "cm"}}, {"name": "e", "emptyDir": {}}]
    files = furnish(pod({"volumeMounts": mounts}, volumes=volumes), lambda _: volume).files
    assert files.read("/etc/nested.txt") == b"line\n"
    files.write("/data/f", b"", NOW)
    assert list(volume.entries) == ["web"]


# -- what is printed


def lines(seen: Any, until: float, started: float = NOW) -> list[tuple[float, str]]:
    box = partial(furnish, seen)
    printed_lines = log_lines(LogSource(seen, seen["spec"]["containers"][0], box, started), NOW + until)
    output = []
    for line in printed_lines:
        if line is not None:
            if line.time > NOW + until:
                break
            output.append((line.time - NOW, line.text.decode()))
    return output


PRINTED = [
    ({}, {}, [(0, "mockube: container web (nginx) of pod shop/web-0 started on node-1")]),
    ({"command": ["sh", "-c", "echo $POD; sleep 2; date +%T; sleep 100; echo never"]}, {}, [(0, "a"), (2, "08:00:02")]),
    ({"command": ["echo"], "args": ["$(POD)", "b"]}, {}, [(0, "a b")]),
    ({"command": ["sh", "-c", "while :; do echo x; sleep 1.5; done"]}, {}, [(0, "x"), (1.5, "x"), (3, "x")]),
    ({"command": ["sh", "-c", "printf 'no end'"]}, {}, [(0, "no end")]),
    ({"command": ["sh", "-c", "apt-get update && echo done"]}, {}, [(0, "done")]),
    ({"image": "busybox", "args": ["echo", "b"]}, {}, [(0, "b")]),
    ({"image": "busybox"}, {}, []),
    ({"command": ["sleep", "infinity"]}, {}, []),
    ({"command": ["sh", "-c", "while :; do :; done"]}, {}, []),
    ({}, {"mockube.io/logs": "one\ntwo"}, [(0, "one"), (0, "two")]),
    ({}, {"mockube.io/logs": ""}, []),
    ({}, {"mockube.io/logs": "x", "web.mockube.io/logs": "mine"}, [(0, "mine")]),
    ({}, {"mockube.io/logs": "tick", "mockube.io/log-every": "1.5s"}, [(0, "tick"), (1.5, "tick"), (3, "tick")]),
    ({}, {"mockube.io/logs": "once", "mockube.io/log-every": "soon"}, [(0, "once")]),
]


@pytest.mark.parametrize(("container", "annotations", "expected"), PRINTED)
def test_a_container_prints_what_it_is_told_to_or_what_its_command_would(container, annotations, expected):
    seen = pod({"env": [{"name": "POD", "value": "a"}]} | container, annotations=annotations)
    assert lines(seen, until=4.0) == expected


def no_files() -> Any:
    raise AssertionError("no files are needed")


@pytest.mark.parametrize(("annotations", "expected"), [({}, b"mockube: "), ({"mockube.io/logs": "one"}, b"one")])
def test_a_container_whose_command_is_not_asked_prints_without_having_files(annotations, expected):
    seen = pod(annotations=annotations)
    (line,) = log_lines(LogSource(seen, seen["spec"]["containers"][0], no_files, NOW), NOW)
    assert line is not None
    assert line.text.startswith(expected)


@pytest.mark.parametrize(("policy", "expected"), [({}, "mockube: "), ({"restartPolicy": "Always"}, "all")])
def test_what_names_no_container_is_not_for_init_containers_that_end(policy, expected):
    init = {"name": "setup", "image": "setup"} | policy
    seen = pod(annotations={"mockube.io/logs": "all"}, initContainers=[init])
    (line,) = log_lines(LogSource(seen, init, partial(furnish, seen), NOW), NOW)
    assert line is not None
    assert line.text.decode().startswith(expected)


def test_of_a_text_that_is_printed_for_years_the_end_is_told():
    seen = pod(annotations={"mockube.io/logs": "tick", "mockube.io/log-every": "1s"})
    printed_lines = lines(seen, until=0.0, started=NOW - 1e8)
    assert printed_lines[-1] == (0.0, "tick")
    assert len(printed_lines) == 20_001


# -- runs


ENDED = {
    "containerID": "c://2",
    "startedAt": "2027-01-15T08:00:00Z",
    "finishedAt": "2027-01-15T08:00:05Z",
    "exitCode": 3,
}
RUNNING = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
LOGS = [
    ({"containerID": "c://1", "state": RUNNING}, False, ContainerRun("c://1", NOW)),
    ({"containerID": "c://1", "state": RUNNING}, True, 'previous terminated container "web" in pod "web-0" not found'),
    (
        {"containerID": "c://1", "state": RUNNING, "lastState": {"terminated": ENDED}},
        True,
        ContainerRun("c://2", NOW, NOW + 5),
    ),
    ({"state": {"terminated": ENDED}}, False, ContainerRun("c://2", NOW, NOW + 5)),
    (
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ENDED}},
        False,
        ContainerRun("c://2", NOW, NOW + 5),
    ),
    (
        {"state": {"waiting": {"reason": "ContainerCreating"}}},
        False,
        'container "web" in pod "web-0" is waiting to start: ContainerCreating',
    ),
    (
        {"state": {"waiting": {"reason": "ErrImagePull"}}},
        False,
        'container "web" in pod "web-0" is waiting to start: image can\'t be pulled',
    ),
    (
        {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
        False,
        'container "web" in pod "web-0" is waiting to start: trying and failing to pull image',
    ),
    ({"state": {"terminated": {"exitCode": 137}}}, False, 'container "web" in pod "web-0" is terminated'),
    ({"state": {}}, False, 'container "web" in pod "web-0" is waiting to start - no logs yet'),
    (None, False, 'container "web" in pod "web-0" is not available'),
]


@pytest.mark.parametrize(("status", "previous", "expected"), LOGS)
def test_the_log_is_that_of_the_run_that_is_meant_or_there_is_none(status, previous, expected):
    seen = pod()
    seen["status"]["containerStatuses"] = [{"name": "web"} | status] if status else []
    if isinstance(expected, ContainerRun):
        assert run_to_log(seen, "web", previous=previous) == expected
    else:
        with pytest.raises(NoLogError) as refused:
            run_to_log(seen, "web", previous=previous)
        assert str(refused.value) == expected


def test_a_container_runs_while_its_status_says_so():
    seen = pod()
    seen["status"]["containerStatuses"] = [{"name": "web", "containerID": "c://1", "state": RUNNING}]
    assert current_run(seen, "web") == ContainerRun("c://1", NOW)
    assert current_run(seen, "other") is None
