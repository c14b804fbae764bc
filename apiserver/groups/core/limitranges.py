"""LimitRanges: defaults, validation."""

from collections.abc import Iterator

from apiserver.api import field, quantity
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check
from apiserver.api.validation.contract import same_on_update
from apiserver.api.validation.resource_lists import container_resource_name, is_native, resource_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import PLAIN

_LIMIT_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_limit_range(limit_range: Obj) -> None:
    """Defaults the limits of containers: default from max, defaultRequest from default and min."""
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

_ORDERS = (  # of two amounts: (low, high, the field the error stands at, its value, words)
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
        taken = any(kind == earlier.get("type", "") for earlier in limits[:index])
        yield from checks.within(f"spec.limits[{index}]", _limit(limit, kind, taken=taken))


def _limit(limit: Obj, kind: str, *, taken: bool) -> Iterator[FieldError]:
    yield from checks.wrong("type", kind, _limit_type(kind))
    if taken:
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
    for name, given in _by_resource(limit, (*_BOUNDS, *(() if kind == "Pod" else _DEFAULTS))).items():
        yield from _resource(name, given)


def _by_resource(limit: Obj, kinds: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Resource → which of the kinds of amounts there are of it."""
    found: dict[str, dict[str, str]] = {}
    for kind in kinds:
        for name, text in (limit.get(kind) or {}).items():
            found.setdefault(name, {})[kind] = text
    return found


def _limit_type(kind: str) -> names.Messages:
    wrong = names.qualified_name(kind)
    if wrong or "/" in kind or kind in _LIMIT_TYPES:
        return wrong
    return ("must be a standard limit type or fully qualified",)


def _keys(limit: Obj, fields: tuple[str, ...], check: Check) -> Iterator[FieldError]:
    for name in fields:
        for resource in limit.get(name) or ():
            yield from checks.within(f"{name}[{resource}]", check(resource))


def _resource(name: str, given: dict[str, str]) -> Iterator[FieldError]:
    """The amounts of one resource: which of min, max, default, defaultRequest and the ratio there are."""
    amounts = {kind: quantity.of(text) for kind, text in given.items()}
    for low, high, path, shown, words in _ORDERS:
        if low in amounts and high in amounts and amounts[low].nanos > amounts[high].nanos:
            yield field.invalid(f"{path}[{name}]", given[shown or path], words.format(given[low], given[high]))
    if "maxLimitRequestRatio" in amounts:
        yield from checks.within(f"maxLimitRequestRatio[{name}]", _ratio(amounts, given["maxLimitRequestRatio"]))
    default, request = given.get("default"), given.get("defaultRequest")
    both = default is not None and request is not None
    overcommits = is_native(name) and not name.startswith("hugepages-")
    if both and not overcommits and amounts["default"].nanos != amounts["defaultRequest"].nanos:
        words = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield field.invalid(f"defaultRequest[{name}]", request, words)


def _ratio(amounts: dict[str, quantity.Quantity], shown: str) -> Iterator[FieldError]:
    ratio, low, high = amounts["maxLimitRequestRatio"], amounts.get("min"), amounts.get("max")
    if ratio.nanos < quantity.parse("1").nanos:
        yield field.invalid("", shown, f"ratio {shown} is less than 1")
    if low is None or high is None or not low.nanos:
        return
    fine = max(ratio.value, low.value, high.value) < _MAX_MILLI
    most = high.milli_value / low.milli_value if fine else high.value / low.value
    if (ratio.milli_value / 1000 if fine else ratio.value) > most:
        yield field.invalid("", shown, f"ratio {shown} is greater than max/min = {most:f}")


LIMIT_RANGE = BuiltinKind(
    "",
    "LimitRange",
    ("limits",),
    creates_on_update=True,
    default=default_limit_range,
    strategy=PLAIN,
    validator=same_on_update(_range),
)
