"""The managers of fields that controllers write are the programs of a real cluster, since clients filter by them."""

import json
from typing import Any

Kubectl = Any


def writers(kubectl: Kubectl, what: str) -> set[tuple[str, str]]:
    """Return the managers of an object's fields, each with its subresource."""
    entries = json.loads(kubectl.output(f"get {what} -o json --show-managed-fields"))["metadata"]["managedFields"]
    return {(entry["manager"], entry.get("subresource", "")) for entry in entries}


def test_each_program_owns_what_it_writes(kubectl: Kubectl) -> None:
    kubectl.output("create deployment web --image=nginx:1")
    kubectl.says("wait deployment/web --for=condition=Available --timeout=300s", "deployment.apps/web condition met")
    assert ("kube-controller-manager", "status") in writers(kubectl, "deployment/web")
    pod = kubectl.output("get pods -l app=web -o name").strip()
    assert writers(kubectl, pod) == {("kube-controller-manager", ""), ("kubelet", "status")}
    assert {manager for manager, _ in writers(kubectl, "node/node-1")} == {"kubelet"}
    events = json.loads(kubectl.output("get events -o json --show-managed-fields"))["items"]
    reporters = [event.get("reportingComponent") or event["source"]["component"] for event in events]
    managers = set(zip(reporters, (event["metadata"]["managedFields"][0]["manager"] for event in events), strict=True))
    assert managers == {
        ("default-scheduler", "kube-scheduler"),
        ("deployment-controller", "kube-controller-manager"),
        ("kubelet", "kubelet"),
        ("replicaset-controller", "kube-controller-manager"),
    }
