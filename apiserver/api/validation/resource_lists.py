"""Validation of amounts of resources: requests and limits of containers and pods."""

from collections.abc import Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.quantity import parse
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check, FieldErrors, cached, key

_ONE = 10**9
HUGE_PAGES = "hugepages-"
"""The prefix of the resources of huge pages, whose names end with the size of a page."""
_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
_COMPUTE = frozenset({"cpu", "memory"})
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD = (
    _CONTAINER
    | _COUNTED
    | {f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _CONTAINER}
    | {"storage", "requests.storage"}
)


def amount(quantity: str) -> int:
    """Return the number that a quantity stands for, in billionths."""
    return parse(quantity).nanos


def is_extended(name: str) -> bool:
    """Return whether a resource is a vendor's device, counted in whole numbers (helper.IsExtendedResourceName)."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def is_native(name: str) -> bool:
    """Return whether a resource is one of Kubernetes' own (helper.IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


def _may_overcommit(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def resource_name(name: str) -> FieldErrors:
    """Return the errors of any resource's name (validateResourceName)."""
    if messages := names.qualified_name(name):
        return checks.invalid_values("", name, messages)
    known = "/" in name or name in _STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))
    return () if known else (field.invalid("", name, "must be a standard resource type or fully qualified"),)


def container_resource_name(name: str) -> FieldErrors:
    """Return the errors of the name of a resource that a container requests (validateContainerResourceName)."""
    if name in _CONTAINER:
        return ()
    errors = list(resource_name(name))
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            errors.append(field.invalid("", name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(field.invalid("", name, "doesn't follow extended resource name standard"))
    return errors


def _pod_resource_name(name: str) -> FieldErrors:
    if name in _POD_LEVEL:
        return ()
    if errors := resource_name(name):
        return errors
    return () if name.startswith(HUGE_PAGES) else (field.not_supported("", name, _POD_LEVEL),)


def resource_amount(name: str, quantity: str) -> FieldErrors:
    """Return the errors of the amount of a resource (ValidateResourceQuantityValue)."""
    value = amount(quantity)
    if value >= 0 and (name in _CONTAINER or not _is_counted(name) or value % _ONE == 0):
        return ()
    errors = [field.invalid("", quantity, checks.NEGATIVE)] if value < 0 else []
    if _is_counted(name) and value % _ONE:
        errors.append(field.invalid("", quantity, "must be an integer"))
    return errors


def _is_counted(name: str) -> bool:
    return name in _COUNTED or is_extended(name)


def _listed(path: str, amounts: Mapping[str, str], check_name: Check) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in amounts.items():
        if amount_errors := [*check_name(name), *resource_amount(name, quantity), *_huge_pages(name, quantity)]:
            errors += checks.prefix_errors(key(path, name), amount_errors)
    return errors


def _huge_pages(name: str, quantity: str) -> FieldErrors:
    if not name.startswith(HUGE_PAGES):
        return ()
    page = amount(name.removeprefix(HUGE_PAGES))
    if page > 0 and amount(quantity) % page == 0:
        return ()
    return (field.invalid("", quantity, f"{quantity} is not positive integer multiple of {name}"),)


def _within_limits(requests: Mapping[str, str], limits: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in requests.items():
        limit = limits.get(name)
        if limit is None:
            if not _may_overcommit(name):
                errors.append(field.required("limits", "Limit must be set for non overcommitable resources"))
        elif limit != quantity and (detail := _against_limit(name, quantity, limit)):
            errors.append(field.invalid("requests", quantity, detail))
    return errors


def _against_limit(name: str, quantity: str, limit: str) -> str:
    requested, allowed = amount(quantity), amount(limit)
    if requested != allowed and not _may_overcommit(name):
        return f"must be equal to {name} limit of {limit}"
    return f"must be less than or equal to {name} limit of {limit}" if requested > allowed else ""


def _without_compute(resources: Obj) -> list[FieldError]:
    requested = {*resources.get("limits", ()), *resources.get("requests", ())}
    if requested & _COMPUTE or not any(name.startswith(HUGE_PAGES) for name in requested):
        return []
    return [field.forbidden("", "HugePages require cpu or memory")]


def _requirements(resources: Obj, check_name: Check) -> list[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors = _listed("limits", limits, check_name)
    for name, quantity in requests.items():
        errors += _listed("requests", {name: quantity}, check_name) + _within_limits({name: quantity}, limits)
    return errors + _without_compute(resources) if errors or len(limits) + len(requests) else errors


container_resources: Check = cached(lambda resources: _requirements(resources, container_resource_name))
"""A check of a container's requests and limits (ValidateContainerResourceRequirements)."""


def pod_resources(resources: Obj) -> FieldErrors:
    """Return the errors of a pod's own requests and limits (validatePodResourceRequirements)."""
    claims = [field.forbidden("claims", "claims cannot be set for Resources at pod-level")]
    return (claims if resources.get("claims") else []) + _requirements(resources, _pod_resource_name)
