"""Metrics of nodes and their zones (pkg/controller/nodelifecycle/metrics.go, pkg/kubelet/metrics)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.reconcile.conditions import TRUE, phase_of
from controller_manager.reconcile.contract import PODS_BY_NODE, Gauge, Listers
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.metric_defs import MetricDef, Sample
from controller_manager.reconcile.nodes import is_alive, ready_status

EVICTIONS = MetricDef("node_collector_evictions_total", "How often a node was tainted so that its pods go.", ("zone",))


def zone_of(node: Obj) -> str:
    """Return region and zone in one string, or "" if the node has neither (component-helpers' topology.GetZoneKey).

    Upstream has a NUL between the colons, but then grep and other tools would take all metrics for binary data.
    """
    labels = labels_of(node)
    zone, region = (
        labels.get(f"failure-domain.beta.kubernetes.io/{part}", labels.get(f"topology.kubernetes.io/{part}", ""))
        for part in ("zone", "region")
    )
    return f"{region}::{zone}" if region or zone else ""


@dataclass(slots=True)
class Zone:
    """The numbers of nodes in a zone."""

    size: int = 0
    ready: int = 0


def _zones(listers: Listers) -> Mapping[str, Zone]:
    zones: dict[str, Zone] = {}
    for node in listers[NODE]:
        zone = zones.setdefault(zone_of(node), Zone())
        zone.size += 1
        zone.ready += ready_status(node) == TRUE
    return zones


def _sizes(listers: Listers) -> Iterator[Sample]:
    return (Sample(zone.size, (name,)) for name, zone in _zones(listers).items())


def _unhealthy(listers: Listers) -> Iterator[Sample]:
    return (Sample(zone.size - zone.ready, (name,)) for name, zone in _zones(listers).items())


def _health(listers: Listers) -> Iterator[Sample]:
    return (Sample(100 * zone.ready / zone.size, (name,)) for name, zone in _zones(listers).items())


ZONE_GAUGES = (
    Gauge(MetricDef("node_collector_zone_size", "Nodes in a zone.", ("zone",)), _sizes),
    Gauge(
        MetricDef("node_collector_unhealthy_nodes_in_zone", "Nodes in a zone that are not ready.", ("zone",)),
        _unhealthy,
    ),
    Gauge(MetricDef("node_collector_zone_health", "Percentage of a zone's nodes that are ready.", ("zone",)), _health),
)


def _running(listers: Listers) -> Iterable[Sample]:
    for node in listers[NODE]:
        if is_alive(node):
            pods = listers[POD].by_index(PODS_BY_NODE.name, name_of(node))
            yield Sample(sum(_is_running(pod) for pod in pods), (name_of(node),))


def _is_running(pod: Obj) -> bool:
    return phase_of(pod) == "Running"


RUNNING_PODS = Gauge(
    MetricDef("kubelet_running_pods", "Pods that run on a simulated node; a real kubelet tells its own.", ("node",)),
    _running,
)
