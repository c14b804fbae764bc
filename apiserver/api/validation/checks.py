"""Checks that the rules of many kinds consist of; each returns field errors.

A check of a part returns paths relative to that part; `prefix_errors` and `each` put the part's path in front, only if
there are errors. A check without errors returns an empty tuple, so a valid object costs no generator and no path.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import names
from apiserver.api.validation.contract import Errors

FieldErrors = tuple[FieldError, ...]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"


def _prefixed(path: str, error: FieldError) -> FieldError:
    dot = "." if path and error.path and error.path[0] != "[" else ""
    return FieldError(error.reason, f"{path}{dot}{error.path}", error.message)


def prefix_errors(path: str, errors: Errors) -> Iterator[FieldError]:
    """Yield the errors of a part with paths from the whole: "name" within "spec" is "spec.name"."""
    for error in errors:
        yield _prefixed(path, error)


def each(path: str, items: Iterable[Any] | None, check: Callable[[Any], Errors]) -> Iterator[FieldError]:
    """Yield the errors of all items of a list, which may be absent."""
    for index, item in enumerate(items or ()):
        for error in check(item):
            yield _prefixed(f"{path}[{index}]", error)


def invalid_values(path: str, value: Any, messages: names.Messages) -> FieldErrors:
    """Return one "Invalid value" error for each message about the value."""
    return tuple(field.invalid(path, value, message) for message in messages) if messages else ()


def each_invalid(path: str, values: Iterable[str] | None, check: names.Check) -> Iterator[FieldError]:
    """Yield the same for all texts of a list, which may be absent."""
    for index, value in enumerate(values or ()):
        for message in check(value):
            yield field.invalid(f"{path}[{index}]", value, message)


def required(path: str, value: Any, detail: str = "") -> FieldErrors:
    """Return an error if the value is absent or empty."""
    return () if value else (field.required(path, detail),)


def required_name(path: str, value: str | None, check: names.Check) -> FieldErrors:
    """Return the errors of a name that must be set and well-formed."""
    return invalid_values(path, value, check(value)) if value else (field.required(path),)


def optional_name(path: str, value: str | None, check: names.Check) -> FieldErrors:
    """Return the errors of a name that must be well-formed if it is set."""
    return invalid_values(path, value, check(value)) if value else ()


def one_of(path: str, value: Any, supported: Collection[str]) -> FieldErrors:
    """Return an error if the value is not one of a closed set."""
    return () if value in supported else (field.not_supported(path, value, supported),)


def required_one_of(path: str, value: str | None, supported: Collection[str]) -> FieldErrors:
    """Return an error if the value is not set, or not one of a closed set."""
    return one_of(path, value, supported) if value else (field.required(path),)


def optional_one_of(path: str, value: str | None, supported: Collection[str]) -> FieldErrors:
    """Return an error if the value is set, but not one of a closed set."""
    return () if value is None else one_of(path, value, supported)


def equal_or_both_empty(new: Any, old: Any) -> bool:
    """Return whether values are equal, or both absent or empty; what is inside them must be exactly equal."""
    return bool(new == old or not (new or old))


def immutable(path: str, new: Any, old: Any) -> FieldErrors:
    """Return an error if the value is not `equal_or_both_empty` with the old one (ValidateImmutableField)."""
    return () if equal_or_both_empty(new, old) else (field.invalid(path, new, IMMUTABLE),)


def not_negative(path: str, value: int | None) -> FieldErrors:
    """Return an error if the number is set and below zero."""
    return () if value is None or value >= 0 else (field.invalid(path, value, NEGATIVE),)


def port(path: str, value: int) -> FieldErrors:
    """Return an error if the number is not a port number."""
    return () if 1 <= value <= 65535 else invalid_values(path, value, names.port_number(value))


def port_or_name(path: str, value: int | str) -> FieldErrors:
    """Return the errors of a port, given by its number or its name (validation.ValidatePortNumOrName)."""
    return invalid_values(path, value, names.port_name(value)) if isinstance(value, str) else port(path, value)


def address(path: str, value: str, known: Collection[str] = ()) -> FieldErrors:
    """Return the errors of an IP address that is not known, in an older field (IsValidIPForLegacyField)."""
    return () if value in known else invalid_values(path, value, names.ip(value))


def is_address(text: str) -> bool:
    """Return whether a text can be read as an IP address, strictly or not (netutils.ParseIPSloppy)."""
    messages = names.ip(text)
    return not messages or not messages[0].startswith("must be a valid IP address")


def cidr(path: str, value: str, known: Collection[str] = ()) -> FieldErrors:
    """Return the errors of an address range in a field older than strict checks (IsValidCIDRForLegacyField)."""
    return () if value in known else invalid_values(path, value, names.cidr(value))


def labels(path: str, pairs: Mapping[str, str] | None) -> Iterator[FieldError]:
    """Yield the errors of labels, all at the path of the map itself (metav1/validation.ValidateLabels)."""
    for key, value in (pairs or {}).items():
        yield from invalid_values(path, key, names.qualified_name(key))
        yield from invalid_values(path, value, names.label_value(value))


def label_selector(path: str, selector: Obj | None) -> Iterator[FieldError]:
    """Yield the errors of a metav1.LabelSelector, which may be absent (metav1/validation.ValidateLabelSelector)."""
    if selector:
        yield from prefix_errors(path, _label_requirements(selector))


def _label_requirements(selector: Obj) -> Iterator[FieldError]:
    yield from labels("matchLabels", selector.get("matchLabels"))
    yield from each("matchExpressions", selector.get("matchExpressions"), _label_requirement)


def _label_requirement(requirement: Obj) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in {"In", "NotIn"}:
        yield from required("values", values, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            yield field.forbidden("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield field.invalid("operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    yield from invalid_values("key", key, names.qualified_name(key))
    yield from each_invalid("values", values, names.label_value)
