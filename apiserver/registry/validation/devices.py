"""What claims and classes of devices may be, in the forms since resource.k8s.io/v1beta2 (pkg/apis/resource/validation).

Expressions are looked at for presence only: nothing here compiles CEL.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import same
from apiserver.api.validation.contract import Errors, Validator, same_on_update

_GROUP = "resource.k8s.io"
_OLD_FORM = f"{_GROUP}/v1beta1"  # has the fields of an exact request in the request itself
_MODES = frozenset({"All", "ExactCount"})
_MOST_REQUESTS, _MOST_SUBREQUESTS, _MOST_SELECTORS = 32, 8, 32
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"


def _claim(claim: Obj) -> Errors:
    return checks.within("spec", _claim_spec(claim, claim.get("spec") or {}))


def _template(template: Obj) -> Errors:
    inner = (template.get("spec") or {}).get("spec") or {}
    return checks.within("spec.spec", _claim_spec(template, inner))


def _claim_spec(obj: Obj, spec: Obj) -> Iterator[FieldError]:
    requests = (spec.get("devices") or {}).get("requests") or []
    if len(requests) > _MOST_REQUESTS:
        yield field.too_many("devices.requests", len(requests), _MOST_REQUESTS)
    yield from _unique_names("devices.requests", requests)
    if obj.get("apiVersion") != _OLD_FORM:
        yield from checks.each("devices.requests", requests, _request)


def _unique_names(path: str, requests: list[Obj]) -> Iterator[FieldError]:
    seen = set()
    for index, request in enumerate(requests):
        name = request.get("name") or ""
        yield from checks.wrong(f"{path}[{index}].name", name, names.dns1123_label(name))
        if name in seen:
            yield field.duplicate(f"{path}[{index}].name", name)
        seen.add(name)


def _request(request: Obj) -> Iterator[FieldError]:
    exact, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if len(alternatives) > _MOST_SUBREQUESTS:
        yield field.too_many("firstAvailable", len(alternatives), _MOST_SUBREQUESTS)
    yield from _unique_names("firstAvailable", alternatives)
    yield from checks.each("firstAvailable", alternatives, _wanted)
    if exact is not None:
        yield from checks.within("exactly", _wanted(exact))
    if exact is None and not alternatives:
        yield field.required("", _ONE_OF)
    elif exact is not None and alternatives:
        yield field.invalid("", None, f"{_ONE_OF}, but multiple fields are set")


def _wanted(wanted: Obj) -> Iterator[FieldError]:
    yield from checks.needed_name("deviceClassName", wanted.get("deviceClassName"), names.dns1123_subdomain)
    yield from _selectors(wanted.get("selectors") or [])
    mode, count = wanted.get("allocationMode") or "", wanted.get("count") or 0
    if mode == "ExactCount" and count <= 0:
        yield field.invalid("count", count, "must be greater than zero")
    elif mode == "All" and count:
        yield field.invalid("count", count, "must not be specified when allocationMode is 'All'")
    yield from checks.one_of("allocationMode", mode, _MODES)


def _selectors(selectors: list[Obj]) -> Iterator[FieldError]:
    if len(selectors) > _MOST_SELECTORS:
        yield field.too_many("selectors", len(selectors), _MOST_SELECTORS)
    for index, selector in enumerate(selectors):
        cel = selector.get("cel")
        path = f"selectors[{index}].cel"
        if cel is None:
            yield field.required(path)
        else:
            yield from checks.needed(f"{path}.expression", cel.get("expression"))


def _class(device_class: Obj) -> Errors:
    return checks.within("spec", _selectors((device_class.get("spec") or {}).get("selectors") or []))


def _fixed_spec(new: Obj, old: Obj) -> Errors:
    spec = new.get("spec")
    return () if same(spec, old.get("spec")) else (field.invalid("spec", spec, checks.IMMUTABLE),)


VALIDATORS = {
    (_GROUP, "ResourceClaim"): Validator(_claim, _fixed_spec),
    (_GROUP, "ResourceClaimTemplate"): Validator(_template, _fixed_spec),
    (_GROUP, "DeviceClass"): same_on_update(_class),
}
