"""LimitRanges (core): defaults and validation."""

from collections.abc import Iterator

from apiserver.api import field, quantity
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check
from apiserver.api.validation.contract import same_on_update
from apiserver.api.validation.resource_lists import HUGE_PAGES, container_resource_name, is_native, resource_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import PLAIN

_LIMIT_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_limit_range(limit_range: Obj) -> None:
    """Set the default limits of containers: default from max, defaultRequest from default and min."""
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            _default_container_limit(item)
        for name in _LIMIT_LISTS:
            round_up_to_milli(item.get(name))


def _default_container_limit(item: Obj) -> None:
    default = item.get("max", {}) | item.get("default", {})
    request = item.get("min", {}) | default | item.get("defaultRequest", {})
    if default:
        item["default"] = default
    if request:
        item["defaultRequest"] = request


_BOUNDS, _DEFAULTS = ("max", "min", "maxLimitRequestRatio"), ("default", "defaultRequest")

_LIMIT_TYPES = frozenset({"Container", "PersistentVolumeClaim", "Pod"})

_ORDERS = (  # of two amounts: (low, high, field of the error, field of the value in it or None for the same, message)
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", None, "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", None, "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        None,
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)

_MAX_MILLI = (2**63 - 1) // 1000


def _range(limit_range: Obj) -> Iterator[FieldError]:
    limits = (limit_range.get("spec") or {}).get("limits") or ()
    for index, limit in enumerate(limits):
        kind = limit.get("type", "")
        repeated = any(kind == earlier.get("type", "") for earlier in limits[:index])
        yield from checks.prefix_errors(f"spec.limits[{index}]", _limit(limit, kind, repeated=repeated))


def _limit(limit: Obj, kind: str, *, repeated: bool) -> Iterator[FieldError]:
    yield from checks.invalid_values("type", kind, _limit_type(kind))
    if repeated:
        yield field.duplicate("type", kind)
    check = container_resource_name if kind in {"Container", "Pod"} else resource_name
    yield from _keys(limit, ("max", "min"), check)
    if kind == "Pod":
        for name in _DEFAULTS:
            if limit.get(name):
                yield field.forbidden(name, "may not be specified when `type` is 'Pod'")
    else:
        yield from _keys(limit, _DEFAULTS, check)
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(name) or ()) for name in ("min", "max")):
        yield field.required("limits", "either minimum or maximum storage value is required, but neither was provided")
    yield from _keys(limit, ("maxLimitRequestRatio",), check)
    for name, amounts in _by_resource(limit, (*_BOUNDS, *(() if kind == "Pod" else _DEFAULTS))).items():
        yield from _resource(name, amounts)


def _by_resource(limit: Obj, kinds: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the amounts by resource, each with its kind of limit: {"cpu": {"max": "2", "min": "1"}}."""
    amounts: dict[str, dict[str, str]] = {}
    for kind in kinds:
        for name, text in (limit.get(kind) or {}).items():
            amounts.setdefault(name, {})[kind] = text
    return amounts


def _limit_type(kind: str) -> names.Messages:
    messages = names.qualified_name(kind)
    if messages or "/" in kind or kind in _LIMIT_TYPES:
        return messages
    return ("must be a standard limit type or fully qualified",)


def _keys(limit: Obj, fields: tuple[str, ...], check: Check) -> Iterator[FieldError]:
    for name in fields:
        for resource in limit.get(name) or ():
            yield from checks.prefix_errors(f"{name}[{resource}]", check(resource))


def _resource(name: str, texts: dict[str, str]) -> Iterator[FieldError]:
    """Yield the errors of one resource's amounts, given by kind: min, max, default, defaultRequest and the ratio."""
    amounts = {kind: quantity.of(text) for kind, text in texts.items()}
    for low, high, path, value_kind, detail in _ORDERS:
        if low in amounts and high in amounts and amounts[low].nanos > amounts[high].nanos:
            yield field.invalid(f"{path}[{name}]", texts[value_kind or path], detail.format(texts[low], texts[high]))
    if "maxLimitRequestRatio" in amounts:
        yield from checks.prefix_errors(f"maxLimitRequestRatio[{name}]", _ratio(amounts, texts["maxLimitRequestRatio"]))
    default, request = texts.get("default"), texts.get("defaultRequest")
    both = default is not None and request is not None
    overcommits = is_native(name) and not name.startswith(HUGE_PAGES)
    if both and not overcommits and amounts["default"].nanos != amounts["defaultRequest"].nanos:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield field.invalid(f"defaultRequest[{name}]", request, detail)


def _ratio(amounts: dict[str, quantity.Quantity], text: str) -> Iterator[FieldError]:
    ratio, low, high = amounts["maxLimitRequestRatio"], amounts.get("min"), amounts.get("max")
    if ratio.nanos < quantity.parse("1").nanos:
        yield field.invalid("", text, f"ratio {text} is less than 1")
    if low is None or high is None or not low.nanos:
        return
    by_milli = max(ratio.value, low.value, high.value) < _MAX_MILLI
    max_ratio = high.milli_value / low.milli_value if by_milli else high.value / low.value
    if (ratio.milli_value / 1000 if by_milli else ratio.value) > max_ratio:
        yield field.invalid("", text, f"ratio {text} is greater than max/min = {max_ratio:f}")


LIMIT_RANGE = BuiltinKind(
    "",
    "LimitRange",
    ("limits",),
    creates_on_update=True,
    default=default_limit_range,
    strategy=PLAIN,
    validator=same_on_update(_range),
)
