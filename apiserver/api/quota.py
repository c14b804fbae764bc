"""Quotas: what an object uses of each resource, and which quotas it counts for (pkg/quota/v1/evaluator).

The server charges quotas when it admits a write; the resourcequota controller counts what there is.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.pod_resources import Amounts, amounts, pod_amounts, with_overhead
from apiserver.api.quantity import Quantity
from apiserver.api.storage_classes import CLASS_ANNOTATION
from apiserver.api.validation.resource_lists import is_extended, is_native

ONE, NONE = Quantity(10**9), Quantity(0)
GroupResource = tuple[str, str]
"""(group, plural)."""

IGNORED: frozenset[GroupResource] = frozenset(
    (
        ("", "bindings"),
        ("", "componentstatuses"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    )
)
"""Resources that no quota counts (pkg/quota/v1/install)."""


class Evaluator(NamedTuple):
    """The functions by which quotas count one resource.

    Attributes:
        usage: (object, now) → what it uses.
        matching: (names) → those of a quota's resources that objects of this kind use.
        matches_scope: (a requirement of a scope selector, object) → whether the object is in that scope.
        missing: (names, object) → what the object has to specify under a quota of these resources, "" if nothing.
    """

    usage: Callable[[Obj, float], Amounts]
    matching: Callable[[Iterable[str]], list[str]]
    matches_scope: Callable[[Obj, Obj], bool]
    missing: Callable[[Iterable[str], Obj], str]


def count_name(resource: GroupResource) -> str:
    """Return the name under which objects are counted: "count/deployments.apps" (ObjectCountQuotaResourceNameFor)."""
    group, plural = resource
    return f"count/{plural}.{group}" if group else f"count/{plural}"


def evaluator_of(resource: GroupResource) -> Evaluator:
    """Return the evaluator of a resource; most are only counted."""
    if resource[0]:
        return _counter(resource)
    return _EVALUATORS.get(resource[1]) or _counter(resource)


def scope_requirements(quota: Obj) -> list[Obj]:
    """Return all scopes of a quota as requirements (getScopeSelectorsFromQuota)."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return [*scopes, *((spec.get("scopeSelector") or {}).get("matchExpressions") or ())]


def is_in_scopes(evaluator: Evaluator, quota: Obj, obj: Obj) -> bool:
    """Return whether an object is in all scopes of a quota."""
    return all(evaluator.matches_scope(requirement, obj) for requirement in scope_requirements(quota))


def total_usage(evaluator: Evaluator, quota: Obj, objects: Iterable[Obj], now: float) -> Amounts:
    """Return what all objects in a quota's scopes use together (generic.CalculateUsageStats)."""
    total = Amounts()
    for obj in objects:
        if is_in_scopes(evaluator, quota, obj):
            total = add(total, evaluator.usage(obj, now))
    return total


def add(first: Amounts, second: Amounts) -> Amounts:
    """Return the sum of two lists of amounts (quota.Add)."""
    return {
        name: first[name] + second[name] if name in first and name in second else first.get(name) or second[name]
        for name in (*first, *(name for name in second if name not in first))
    }


def increase(new: Amounts, old: Amounts) -> Amounts:
    """Return by how much each amount has grown, nothing where it has not (SubtractWithNonNegativeResult)."""
    return {name: each if (each := new[name] - old.get(name, NONE)).nanos > 0 else NONE for name in new}


def mask(listed: Amounts, names: Iterable[str]) -> Amounts:
    """Return the amounts of these resources alone (quota.Mask)."""
    return {name: listed[name] for name in names if name in listed}


# -- resources that are only counted ----------------------------------------------------------------------------------


def _no_scope(_requirement: Obj, _obj: Obj) -> bool:
    return False


def _nothing_missing(_names: Iterable[str], _obj: Obj) -> str:
    return ""


ALIASES = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
"""Core resources that are also counted under their plain names (legacyObjectCountAliases)."""


def _counter(resource: GroupResource) -> Evaluator:
    names = (count_name(resource), *((resource[1],) if not resource[0] and resource[1] in ALIASES else ()))

    def usage(_obj: Obj, _now: float) -> Amounts:
        return dict.fromkeys(names, ONE)

    def matching(given: Iterable[str]) -> list[str]:
        return [name for name in given if name in names]

    return Evaluator(usage, matching, _no_scope, _nothing_missing)


# -- services ---------------------------------------------------------------------------------------------------------

_SERVICE_RESOURCES = ("count/services", "services", "services.nodeports", "services.loadbalancers")


def _service_usage(service: Obj, _now: float) -> Amounts:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or ()
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(bool(port.get("nodePort")) for port in ports)
    return {
        "count/services": ONE,
        "services": ONE,
        "services.nodeports": Quantity(node_ports * ONE.nanos),
        "services.loadbalancers": ONE if kind == "LoadBalancer" else NONE,
    }


def _service_matching(names: Iterable[str]) -> list[str]:
    return [name for name in names if name in _SERVICE_RESOURCES]


# -- claims -----------------------------------------------------------------------------------------------------------

_CLAIM_RESOURCES = ("persistentvolumeclaims", "requests.storage")
_OF_CLASS = ".storageclass.storage.k8s.io/"
"""Between the name of a storage class and what is limited of it."""


def _claim_usage(claim: Obj, _now: float) -> Amounts:
    used = {"persistentvolumeclaims": ONE, "count/persistentvolumeclaims": ONE}
    spec, annotations = claim.get("spec") or {}, claim["metadata"].get("annotations") or {}
    storage_class = annotations.get(CLASS_ANNOTATION, spec.get("storageClassName") or "")
    if storage_class:
        used[f"{storage_class}{_OF_CLASS}persistentvolumeclaims"] = ONE
    storage = _storage(claim, spec)
    if storage is not None:
        used["requests.storage"] = storage
        if storage_class:
            used[f"{storage_class}{_OF_CLASS}requests.storage"] = storage
    return used


