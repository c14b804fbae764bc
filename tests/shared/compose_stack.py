"""compose.yaml without an engine: its services as processes, their names on loopback, volumes as directories."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from patience import SECONDS

ROOT: Final = Path(__file__).parents[2]
PROGRAMS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "mockube": {"python": [sys.executable], "mockube": [sys.executable, "-m", "mockube"]},
    "mockube-etcd": {"etcd": ["etcd"], "etcdctl": ["etcdctl"]},
}
"""Image → what stands in its PATH and is started for it here."""
GRACE: Final = 10.0
"""Seconds that an engine grants a service that it stops, unless the file says otherwise."""
PORT: Final = re.compile(r"(?:0\.0\.0\.0|127\.0\.0\.1|(?P<name>[a-z][a-z-]*)):(?P<port>\d+)")
PORT_FLAG: Final = re.compile(r"-port=(\d+)$")


def settings() -> dict[str, str]:
    """Return the variables that .env sets."""
    lines = (ROOT / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """Return a value of the file with its variables replaced; raise KeyError for one that is not set."""
    if isinstance(value, dict):
        return {key: interpolated(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolated(each, variables) for each in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)(?::\?[^}]*)?\}", lambda match: variables[match[1]], value)
    return value


def file() -> dict[str, Any]:
    """compose.yaml as it is, with its anchors in place."""
    composed: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return composed


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def mounts(service: Mapping[str, Any]) -> dict[str, str]:
    """Target → source of what a service mounts."""
    return {volume.split(":")[1]: volume.split(":")[0] for volume in service.get("volumes", [])}


@dataclass
class Stack:
    """The services of the file that have no profile.

    Attributes:
        folder: where volumes and what is said lie.
        published: port of the host, by the name of its variable.
        services: as the file has them, interpolated.
    """

    folder: Path
    published: Mapping[str, str]
    services: Mapping[str, dict[str, Any]]
    ports: dict[tuple[str, str], int] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def volume(self, name: str) -> Path:
        """A volume, or a file of the checkout."""
        return ROOT / name if name.startswith(".") else self.folder / "volumes" / name

    def here(self, service: str, text: str) -> str:
        """Return a word of a service's command as it is for a process on this machine."""
        text = PORT.sub(
            lambda match: self._address(match["name"] or service, match["port"]), self.placed(service, text)
        )
        text = PORT_FLAG.sub(lambda match: f"-port={self._port(service, match[1])}", text)
        text = text.removesuffix("=0.0.0.0") + "=127.0.0.1" if text.endswith("=0.0.0.0") else text
        name = text.partition("-address=")[2]
        return text.replace(f"={name}", "=127.0.0.1") if name in self.services else text

    def placed(self, service: str, text: str) -> str:
        """Return a word of a service's command with the paths of volumes as they are here."""
        places = mounts(self.services[service])
        targets = "|".join(map(re.escape, places))
        if not places:
            return text
        return re.sub(rf"(?:^|(?<==))({targets})(?=/|$)", lambda match: str(self.volume(places[match[1]])), text)

    def _address(self, service: str, port: str) -> str:
        is_ours = port in self.published.values() or service not in self.services
        return f"127.0.0.1:{port if is_ours else self._port(service, port)}"

    def _port(self, service: str, port: str) -> int:
        if (service, port) not in self.ports:
            inside = {each.rsplit(":", 1)[1]: each.split(":")[1] for each in self.services[service].get("ports", [])}
            self.ports[service, port] = int(inside.get(port, free_port()))
        return self.ports[service, port]

    def command(self, service: str, words: Sequence[str]) -> list[str]:
        """Return the command to run here in place of a command in the service's container."""
        program, *rest = words
        return [*PROGRAMS[self.services[service]["image"]][program], *(self.here(service, word) for word in rest)]

    def log(self, service: str) -> Path:
        return self.folder / f"{service}.log"

    def environment(self, service: str) -> dict[str, str]:
        """Return the environment of a service: nothing of this process's own but the PATH."""
        return {"PATH": os.environ["PATH"], "PYTHONSAFEPATH": "1", **self.services[service].get("environment", {})}

    def up(self) -> None:
        """Start the services in their order; raises AssertionError with the last words of one that does not come up."""
        for service in self.order():
            for name, condition in self.services[service].get("depends_on", {}).items():
                self._wait(name, condition["condition"])
            with self.log(service).open("ab") as log:
                self.running[service] = subprocess.Popen(
                    self.command(service, self.services[service]["command"]),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    env=self.environment(service),
                )
        for service, condition in self.services.items():
            if not condition["healthcheck"].get("disable"):
                self._wait(service, "service_healthy")

    def order(self) -> Iterator[str]:
        """The services, each after those that it depends on."""
        done: set[str] = set()
        while len(done) < len(self.services):
            ready = [
                name
                for name, service in self.services.items()
                if name not in done and set(service.get("depends_on", {})) <= done
            ]
            assert ready, "the services wait for each other"
            done.update(ready)
            yield from ready

    def _wait(self, service: str, condition: str) -> None:
        process = self.running[service]
        end = time.monotonic() + SECONDS
        if condition == "service_completed_successfully":
            assert process.wait(SECONDS) == 0, self.log(service).read_text()
            return
        assert condition == "service_healthy"
        while not self.is_well(service):
            assert process.poll() is None, f"{service} ended: {self.log(service).read_text()}"
            assert time.monotonic() < end, f"{service} does not get well: {self.log(service).read_text()}"
            time.sleep(0.05)

    def is_well(self, service: str) -> bool:
        """Return whether the service's health check succeeds."""
        kind, *words = self.services[service]["healthcheck"]["test"]
        assert kind == "CMD"
        ran = subprocess.run(
            self.command(service, words),
            capture_output=True,
            env=self.environment(service),
            cwd=self.folder,
            timeout=SECONDS,
            check=False,
        )
        return ran.returncode == 0

    def down(self) -> dict[str, int]:
        """Stop the services as an engine does, the last one first; their exit codes, -9 for one that was killed.

        An engine grants GRACE seconds; here a slow machine gets more.
        """
        codes = {}
        for service, process in reversed(self.running.items()):
            process.terminate()
            try:
                codes[service] = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                codes[service] = process.wait()
        self.running.clear()
        return codes


