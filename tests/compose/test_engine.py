"""compose.yaml and the image as users start them: by a container engine, in a project and at ports of their own."""

import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import compose_stack
import pytest
import yaml
from patience import SECONDS

ROOT = Path(__file__).parents[2]
SERVERS = ("etcd", "apiserver", "controller-manager")
BUILD_SECONDS = 3600

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]


def docker(*arguments: str, seconds: float = SECONDS, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["docker", *arguments],
        env=os.environ | environment, capture_output=True, text=True, check=False, timeout=seconds, cwd=ROOT,
    )  # fmt: skip


def output(*arguments: str, **more: Any) -> str:
    """Return the output of docker; the command must succeed."""
    done = docker(*arguments, **more)
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def engine() -> None:
    """A container engine with Compose; machines without one skip the tests, also those of CI, which have none."""
    for command in (("info",), ("compose", "version")):
        if shutil.which("docker") is None or docker(*command).returncode:
            pytest.skip(
                f"`docker {' '.join(command)}` fails here: to try compose.yaml and the image in containers, "
                "install and start an engine with Compose 2.20 or newer"
            )


def skip_without(image: str) -> None:
    """Skip the test if an image is neither here nor can be pulled."""
    if docker("image", "inspect", image).returncode and docker("pull", image, seconds=BUILD_SECONDS).returncode:
        pytest.skip(f"the image {image} is not here and cannot be pulled: connect the engine to a registry that has it")


