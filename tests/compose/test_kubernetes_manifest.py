"""docs/kubernetes/mockube.yaml: accepted by a cluster, which is our own, and its commands work together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import compose_stack
import pytest
import yaml

from apiserver.config import parser
from controller_manager.flags import from_arguments

Kubectl = Any
Stack = Any
ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "docs/kubernetes/mockube.yaml"
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


@pytest.fixture(scope="module")
def pod_spec() -> Any:
    return compose_stack.manifest()[-1]["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def containers(pod_spec: Any) -> dict[str, Any]:
    return {container["name"]: container for container in (*pod_spec["initContainers"], *pod_spec["containers"])}


@pytest.mark.kubectl
def test_a_cluster_takes_it_warns_of_nothing_and_runs_it(kubectl: Kubectl) -> None:
    kubectl.says(
        f"apply --validate=strict -f {MANIFEST}",
        "namespace/mockube created\nservice/mockube created\nstatefulset.apps/mockube created",
    )
    kubectl.output("-n mockube rollout status statefulset mockube --timeout=300s")
    kubectl.says("-n mockube get pod mockube-0 -o jsonpath={.status.phase}", "Running")


@pytest.mark.kubectl
def test_its_containers_are_a_cluster(etcd_path: None, kubectl_at: Callable[..., Kubectl], tmp_path: Path) -> None:
    with compose_stack.standing_pod(tmp_path) as stack:
        kubectl = kubectl_at(stack.volume("certificates") / "kubeconfig")
        kubectl.output("create deployment web --image=nginx --replicas=2")
        kubectl.says("wait deployment web --for=condition=Available --timeout=300s", ".*condition met")
        kubectl.says("exec deployment/web -- echo hello", "hello")


def test_every_container_may_do_as_little_as_the_strictest_standard_asks(pod_spec: Any, containers: Any) -> None:
    pod = pod_spec["securityContext"]
    assert (pod["runAsNonRoot"], pod["runAsUser"], pod["seccompProfile"]) == (True, 10001, {"type": "RuntimeDefault"})
    assert pod_spec["automountServiceAccountToken"] is False
    for container in containers.values():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_etcd_listens_to_its_own_pod_alone(containers: Any) -> None:
    assert "--listen-client-urls=https://127.0.0.1:2379" in containers["etcd"]["command"]
    assert "ports" not in containers["etcd"]


def test_images_are_those_of_compose(containers: Any) -> None:
    assert {name: container["image"] for name, container in containers.items()} == {
        name: service["image"] for name, service in SERVICES.items() if "profiles" not in service
    }


@pytest.mark.parametrize("where", ["compose.yaml", "mockube.yaml"])
def test_flags_of_the_servers_are_flags_that_they_have(where: str, containers: Any, tmp_path: Path) -> None:
    commands = containers if where == "mockube.yaml" else compose_stack.interpolated(SERVICES, compose_stack.settings())
    given = parser().parse_args(commands["apiserver"]["command"][3:])
    assert given.secure_port == 6443
    assert given.etcd_servers.startswith("https://")
    words = [word.replace("/etc/mockube", str(tmp_path)) for word in commands["controller-manager"]["command"][3:]]
    for word in words:
        if "kubeconfig=" in word or word.endswith((".crt", ".key")):
            path = Path(word.partition("=")[2])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    config, _ = from_arguments(words)
    assert (config.nodes, config.election, config.metrics_port) == (3, None, 10252)
