"""What OpenKruise's conversion webhook does: workloads of apps.kruise.io between v1alpha1 and v1beta1.

(openkruise/kruise apis/apps/v1alpha1/{cloneset,uniteddeployment,statefulset}_conversion.go) What only one version knows
is lost on the way, there as here; the schema of the version that is arrived at drops it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apiserver.api.golang import numbers
from apiserver.api.meta import Obj

Convert = Callable[[Obj], Obj]
"""Makes an object of one version from that of another; neither its argument nor what that holds is changed."""

GROUP, OLD, NEW = "apps.kruise.io", "v1alpha1", "v1beta1"

_ANNOTATED = {
    "imagePreDownloadParallelism": "apps.kruise.io/image-predownload-parallelism",
    "imagePreDownloadTimeoutSeconds": "apps.kruise.io/image-predownload-timeout-seconds",
    "imagePreDownloadMinUpdatedReadyPods": "apps.kruise.io/image-predownload-min-updated-ready-pods",
}
"""Fields of v1beta1's inPlaceUpdateStrategy → the annotations of v1alpha1 that say the same."""
_EXCLUDES = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
"""A label of v1alpha1, which v1beta1 has a field for."""
_POLICIES = ("ReCreate", "InPlaceIfPossible", "InPlaceOnly")
"""The types of v1alpha1's updateStrategy, which are v1beta1's policies of a rolling update."""
_ON_DELETE = "OnDelete"
_ROLLING = ("partition", "maxUnavailable", "maxSurge", "paused", "priorityStrategy", "scatterStrategy")
"""What v1alpha1 has in updateStrategy, and v1beta1 in updateStrategy.rollingUpdate."""


def conversion(group: str, kind: str, *, source: str, target: str) -> Convert | None:
    """How an object gets from one version to the other, None where this is no workload of OpenKruise."""
    return _CONVERSIONS.get((kind, source, target)) if group == GROUP else None


def _same(obj: Obj) -> Obj:
    return obj


def _some(obj: Obj, names: Iterable[str]) -> Obj:
    return {name: obj[name] for name in names if obj.get(name) is not None}