def _storage(claim: Obj, spec: Obj) -> Quantity | None:
    """Return the whole bytes that a claim requests, or that are allocated to it already if these are more."""
    requested = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    if requested is None:
        return None
    allocated = amounts((claim.get("status") or {}).get("allocatedResources")).get("storage", NONE)
    largest = allocated if allocated.nanos > requested.nanos else requested
    return largest if largest.nanos % ONE.nanos == 0 else Quantity(largest.value * ONE.nanos, largest.format)


def _claim_matching(names: Iterable[str]) -> list[str]:
    return [
        name
        for name in names
        if name in ("count/persistentvolumeclaims", *_CLAIM_RESOURCES)
        or name.endswith(tuple(_OF_CLASS + resource for resource in _CLAIM_RESOURCES))
    ]


def attributes_classes(claim: Obj) -> set[str]:
    """Return the VolumeAttributesClasses that a claim names or has (getReferencedVolumeAttributesClassNames)."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    modified = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), modified)
    return {name for name in names if name}


def _claim_in_scope(requirement: Obj, claim: Obj) -> bool:
    if requirement.get("scopeName") != "VolumeAttributesClass":
        return False
    return any(_selects(requirement, name) for name in attributes_classes(claim) or ("",))


def _selects(requirement: Obj, value: str) -> bool:
    """Return whether a requirement of a scope selector selects a value, "" for none (labels.Requirement)."""
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values if value else False
        case "NotIn":
            return value not in values
        case "Exists":
            return bool(value)
        case _:
            return not value


# -- pods -------------------------------------------------------------------------------------------------------------

_POD_RESOURCES = frozenset(
    (
        "count/pods",
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
    )
)
_REQUIRED = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
"""The resources that every container has to specify under a quota that limits them (validationSet)."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")


def _pod_usage(pod: Obj, now: float) -> Amounts:
    """Return what a pod uses (PodUsageFunc)."""
    used = {"count/pods": ONE}
    if not _counts(pod, now):
        return used
    requests = with_overhead(pod_amounts(pod, "requests", allocated=True), pod)
    limits = with_overhead(pod_amounts(pod, "limits", allocated=True), pod, of_limits=True)
    return used | _compute_usage(requests, limits)


def _compute_usage(requests: Amounts, limits: Amounts) -> Amounts:
    """Return requests and limits under the names that quotas have for them (podComputeUsageHelper)."""
    used = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    return used


def _counts(pod: Obj, now: float) -> bool:
    """Return whether a pod still counts: it has not ended, and is not overdue to be deleted (QuotaV1Pod)."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    meta = pod["metadata"]
    deleted, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    return not deleted or grace is None or now <= datetime.fromisoformat(deleted).timestamp() + grace


def _pod_matching(names: Iterable[str]) -> list[str]:
    return [
        name
        for name in names
        if name in _POD_RESOURCES
        or name.startswith(("hugepages-", "requests.hugepages-"))
        or (name.startswith("requests.") and not is_native(name))
    ]


def _pod_missing(names: Iterable[str], pod: Obj) -> str:
    """Return what containers have to specify (podEvaluator.Constraints)."""
    required = [name for name in _REQUIRED if name in set(names)]
    spec = pod["spec"]
    lacking: dict[str, list[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        used = _compute_usage(amounts(resources.get("requests")), amounts(resources.get("limits")))
        for name in required:
            if name not in used:
                lacking.setdefault(name, []).append(container["name"])
    if not lacking:
        return ""
    return "must specify " + "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def _is_terminating(pod: Obj) -> bool:
    return (pod["spec"].get("activeDeadlineSeconds") or -1) >= 0


def _is_best_effort(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("qosClass") == "BestEffort"


def _has_priority_class(requirement: Obj, pod: Obj) -> bool:
    return _selects(requirement, pod["spec"].get("priorityClassName") or "")


def _crosses_namespaces(pod: Obj) -> bool:
    """Return whether an affinity term of a pod names other namespaces (usesCrossNamespacePodAffinity)."""
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        weighted = (each.get("podAffinityTerm") or {} for each in rules.get(_PREFERRED) or ())
        for term in (*(rules.get(_DEMANDED) or ()), *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_DEMANDED = "requiredDuringSchedulingIgnoredDuringExecution"

_POD_SCOPES: Mapping[str, Callable[[Obj, Obj], bool]] = {
    "Terminating": lambda _, pod: _is_terminating(pod),
    "NotTerminating": lambda _, pod: not _is_terminating(pod),
    "BestEffort": lambda _, pod: _is_best_effort(pod),
    "NotBestEffort": lambda _, pod: not _is_best_effort(pod),
    "PriorityClass": _has_priority_class,
    "CrossNamespacePodAffinity": lambda _, pod: _crosses_namespaces(pod),
}


def _pod_in_scope(requirement: Obj, pod: Obj) -> bool:
    matches = _POD_SCOPES.get(requirement.get("scopeName", ""))
    return matches is not None and matches(requirement, pod)


_EVALUATORS: Mapping[str, Evaluator] = {
    "pods": Evaluator(_pod_usage, _pod_matching, _pod_in_scope, _pod_missing),
    "services": Evaluator(_service_usage, _service_matching, _no_scope, _nothing_missing),
    "persistentvolumeclaims": Evaluator(_claim_usage, _claim_matching, _claim_in_scope, _nothing_missing),
}
"""Core resources that quotas do more with than count them."""
