"""compose.yaml, .env and what they name: what can be seen without an engine."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import compose_stack
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema.validators import validator_for

from apiserver.listening import SHUTDOWN
from etcd.cluster_store import CLOSE_TIMEOUT

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
FILE = yaml.safe_load(TEXT)
SERVICES = FILE["services"]
MONITORING = {"prometheus", "grafana"}
PROMETHEUS = yaml.safe_load((ROOT / "docs/containers/prometheus.yml").read_text())
PATH = re.compile(r"(?:^|=)(/[^=]+)")

each_service = pytest.mark.parametrize("name", SERVICES)


def schema() -> Any:
    """That of the Compose specification, which check-jsonschema carries."""
    return get_builtin_schema("vendor.compose-spec")


def faults(document: Any) -> list[str]:
    rules = schema()
    return [f"{error.json_path}: {error.message}" for error in validator_for(rules)(rules).iter_errors(document)]


def words(service: Any) -> list[str]:
    """Return the words that a service runs: its command, and its health check."""
    return [*service["command"], *service["healthcheck"].get("test", [])] if "command" in service else []


def test_it_is_what_the_compose_specification_allows() -> None:
    assert faults(FILE) == []
    assert faults(compose_stack.interpolated(FILE, compose_stack.settings())) == []


@pytest.mark.parametrize(
    "harm", [{"imagine": "a"}, {"ports": 80}, {"depends_on": {"a": {"condition": "service_well"}}}], ids=str
)
def test_the_schema_sees_what_is_wrong(harm: Any) -> None:
    assert faults({"services": {"a": {"image": "a"} | harm}})


def test_the_settings_are_those_that_are_asked_for_and_no_secrets() -> None:
    asked = set(re.findall(r"\$\{(\w+)", TEXT))
    assert set(compose_stack.settings()) == asked
    assert all(value.isdecimal() for value in compose_stack.settings().values())


@each_service
def test_it_runs_as_nobody_in_particular_and_may_do_nothing_in_particular(name: str) -> None:
    service = SERVICES[name]
    assert service["user"].split(":")[0] not in {"", "0", "root"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"privileged", "cap_add", "pid", "ipc", "devices", "env_file"}


@each_service
def test_ports_are_published_on_loopback_alone_and_where_the_settings_say(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\$\{\w+_PORT:\?see \.env\}:\d+", port)


def test_nobody_but_the_server_reaches_etcd() -> None:
    assert "ports" not in SERVICES["etcd"]
    assert FILE["networks"]["store"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "store" in service.get("networks", [])} == {
        "etcd",
        "apiserver",
    }
    assert SERVICES["etcd"]["networks"] == ["store"]
    assert "--client-cert-auth" in SERVICES["etcd"]["command"]
    mounted = {name for name, service in SERVICES.items() if any("etcd-cert" in v for v in service.get("volumes", []))}
    assert mounted == {"certificates", "etcd", "apiserver"}


def test_clients_speak_tls_to_the_server() -> None:
    for service in SERVICES.values():
        assert not re.search(r"http://(apiserver|[\w.]+:6443)", " ".join(words(service)))
    server = SERVICES["apiserver"]["command"]
    assert {"--tls-cert-file", "--client-ca-file", "--token-auth-file"} <= {word.split("=")[0] for word in server}


@each_service
def test_each_service_but_the_one_that_ends_says_whether_it_is_well(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    if name == "certificates":
        assert check == {"disable": True}
        assert SERVICES[name]["restart"] == "no"
    else:
        assert check["test"][0] == "CMD"
        assert {"interval", "timeout", "start_period", "retries"} <= check.keys()
        assert SERVICES[name]["restart"] == "unless-stopped"


@each_service
def test_it_waits_for_what_it_needs_to_be_well(name: str) -> None:
    for other, condition in SERVICES[name].get("depends_on", {}).items():
        ends = SERVICES[other]["restart"] == "no"
        assert condition == {"condition": "service_completed_successfully" if ends else "service_healthy"}
    needed = {"certificates": set(), "etcd": {"certificates"}, "apiserver": {"etcd"}}
    assert SERVICES[name].get("depends_on", {}).keys() == needed.get(
        name, {"prometheus"} if name == "grafana" else {"apiserver"}
    )


def test_monitoring_is_behind_a_profile_and_the_rest_is_not() -> None:
    assert {name for name, service in SERVICES.items() if service.get("profiles") == ["monitoring"]} == MONITORING
    assert {name for name, service in SERVICES.items() if "profiles" in service} == MONITORING


def test_images_of_others_have_a_version_and_ours_are_built_and_never_pulled() -> None:
    for name, service in SERVICES.items():
        if name in MONITORING:
            assert re.fullmatch(r"\w+/\w+:v?\d+\.\d+\.\d+", service["image"])
        else:
            assert service["pull_policy"] == "never"
    built = {service["image"]: service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert built == {"mockube": "mockube", "mockube-etcd": "etcd"}


@each_service
def test_what_it_reads_and_writes_is_in_a_volume(name: str) -> None:
    service = SERVICES[name]
    places = [*compose_stack.mounts(service), *(each.split(":")[0] for each in service.get("tmpfs", [])), "/dev/null"]
    for word in words(service):
        if "//" not in word:
            for path in PATH.findall(word):
                assert any(path == mount or path.startswith(f"{mount}/") for mount in places), path


@each_service
def test_only_its_own_data_are_writable(name: str) -> None:
    writable = {volume.split(":")[0] for volume in SERVICES[name].get("volumes", []) if not volume.endswith(":ro")}
    own = {
        "certificates": {"certificates", "etcd-certificates"},
        "etcd": {"etcd-data"},
        "prometheus": {"prometheus-data"},
    }
    assert writable == own.get(name, set())


def test_every_volume_and_every_file_that_is_mounted_is_there() -> None:
    sources = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {source for source in sources if not source.startswith(".")} == FILE["volumes"].keys()
    assert all((ROOT / source).exists() for source in sources if source.startswith("."))


# -- the configuration of Prometheus and Grafana


def listening() -> set[str]:
    """Return the addresses that listen to others in the network, as NAME:PORT."""
    ports: set[str] = set()
    for name, service in SERVICES.items():
        ports.update(f"{name}:{port.rsplit(':', 1)[1]}" for port in service.get("ports", []))
    return ports


def test_prometheus_scrapes_what_listens_under_the_jobs_of_the_other_settings() -> None:
    jobs = {job["job_name"]: job for job in PROMETHEUS["scrape_configs"]}
    of_host = yaml.safe_load((ROOT / "docs/prometheus.yml").read_text())
    assert jobs.keys() == {job["job_name"] for job in of_host["scrape_configs"]}
    targets = {target for job in jobs.values() for group in job["static_configs"] for target in group["targets"]}
    assert targets == {"apiserver:6443", "controller-manager:10252"} <= listening()


def test_prometheus_may_read_the_certificates_that_its_configuration_names() -> None:
    (tls,) = (job["tls_config"] for job in PROMETHEUS["scrape_configs"] if "tls_config" in job)
    assert all(path.startswith("/etc/mockube/pki/") for path in tls.values())
    assert "insecure_skip_verify" not in tls
    assert compose_stack.mounts(SERVICES["prometheus"])["/etc/mockube"] == "certificates"
    assert SERVICES["prometheus"]["user"].split(":")[0] == SERVICES["certificates"]["user"].split(":")[0]


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    provisioning = ROOT / "docs/containers/grafana"
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text())["datasources"]
    assert (source["type"], source["isDefault"]) == ("prometheus", True)
    assert source["url"].removeprefix("http://") in listening()
    assert source["jsonData"]["timeInterval"] == PROMETHEUS["global"]["scrape_interval"]
    (provider,) = yaml.safe_load((provisioning / "dashboards/mockube.yml").read_text())["providers"]
    folder = ROOT / compose_stack.mounts(SERVICES["grafana"])[provider["options"]["path"]]
    boards = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    assert [board["templating"]["list"][0]["query"] for board in boards] == ["prometheus"]


def test_nobody_can_change_anything_in_grafana() -> None:
    settings = SERVICES["grafana"]["environment"]
    assert settings["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    for name in ("GF_AUTH_DISABLE_LOGIN_FORM", "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"):
        assert settings[name] == "true"
    assert settings["GF_AUTH_BASIC_ENABLED"] == "false"
    assert not any("PASSWORD" in name for name in settings)


# -- what the page tells


def page() -> str:
    return (ROOT / "docs/containers.md").read_text()


def test_the_page_tells_of_every_setting_and_its_value() -> None:
    table = page().partition("## Settings")[2].partition("\n\nOther flags")[0]
    assert dict(re.findall(r"`(\w+)=(\w+)`", table)) == compose_stack.settings()


def test_the_page_tells_of_every_volume_and_every_service() -> None:
    volumes = page().partition("## Volumes")[2].partition("\n\nAll files")[0]
    assert set(re.findall(r"^\| `mockube_([\w-]+)`", volumes, re.MULTILINE)) == FILE["volumes"].keys()
    services = page().partition("## What runs")[2].partition("\n\nThey start")[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", services, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    }
    assert named == SERVICES.keys()


def test_paths_in_containers_that_the_page_names_are_made_by_the_service_of_certificates() -> None:
    named = set(re.findall(r"(?:apiserver:|cat )(/etc/mockube/\S+)", page()))
    made = " ".join(SERVICES["certificates"]["command"])
    assert named == {"/etc/mockube/kubeconfig"}
    assert "--kubeconfig=/etc/mockube/kubeconfig=" in made


def test_what_the_page_saves_of_etcd_is_saved(stack: Any) -> None:
    line = re.search(
        r"exec (etcd) (etcdctl .*?snapshot save \S+)$", page().replace("\\\n>  ", ""), re.DOTALL | re.MULTILINE
    )
    assert line is not None
    words = [*line[2].split()[:-2], "save", str(stack.folder / "snapshot.db")]
    subprocess.run(stack.command(line[1], words), check=True, capture_output=True, env=stack.environment("etcd"))
    assert (stack.folder / "snapshot.db").stat().st_size > 10_000


def test_what_the_server_may_wait_for_at_its_end_fits_into_what_an_engine_grants() -> None:
    assert not any("stop_grace_period" in service for service in SERVICES.values())
    assert SHUTDOWN + CLOSE_TIMEOUT < compose_stack.GRACE
