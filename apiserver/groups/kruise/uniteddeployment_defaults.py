"""UnitedDeployments (openkruise/kruise apis/apps/defaults SetDefaultsUnitedDeploymentV1beta1)."""

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import MANUAL, subsets_of
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY

_BOUNDS = ("minReplicas", "maxReplicas")


def default_united_deployment(spec: Obj) -> None:
    """Defaults the spec of a UnitedDeployment, in place: one pod, and no minimum where others have bounds."""
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY)
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or MANUAL
    if strategy["type"] == MANUAL:
        strategy.setdefault("manualUpdate", {})
    subsets = subsets_of(spec)
    asks = any(subset.get("replicas") is not None for subset in subsets)
    if not asks and any(subset.get(name) is not None for subset in subsets for name in _BOUNDS):
        for subset in subsets:
            subset.setdefault("minReplicas", 0)
