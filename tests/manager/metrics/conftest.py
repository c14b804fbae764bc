"""A server and a manager with three nodes, whose metrics are read while they work."""

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS
from prometheus_client.parser import text_string_to_metric_families

from apiserver.config import Config, check
from controller_manager.flags import from_arguments
from controller_manager.manager import run_manager
from controller_manager.runtime.kubeconfig import load_kubeconfig
from mockube.control_plane import control_plane
from mockube.manager import ManagerOptions, arguments
from mockube.threads import in_thread

PODS = "/api/v1/namespaces/default/pods"

Wait = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class LiveCluster:
    """A cluster at work.

    Attributes:
        url: of the server.
        metrics_url: of the manager's metrics.
        directory: where its keys are.
        wait_for: gives what a function gives once that is something.
    """

    url: str
    metrics_url: str
    directory: Path
    token: str
    context: ssl.SSLContext
    wait_for: Wait

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the server's answer, which must be a success."""
        return json.loads(self._read(method, path, body))

    def try_to(self, method: str, path: str, body: Any = None) -> int:
        """Return the status of the server's answer."""
        try:
            self.ask(method, path, body)
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def text(self) -> str:
        """The manager's metrics."""
        with urllib.request.urlopen(self.metrics_url, timeout=SECONDS) as answer:
            text: bytes = answer.read()
            return text.decode()

    def families(self) -> dict[str, Any]:
        """The manager's families by the names that they have in the text, a counter's with its "_total"."""
        return named(self.text())

    def server_families(self) -> dict[str, Any]:
        """The server's."""
        return named(self._read("GET", "/metrics", None).decode())

    def value(self, name: str, /, **labels: str) -> float:
        """Return the sample of a name with exactly these labels, or 0."""
        samples = (sample for family in self.families().values() for sample in family.samples)
        return next((s.value for s in samples if s.name == name and s.labels == labels), 0.0)

    def running(self, label: str) -> int:
        """Return the number of running pods with that label."""
        items = self.ask("GET", f"{PODS}?labelSelector={label}")["items"]
        return sum(pod["status"]["phase"] == "Running" for pod in items)

    def _read(self, method: str, path: str, body: Any) -> bytes:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type(method)},
        )
        with urllib.request.urlopen(request, timeout=SECONDS, context=self.context) as answer:
            answered: bytes = answer.read()
            return answered


def content_type(method: str) -> str:
    return "application/merge-patch+json" if method == "PATCH" else "application/json"


def named(text: str) -> dict[str, Any]:
    families = {}
    for family in text_string_to_metric_families(text):
        families[family.name + ("_total" if family.type == "counter" else "")] = family
    assert sorted(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) == sorted(families)
    return families


@asynccontextmanager
async def living(directory: Path, wait_for: Wait, *flags: str) -> AsyncIterator[LiveCluster]:
    async with control_plane(check(Config(secure_port=0, empties_namespaces=False)), directory) as running:
        given = arguments(running, ManagerOptions(nodes=3, metrics_port=0, extra_flags=flags))
        config, _ = from_arguments(given)
        assert config.kubeconfig is not None
        async with run_manager(config, load_kubeconfig(config.kubeconfig)) as manager:
            await manager.wait_until_ready()
            certificates = running.certificates
            trust = ssl.create_default_context(cafile=certificates.authority)
            yield LiveCluster(running.url, manager.metrics_url, directory, certificates.token, trust, wait_for)


@pytest.fixture(scope="module")
def live_with(tmp_path_factory: pytest.TempPathFactory, wait_for: Wait) -> Callable[..., Any]:
    """live_with(*flags): a context with such a cluster."""
    return lambda *flags: in_thread(living(tmp_path_factory.mktemp("live"), wait_for, *flags))


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, wait_for: Wait) -> Iterator[LiveCluster]:
    """A cluster in which what is counted has happened: pods were placed, refused, rolled and thrown out."""
    with in_thread(living(tmp_path_factory.mktemp("live"), wait_for, "--leader-elect=true")) as running:
        busy(running)
        yield running


def template(name: str) -> Any:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}


def workload(kind: str, name: str, **spec: Any) -> Any:
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": 2, "selector": selector, "template": template(name)} | spec
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="session", name="workload")
def _workload() -> Callable[..., Any]:
    """workload(kind, name, **spec): two pods of nginx."""
    return workload


def busy(live: LiveCluster) -> None:
    """Make a cluster do a bit of everything."""
    apps = "/apis/apps/v1/namespaces/default"
    live.ask("POST", f"{apps}/deployments", workload("Deployment", "web", replicas=4))
    live.ask("POST", f"{apps}/statefulsets", workload("StatefulSet", "db", serviceName="db"))
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    live.ask("POST", "/api/v1/namespaces/default/services", service)
    large = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "1000"}}}
    live.ask("POST", PODS, {"metadata": {"name": "large"}, "spec": {"containers": [large]}})
    gated = {"schedulingGates": [{"name": "example.com/wait"}], "containers": [{"name": "main", "image": "nginx"}]}
    live.ask("POST", PODS, {"metadata": {"name": "gated"}, "spec": gated})
    live.wait_for(lambda: live.running("app=db") == 2)
    live.wait_for(lambda: live.ask("GET", f"{apps}/deployments/web")["status"].get("readyReplicas") == 4)
    live.ask("PATCH", f"{apps}/deployments/web", {"spec": {"replicas": 3}})
    live.wait_for(lambda: live.running("app=web") == 3)
    doomed = {"nodeName": "node-3", "tolerations": [], "containers": [{"name": "main", "image": "nginx"}]}
    live.ask("POST", PODS, {"metadata": {"name": "doomed", "labels": {"app": "doomed"}}, "spec": doomed})
    live.wait_for(lambda: live.running("app=doomed"))
    taint = {"key": "example.com/out", "effect": "NoExecute"}
    live.ask("PATCH", "/api/v1/nodes/node-3", {"spec": {"taints": [taint]}})
    live.wait_for(lambda: live.value("taint_eviction_controller_pod_deletions_total"))
    live.ask("PATCH", "/api/v1/nodes/node-3", {"spec": {"taints": []}})
    live.wait_for(lambda: live.running("app=web") == 3 and live.running("app=db") == 2)