@pytest.fixture(scope="module")
def images(engine: None) -> Iterator[dict[str, str]]:
    """The images of the Dockerfile under names of the tests' own: target → name."""
    (base,) = re.findall(r"^FROM (\S+) AS base$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    skip_without(base)
    run = uuid4().hex[:8]
    names = {target: f"mockube-test-{run}-{target}" for target in ("mockube", "etcd")}
    for target, name in names.items():
        flags = ("--network=host", "--tag", name, "--target", target)
        output("build", *flags, ".", seconds=BUILD_SECONDS, DOCKER_BUILDKIT="0")
    yield names
    for name in names.values():
        docker("image", "rm", "--no-prune", name)  # what they were made of stays, for the next time


@dataclass(frozen=True)
class Project:
    """The services of compose.yaml in a project of their own."""

    name: str
    override: Path
    settings: dict[str, str]

    def compose(self, *arguments: str) -> str:
        files = ("--file", str(ROOT / "compose.yaml"), "--file", str(self.override))
        return output("compose", "--project-name", self.name, *files, *arguments, **self.settings)

    def up(self) -> None:
        self.compose("up", "--detach", "--wait", "--no-build")

    def inspect(self, service: str) -> dict[str, Any]:
        """Return the engine's description of a service's container."""
        (identity,) = self.compose("ps", "--all", "--quiet", service).split()
        (container,) = json.loads(output("inspect", identity))
        return dict(container)


@pytest.fixture(scope="module")
def project(images: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    override = tmp_path_factory.mktemp("engine") / "override.yaml"
    targets = {name: "etcd" if name == "etcd" else "mockube" for name in ("certificates", *SERVERS)}
    services = {service: {"image": images[target]} for service, target in targets.items()}
    override.write_text(yaml.safe_dump({"services": services}))
    ports = {name: str(compose_stack.free_port()) for name in compose_stack.settings() if name.endswith("_PORT")}
    made = Project(f"mockube-test-{uuid4().hex[:8]}", override, ports)
    try:
        made.up()
        yield made
    finally:
        made.compose("down", "--volumes", "--remove-orphans")


@pytest.fixture(scope="module")
def kubectl(project: Project, kubectl_at: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """kubectl with the kubeconfig that is copied out as the page says."""
    kubeconfig = tmp_path_factory.mktemp("kubeconfig") / "kubeconfig"
    project.compose("cp", "apiserver:/etc/mockube/kubeconfig", str(kubeconfig))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    return kubectl_at(kubeconfig)


def test_a_deployment_is_rolled_out_and_its_pods_answer(kubectl: Any) -> None:
    kubectl.says("create deployment web --image=nginx --replicas=3", "deployment.apps/web created")
    kubectl.says("rollout status deployment web --timeout=300s", ".*successfully rolled out")
    kubectl.says("exec deployment/web -- echo hello", "hello")
    kubectl.output("logs deployment/web")


def test_metrics_are_told(project: Project, kubectl: Any) -> None:
    assert "apiserver_storage_objects" in kubectl.output("get --raw /metrics")
    url = f"http://127.0.0.1:{project.settings['MOCKUBE_METRICS_PORT']}/metrics"
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        assert b"workqueue_adds_total" in answer.read()


@pytest.mark.parametrize("service", SERVERS)
def test_a_container_is_nobodys_root_and_writes_nowhere_but_in_volumes(project: Project, service: str) -> None:
    container = project.inspect(service)
    assert container["Config"]["User"] == "10001:10001"
    host = container["HostConfig"]
    assert (host["ReadonlyRootfs"], host["CapDrop"], host["Privileged"]) == (True, ["ALL"], False)
    assert project.compose("exec", service, "id", "-u").strip() == "10001"
    capabilities = project.compose("exec", service, "grep", "CapEff", "/proc/1/status").split()[1]
    assert int(capabilities, 16) == 0
    tried = project.compose("exec", service, "sh", "-c", "touch /here 2>&1 || touch /usr/here 2>&1 || true")
    assert tried.count("Read-only file system") == 2


def test_only_loopback_is_published(project: Project) -> None:
    ports = [project.inspect(service)["NetworkSettings"]["Ports"] for service in SERVERS]
    published = [each for port in ports for addresses in port.values() for each in addresses or ()]
    assert {each["HostIp"] for each in published} == {"127.0.0.1"}
    assert {each["HostPort"] for each in published} == {
        project.settings[name] for name in ("MOCKUBE_PORT", "MOCKUBE_METRICS_PORT")
    }


@pytest.mark.parametrize("service", SERVERS)
def test_a_container_that_is_killed_and_started_again_loses_nothing(
    project: Project, kubectl: Any, service: str
) -> None:
    kubectl.output(f"create configmap kept-{service} --from-literal=a=b")
    project.compose("kill", service)
    project.up()
    kubectl.says(f"get configmap kept-{service} -o jsonpath={{.data.a}}", "b")
    kubectl.output(f"create deployment after-{service} --image=nginx")
    kubectl.says(f"rollout status deployment after-{service} --timeout=300s", ".*successfully rolled out")


def test_a_stop_is_clean_and_a_start_goes_on(project: Project, kubectl: Any) -> None:
    kubectl.output("create configmap kept --from-literal=a=b")
    project.compose("stop", "--timeout", str(int(SECONDS)))
    codes = {service: project.inspect(service)["State"]["ExitCode"] for service in SERVERS}
    assert codes.pop("etcd") in {0, 143}  # it ends by the signal that it got
    assert codes == {"apiserver": 0, "controller-manager": 0}
    project.up()
    kubectl.says("get configmap kept -o jsonpath={.data.a}", "b")


def test_logs_tell_of_no_failure_and_of_no_secret(project: Project, kubectl: Any) -> None:
    said = project.compose("logs")
    token = yaml.safe_load(project.compose("exec", "apiserver", "cat", "/etc/mockube/kubeconfig"))
    assert token["users"][0]["user"]["token"] not in said
    assert "PRIVATE KEY" not in said
    assert "Traceback" not in said
    assert "serving Kubernetes" in said


def test_prometheus_finds_its_targets_up(project: Project) -> None:
    monitoring = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    for name in ("prometheus", "grafana"):
        skip_without(monitoring[name]["image"])
    project.compose("--profile", "monitoring", "up", "--detach", "--wait", "--no-build")
    query = f"http://127.0.0.1:{project.settings['PROMETHEUS_PORT']}/api/v1/query?query=min(up)"
    while True:  # it scrapes every few seconds
        with urllib.request.urlopen(query, timeout=SECONDS) as answer:
            result = json.load(answer)["data"]["result"]
        if result and result[0]["value"][1] == "1":
            return


def test_nothing_is_left_when_volumes_are_removed_as_well(images: dict[str, str], project: Project) -> None:
    project.compose("--profile", "monitoring", "down", "--volumes")
    label = f"label=com.docker.compose.project={project.name}"
    for kind in ("container", "volume", "network"):
        everything = ("--all",) if kind == "container" else ()
        assert output(kind, "ls", *everything, "--quiet", "--filter", label) == ""


@pytest.fixture
def alone(images: dict[str, str]) -> Iterator[tuple[str, int]]:
    """A container of the image alone, which is a whole cluster: its name, and its port."""
    name, port = f"mockube-test-{uuid4().hex[:8]}", compose_stack.free_port()
    flags = ("--detach", "--name", name, "--read-only", "--cap-drop=ALL", "--volume", f"{name}:/var/lib/mockube")
    command = ("mockube", "up", "--bind=0.0.0.0", "--data-dir=/var/lib/mockube", f"--port={port}")
    health = f"mockube ready https://127.0.0.1:{port}/readyz --certificate-authority=/var/lib/mockube/pki/ca.crt"
    published = f"127.0.0.1:{port}:{port}"
    output("run", *flags, "--health-cmd", health, "--publish", published, images["mockube"], *command)
    yield name, port
    output("rm", "--force", name)
    output("volume", "rm", name)


def await_health(name: str, wait_for: Callable[..., Any]) -> None:
    wait_for(lambda: output("inspect", "--format", "{{.State.Health.Status}}", name).strip() == "healthy")


def test_the_image_alone_is_a_cluster_that_stops_cleanly_and_goes_on(
    alone: tuple[str, int], wait_for: Callable[..., Any], kubectl_at: Callable[[Path], Any], tmp_path: Path
) -> None:
    name, _ = alone
    await_health(name, wait_for)
    output("cp", f"{name}:/var/lib/mockube/kubeconfig", str(tmp_path / "kubeconfig"))
    kubectl = kubectl_at(tmp_path / "kubeconfig")
    kubectl.output("create deployment web --image=nginx --replicas=2")
    kubectl.says("rollout status deployment web --timeout=300s", ".*successfully rolled out")
    output("stop", "--time", str(int(SECONDS)), name)
    assert output("inspect", "--format", "{{.State.ExitCode}}", name).strip() == "0"
    output("start", name)
    await_health(name, wait_for)
    kubectl.says("get deployment web -o jsonpath={.spec.replicas}", "2")
    said = docker("logs", name)
    assert "Traceback" not in said.stdout + said.stderr
