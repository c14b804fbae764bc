"""The life of pods, as kubectl's get, describe, events and wait show it."""

import json
import re
from collections.abc import Callable
from typing import Any

Kubectl = Any
Write = Callable[..., str]


def first(kubectl: Kubectl, line: str, pattern: str) -> str:
    """The first line of a watch that is as wanted."""
    watch = kubectl.start(line)
    try:
        for row in watch.stdout:
            if re.search(pattern, row):
                return str(row)
    finally:
        watch.terminate()
        watch.communicate()
    raise AssertionError(f"kubectl {line} never says {pattern}")


def test_a_pod_that_runs_is_shown_from_its_binding_on(kubectl: Kubectl) -> None:
    kubectl.says("run web --image=nginx:1 --port=80 --labels=app=web", "pod/web created")
    kubectl.says("wait pod/web --for=condition=Ready --timeout=300s", "pod/web condition met")
    first(kubectl, "get events --watch --no-headers", r" Started ")
    kubectl.says(
        "describe pod web",
        r"Name: +web\nNamespace: +\S+\nPriority: +0\n.*Node: +(node-\d)/\d+\.\d+\.\d+\.\d+\n.*Labels: +app=web\n.*"
        r"Status: +Running\nIP: +(10\.244\.\d+\.\d+)\nIPs:\n  IP: +\2\n.*    Container ID: +containerd://[0-9a-f]{64}\n"
        r"    Image: +nginx:1\n.*    State: +Running\n.*    Ready: +True\n    Restart Count: +0\n.*"
        r"  Initialized +True ?\n  Ready +True ?\n  ContainersReady +True ?\n  PodScheduled +True ?\n.*"
        r"QoS Class: +BestEffort\n.*Events:\n.*"
        r"  Normal  Scheduled +\S+ +default-scheduler +Successfully assigned \S+/web to \1\n"
        r"  Normal  Pulled +\S+ +kubelet +[^\n]*nginx:1[^\n]*\n"
        r"  Normal  Created +\S+ +kubelet +\S[^\n]*\n  Normal  Started +\S+ +kubelet +\S[^\n]*",
    )
    kubectl.says("delete pod web", 'pod "web" deleted.*')
    kubectl.says("wait pod/web --for=delete", "")


def test_a_crash_loop_backs_off_and_counts_its_restarts(kubectl: Kubectl) -> None:
    kubectl.output("run crash --image=crash.mockube.io/app")
    assert re.match(
        r"crash +0/1 +CrashLoopBackOff +1 \(\d+s ago\) +\d+s",
        first(kubectl, "get pod crash --watch --no-headers", "CrashLoopBackOff +1"),
    )
    first(kubectl, "get events --watch --no-headers", " BackOff ")
    kubectl.says(
        "describe pod crash",
        r".*    State: +Waiting\n      Reason: +CrashLoopBackOff\n    Last State: +Terminated\n"
        r"      Reason: +Error\n      Exit Code: +1\n.*    Ready: +False\n    Restart Count: +1\n.*"
        r"  Warning  BackOff +\S.* +kubelet +Back-off restarting failed container crash in pod crash_\S+\(\S+\)",
    )
    kubectl.refuses(
        "wait pod/crash --for=condition=Ready --timeout=1s", r"error: timed out waiting for the condition.*"
    )


def test_an_image_that_is_not_there_is_reported_and_can_be_put_right(kubectl: Kubectl, deployment: Write) -> None:
    kubectl.output("apply -f -", deployment(image="nginx:1.161"))
    line = first(kubectl, "get pods --watch --no-headers", "ImagePullBackOff")
    assert re.match(r"web-\S+ +0/1 +ImagePullBackOff +0 +\d+s", line)
    first(kubectl, "get events --watch --no-headers", "Error: ImagePullBackOff")
    failed = r"  Warning  Failed +\S+ +kubelet +"
    kubectl.says(
        "describe pod -l app=web",
        rf".*{failed}Failed to pull image \"nginx:1\.161\": .*{failed}Error: ErrImagePull\n"
        rf".*{failed}Error: ImagePullBackOff.*",
    )
    kubectl.output("set image deployment/web main=nginx:1.16.1")
    kubectl.output("rollout status deployment/web --timeout=300s")


def test_a_pod_that_asks_for_too_much_waits_and_says_why(kubectl: Kubectl) -> None:
    spec = {"containers": [{"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "1000"}}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"}, "spec": spec}
    kubectl.output("create -f -", json.dumps(pod))
    kubectl.output("wait pod/big --for=condition=PodScheduled=false --timeout=300s")
    line = first(kubectl, "get events --watch --no-headers", "FailedScheduling")
    assert re.search(r"Warning +FailedScheduling +pod/big +0/3 nodes are available: 3 Insufficient cpu\. ", line)
    kubectl.says("get pod big --no-headers", r"big +0/1 +Pending +0 +\d+s")


def test_init_containers_come_before_the_others_and_one_after_the_other(kubectl: Kubectl) -> None:
    sleeps = [{"name": name, "image": "busybox:1", "command": ["sleep", "1"]} for name in ("one", "two")]
    spec = {"initContainers": sleeps, "containers": [{"name": "main", "image": "nginx:1"}]}
    watch = "get pod slow --watch --no-headers"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "slow"}, "spec": spec}
    kubectl.output("create -f -", json.dumps(pod))
    first(kubectl, watch, r"slow +0/1 +Init:[01]/2 ")
    kubectl.says("wait pod/slow --for=condition=Ready --timeout=300s", "pod/slow condition met")
    states = kubectl.output("get pod slow -o 'jsonpath={.status.initContainerStatuses[*].state.terminated.reason}'")
    assert states == "Completed Completed"
