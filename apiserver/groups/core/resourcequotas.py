"""ResourceQuotas (core): defaults, strategy, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.resource_lists import resource_amount, resource_name
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, quantity_text
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import Strategy, creation, status_updating, updating


def default_resource_quota(quota: Obj) -> None:
    """Round a quota's amounts up to thousandths."""
    round_up_to_milli((quota.get("spec") or {}).get("hard"))
    status = quota.get("status") or {}
    round_up_to_milli(status.get("hard"))
    round_up_to_milli(status.get("used"))


_WITH_STATUS = Strategy(creation(status=dict, generation=False), updating(), status_updating(), has_status=True)

_PODS = frozenset({"pods"})

_PODS_AND_COMPUTE = _PODS | {"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}

_SCOPES = {  # scope → the standard resources that a quota of that scope can limit
    "BestEffort": _PODS,
    "CrossNamespacePodAffinity": _PODS_AND_COMPUTE,
    "NotBestEffort": _PODS_AND_COMPUTE,
    "NotTerminating": _PODS_AND_COMPUTE,
    "PriorityClass": _PODS_AND_COMPUTE,
    "Terminating": _PODS_AND_COMPUTE,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}

_CONFLICTS = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"NotTerminating", "Terminating"}))

_EXISTS_ONLY = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}

_EXISTS_WORDS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)

_NOT_IN_SCOPE = "unsupported scope applied to resource"


def _is_standard(name: str) -> bool:
    """Return whether quotas know a resource of this name (helper.IsStandardQuotaResourceName)."""
    return "/" not in name and name != "storage" and not resource_name(name)


def _create(quota: Obj) -> Iterator[FieldError]:
    yield from checks.prefix_errors("spec", _spec(quota.get("spec") or {}))
    yield from _status_update(quota, quota)


def _update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec = new.get("spec") or {}
    yield from checks.prefix_errors("spec", _spec(spec))
    scopes, before = (set((obj.get("spec") or {}).get("scopes") or ()) for obj in (new, old))
    if scopes != before:
        yield field.invalid("spec.scopes", spec.get("scopes"), checks.IMMUTABLE)


def _status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    for name in ("hard", "used"):
        yield from _amounts(f"status.{name}", status.get(name))


def _amounts(path: str, amounts: dict[str, str] | None) -> Iterator[FieldError]:
    for name, text in (amounts or {}).items():
        known = "/" in name or _is_standard(name)
        unknown = () if known else (field.invalid("", name, "must be a standard resource for quota"),)
        yield from checks.prefix_errors(
            f"{path}[{name}]", (*resource_name(name), *unknown, *resource_amount(name, text))
        )


def _spec(spec: Obj) -> Iterator[FieldError]:
    hard, scopes, selector = spec.get("hard"), spec.get("scopes"), spec.get("scopeSelector")
    yield from _amounts("hard", hard)
    if scopes:
        limited = sorted(filter(_is_standard, hard or ()))
        yield from _scopes(scopes, limited)
    if selector is not None:
        yield from checks.prefix_errors("scopeSelector", _selector(selector, sorted(hard or ()), scopes))


def _scopes(scopes: list[str], limited: list[str]) -> Iterator[FieldError]:
    for scope in scopes:
        known = _SCOPES.get(scope)
        if known is None:
            yield field.invalid("scopes", scopes, "unsupported scope")
            continue
        for name in limited:
            if name not in known:
                yield field.invalid("scopes", scopes, _NOT_IN_SCOPE)
    for pair in _CONFLICTS:
        if pair.issubset(scopes):
            yield field.invalid("scopes", scopes, "conflicting scopes")


def _selector(selector: Obj, hard: list[str], scopes: list[str] | None) -> Iterator[FieldError]:
    path, requirements = "matchExpressions", selector.get("matchExpressions") or ()
    for requirement in requirements:
        scope = requirement.get("scopeName", "")
        known = _SCOPES.get(scope)
        if known is None:
            yield field.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for name in hard:
            if known is not None and _is_standard(name) and name not in known:
                yield field.invalid(path, _go_struct(selector), _NOT_IN_SCOPE)
        yield from checks.prefix_errors(path, _requirement(requirement, scope))
    selected = {requirement.get("scopeName") for requirement in requirements}
    for pair in _CONFLICTS:
        if pair <= selected:
            yield field.invalid(path, scopes, "conflicting scopes")


def _requirement(requirement: Obj, scope: str) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if scope in _EXISTS_ONLY and operator != "Exists":
        yield field.invalid("operator", operator, _EXISTS_WORDS)
    if operator in {"In", "NotIn"}:
        detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        yield from checks.required("values", values, detail)
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield field.invalid("values", values, detail)
    else:
        yield field.invalid("operator", operator, "not a valid selector operator")


def _go_struct(selector: Obj) -> Obj:
    """Return the selector as the internal type prints it, with its Go field names."""
    requirements = selector.get("matchExpressions") or ()
    return {"MatchExpressions": [{key[:1].upper() + key[1:]: v for key, v in r.items()} for r in requirements]}


def _resource_quota(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    hard, used = mapping(status, "hard"), mapping(status, "used")
    lines = [(name, f"{name}: {quantity_text(used, name)}/{quantity_text(hard, name)}") for name in sorted(hard)]
    requests = ", ".join([line for name, line in lines if not name.startswith("limits.")])
    limits = ", ".join([line for name, line in lines if name.startswith("limits.")])
    return [name_of(obj), requests, limits, age(obj)]


RESOURCE_QUOTA = BuiltinKind(
    "",
    "ResourceQuota",
    ("quota",),
    default=default_resource_quota,
    returns_deleted=True,
    strategy=_WITH_STATUS,
    validator=Validator(_create, _update, _status_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Request", "What is requested of each resource, and what may be."),
            Column("Limit", "What the limits of each resource add up to, and what they may."),
            AGE,
        ),
        cells=_resource_quota,
    ),
)