@dataclass
class ContainedStack(Stack):
    """The same, each service with a network of its own where names are names, nothing to write to but its volumes, and
    no capabilities: what an engine gives them. It needs root.

    Attributes:
        places: the network namespace of a service.
        hosts: its address.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)

    def here(self, service: str, text: str) -> str:
        return self.placed(service, text)

    def command(self, service: str, words: Sequence[str]) -> list[str]:
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{self.hosts[name]} {name}\n" for name in self.services))
        done = [f"mount --bind {names} /etc/hosts"]
        for volume in self.services[service]["volumes"]:
            source, _, *options = volume.split(":")
            mounted = self.volume(source)
            done.append(f"mount --bind {mounted} {mounted}")
            if options == ["ro"]:
                done.append(f"mount -o remount,bind,ro {mounted}")
        done += ["mount -o remount,bind,ro /", "cd /"]
        contained = "setpriv --no-new-privs --bounding-set=-all --inh-caps=-all"
        done.append(f"exec {contained} {shlex.join(super().command(service, words))}")
        around = ["ip", "netns", "exec", self.places[service], "unshare", "--mount", "--propagation", "private"]
        return [*around, "sh", "-c", " && ".join(done)]


StackOrContained = TypeVar("StackOrContained", bound=Stack)


def manifest() -> list[dict[str, Any]]:
    """The objects of docs/kubernetes/mockube.yaml."""
    return list(yaml.safe_load_all((ROOT / "docs/kubernetes/mockube.yaml").read_text()))


def pod() -> dict[str, dict[str, Any]]:
    """The containers of that manifest's pod, in their order, as if they were services of a file."""
    spec = manifest()[-1]["spec"]["template"]["spec"]
    services: dict[str, dict[str, Any]] = {}
    for container in (*spec["initContainers"], *spec["containers"]):
        before = {name: {"condition": _condition(service)} for name, service in list(services.items())[-1:]}
        services[container["name"]] = {
            "image": container["image"],
            "command": container["command"],
            "volumes": [
                f"{each.get('subPath', each['name'])}:{each['mountPath']}" for each in container["volumeMounts"]
            ],
            "healthcheck": _check(container),
            "depends_on": before,
        }
    return services


def _condition(service: Mapping[str, Any]) -> str:
    return "service_completed_successfully" if service["healthcheck"].get("disable") else "service_healthy"


def _check(container: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first probe of a container as a health check."""
    probe = container.get("startupProbe") or container.get("readinessProbe")
    if probe is None:
        return {"disable": True}
    if "exec" in probe:
        return {"test": ["CMD", *probe["exec"]["command"]]}
    asked = probe["httpGet"]
    (port,) = (each["containerPort"] for each in container["ports"] if each["name"] == asked["port"])
    url = f"{asked.get('scheme', 'HTTP').lower()}://127.0.0.1:{port}{asked['path']}"
    return {"test": ["CMD", "mockube", "ready", url, "--certificate-authority=/etc/mockube/pki/ca.crt"]}


@contextmanager
def standing(folder: Path) -> Iterator[Stack]:
    """The services of compose.yaml, all of them well."""
    published = {name: str(free_port()) for name in settings() if name.endswith("_PORT")}
    services = interpolated(file()["services"], settings() | published)
    services_up = {name: service for name, service in services.items() if "profiles" not in service}
    with _up(Stack(folder, published, services_up)) as stack:
        yield stack


@contextmanager
def standing_contained(folder: Path, network: Any) -> Iterator[ContainedStack]:
    """The services of compose.yaml as they are, all of them well, on a network with room for them."""
    services = interpolated(file()["services"], settings())
    services_up = {name: service for name, service in services.items() if "profiles" not in service}
    places = {name: network.namespace(number) for number, name in enumerate(services_up)}
    hosts = {name: network.host(number) for number, name in enumerate(services_up)}
    with _up(ContainedStack(folder, {}, services_up, places=places, hosts=hosts)) as stack:
        yield stack


@contextmanager
def standing_pod(folder: Path) -> Iterator[Stack]:
    """The containers of the manifest's pod, all of them well; they have one loopback."""
    services = pod()
    ports = {port: free_port() for port in ("2379", "2380", "6443", "10252")}
    shared = {(name, port): number for name in services for port, number in ports.items()}
    with _up(Stack(folder, {}, services, shared)) as stack:
        yield stack


@contextmanager
def _up(stack: StackOrContained) -> Iterator[StackOrContained]:
    names = {source for service in stack.services.values() for source in mounts(service).values()}
    for name in names:
        if not name.startswith("."):
            stack.volume(name).mkdir(mode=0o700, parents=True)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()
        shutil.rmtree(stack.folder / "volumes")
