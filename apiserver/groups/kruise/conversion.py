"""Conversion of OpenKruise's workloads between v1alpha1 and v1beta1, like OpenKruise's conversion webhook.

Fields that only one version has are lost on the way, as upstream: the schema of the target version drops them
(openkruise/kruise apis/apps/v1alpha1/{cloneset,uniteddeployment,statefulset}_conversion.go).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apiserver.api.golang import numbers
from apiserver.api.meta import Obj
from apiserver.api.united_deployments import GROUP
from apiserver.groups.cells import mapping

Convert = Callable[[Obj], Obj]
"""A function that converts an object to another version, and leaves its argument as it is."""

OLD, NEW = "v1alpha1", "v1beta1"

_ANNOTATED = {
    "imagePreDownloadParallelism": "apps.kruise.io/image-predownload-parallelism",
    "imagePreDownloadTimeoutSeconds": "apps.kruise.io/image-predownload-timeout-seconds",
    "imagePreDownloadMinUpdatedReadyPods": "apps.kruise.io/image-predownload-min-updated-ready-pods",
}
"""Fields of v1beta1's inPlaceUpdateStrategy → the annotations that hold them in v1alpha1."""
_EXCLUDES = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
"""A label in v1alpha1 that v1beta1 replaces by a field, scaleStrategy.excludePreparingDelete."""
_POLICIES = ("ReCreate", "InPlaceIfPossible", "InPlaceOnly")
"""The types of v1alpha1's updateStrategy, which v1beta1 has as values of rollingUpdate.podUpdatePolicy."""
_ON_DELETE = "OnDelete"
_ROLLING = ("partition", "maxUnavailable", "maxSurge", "paused", "priorityStrategy", "scatterStrategy")
"""The fields that v1alpha1 has in updateStrategy, and v1beta1 in updateStrategy.rollingUpdate."""


def conversion(group: str, kind: str, *, source: str, target: str) -> Convert | None:
    """Return the conversion of a kind from one version to another, or None if it is no workload of OpenKruise."""
    return _CONVERSIONS.get((kind, source, target)) if group == GROUP else None


def _unchanged(obj: Obj) -> Obj:
    return obj


def _present(obj: Obj, names: Iterable[str]) -> Obj:
    return {name: obj[name] for name in names if obj.get(name) is not None}


# -- CloneSets ---------------------------------------------------------------------------------------------------------


def _clone_set_to_new(obj: Obj) -> Obj:
    spec, meta = mapping(obj, "spec"), mapping(obj, "metadata")
    scaling, strategy = mapping(spec, "scaleStrategy"), mapping(spec, "updateStrategy")
    scaling = _present(scaling, ("podsToDelete", "maxUnavailable")) | {
        "enablePVCReuse": not scaling.get("disablePVCReuse"),
        **({"excludePreparingDelete": True} if mapping(meta, "labels").get(_EXCLUDES) == "true" else {}),
    }
    changes = {"scaleStrategy": scaling, "updateStrategy": _strategy_to_new(strategy, mapping(meta, "annotations"))}
    return obj | {"spec": spec | changes}


def _strategy_to_new(strategy: Obj, annotations: Mapping[str, Any]) -> Obj:
    type_ = strategy.get("type")
    if type_ == _ON_DELETE:
        return {"type": _ON_DELETE}
    rolling = _present(strategy, _ROLLING) | {"podUpdatePolicy": type_ if type_ in _POLICIES else _POLICIES[0]}
    in_place = strategy.get("inPlaceUpdateStrategy")
    if isinstance(in_place, dict) or any(annotations.get(key) for key in _ANNOTATED.values()):
        kept = _present(mapping(strategy, "inPlaceUpdateStrategy"), ("gracePeriodSeconds",))
        rolling["inPlaceUpdateStrategy"] = kept | _fields_of_annotations(annotations)
    return {"type": "RollingUpdate", "rollingUpdate": rolling}


