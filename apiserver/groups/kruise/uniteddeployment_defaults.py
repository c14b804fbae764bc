"""Defaults of UnitedDeployments (openkruise/kruise apis/apps/defaults SetDefaultsUnitedDeploymentV1beta1)."""

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import MANUAL, subsets_of
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY

_BOUNDS = ("minReplicas", "maxReplicas")


def default_united_deployment(spec: Obj) -> None:
    """Set the defaults of a UnitedDeployment's spec: one pod, and minReplicas 0 in subsets if any subset has bounds."""
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY)
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or MANUAL
    if strategy["type"] == MANUAL:
        strategy.setdefault("manualUpdate", {})
    subsets = subsets_of(spec)
    has_replicas = any(subset.get("replicas") is not None for subset in subsets)
    if not has_replicas and any(subset.get(name) is not None for subset in subsets for name in _BOUNDS):
        for subset in subsets:
            subset.setdefault("minReplicas", 0)
