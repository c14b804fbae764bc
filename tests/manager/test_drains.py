"""Nodes are cordoned, drained and uncordoned with kubectl; budgets are kept."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import SECONDS

Kubectl = Any
Write = Callable[..., str]

CLOSED = "node/node-1 cordoned"
VIOLATES = (
    r'error when evicting pods/"{pod}" -n "{namespace}" \(will retry after 5s\): '
    r"Cannot evict pod as it would violate the pod's disruption budget\."
)


@pytest.fixture
def opened(kubectl: Kubectl) -> Iterator[Kubectl]:
    """After the test all nodes are open."""
    yield kubectl
    kubectl.output("uncordon node-1 node-2 node-3")


def on(kubectl: Kubectl, node: str) -> list[str]:
    """The namespace's pods on a node."""
    return [name.removeprefix("pod/") for name in _names(kubectl, f"pods --field-selector=spec.nodeName={node}")]


def _names(kubectl: Kubectl, what: str) -> list[str]:
    names: str = kubectl.output(f"get {what} -o name")
    return names.split()


def test_a_closed_node_gets_no_pods_until_it_is_open(opened: Kubectl, deployment: Write) -> None:
    opened.says("cordon node-1", CLOSED)
    opened.says("cordon node-1", "node/node-1 already cordoned")
    opened.says("get node node-1 --no-headers", r"node-1 +Ready,SchedulingDisabled .*")
    opened.output("apply -f -", deployment(replicas=6))
    opened.output("rollout status deployment/web")
    assert [len(on(opened, node)) for node in ("node-1", "node-2", "node-3")] == [0, 3, 3]
    opened.says("uncordon node-1", "node/node-1 uncordoned")
    opened.says("uncordon node-1", "node/node-1 already uncordoned")
    opened.output("scale deployment/web --replicas=9")
    opened.output("rollout status deployment/web")
    assert [len(on(opened, node)) for node in ("node-1", "node-2", "node-3")] == [3, 3, 3]


def test_a_pod_that_no_node_takes_says_why_and_waits(opened: Kubectl) -> None:
    opened.output("cordon node-1 node-2 node-3")
    opened.output("run lone --image=nginx:1")
    opened.output("wait pod/lone --for=condition=PodScheduled=false --timeout=300s")
    opened.says("get pod lone --no-headers", r"lone +0/1 +Pending +0 +\d+s")
    opened.says(
        "events --for pod/lone --no-headers",
        r"\S+ +Warning +FailedScheduling +Pod/lone +0/3 nodes are available: 3 node\(s\) were unschedulable\. .*",
    )
    opened.output("uncordon node-2")
    opened.output("wait pod/lone --for=condition=Ready --timeout=300s")
    assert on(opened, "node-2") == ["lone"]


def test_a_drain_moves_pods_to_other_nodes(opened: Kubectl, deployment: Write) -> None:
    opened.output("apply -f -", deployment(replicas=6))
    opened.output("rollout status deployment/web")
    one, other = on(opened, "node-1")
    lines = opened.says("drain node-1", r".*node/node-1 drained").splitlines()
    assert lines[0] == CLOSED
    for pod in (one, other):
        assert f"evicting pod {opened.namespace}/{pod}" in lines
        assert f"pod/{pod} evicted" in lines
    opened.output("rollout status deployment/web")
    assert [len(on(opened, node)) for node in ("node-1", "node-2", "node-3")] == [0, 3, 3]


def test_a_drain_waits_until_the_budget_allows_it(opened: Kubectl, deployment: Write) -> None:
    opened.output("apply -f -", deployment(replicas=3))
    opened.output("rollout status deployment/web")
    opened.says(
        "create poddisruptionbudget web --selector=app=web --min-available=3",
        "poddisruptionbudget.policy/web created",
    )
    opened.output("wait pdb/web --for=jsonpath={.status.currentHealthy}=3 --timeout=300s")
    opened.says("get pdb web --no-headers", r"web +3 +N/A +0 +\d+s")
    [pod] = on(opened, "node-1")
    drain = opened.start("drain node-1")
    said = drain.stderr.readline()
    assert re.fullmatch(VIOLATES.format(pod=pod, namespace=opened.namespace) + "\n", said), said
    assert on(opened, "node-1") == [pod]
    opened.output("scale deployment/web --replicas=4")
    out, err = drain.communicate(timeout=SECONDS)
    assert (drain.returncode, err) == (0, "")
    assert out.splitlines()[-2:] == [f"pod/{pod} evicted", "node/node-1 drained"]
    opened.says("get pdb web --no-headers", r"web +3 +N/A +[01] +\d+s")


def test_a_drain_that_the_budget_never_allows_gives_up_at_its_time(opened: Kubectl, deployment: Write) -> None:
    opened.output("apply -f -", deployment(replicas=3))
    opened.output("rollout status deployment/web")
    opened.output("create poddisruptionbudget web --selector=app=web --max-unavailable=0")
    opened.output("wait pdb/web --for=jsonpath={.status.currentHealthy}=3 --timeout=300s")
    opened.refuses("drain node-1 --timeout=1s", r".*There are pending nodes to be drained:\n node-1\n.*timeout.*")
    assert len(on(opened, "node-1")) == 1


def test_pods_that_nobody_would_make_again_stop_a_drain(opened: Kubectl) -> None:
    pod = {"nodeName": "node-1", "containers": [{"name": "main", "image": "nginx:1"}]}
    opened.output("run lone --image=nginx:1 --overrides=" + json.dumps(json.dumps({"spec": pod})))
    opened.output("wait pod/lone --for=condition=Ready --timeout=300s")
    opened.refuses("drain node-1", r".*Pods that declare no controller \(use --force to override\): .*/lone.*")
    assert on(opened, "node-1") == ["lone"]
    opened.says("drain node-1 --force", r".*pod/lone evicted\nnode/node-1 drained.*")
    assert on(opened, "node-1") == []
