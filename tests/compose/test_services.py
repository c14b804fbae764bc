"""The services of compose.yaml work together, seen by kubectl, by Prometheus, and by a client that may see nothing."""

import os
import re
import ssl
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compose_stack
import pytest
import yaml
from patience import SECONDS
from prometheus_client.parser import text_string_to_metric_families

Stack = Any
Kubectl = Any
ROOT = Path(__file__).parents[2]
PROMETHEUS = yaml.safe_load((ROOT / "docs/containers/prometheus.yml").read_text())

pytestmark = pytest.mark.kubectl


def test_a_deployment_becomes_available_by_the_kubeconfig_for_the_host(kubectl: Kubectl) -> None:
    kubectl.says("create deployment web --image=nginx --replicas=3", "deployment.apps/web created")
    kubectl.says("wait deployment web --for=condition=Available --timeout=300s", "deployment.apps/web condition met")
    kubectl.says("rollout status deployment web", ".*successfully rolled out")


def test_there_are_as_many_nodes_as_the_settings_say(kubectl: Kubectl) -> None:
    names = kubectl.output("get nodes -o name").split()
    assert names == [f"node/node-{number}" for number in range(1, int(compose_stack.settings()["MOCKUBE_NODES"]) + 1)]


def test_logs_and_exec_find_their_way_from_one_container_to_the_other(kubectl: Kubectl) -> None:
    kubectl.output("run shell --image=nginx")
    kubectl.output("wait pod shell --for=condition=Ready --timeout=300s")
    kubectl.says("exec shell -- echo hello", "hello")
    kubectl.output("logs shell")


def test_kruises_workloads_are_served(kubectl: Kubectl) -> None:
    kubectl.says("get uniteddeployments", "No resources found in default namespace.")


@pytest.mark.parametrize("job", PROMETHEUS["scrape_configs"], ids=lambda job: job["job_name"])
def test_prometheus_gets_metrics_as_its_settings_say(stack: Stack, kubectl: Kubectl, job: Any) -> None:
    kubectl.output("create deployment scraped --image=nginx --dry-run=server")
    mounted = stack.volume("certificates")
    context = None
    if job.get("scheme") == "https":
        files = {name: path.replace("/etc/mockube", str(mounted)) for name, path in job["tls_config"].items()}
        context = ssl.create_default_context(cafile=files["ca_file"])
        context.load_cert_chain(files["cert_file"], files["key_file"])
    (target,) = job["static_configs"][0]["targets"]
    url = f"{job.get('scheme', 'http')}://{stack.here('apiserver', target)}/metrics"
    with urllib.request.urlopen(url, timeout=SECONDS, context=context) as answer:
        families = {family.name for family in text_string_to_metric_families(answer.read().decode())}
    metrics = {"kube-apiserver": "apiserver_storage_objects", "kube-controller-manager": "workqueue_adds"}
    assert metrics[job["job_name"]] in families


def test_who_shows_nothing_is_let_in_nowhere(stack: Stack) -> None:
    trust = ssl.create_default_context(cafile=str(stack.volume("certificates") / "pki/ca.crt"))
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(
            f"https://{stack.here('apiserver', 'apiserver:6443')}/api", timeout=SECONDS, context=trust
        )
    trust = ssl.create_default_context(cafile=str(stack.volume("etcd-certificates") / "pki/ca.crt"))
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        urllib.request.urlopen(
            f"https://{stack.here('apiserver', 'etcd:2379')}/version", timeout=SECONDS, context=trust
        )


def test_what_the_servers_authority_has_signed_does_not_open_etcd(stack: Stack) -> None:
    trust = ssl.create_default_context(cafile=str(stack.volume("etcd-certificates") / "pki/ca.crt"))
    pki = stack.volume("certificates") / "pki"
    trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        urllib.request.urlopen(
            f"https://{stack.here('apiserver', 'etcd:2379')}/version", timeout=SECONDS, context=trust
        )


def files(folder: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(folder):
        yield from (Path(directory) / name for name in names)


def test_all_that_is_secret_is_its_owners_alone(stack: Stack) -> None:
    secrets = [path for name in ("certificates", "etcd-certificates") for path in files(stack.volume(name))]
    assert {"kubeconfig", "tokens.csv", "sa.key", "server.key"} <= {path.name for path in secrets}
    assert {path: mode for path in secrets if (mode := stat.S_IMODE(path.stat().st_mode)) != 0o600} == {}


def test_no_log_tells_a_token_or_a_key(stack: Stack) -> None:
    token = (stack.volume("certificates") / "pki/tokens.csv").read_text().split(",")[0]
    for service in stack.services:
        said = stack.log(service).read_text()
        assert token not in said
        assert "PRIVATE KEY" not in said


def test_services_listen_on_loopback_ports_that_the_settings_name(stack: Stack, kubectl: Kubectl) -> None:
    (server,) = re.findall(r"server: (\S+)", (stack.volume("certificates") / "kubeconfig").read_text())
    assert server == f"https://127.0.0.1:{stack.published['MOCKUBE_PORT']}"


def test_after_a_stop_and_a_start_everything_is_as_it_was(stack: Stack, kubectl: Kubectl) -> None:
    kubectl.output("create configmap kept --from-literal=a=b")
    before = {path: path.read_bytes() for path in files(stack.volume("certificates")) if path.name != "lock"}
    codes = stack.down()
    assert codes.pop("etcd") in {0, -15}  # it ends by the signal that it got
    assert codes == {"controller-manager": 0, "apiserver": 0, "certificates": 0}
    stack.up()
    after = {path: path.read_bytes() for path in files(stack.volume("certificates")) if path.name != "lock"}
    assert after == before
    kubectl.says("get configmap kept -o jsonpath={.data.a}", "b")
    kubectl.output("create deployment later --image=nginx")
    kubectl.says("wait deployment later --for=condition=Available --timeout=300s", ".*condition met")
