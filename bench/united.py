"""Rows of UnitedDeployments: pods over three subsets from create to Ready, beside as many of plain Deployments."""

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from rollouts import JSON, NODE_PODS, NODES, PATIENCE, create_deployments
from rows import Bench, Row
from servers import Ask, managed
from templates import plain

PODS = 2000
SUBSETS = ("a", "b", "c")
PATH = "/apis/apps.kruise.io/v1beta1/namespaces/default/uniteddeployments"
KINDS = {
    "Deployment": ("deploymentTemplate", {}),
    "StatefulSet": ("statefulSetTemplate", {"serviceName": "ud", "podManagementPolicy": "Parallel"}),
    "Advanced StatefulSet": ("advancedStatefulSetTemplate", {"serviceName": "ud", "podManagementPolicy": "Parallel"}),
    "CloneSet": ("cloneSetTemplate", {}),
}
"""Kind of the subsets → the field of its template, and what its spec has beside selector and template."""


def united(bench: Bench) -> Iterator[Row]:
    """Measure a row for each kind of subset; in each round they run one after the other, each on its own cluster."""
    rounds = []
    for number in range(bench.effort.rounds):
        bench.say(f"united {number + 1} of {bench.effort.rounds}")
        rounds.append(
            {kind: _seconds(bench.directory / f"united{number}-{i}", kind) for i, kind in enumerate(("", *KINDS))}
        )
    for kind in KINDS:
        plain, ours = [PODS / each[""] for each in rounds], [PODS / each[kind] for each in rounds]
        ratios = [a / b for a, b in zip(ours, plain, strict=True)]
        yield Row(
            f"UnitedDeployment of {PODS:,} pods: {kind}s", _per_second(ours), _per_second(plain),
            statistics.median(ratios), 0.6,
            samples={"ready per second": ours, "plain Deployments": plain, "ratio": ratios},
        )  # fmt: skip


def _seconds(directory: Path, kind: str) -> float:
    """Return the seconds from create to all pods Ready; without a kind, of plain Deployments."""
    with managed(directory, nodes=NODES, pods=NODE_PODS) as server, server.asking() as ask:
        if not kind:
            sizes = [PODS // len(SUBSETS) + (index < PODS % len(SUBSETS)) for index in range(len(SUBSETS))]
            return create_deployments(ask, dict(zip(SUBSETS, sizes, strict=True)), (plain,))
        began = time.monotonic()
        ask("POST", PATH, json.dumps(_united(kind)).encode(), JSON)
        return _until_ready(ask, began)


def _until_ready(ask: Ask, began: float) -> float:
    while time.monotonic() < began + PATIENCE:
        status = json.loads(ask("GET", f"{PATH}/ud")).get("status", {})
        if status.get("readyReplicas") == status.get("updatedReplicas") == PODS:
            return time.monotonic() - began
        time.sleep(0.1)
    raise RuntimeError(f"after {PATIENCE:.0f} s the UnitedDeployment has got no further than {status}")


def _united(kind: str) -> dict[str, object]:
    template, more = KINDS[kind]
    labels = {"app": "ud"}
    selector = {"matchLabels": labels}
    pod = {"metadata": {"labels": labels}, "spec": plain()}
    child = {"metadata": {"labels": labels}, "spec": {"selector": selector, "template": pod} | more}
    topology = {"subsets": [{"name": name} for name in SUBSETS]}
    spec = {"replicas": PODS, "selector": selector, "template": {template: child}, "topology": topology}
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "ud"},
        "spec": spec,
    }


def _per_second(samples: list[float]) -> str:
    return f"{statistics.median(samples):,.0f} /s"
