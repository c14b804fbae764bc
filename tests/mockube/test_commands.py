import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from http.client import HTTPSConnection
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from patience import SECONDS

from apiserver.api.schema import available_versions

Refused = Callable[..., str]
NEWEST = available_versions()[-1]
LOGGED = re.compile(r'time="[^"]+" level=[A-Z]+ logger=[a-z.]+ msg="(?:[^"\\]|\\.)*"(?: error="(?:[^"\\]|\\.)*")?')
"""A line of the log, in logfmt."""


class Client:
    """Speaks to the server that a kubeconfig leads to, as the kubeconfig says and with nothing else."""

    def __init__(self, kubeconfig: str | Path) -> None:
        config = yaml.safe_load(Path(kubeconfig).read_text())
        cluster = config["clusters"][-1]["cluster"]
        self._token = config["users"][-1]["user"]["token"]
        self._place = cluster["server"].removeprefix("https://")
        self._trust = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())

    def open(self, method: str, path: str, body: Any = None) -> tuple[HTTPSConnection, Any]:
        connection = HTTPSConnection(self._place, context=self._trust, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        return connection, connection.getresponse()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection, response = self.open(method, path, body)
        answer = json.loads(response.read())
        connection.close()
        assert response.status < 300, answer
        return answer


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_it_says_where_it_is_and_how_to_reach_it_and_nothing_else(up: Any, home: Path) -> None:
    server = up()
    data = home / ".local" / "share" / "mockube"
    pattern = rf"""Kubernetes {NEWEST} is ready at https://127\.0\.0\.1:\d+ after \d+\.\d\d s\.

  export KUBECONFIG={data}/kubeconfig

Data is kept in {data}\. Ctrl-C stops the cluster\.
"""
    assert re.fullmatch(pattern, server.greeting), server.greeting
    assert server.stop() == (0, "", "")


def test_the_kubeconfig_that_it_names_leads_to_it(up: Any) -> None:
    server = up()
    client = Client(server.kubeconfig)
    assert client.ask("GET", "/version")["minor"] == NEWEST.partition(".")[2]
    names = {each["metadata"]["name"] for each in client.ask("GET", "/api/v1/namespaces")["items"]}
    assert names == {"default", "kube-node-lease", "kube-public", "kube-system"}


def test_everything_that_it_writes_is_its_owners_alone(up: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    up("--data-dir", data)
    modes = {path.relative_to(data): path.stat().st_mode & 0o777 for path in (data, *data.rglob("*"))}
    assert {str(name): oct(mode) for name, mode in modes.items() if mode not in (0o600, 0o700)} == {}
    assert {str(name) for name in modes} >= {"kubeconfig", "lock", "pki", "pki/ca.key", "pki/tokens.csv", "store.db"}


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_watches_and_the_server_with_exit_code_0(up: Any, name: signal.Signals) -> None:
    server = up()
    client = Client(server.kubeconfig)
    connection, watch = client.open("GET", f"{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name=seen")
    client.ask("POST", CONFIG_MAPS, config_map("seen"))
    assert json.loads(watch.readline())["object"]["metadata"]["name"] == "seen"
    assert server.stop(name) == (0, "", "")
    assert watch.read() == b""
    connection.close()


def test_the_next_start_has_the_same_objects_and_the_same_credentials(up: Any, tmp_path: Path) -> None:
    first = up("--data-dir", tmp_path)
    made = Client(first.kubeconfig).ask("POST", CONFIG_MAPS, config_map("kept"))
    token = yaml.safe_load(Path(first.kubeconfig).read_text())["users"]
    assert first.stop() == (0, "", "")
    second = up("--data-dir", tmp_path)
    assert Client(second.kubeconfig).ask("GET", f"{CONFIG_MAPS}/kept") == made
    assert yaml.safe_load(Path(second.kubeconfig).read_text())["users"] == token


def test_a_killed_server_can_be_started_again_at_once(up: Any, tmp_path: Path) -> None:
    first = up("--data-dir", tmp_path)
    made = Client(first.kubeconfig).ask("POST", CONFIG_MAPS, config_map("kept"))
    assert first.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    second = up("--data-dir", tmp_path)
    assert Client(second.kubeconfig).ask("GET", f"{CONFIG_MAPS}/kept") == made


@pytest.mark.parametrize("store", ["memory", "memory://"])
def test_a_store_in_memory_is_forgotten(up: Any, tmp_path: Path, store: str) -> None:
    server = up("--data-dir", tmp_path, "--store", store)
    assert server.greeting.endswith("\nNothing is kept. Ctrl-C stops the cluster.\n")
    server.stop()
    assert {path.name for path in tmp_path.iterdir()} == {"kubeconfig", "lock", "pki"}


def test_an_older_release_can_be_chosen(up: Any) -> None:
    server = up("--kubernetes-version", "v1.30", "--store", "memory")
    assert Client(server.kubeconfig).ask("GET", "/version")["gitVersion"] == "v1.30.0"


@pytest.mark.kubectl
@pytest.mark.parametrize(("flags", "printed"), [([], 1), (["--no-unsupported-warnings"], 0)])
def test_who_stores_what_nothing_acts_on_is_warned_unless_that_is_not_wanted(
    up: Any, kubectl_at: Any, flags: list[str], printed: int
) -> None:
    kubectl = kubectl_at(Path(up(*flags).kubeconfig))
    done = kubectl.run("create job j --image=busybox")
    assert done.out == "job.batch/j created\n"
    assert done.err.count("Warning: mockube has no Job controller") == printed


def test_the_cluster_is_added_to_a_kubeconfig_that_is_named(up: Any, tmp_path: Path) -> None:
    config = tmp_path / "my config"
    config.write_text("apiVersion: v1\nkind: Config\ncontexts: [{name: prod, context: {cluster: prod}}]\n")
    server = up("--store", "memory", "--kubeconfig", config)
    assert f"export KUBECONFIG='{config}'\n" in server.greeting
    merged = yaml.safe_load(config.read_text())
    assert [each["name"] for each in merged["contexts"]] == ["prod", "mockube"]
    assert Client(config).ask("GET", "/api/v1/namespaces/default")["kind"] == "Namespace"


def test_data_lie_where_the_xdg_specification_says(up: Any, environment: dict[str, str], tmp_path: Path) -> None:
    environment["XDG_DATA_HOME"] = str(tmp_path / "xdg")
    assert up().kubeconfig == str(tmp_path / "xdg" / "mockube" / "kubeconfig")


def test_verbose_tells_every_request_and_no_token(up: Any) -> None:
    server = up("-v", "--store", "memory")
    Client(server.kubeconfig).ask("GET", "/api/v1/namespaces/default")
    token = yaml.safe_load(Path(server.kubeconfig).read_text())["users"][0]["user"]["token"]
    _, _, log = server.stop()
    assert '\\"GET /api/v1/namespaces/default\\" 200' in log
    assert all(LOGGED.fullmatch(line) for line in log.splitlines())
    assert token not in log


def test_listening_everywhere_is_reached_by_loopback(up: Any) -> None:
    server = up("--bind", "0.0.0.0", "--store", "memory")
    assert server.url.startswith("https://127.0.0.1:")
    assert Client(server.kubeconfig).ask("GET", "/version")["major"] == "1"


def test_a_taken_port(refused: Refused) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert refused("up", "--store", "memory", "--port", str(port)) == (
            f"mockube: cannot listen on 127.0.0.1:{port}: Address already in use; "
            "choose another port, or 0 for any free one"
        )


def test_an_address_that_is_not_of_this_machine(refused: Refused) -> None:
    said = refused("up", "--store", "memory", "--port", "0", "--bind", "192.0.2.1")
    assert said.startswith(
        "mockube: cannot listen on 192.0.2.1:0: Cannot assign requested address; choose another address"
    )


def test_a_second_server_in_the_same_directory(up: Any, refused: Refused, tmp_path: Path) -> None:
    first = up("--data-dir", tmp_path)
    assert refused("up", "--data-dir", tmp_path, "--port", "0") == (
        f"mockube: {tmp_path} is in use by process {first.process.pid}; stop it, or choose another with --data-dir"
    )
    assert first.stop() == (0, "", "")


def test_a_data_directory_that_cannot_be_made(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused("up", "--data-dir", tmp_path / "file" / "data") == (
        f"mockube: {tmp_path}/file/data: Not a directory; name a place that can be written with --data-dir"
    )


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(4080)])
def test_a_damaged_database_is_refused_and_left_alone(refused: Refused, tmp_path: Path, content: bytes) -> None:
    store = tmp_path / "store.db"
    store.write_bytes(content)
    said = refused("up", "--data-dir", tmp_path, "--port", "0")
    assert said.startswith(f"mockube: The database {store} is damaged: ")
    assert said.endswith("Restore the file from a backup, or move it away to start with an empty store.")
    assert store.read_bytes() == content


def test_an_invalid_kubeconfig(refused: Refused, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("kind: Pod\n")
    assert refused("up", "--port", "0", "--kubeconfig", config) == (
        f"mockube: {config} cannot be added to: it is no kubeconfig; name another file with --kubeconfig"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["up", "--kubernetes-version", "1.2"],
            f"mockube: Kubernetes 1.2 is not known here: choose one of {available_versions()[0]} to {NEWEST}",
        ),
        (["up", "--port", "99999"], "mockube up: argument --port: 99999 is no port: give a number from 0 to 65535"),
        (["up", "--port", "http"], "mockube up: argument --port: http is no port: give a number from 0 to 65535"),
        (["up", "--storage", "x"], "mockube: unrecognized arguments: --storage x"),
        (["down"], "mockube: argument COMMAND: invalid choice: 'down'"),
        ([], "mockube: the following arguments are required: COMMAND"),
        (
            ["up", "--bind", "999.1.1.1"],
            "mockube: cannot listen on '999.1.1.1': it is neither an IP address nor a host",
        ),
        (["up", "--bind", ""], "mockube: cannot listen on '': it is neither an IP address nor a host name"),
        (["up", "--store", "mysql://x"], "mockube: There is no store 'mysql://x'"),
        (
            ["up", "--store", "http://127.0.0.1:9"],
            "mockube: no member of the etcd cluster answers (http://127.0.0.1:9: ",
        ),
        (["up", "--store", "http://127.0.0.1"], "mockube: 'http://127.0.0.1' is no member of an etcd cluster: give "),
        (
            ["up", "--store", "http://me:secret@127.0.0.1:9"],
            "mockube: A member of an etcd cluster has no user in its URL",
        ),
        (["up", "--apiservers", "0"], "mockube up: argument --apiservers: 0 is no number of processes: give 1 or more"),
        (
            ["up", "--etcd-user", "root", "--store", "http://127.0.0.1:9"],
            "mockube: --etcd-user and --etcd-password-file",
        ),
    ],
)
def test_a_command_line_that_cannot_be_followed(refused: Refused, arguments: list[str], line: str) -> None:
    assert refused(*arguments).startswith(line)


@pytest.mark.parametrize("arguments", [["--help"], ["up", "--help"]])
def test_help_fits_a_terminal(arguments: list[str], environment: dict[str, str]) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "mockube", *arguments],
        capture_output=True, text=True, env=environment | {"COLUMNS": "80"}, check=True,
    ).stdout  # fmt: skip
    assert said.startswith("usage: mockube")
    assert max(map(len, said.splitlines())) <= 80


def test_the_version_is_the_distributions(environment: dict[str, str]) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "mockube", "--version"], capture_output=True, text=True, env=environment, check=True
    )
    assert said.stdout == f"mockube {version('mockube')}\n"


def test_help_comes_without_the_imports_of_a_server() -> None:
    program = "import sys; import mockube.__main__; print({'aiohttp', 'apiserver', 'asyncio', 'yaml'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"
