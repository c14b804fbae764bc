"""Metrics of StatefulSets with rolling updates: how many pods may be unavailable, and how many are.

(pkg/controller/statefulset/metrics; upstream sets both in each sync and keeps them when a set is deleted.)
"""

from collections.abc import Iterable, Iterator

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.controllers.statefulset.sync import max_unavailable, strategy_of
from controller_manager.reconcile.contract import Gauge, Listers
from controller_manager.reconcile.kinds import STATEFUL_SET
from controller_manager.reconcile.metric_defs import MetricDef, Sample
from controller_manager.reconcile.replicas import replicas_of

LABELS = ("statefulset_namespace", "statefulset_name", "pod_management_policy")
MAX_UNAVAILABLE = MetricDef(
    "statefulset_controller_statefulset_max_unavailable",
    "How many pods of a StatefulSet may be unavailable while it rolls.",
    LABELS,
    feature="max_unavailable",
)
UNAVAILABLE = MetricDef(
    "statefulset_controller_statefulset_unavailable_replicas",
    "How many pods of a StatefulSet are missing or unavailable.",
    LABELS,
    feature="max_unavailable",
)


def _sets(listers: Listers) -> Iterator[Obj]:
    """Return the sets that are updated automatically."""
    return (parent for parent in listers[STATEFUL_SET] if strategy_of(parent).get("type") != "OnDelete")


def _labels(parent: Obj) -> tuple[str, ...]:
    return namespace_of(parent), name_of(parent), parent["spec"].get("podManagementPolicy") or "OrderedReady"


def allowed(parent: Obj) -> int | None:
    """Return how many pods may be unavailable, or None if maxUnavailable is not a number."""
    try:
        return max_unavailable(parent)
    except ValueError:
        return None


def unavailable(parent: Obj) -> int:
    """Return how many of the desired pods are not available according to the status."""
    return max(replicas_of(parent) - ((parent.get("status") or {}).get("availableReplicas") or 0), 0)


def _allowed(listers: Listers) -> Iterable[Sample]:
    for parent in _sets(listers):
        if (number := allowed(parent)) is not None:
            yield Sample(number, _labels(parent))


def _unavailable(listers: Listers) -> Iterable[Sample]:
    return (Sample(unavailable(parent), _labels(parent)) for parent in _sets(listers))


GAUGES = (Gauge(MAX_UNAVAILABLE, _allowed), Gauge(UNAVAILABLE, _unavailable))
