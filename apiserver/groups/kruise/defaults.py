"""Defaults of OpenKruise's workloads, like its mutating webhooks (openkruise/kruise apis/apps/defaults)."""

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import MANUAL, subsets_of
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY
from apiserver.groups.core.persistentvolumeclaims import default_claim
from apiserver.groups.core.pods.defaults import default_template

RECREATE, IN_PLACE = "ReCreate", ("InPlaceIfPossible", "InPlaceOnly")
"""The ways to update pods: recreate them, or in place."""

ROLLING_UPDATE = "RollingUpdate"

_CLONE_SET: Mapping[str, Any] = {"partition": 0, "maxUnavailable": "20%", "maxSurge": 0}

_STATEFUL_SET: Mapping[str, Any] = {
    "partition": 0,
    "maxUnavailable": 1,
    "podUpdatePolicy": RECREATE,
    "minReadySeconds": 0,
}


def default_set_template(template: Obj) -> None:
    """Set the defaults of a pod template; images are always pulled, since pods may be updated in place.

    (SetDefaultPodSpec)
    """
    for container in (template.get("spec") or {}).get("containers") or ():
        container["imagePullPolicy"] = container.get("imagePullPolicy") or "Always"
    default_template(template)


def default_set_claims(claims: Iterable[Obj]) -> None:
    """Set the defaults of volumeClaimTemplates; unlike in apps/v1 they do not get apiVersion and kind."""
    for claim in claims:
        default_claim(claim)


def default_clone_set(spec: Obj) -> None:
    """Set the defaults of a v1beta1 CloneSet's spec, except its templates (SetDefaultsCloneSetV1beta1).

    Like upstream it writes even an empty scaleStrategy, so that the schema's default in it applies.
    """
    _default_numbers(spec)
    _default_missing(_ensure_object(spec, "scaleStrategy"), {"enablePVCReuse": False})
    strategy = _ensure_object(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or ROLLING_UPDATE
    if strategy["type"] == ROLLING_UPDATE:
        rolling = _ensure_object(strategy, "rollingUpdate")
        _default_policy(rolling, "podUpdatePolicy")
        _default_missing(rolling, _CLONE_SET)


def default_old_clone_set(spec: Obj) -> None:
    """Set the defaults of a v1alpha1 CloneSet's spec, except its templates (SetDefaultsCloneSet)."""
    _default_numbers(spec)
    _ensure_object(spec, "scaleStrategy")
    strategy = _ensure_object(spec, "updateStrategy")
    _default_policy(strategy, "type")
    _default_missing(strategy, _CLONE_SET)


def default_advanced_stateful_set(spec: Obj) -> None:
    """Set the defaults of an Advanced StatefulSet's spec, except its templates (SetDefaultsStatefulSet)."""
    default_old_advanced_stateful_set(spec)
    retention = _ensure_object(spec, "persistentVolumeClaimRetentionPolicy")
    for when in ("whenDeleted", "whenScaled"):
        retention[when] = retention.get(when) or "Retain"


def default_old_advanced_stateful_set(spec: Obj) -> None:
    """Set the same defaults, as far as v1alpha1 has the fields."""
    _default_numbers(spec)
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = _ensure_object(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or ROLLING_UPDATE
    if strategy["type"] == ROLLING_UPDATE:
        rolling = _ensure_object(strategy, "rollingUpdate")
        rolling["podUpdatePolicy"] = rolling.get("podUpdatePolicy") or RECREATE
        _default_missing(rolling, _STATEFUL_SET)


def _default_numbers(spec: Obj) -> None:
    _default_missing(spec, {"replicas": 1, "revisionHistoryLimit": REVISION_HISTORY})


def _default_policy(holder: Obj, name: str) -> None:
    """Set the default update policy, and an empty inPlaceUpdateStrategy for updates in place."""
    holder[name] = holder.get(name) or RECREATE
    if holder[name] in IN_PLACE:
        _ensure_object(holder, "inPlaceUpdateStrategy")


def _default_missing(holder: Obj, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if holder.get(name) is None:
            holder[name] = value


def _ensure_object(holder: Obj, name: str) -> Obj:
    """Return the object at a key, added if it is missing."""
    _default_missing(holder, {name: {}})
    value: Obj = holder[name]
    return value


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
