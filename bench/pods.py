"""The pod that is stored, in 1.5 kB of JSON as a client sends it: a web server with probes, resources and a volume."""

import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

NAME = "NAME-OF-THE-POD"
"""A placeholder for each pod's name, of the same length, so that all bodies have the same length."""
SIZE = 1500
"""The bytes of the body."""
_OWNER = "team-storefront@example.com"

WEB_ENV = (
    {"name": "CACHE", "value": "redis://cache.shop.svc:6379/0"},
    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
)
SECURITY = {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000}
"""The security context of pods of the web server."""


def web(*, env: Sequence[Json], requests: Json, mount: Json) -> Json:
    """Return the container of a web server of a shop, with probes, limits and a security context."""
    return {
        "name": "web",
        "image": "registry.example.com/shop/web:1.27.3",
        "args": ["--listen=:8080", "--log-format=json"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
        "env": [*env],
        "resources": {"requests": requests, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5},
        "livenessProbe": {"httpGet": {"path": "/livez", "port": "http"}, "initialDelaySeconds": 10},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True},
        "volumeMounts": [mount],
    }


_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": NAME,
        "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "tier": "frontend"},
        "annotations": {"example.com/owner": _OWNER},
    },
    "spec": {
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 45,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
        ],
        "securityContext": SECURITY,
        "containers": [
            web(
                env=(*WEB_ENV, {"name": "LOG_LEVEL", "value": "info"}),
                requests={"cpu": "100m", "memory": "128Mi"},
                mount={"name": "config", "mountPath": "/etc/web", "readOnly": True},
            )
        ],
        "volumes": [{"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}}],
    },
}


def template(*, varied: bool = False) -> bytes:
    """Return the body of a pod with NAME as its name, padded by an annotation to SIZE bytes.

    Args:
        varied: whether the name stands in the spec as well, so that no two pods have the same one.
    """
    body = json.dumps(_POD, separators=(",", ":"))
    if varied:
        body = body.replace('"value":"info"', f'"value":"{NAME}"')
    return body.replace(_OWNER, _OWNER + "." * (SIZE - len(body))).encode()


def name(run: str, number: int) -> str:
    """Return the name of a pod; each run of the load has its own three letters.

    Raises:
        ValueError: the name would be longer or shorter than NAME.
    """
    made = f"web-{run}-{number:0{len(NAME) - len(run) - 5}d}"
    if len(made) != len(NAME):
        raise ValueError(made)
    return made


def body(run: str, number: int) -> bytes:
    """Return the body of a pod with its own name."""
    return template().replace(NAME.encode(), name(run, number).encode())
