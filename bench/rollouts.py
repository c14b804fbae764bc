"""Rows of the controller manager: Deployments from create to Ready, a rolling update, a scale, and quiet afterwards."""

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pods
import wrk
from rows import CONNECTIONS, Bench, Row
from rows import PODS as POST_PATH
from servers import Ask, Server, managed, ours
from templates import TEMPLATES, Template, service

DEPLOYMENTS, REPLICAS = 10, 500
PODS = DEPLOYMENTS * REPLICAS
NODES, NODE_PODS = 20, 330
"""The simulated nodes, and the pods of each: room for 5,000, and a quarter more during a rolling update."""
PATH = "/apis/apps/v1/namespaces/default/deployments"
PATIENCE = 300.0
"""The seconds that a step may take."""
SETTLE, QUIET = 75.0, 30.0
"""The seconds in which a cluster comes to rest (it sends 300 Events per second), and those measured afterwards."""
JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}


def rollouts(bench: Bench) -> Iterator[Row]:
    """Measure rollouts, each round on its own cluster; a round also measures POST to the server alone."""
    rounds = []
    for number in range(bench.effort.rounds):
        bench.say(f"rollouts {number + 1} of {bench.effort.rounds}")
        rate = _post_rate(bench, number)
        rounds.append(_round(bench.directory / f"rollouts{number}", rate, bench))
    yield from _rows(rounds)


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a rollout in one cluster.

    Attributes:
        posts: pods a second that the server alone was given in the same round.
        created, updated, scaled: seconds from the request until all pods were Ready and everything was observed.
        memory: bytes of the manager for each pod above idle.
        quiet: the share of one processor that server and manager use together when nothing happens.
    """

    posts: float
    created: float
    updated: float
    scaled: float
    memory: float
    quiet: float

    @property
    def rate(self) -> float:
        """The number of pods that became Ready per second."""
        return PODS / self.created


def _post_rate(bench: Bench, number: int) -> float:
    """Return the rate of POST of the server alone, under the load of the row for POST."""
    pod = bench.directory / "pod.json"
    pod.write_bytes(pods.template(varied=False))
    load = wrk.Load(POST_PATH, CONNECTIONS, post=pod)
    with ours(bench.directory / f"alone{number}") as server:
        wrk.run(server.url, server.token, load, seconds=1, letters="hot")
        return wrk.run(server.url, server.token, load, seconds=bench.effort.seconds, letters="run").rate


def _round(directory: Path, posts: float, bench: Bench) -> Round:
    names = [f"web{number}" for number in range(DEPLOYMENTS)]
    with managed(directory, nodes=NODES, pods=NODE_PODS) as server, server.asking() as ask:
        idle = server.manager_memory()
        created = create_deployments(ask, dict.fromkeys(names, REPLICAS))
        memory = (server.manager_memory() - idle) / PODS
        bench.say(f"created in {created:.1f} s; the quiet afterwards is measured")
        quiet = _quiet(server)
        began = time.monotonic()
        for name in names:
            ask("PATCH", f"{PATH}/{name}", json.dumps(_template("2")).encode(), MERGE)
        updated = _until_ready(ask, names, began)
        bench.say(f"updated in {updated:.1f} s")
    with (
        managed(directory.with_name(f"{directory.name}scale"), nodes=NODES, pods=NODE_PODS) as server,
        server.asking() as ask,
    ):
        ask("POST", PATH, json.dumps(_deployment("one", 0, service())).encode(), JSON)
        _until_ready(ask, ["one"], time.monotonic())
        began = time.monotonic()
        ask("PATCH", f"{PATH}/one", json.dumps({"spec": {"replicas": PODS}}).encode(), MERGE)
        scaled = _until_ready(ask, ["one"], began)
        bench.say(f"scaled in {scaled:.1f} s")
    return Round(posts, created, updated, scaled, memory, quiet)


def create_deployments(ask: Ask, sizes: dict[str, int], templates: Sequence[Template] = TEMPLATES) -> float:
    """Return the seconds from creating Deployments of these names and sizes until all pods are Ready."""
    began = time.monotonic()
    for (name, size), template in zip(sizes.items(), cycle(templates), strict=False):
        ask("POST", PATH, json.dumps(_deployment(name, size, template())).encode(), JSON)
    return _until_ready(ask, list(sizes), began)


def _quiet(server: Server) -> float:
    """Return the share of one processor that server and manager use after all Events were sent."""
    time.sleep(SETTLE)
    before = server.processor_seconds()
    time.sleep(QUIET)
    return (server.processor_seconds() - before) / QUIET


def _deployment(name: str, replicas: int, pod: dict[str, object]) -> dict[str, object]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def _template(version: str) -> dict[str, object]:
    return {"spec": {"template": {"metadata": {"annotations": {"version": version}}}}}


def _until_ready(ask: Ask, names: list[str], began: float) -> float:
    """Return the seconds until all replicas of every Deployment are updated and available at its current generation."""
    while time.monotonic() < began + PATIENCE:
        deployments = json.loads(ask("GET", PATH))["items"]
        if sum(_is_done(each) for each in deployments if each["metadata"]["name"] in names) == len(names):
            return time.monotonic() - began
        time.sleep(0.1)
    counts = {each["metadata"]["name"]: each.get("status", {}).get("availableReplicas", 0) for each in deployments}
    raise RuntimeError(f"after {PATIENCE:.0f} s there are only so many available pods: {counts}")


def _is_done(deployment: dict[str, dict[str, object]]) -> bool:
    spec, status = deployment["spec"], deployment.get("status", {})
    counts = [status.get(field, 0) for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")]
    return status.get("observedGeneration") == deployment["metadata"]["generation"] and set(counts) == {
        spec["replicas"]
    }


def _rows(rounds: list[Round]) -> Iterator[Row]:
    rates, posts = [each.rate for each in rounds], [each.posts for each in rounds]
    ratios = [each.rate / each.posts for each in rounds]
    yield Row(
        f"{DEPLOYMENTS} Deployments of {REPLICAS}: pods Ready", _per_second(rates), _per_second(posts),
        statistics.median(ratios), 0.25,
        samples={"ready per second": rates, "posts per second": posts, "ratio": ratios},
    )  # fmt: skip
    memory = [each.memory / 1024 for each in rounds]
    yield Row(
        "manager's memory per pod", f"{statistics.median(memory):.1f} KiB", "", statistics.median(memory), 12.0,
        at_most=True, unit=" KiB", samples={"KiB": memory},
    )  # fmt: skip
    created = [each.created for each in rounds]
    for work, taken in (
        ("rolling update of them (beside: creation)", [each.updated for each in rounds]),
        (f"one Deployment from 0 to {PODS:,}", [each.scaled for each in rounds]),
    ):
        ratios = [a / b for a, b in zip(taken, created, strict=True)]
        yield Row(
            work, f"{statistics.median(taken):.1f} s", f"{statistics.median(created):.1f} s",
            statistics.median(ratios), 4.0, at_most=True,
            samples={"seconds": taken, "creation": created, "ratio": ratios},
        )  # fmt: skip
    quiet = [100 * each.quiet for each in rounds]
    yield Row(
        f"quiet with {PODS:,} pods", f"{statistics.median(quiet):.2f} %", "", statistics.median(quiet), 2.0,
        at_most=True, unit=" %", samples={"percent of one processor": quiet},
    )  # fmt: skip


def _per_second(samples: list[float]) -> str:
    return f"{statistics.median(samples):,.0f} /s"
