"""Probes: when a container passes them, since nothing really runs, and how they fail (pkg/kubelet/prober)."""

from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.pod_sync import Container


def started_at(container: Container, since: float) -> float:
    """Return when a container that has run since then counts as started: at the first startup probe."""
    return since + _initial_delay(container.spec.get("startupProbe"))


def ready_at(container: Container, since: float) -> float:
    """Return when it is ready: as an annotation says, or when its readiness probe has succeeded often enough."""
    if container.behaviour.ready_after is not None:
        return since + container.behaviour.ready_after
    probe = container.spec.get("readinessProbe")
    if not probe:
        return since
    more = ((probe.get("successThreshold") or 1) - 1) * (probe.get("periodSeconds") or 10)
    return max(started_at(container, since), since + _initial_delay(probe)) + more


def unhealthy_at(container: Container, since: float) -> float:
    """Return when its liveness probe has failed often enough, infinity if it never does."""
    probe, after = container.spec.get("livenessProbe"), container.behaviour.unhealthy_after
    if not probe or after == inf:
        return inf
    tries = (probe.get("failureThreshold") or 3) - 1
    return since + max(after, _initial_delay(probe)) + tries * (probe.get("periodSeconds") or 10)


def _initial_delay(probe: Obj | None) -> float:
    return float((probe or {}).get("initialDelaySeconds") or 0)


def failure(probe: Obj, address: str) -> str:
    """Return the message of a failing probe (pkg/probe)."""
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 503"
    if "tcpSocket" in probe:
        return f"dial tcp {address}:{probe['tcpSocket']['port']}: connect: connection refused"
    if "grpc" in probe:
        return 'service unhealthy (responded with "NOT_SERVING")'
    return ""
