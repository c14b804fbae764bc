"""ResourceClaims and ResourceClaimTemplates (resource.k8s.io): defaults, validation, conversion and columns."""

from collections.abc import Callable, Iterator
from functools import partial

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import deeply_equal
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, is_deleted, mapping
from apiserver.groups.columns import AGE, NAME, NAME_AND_AGE, Column, Printer
from apiserver.groups.conversion import OLD_DEVICES, Conversion
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.strategy import GUARDED_STATUS, PLAIN


def default_resource_claim(claim: Obj) -> None:
    """Set the defaults of a ResourceClaim's device requests: one device each."""
    _default_requests(claim.get("spec") or {})
    for result in _allocated(claim):
        _default_tolerations(result)


def default_resource_claim_template(template: Obj) -> None:
    """Set the defaults of the claim in a template."""
    _default_requests((template.get("spec") or {}).get("spec") or {})


def _default_requests(spec: Obj) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        for device_request in (request["exactly"], *alternatives) if "exactly" in request else alternatives:
            if device_request.setdefault("allocationMode", "ExactCount") == "ExactCount":
                device_request.setdefault("count", 1)
            _default_tolerations(device_request)


def _allocated(claim: Obj) -> list[Obj]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _default_tolerations(holder: Obj) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


_GROUP = "resource.k8s.io"

_OLD_FORM = f"{_GROUP}/v1beta1"  # has the fields of an exact request in the request itself

_MODES = frozenset({"All", "ExactCount"})

_MAX_REQUESTS, _MAX_SUBREQUESTS, _MAX_SELECTORS = 32, 8, 32

_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"


def _validate_claim(claim: Obj) -> Errors:
    return checks.prefix_errors("spec", _claim_spec(claim, claim.get("spec") or {}))


def _template(template: Obj) -> Errors:
    inner = (template.get("spec") or {}).get("spec") or {}
    return checks.prefix_errors("spec.spec", _claim_spec(template, inner))


def _claim_spec(obj: Obj, spec: Obj) -> Iterator[FieldError]:
    requests = (spec.get("devices") or {}).get("requests") or []
    if len(requests) > _MAX_REQUESTS:
        yield field.too_many("devices.requests", len(requests), _MAX_REQUESTS)
    yield from _unique_names("devices.requests", requests)
    if obj.get("apiVersion") != _OLD_FORM:
        yield from checks.each("devices.requests", requests, _request)


def _unique_names(path: str, requests: list[Obj]) -> Iterator[FieldError]:
    seen = set()
    for index, request in enumerate(requests):
        name = request.get("name") or ""
        yield from checks.invalid_values(f"{path}[{index}].name", name, names.dns1123_label(name))
        if name in seen:
            yield field.duplicate(f"{path}[{index}].name", name)
        seen.add(name)


def _request(request: Obj) -> Iterator[FieldError]:
    exact, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if len(alternatives) > _MAX_SUBREQUESTS:
        yield field.too_many("firstAvailable", len(alternatives), _MAX_SUBREQUESTS)
    yield from _unique_names("firstAvailable", alternatives)
    yield from checks.each("firstAvailable", alternatives, _device_request)
    if exact is not None:
        yield from checks.prefix_errors("exactly", _device_request(exact))
    if exact is None and not alternatives:
        yield field.required("", _ONE_OF)
    elif exact is not None and alternatives:
        yield field.invalid("", None, f"{_ONE_OF}, but multiple fields are set")


def _device_request(request: Obj) -> Iterator[FieldError]:
    yield from checks.required_name("deviceClassName", request.get("deviceClassName"), names.dns1123_subdomain)
    yield from device_selectors(request.get("selectors") or [])
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "ExactCount" and count <= 0:
        yield field.invalid("count", count, checks.NOT_POSITIVE)
    elif mode == "All" and count:
        yield field.invalid("count", count, "must not be specified when allocationMode is 'All'")
    yield from checks.one_of("allocationMode", mode, _MODES)


def device_selectors(selectors: list[Obj]) -> Iterator[FieldError]:
    """Return the errors of the selectors of a device request or class."""
    if len(selectors) > _MAX_SELECTORS:
        yield field.too_many("selectors", len(selectors), _MAX_SELECTORS)
    for index, selector in enumerate(selectors):
        cel = selector.get("cel")
        path = f"selectors[{index}].cel"
        if cel is None:
            yield field.required(path)
        else:
            yield from checks.required(f"{path}.expression", cel.get("expression"))


def _fixed_spec(new: Obj, old: Obj) -> Errors:
    spec = new.get("spec")
    return () if deeply_equal(spec, old.get("spec")) else (field.invalid("spec", spec, checks.IMMUTABLE),)


Change = Callable[[Obj], Obj]


def _nested(request: Obj) -> Obj:
    kept: Obj = {name: request[name] for name in ("name", "firstAvailable") if name in request}
    exactly = {name: value for name, value in request.items() if name not in kept}
    return kept | {"exactly": exactly} if exactly else kept


def flatten_request(obj: Obj, part: str) -> Obj:
    """Return the object with the fields of a part of it moved to its own level."""
    rest = {name: value for name, value in obj.items() if name != part}
    return rest | (obj.get(part) or {})


_flat_request = partial(flatten_request, part="exactly")


def each(obj: Obj, path: tuple[str, ...], change: Change) -> Obj:
    """Return a copy of the object with all items of the list at a path changed, if it has that list."""
    first, *rest = path
    inner = obj.get(first)
    if not inner:
        return obj
    return obj | {first: each(inner, tuple(rest), change) if rest else [change(item) for item in inner]}


CLAIM = ("spec", "devices", "requests")

TEMPLATE = ("spec", *CLAIM)


def requests_to_v1(path: tuple[str, ...]) -> Change:
    """Return a function that nests the requests at a path of a v1beta1 object, as v1 has them."""
    return lambda obj: each(obj, path, _nested)


def requests_from_v1(path: tuple[str, ...]) -> Change:
    """Return a function that converts the requests at a path of a v1 object back to v1beta1."""
    return lambda obj: each(obj, path, _flat_request)


def _claim_cells(obj: Obj) -> Cells:
    return [name_of(obj), _claim_state(obj), age(obj)]


def _claim_state(claim: Obj) -> str:
    status = mapping(claim, "status")
    states = ["deleted"] if is_deleted(claim) else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return ",".join(states) or "pending"


RESOURCE_CLAIM = BuiltinKind(
    "resource.k8s.io",
    "ResourceClaim",
    default=default_resource_claim,
    returns_deleted=True,
    strategy=GUARDED_STATUS,
    validator=Validator(_validate_claim, _fixed_spec),
    old_versions=Conversion(requests_to_v1(CLAIM), requests_from_v1(CLAIM), alike=OLD_DEVICES),
    printer=Printer(
        columns=(NAME, Column("State", "Whether the claim is pending, allocated, reserved, deleted."), AGE),
        cells=_claim_cells,
    ),
    notices=stored("ResourceClaim", NO_DEVICES, "is never allocated"),
)

RESOURCE_CLAIM_TEMPLATE = BuiltinKind(
    "resource.k8s.io",
    "ResourceClaimTemplate",
    default=default_resource_claim_template,
    returns_deleted=True,
    strategy=PLAIN,
    validator=Validator(_template, _fixed_spec),
    old_versions=Conversion(requests_to_v1(TEMPLATE), requests_from_v1(TEMPLATE), alike=OLD_DEVICES),
    printer=NAME_AND_AGE,
    notices=stored("ResourceClaimTemplate", NO_DEVICES, "no ResourceClaim is made from it"),
)