def _fields_of_annotations(annotations: Mapping[str, Any]) -> Obj:
    """Return the inPlaceUpdateStrategy fields that annotations hold, without those that are not numbers.

    Only the parallelism may be any text: admission validates it.
    """
    fields: Obj = {}
    for name, key in _ANNOTATED.items():
        text = annotations.get(key) or ""
        try:
            fields[name] = numbers.parse_int(text)
        except ValueError:
            if text and name == "imagePreDownloadParallelism":
                fields[name] = text
    return fields


def _clone_set_from_new(obj: Obj) -> Obj:
    spec, meta = mapping(obj, "spec"), mapping(obj, "metadata")
    scaling, strategy = mapping(spec, "scaleStrategy"), mapping(spec, "updateStrategy")
    rolling = mapping(strategy, "rollingUpdate")
    in_place = mapping(rolling, "inPlaceUpdateStrategy")
    policy = rolling.get("podUpdatePolicy")
    type_ = policy if policy in _POLICIES else _POLICIES[0]
    old_scaling = _present(scaling, ("podsToDelete", "maxUnavailable"))
    if not scaling.get("enablePVCReuse"):
        old_scaling["disablePVCReuse"] = True
    old_strategy = {"type": _ON_DELETE if strategy.get("type") == _ON_DELETE else type_, **_present(rolling, _ROLLING)}
    annotations = {key: str(in_place[name]) for name, key in _ANNOTATED.items() if in_place.get(name) is not None}
    if isinstance(rolling.get("inPlaceUpdateStrategy"), dict):  # upstream drops an empty one, which is filled in again
        old_strategy["inPlaceUpdateStrategy"] = _present(in_place, ("gracePeriodSeconds",))
    converted = obj | {"spec": spec | {"scaleStrategy": old_scaling, "updateStrategy": old_strategy}}
    return (
        converted | {"metadata": meta | {"annotations": mapping(meta, "annotations") | annotations}}
        if annotations
        else converted
    )


# -- UnitedDeployments -------------------------------------------------------------------------------------------------


def _united_to_new(obj: Obj) -> Obj:
    status = mapping(obj, "status")
    if not status:
        return obj
    update = mapping(status, "updateStatus")
    entries: list[Obj] = [dict(entry) for entry in status.get("subsetStatuses") or ()]
    for field, values in (
        ("replicas", mapping(status, "subsetReplicas")),
        ("partition", mapping(update, "currentPartitions")),
    ):
        for name, value in values.items():
            entry = next((entry for entry in entries if entry.get("name") == name), None)
            if entry is None:
                entries.append(entry := {"name": name})
            entry[field] = value
    kept = {name: value for name, value in status.items() if name not in ("subsetReplicas", "updateStatus")}
    changes = _present(update, ("updatedRevision",)) | ({"subsetStatuses": entries} if entries else {})
    return obj | {"status": kept | changes}


def _united_from_new(obj: Obj) -> Obj:
    status = mapping(obj, "status")
    named = [entry for entry in status.get("subsetStatuses") or () if entry.get("name")]
    revision = status.get("updatedRevision")
    if not named and not revision:
        return obj
    kept = {name: value for name, value in status.items() if name != "updatedRevision"}
    update: Obj = {"updatedRevision": revision} if revision else {}
    if named:
        kept["subsetReplicas"] = {entry["name"]: entry.get("replicas") or 0 for entry in named}
        update["currentPartitions"] = {entry["name"]: entry.get("partition") or 0 for entry in named}
    return obj | {"status": kept | {"updateStatus": update}}


_CONVERSIONS: Mapping[tuple[str, str, str], Convert] = {
    ("CloneSet", OLD, NEW): _clone_set_to_new,
    ("CloneSet", NEW, OLD): _clone_set_from_new,
    ("UnitedDeployment", OLD, NEW): _united_to_new,
    ("UnitedDeployment", NEW, OLD): _united_from_new,
    ("StatefulSet", OLD, NEW): _unchanged,  # v1beta1 only adds fields
    ("StatefulSet", NEW, OLD): _unchanged,
}
"""(kind, source version, target version) → the conversion."""
