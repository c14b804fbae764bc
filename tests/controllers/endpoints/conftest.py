"""Services, pods and nodes for the controllers of endpoints."""

from types import SimpleNamespace
from typing import Any

import pytest

TIME = "2027-01-15T07:00:00Z"


def a_service(name="web", *, labels=None, annotations=None, **spec):
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "creationTimestamp": TIME}
    meta |= {"labels": labels or {}} | ({"annotations": annotations} if annotations else {})
    ports = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    given = {"selector": {"app": "web"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": given | spec}


def a_pod(number, *, ready=True, node="n1", ips=None, labels=None, deleting=False, phase="Running", at=TIME, **spec):
    meta: dict[str, Any] = {
        "name": f"web-{number}",
        "namespace": "shop",
        "uid": f"uid-{number}",
        "resourceVersion": "1",
    }
    meta["labels"] = {"app": "web"} if labels is None else labels
    if deleting:
        meta["deletionTimestamp"] = TIME
    ips = [f"10.1.{number // 200}.{number % 200}"] if ips is None else ips
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": at}]
    status: dict[str, Any] = {"phase": phase, "conditions": conditions, "podIPs": [{"ip": ip} for ip in ips]}
    if ips:
        status["podIP"] = ips[0]
    given = {"nodeName": node, "containers": [{"name": "c"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": given | spec, "status": status}


def a_node(name="n1", zone="east"):
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {"metadata": {"name": name, "uid": name, "labels": labels}}


@pytest.fixture
def make():
    return SimpleNamespace(service=a_service, pod=a_pod, node=a_node, time=TIME)
