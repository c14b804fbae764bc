"""CloneSets and Advanced StatefulSets (openkruise/kruise apis/apps/defaults): what the mutating webhooks fill in."""

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY
from apiserver.groups.core.persistentvolumeclaims import default_claim
from apiserver.groups.core.pods.defaults import default_template

RECREATE, IN_PLACE = "ReCreate", ("InPlaceIfPossible", "InPlaceOnly")
"""How pods are updated: by others that take their place, or as they are."""

ROLLING_UPDATE = "RollingUpdate"

_CLONE_SET: Mapping[str, Any] = {"partition": 0, "maxUnavailable": "20%", "maxSurge": 0}

_STATEFUL_SET: Mapping[str, Any] = {
    "partition": 0,
    "maxUnavailable": 1,
    "podUpdatePolicy": RECREATE,
    "minReadySeconds": 0,
}


def default_set_template(template: Obj) -> None:
    """Defaults a pod template of such a set; images are pulled always, since pods may be updated as they are.

    (SetDefaultPodSpec)
    """
    for container in (template.get("spec") or {}).get("containers") or ():
        container["imagePullPolicy"] = container.get("imagePullPolicy") or "Always"
    default_template(template)


def default_set_claims(claims: Iterable[Obj]) -> None:
    """Defaults volumeClaimTemplates; other than in apps/v1 they tell no apiVersion and kind."""
    for claim in claims:
        default_claim(claim)


def default_clone_set(spec: Obj) -> None:
    """Defaults the spec of a v1beta1 CloneSet beside its templates (SetDefaultsCloneSetV1beta1).

    The webhook writes scaleStrategy even where it is empty, so that the schema's default in it counts.
    """
    _default_numbers(spec)
    _default_missing(_filled(spec, "scaleStrategy"), {"enablePVCReuse": False})
    strategy = _filled(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or ROLLING_UPDATE
    if strategy["type"] == ROLLING_UPDATE:
        rolling = _filled(strategy, "rollingUpdate")
        _default_policy(rolling, "podUpdatePolicy")
        _default_missing(rolling, _CLONE_SET)


def default_old_clone_set(spec: Obj) -> None:
    """Defaults the spec of a v1alpha1 CloneSet beside its templates (SetDefaultsCloneSet)."""
    _default_numbers(spec)
    _filled(spec, "scaleStrategy")
    strategy = _filled(spec, "updateStrategy")
    _default_policy(strategy, "type")
    _default_missing(strategy, _CLONE_SET)


def default_advanced_stateful_set(spec: Obj) -> None:
    """Defaults the spec of an Advanced StatefulSet beside its templates (SetDefaultsStatefulSet)."""
    default_old_advanced_stateful_set(spec)
    retention = _filled(spec, "persistentVolumeClaimRetentionPolicy")
    for when in ("whenDeleted", "whenScaled"):
        retention[when] = retention.get(when) or "Retain"


def default_old_advanced_stateful_set(spec: Obj) -> None:
    """The same as far as v1alpha1 knows it."""
    _default_numbers(spec)
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = _filled(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or ROLLING_UPDATE
    if strategy["type"] == ROLLING_UPDATE:
        rolling = _filled(strategy, "rollingUpdate")
        rolling["podUpdatePolicy"] = rolling.get("podUpdatePolicy") or RECREATE
        _default_missing(rolling, _STATEFUL_SET)


def _default_numbers(spec: Obj) -> None:
    _default_missing(spec, {"replicas": 1, "revisionHistoryLimit": REVISION_HISTORY})


def _default_policy(holder: Obj, name: str) -> None:
    """How a CloneSet's pods are updated, with an empty strategy for updates in place."""
    holder[name] = holder.get(name) or RECREATE
    if holder[name] in IN_PLACE:
        _filled(holder, "inPlaceUpdateStrategy")


def _default_missing(holder: Obj, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if holder.get(name) is None:
            holder[name] = value


def _filled(holder: Obj, name: str) -> Obj:
    """A part of an object, made where it is missing."""
    _default_missing(holder, {name: {}})
    found: Obj = holder[name]
    return found
