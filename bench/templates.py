"""The pod templates that Deployments of the bench share out among themselves; each asks a node for as much."""

from collections.abc import Callable
from typing import Any

from pods import SECURITY, WEB_ENV, web

Template = Callable[[], dict[str, Any]]
"""Makes the spec of a pod."""
_PORT = [{"containerPort": 80}]


def _requests(cpu: str, memory: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}}


def plain() -> dict[str, Any]:
    """Return a single container with requests, as `kubectl create deployment` writes it."""
    container = {"name": "web", "image": "nginx:1.27", "resources": _requests("100m", "64Mi"), "ports": _PORT}
    return {"containers": [container]}


def service() -> dict[str, Any]:
    """Return a service of a web shop: environment, probes, volumes, limits, a security context."""
    container = web(
        env=WEB_ENV, requests={"cpu": "100m", "memory": "64Mi"}, mount={"name": "cache", "mountPath": "/var/cache/web"}
    )
    return {
        "terminationGracePeriodSeconds": 45,
        "securityContext": SECURITY,
        "containers": [container],
        "volumes": [{"name": "cache", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def with_sidecar() -> dict[str, Any]:
    """Return a worker beside a proxy, with a node selector and a toleration."""
    worker = {
        "name": "worker",
        "image": "registry.example.com/shop/worker:4.2",
        "command": ["worker", "--queue=orders"],
        "resources": _requests("75m", "48Mi"),
    }
    proxy = {
        "name": "proxy",
        "image": "registry.example.com/mesh/proxy:1.9",
        "resources": _requests("25m", "16Mi"),
        "ports": [{"name": "proxy", "containerPort": 15001}],
    }
    return {
        "containers": [worker, proxy],
        "tolerations": [{"key": "example.com/spot", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
    }


TEMPLATES: tuple[Template, ...] = (plain, service, with_sidecar)
"""The templates that Deployments use in turn: the fourth Deployment uses the first again."""
