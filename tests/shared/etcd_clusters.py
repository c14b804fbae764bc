"""Members of etcd that a test starts, kills and pauses; etcd_networks.py has what stands between them."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patience import SECONDS

LOOPBACK = "127.0.0.1"
ATTEMPTS = 3
"""The attempts to start a cluster, as somebody may have taken one of its ports meanwhile."""


def free_port(host: str = LOOPBACK) -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind((host, 0))
        return int(listener.getsockname()[1])


@dataclass
class Member:
    """One process of etcd.

    Attributes:
        name: in the cluster.
        folder: where its data and what it says lie.
        client, peer: its ports.
        flags: more of etcd's flags.
        host: its address.
        around: a command that it is started by.
        state: "new", or "existing" where it joins a cluster that is there.
        peers: the URLs by which all members find each other, of itself too, by name.
        met: the URL by which the others find it, "" if that is where it listens.
        trust: how to talk to it, where it speaks TLS.
    """

    name: str
    folder: Path
    client: int
    peer: int
    flags: Sequence[str] = ()
    host: str = LOOPBACK
    around: Sequence[str] = ()
    state: str = "new"
    peers: Mapping[str, str] = field(default_factory=dict)
    met: str = ""
    trust: ssl.SSLContext | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.trust else 'http'}://{self.host}:{self.client}"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self) -> None:
        """Start it; it is ready when `wait` has come back."""
        command = [
            *self.around,
            "etcd",
            *("--name", self.name, "--data-dir", str(self.folder / "data")),
            *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
            *("--listen-peer-urls", f"http://{self.host}:{self.peer}", "--initial-advertise-peer-urls", self.met),
            *("--initial-cluster", ",".join(f"{name}={url}" for name, url in self.peers.items())),
            *("--initial-cluster-state", self.state, "--logger", "zap", "--log-level", "warn"),
            *self.flags,
        ]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self) -> None:
        """Wait until it answers a linearizable read; raises RuntimeError with its last words if it ends."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"etcd ended: {self.log.read_text()[-2000:]}")
            with suppress(OSError):
                self.call("kv/range", soon=True, key="AA==")
                return
            time.sleep(0.02)
        raise RuntimeError(f"etcd is not ready after {SECONDS} s: {self.log.read_text()[-2000:]}")

    def call(self, method: str, *, soon: bool = False, **request: Any) -> dict[str, Any]:
        """Return its answer to a call; who asks again sets `soon`. Raise OSError if it refuses or does not answer."""
        asked = urllib.request.Request(f"{self.url}/v3/{method}", json.dumps(request).encode())
        with urllib.request.urlopen(asked, timeout=5 if soon else SECONDS, context=self.trust) as answer:
            reply: dict[str, Any] = json.load(answer)
        return reply

    def said(self, method: str, token: str, **request: Any) -> str:
        """Return its answer to a caller with a token, a refusal too."""
        asked = urllib.request.Request(
            f"{self.url}/v3/{method}", json.dumps(request).encode(), {"Authorization": token}
        )
        try:
            with urllib.request.urlopen(asked, timeout=SECONDS, context=self.trust) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.read().decode()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.process
        self.process.send_signal(number)

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class EtcdCluster:
    """The members of one etcd cluster."""

    members: list[Member]

    @property
    def url(self) -> str:
        """The URL to open a store with."""
        return ",".join(member.url for member in self.members)

    def start(self) -> None:
        for member in self.members:
            member.start()
        for member in self.members:
            member.wait()

    def kill(self) -> None:
        for member in self.members:
            member.kill()

    def leader(self) -> Member:
        """The member that leads."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for member in self.members:
                with suppress(OSError):
                    status = member.call("maintenance/status", soon=True)
                    if status.get("leader") == status["header"]["member_id"]:
                        return member
            time.sleep(0.02)
        raise RuntimeError("no member leads")


FAST = ("--heartbeat-interval", "50", "--election-timeout", "500")
"""So that a cluster of a test has a leader again soon after it has lost one."""


@contextmanager
def running(
    folder: Path,
    size: int = 1,
    *,
    flags: Sequence[str] = (),
    trust: ssl.SSLContext | None = None,
    net: Any = None,
) -> Iterator[EtcdCluster]:
    """A cluster on loopback, or on a network of etcd_networks.py."""
    for attempt in range(ATTEMPTS):
        cluster = _cluster(folder / str(attempt), size, net, flags=(*FAST, *flags), trust=trust)
        try:
            try:
                cluster.start()
            except RuntimeError as error:
                if "address already in use" not in str(error) or attempt == ATTEMPTS - 1:
                    raise
                continue
            yield cluster
            return
        finally:
            cluster.kill()
            shutil.rmtree(folder / str(attempt), ignore_errors=True)


def _cluster(folder: Path, size: int, net: Any, **options: Any) -> EtcdCluster:
    members = []
    for number in range(size):
        seat = net.seat(number) if net else {"client": free_port(), "peer": free_port()}
        members.append(Member(f"m{number}", folder / f"m{number}", **seat, **options))
    for member in members:
        member.met = member.met or f"http://{member.host}:{member.peer}"
    for member in members:
        member.peers = {each.name: each.met for each in members}
    return EtcdCluster(members)