def _part(obj: Obj, name: str) -> Obj:
    """A part that is an object, empty where it is none: conversion comes before validation."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


# -- CloneSets ---------------------------------------------------------------------------------------------------------


def _clone_set_to_new(obj: Obj) -> Obj:
    spec, meta = _part(obj, "spec"), _part(obj, "metadata")
    scaling, strategy = _part(spec, "scaleStrategy"), _part(spec, "updateStrategy")
    scaling = _some(scaling, ("podsToDelete", "maxUnavailable")) | {
        "enablePVCReuse": not scaling.get("disablePVCReuse"),
        **({"excludePreparingDelete": True} if _part(meta, "labels").get(_EXCLUDES) == "true" else {}),
    }
    changes = {"scaleStrategy": scaling, "updateStrategy": _strategy_to_new(strategy, _part(meta, "annotations"))}
    return obj | {"spec": spec | changes}


def _strategy_to_new(strategy: Obj, annotations: Mapping[str, Any]) -> Obj:
    type_ = strategy.get("type")
    if type_ == _ON_DELETE:
        return {"type": _ON_DELETE}
    rolling = _some(strategy, _ROLLING) | {"podUpdatePolicy": type_ if type_ in _POLICIES else _POLICIES[0]}
    in_place = strategy.get("inPlaceUpdateStrategy")
    if isinstance(in_place, dict) or any(annotations.get(key) for key in _ANNOTATED.values()):
        kept = _some(_part(strategy, "inPlaceUpdateStrategy"), ("gracePeriodSeconds",))
        rolling["inPlaceUpdateStrategy"] = kept | _annotated(annotations)
    return {"type": "RollingUpdate", "rollingUpdate": rolling}


def _annotated(annotations: Mapping[str, Any]) -> Obj:
    """What annotations say of images that are fetched before they are needed; what is no number says nothing.

    Only the parallelism may be any text, which admission judges.
    """
    found: Obj = {}
    for name, key in _ANNOTATED.items():
        text = annotations.get(key) or ""
        try:
            found[name] = numbers.parse_int(text)
        except ValueError:
            if text and name == "imagePreDownloadParallelism":
                found[name] = text
    return found


def _clone_set_from_new(obj: Obj) -> Obj:
    spec, meta = _part(obj, "spec"), _part(obj, "metadata")
    scaling, strategy = _part(spec, "scaleStrategy"), _part(spec, "updateStrategy")
    rolling = _part(strategy, "rollingUpdate")
    in_place = _part(rolling, "inPlaceUpdateStrategy")
    policy = rolling.get("podUpdatePolicy")
    type_ = policy if policy in _POLICIES else _POLICIES[0]
    old_scaling = _some(scaling, ("podsToDelete", "maxUnavailable"))
    if not scaling.get("enablePVCReuse"):
        old_scaling["disablePVCReuse"] = True
    old_strategy = {"type": _ON_DELETE if strategy.get("type") == _ON_DELETE else type_, **_some(rolling, _ROLLING)}
    told = {key: str(in_place[name]) for name, key in _ANNOTATED.items() if in_place.get(name) is not None}
    if isinstance(rolling.get("inPlaceUpdateStrategy"), dict):  # upstream drops an empty one, which is filled in again
        old_strategy["inPlaceUpdateStrategy"] = _some(in_place, ("gracePeriodSeconds",))
    found = obj | {"spec": spec | {"scaleStrategy": old_scaling, "updateStrategy": old_strategy}}
    return found | {"metadata": meta | {"annotations": _part(meta, "annotations") | told}} if told else found


# -- UnitedDeployments -------------------------------------------------------------------------------------------------


def _united_to_new(obj: Obj) -> Obj:
    status = _part(obj, "status")
    if not status:
        return obj
    update = _part(status, "updateStatus")
    entries: list[Obj] = [dict(each) for each in status.get("subsetStatuses") or ()]
    for field, values in (
        ("replicas", _part(status, "subsetReplicas")),
        ("partition", _part(update, "currentPartitions")),
    ):
        for name, value in values.items():
            entry = next((each for each in entries if each.get("name") == name), None)
            if entry is None:
                entries.append(entry := {"name": name})
            entry[field] = value
    kept = {name: value for name, value in status.items() if name not in ("subsetReplicas", "updateStatus")}
    told = _some(update, ("updatedRevision",)) | ({"subsetStatuses": entries} if entries else {})
    return obj | {"status": kept | told}


def _united_from_new(obj: Obj) -> Obj:
    status = _part(obj, "status")
    named = [each for each in status.get("subsetStatuses") or () if each.get("name")]
    revision = status.get("updatedRevision")
    if not named and not revision:
        return obj
    kept = {name: value for name, value in status.items() if name != "updatedRevision"}
    update: Obj = {"updatedRevision": revision} if revision else {}
    if named:
        kept["subsetReplicas"] = {each["name"]: each.get("replicas") or 0 for each in named}
        update["currentPartitions"] = {each["name"]: each.get("partition") or 0 for each in named}
    return obj | {"status": kept | {"updateStatus": update}}


_CONVERSIONS: Mapping[tuple[str, str, str], Convert] = {
    ("CloneSet", OLD, NEW): _clone_set_to_new,
    ("CloneSet", NEW, OLD): _clone_set_from_new,
    ("UnitedDeployment", OLD, NEW): _united_to_new,
    ("UnitedDeployment", NEW, OLD): _united_from_new,
    ("StatefulSet", OLD, NEW): _same,  # v1beta1 knows more, which is all that differs
    ("StatefulSet", NEW, OLD): _same,
}
"""Kind, source and target → how it is converted."""
