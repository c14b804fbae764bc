"""The strategies of pods: the initial status, what creation fills in, and updates of spec, status and subresources."""

from copy import deepcopy
from typing import Any

from apiserver.api.meta import Obj
from apiserver.groups.core.pods.annotations import APP_ARMOR
from apiserver.groups.core.pods.containers import CONTAINERS
from apiserver.groups.core.pods.qos import qos_class
from apiserver.groups.strategy import METADATA_OF_STATUS, Strategy, increment_generation, keep_field, unchanged

_AFFINITIES = ("podAffinity", "podAntiAffinity")

_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
}

_PROFILES = {"runtime/default": "RuntimeDefault", "unconfined": "Unconfined"}

_RESIZED = ("resources", "resizePolicy")


def prepare_create(pod: Obj) -> None:
    """Make the pod pending; turn its label keys into selectors, and show scheduling gates as a condition."""
    spec, meta = pod["spec"], pod["metadata"]
    meta["generation"] = 1
    status: Obj = {"phase": "Pending", "qosClass": qos_class(pod)}
    pod["status"] = status
    if spec.get("schedulingGates"):
        status["conditions"] = [_GATED | {"lastTransitionTime": meta.get("creationTimestamp")}]
    _take_over_profiles(spec, meta.get("annotations") or {})
    if "affinity" in spec:
        _merge_into_affinity(_unshared(spec, "affinity"), meta.get("labels") or {})
    if spec.get("topologySpreadConstraints"):
        for constraint in _unshared(spec, "topologySpreadConstraints"):
            _merge_keys(constraint, "matchLabelKeys", operator="In", labels=meta.get("labels") or {})


def _unshared(spec: Obj, field: str) -> Any:
    """Return a copy, put in place, of a part of the spec: pods of one template share everything below spec's fields."""
    spec[field] = deepcopy(spec[field])
    return spec[field]


def prepare_update(new: Obj, old: Obj) -> None:
    """Keep the status, and move the generation with the spec."""
    keep_field(new, old, "status")
    if new["spec"] != old["spec"]:
        increment_generation(new, old)


def prepare_status_update(new: Obj, old: Obj) -> None:
    """Keep the spec and the owners; restore status fields that a kubelet must not drop."""
    keep_field(new, old, "spec")
    for field in ("deletionTimestamp", "ownerReferences"):
        keep_field(new["metadata"], old["metadata"], field)
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for field in ("qosClass", "observedGeneration"):
        if field in before and not status.get(field):
            status[field] = before[field]
    _keep_observed_generations(status, before)


def prepare_ephemeral_containers(new: Obj, old: Obj) -> None:
    """Keep everything but the ephemeral containers."""
    ephemeral_containers = (new.get("spec") or {}).get("ephemeralContainers")
    spec = {field: value for field, value in old["spec"].items() if field != "ephemeralContainers"}
    _keep_all_but(new, old, spec | {"ephemeralContainers": ephemeral_containers} if ephemeral_containers else spec)


def prepare_resize(new: Obj, old: Obj) -> None:
    """Keep everything but resources and resize policies, unless the set of containers differs.

    If it differs, validation refuses the containers that were added, removed, reordered or renamed.
    """
    spec, before = new.get("spec") or {}, old["spec"]
    fields = [field for field in ("containers", "initContainers") if field in before]
    if all(_names(spec, field) == _names(before, field) for field in ("containers", "initContainers")):
        _keep_all_but(new, old, before | {field: _resized(spec[field], before[field]) for field in fields})


def _take_over_profiles(spec: Obj, annotations: dict[str, str]) -> None:
    """Copy deprecated AppArmor annotations to the containers' fields unless the pod has the same profile (KEP-24)."""
    if APP_ARMOR not in "".join(annotations) or _is_windows(spec):  # one search instead of one for each
        return
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    for field in CONTAINERS:
        for container in _unshared(spec, field) if spec.get(field) else ():
            profile = _profile(annotations.get(APP_ARMOR + container.get("name", ""), ""))
            if profile and profile != pod_profile:
                container.setdefault("securityContext", {}).setdefault("appArmorProfile", profile)


def _is_windows(spec: Obj) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _profile(annotation: str) -> Obj | None:
    if annotation.startswith("localhost/") and annotation.removeprefix("localhost/").strip():
        return {"type": "Localhost", "localhostProfile": annotation.removeprefix("localhost/")}
    kind = _PROFILES.get(annotation)
    return {"type": kind} if kind else None


def _keep_all_but(new: Obj, old: Obj, spec: Obj) -> None:
    """Restore all of the old pod but the given spec."""
    keep_field(new, old, "status")
    for field in METADATA_OF_STATUS:
        keep_field(new["metadata"], old["metadata"], field)
    new["spec"] = spec
    if new["spec"] != old["spec"]:
        increment_generation(new, old)


def _names(spec: Obj, field: str) -> list[str]:
    return [container.get("name", "") for container in (spec.get(field) or ())]


def _resized(new: list[Obj], old: list[Obj]) -> list[Obj]:
    kept = [{field: value for field, value in container.items() if field not in _RESIZED} for container in old]
    return [
        before | {field: container[field] for field in _RESIZED if field in container}
        for before, container in zip(kept, new, strict=True)
    ]


def _keep_observed_generations(status: Obj, before: Obj) -> None:
    """Restore the observedGeneration of conditions that omit it, from the old conditions of the same type."""
    seen: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        seen.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        of_type = seen.get(condition.get("type", ""))
        generation = of_type.pop(0) if of_type else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _merge_into_affinity(affinity: Obj, labels: dict[str, str]) -> None:
    for name in _AFFINITIES:
        terms = affinity.get(name) or {}
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(term, labels)
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(weighted.get("podAffinityTerm") or {}, labels)


def _merge_term(term: Obj, labels: dict[str, str]) -> None:
    _merge_keys(term, "matchLabelKeys", operator="In", labels=labels)
    _merge_keys(term, "mismatchLabelKeys", operator="NotIn", labels=labels)


def _merge_keys(term: Obj, field: str, *, operator: str, labels: dict[str, str]) -> None:
    """Select the pod's own values of the label keys; a term without a selector matches nothing and stays so."""
    selector: dict[str, Any] | None = term.get("labelSelector")
    keys = [key for key in (term.get(field) or ()) if key in labels]
    if selector is None or not keys:
        return
    added = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys]
    selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


POD_STRATEGY = Strategy(prepare_create, prepare_update, prepare_status_update, has_status=True, graceful=True)

POD_EPHEMERAL_CONTAINERS = Strategy(prepare_create, prepare_ephemeral_containers, unchanged)

POD_RESIZE = Strategy(prepare_create, prepare_resize, unchanged)
