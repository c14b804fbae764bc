"""Load by wrk, which is a small part of what it loads: one thread of it sends more than 100,000 requests a second."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pods

SCRIPT = Path(__file__).with_name("wrk.lua")
MISSING = """\
bench: wrk is not installed, and without it there is no load. It is in most distributions:
  apt-get install wrk      dnf install wrk      brew install wrk"""


@dataclass(frozen=True, slots=True)
class Load:
    """The requests to send.

    Attributes:
        path: of the URL; for GETs of many pods with pods.NAME in place of the name.
        connections: how many ask at once, each again as soon as it has its answer.
        accept: the form that is asked for.
        post: the file of the pod to POST; None for GET.
        names: how many pods the GETs are spread over; 0 where the path has no name to replace.
    """

    path: str
    connections: int
    accept: str = "application/json"
    post: Path | None = None
    names: int = 0


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load: times in ms, the rate in requests per second."""

    rate: float
    mean: float
    p50: float
    p99: float
    max: float
    requests: int


def is_installed() -> bool:
    """Return whether wrk is installed."""
    return shutil.which("wrk") is not None


def version() -> str:
    """Return the version that wrk prints."""
    output = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    return output.split("[")[0].removeprefix("wrk").strip()


def run(url: str, token: str, load: Load, *, seconds: float, letters: str = "aaa") -> LoadResult:
    """Load a server with wrk.

    Args:
        url: of the server.
        token: who asks.
        load: what to ask for.
        seconds: how long.
        letters: three that the names of this run's pods have in common, and no others.

    Raises:
        RuntimeError: an answer was not 2xx or did not come.
    """
    environment = os.environ | {"BENCH_RUN": letters, "BENCH_NAME": pods.NAME}
    if load.post is not None:
        environment["BENCH_POST"] = str(load.post)
    if load.names:
        environment["BENCH_NAMES"] = str(load.names)
    done = subprocess.run(
        _command(url, token, load, seconds), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode or not done.stderr.startswith("{"):
        raise RuntimeError(f"wrk: {done.stdout}{done.stderr}")
    output = json.loads(done.stderr)
    if output["errors"]:
        raise RuntimeError(f"{output['errors']} of {output['requests']} requests for {load.path} failed")
    rate = output["requests"] / output["seconds"]
    return LoadResult(rate, output["mean"], output["p50"], output["p99"], output["max"], output["requests"])


def _command(url: str, token: str, load: Load, seconds: float) -> list[str]:
    headers = {"Authorization": f"Bearer {token}", "Accept": load.accept}
    if load.post is not None:
        headers["Content-Type"] = "application/json"
    flags = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    amount = ["-t1", f"-c{load.connections}", f"-d{seconds:.0f}s", "--timeout", "30s"]
    return ["wrk", *amount, "-s", str(SCRIPT), *flags, f"{url}{load.path}"]
