"""Checks that the rules of many kinds are made of, each telling what is wrong as field errors.

A check of a part gives paths relative to that part; `within` and `each` put the way to it in front, and only when
something is wrong. A check that finds nothing gives an empty tuple, so a good object costs no generator and no path.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import names
from apiserver.api.validation.contract import Errors

Found = tuple[FieldError, ...]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"


def _moved(path: str, error: FieldError) -> FieldError:
    dot = "." if path and error.path and error.path[0] != "[" else ""
    return FieldError(error.reason, f"{path}{dot}{error.path}", error.message)


def within(path: str, errors: Errors) -> Iterator[FieldError]:
    """The errors of a part, told from the whole: "name" within "spec" is "spec.name"."""
    for error in errors:
        yield _moved(path, error)


def each(path: str, items: Iterable[Any] | None, check: Callable[[Any], Errors]) -> Iterator[FieldError]:
    """The errors of all items of a list, which may be absent."""
    for index, item in enumerate(items or ()):
        for error in check(item):
            yield _moved(f"{path}[{index}]", error)


def wrong(path: str, value: Any, messages: names.Messages) -> Found:
    """One "Invalid value" for each message about the value."""
    return tuple(field.invalid(path, value, message) for message in messages) if messages else ()


def each_wrong(path: str, values: Iterable[str] | None, check: names.Check) -> Iterator[FieldError]:
    """The same for all texts of a list, which may be absent."""
    for index, value in enumerate(values or ()):
        for message in check(value):
            yield field.invalid(f"{path}[{index}]", value, message)


def needed(path: str, value: Any, detail: str = "") -> Found:
    """The value must be there, and not be empty."""
    return () if value else (field.required(path, detail),)


def needed_name(path: str, value: str | None, check: names.Check) -> Found:
    """The name must be there, and well-formed."""
    return wrong(path, value, check(value)) if value else (field.required(path),)


def optional_name(path: str, value: str | None, check: names.Check) -> Found:
    """The name must be well-formed where there is one."""
    return wrong(path, value, check(value)) if value else ()


def one_of(path: str, value: Any, supported: Collection[str]) -> Found:
    """The value must be one of a closed set."""
    return () if value in supported else (field.not_supported(path, value, supported),)


def needed_one_of(path: str, value: str | None, supported: Collection[str]) -> Found:
    """The value must be there, and one of a closed set."""
    return one_of(path, value, supported) if value else (field.required(path),)


def optional_one_of(path: str, value: str | None, supported: Collection[str]) -> Found:
    """The value must be one of a closed set where it is set."""
    return () if value is None else one_of(path, value, supported)


def same(new: Any, old: Any) -> bool:
    """Equal, where absent and empty are the same (apiequality.Semantic.DeepEqual)."""
    return bool(new == old or not (new or old))


def immutable(path: str, new: Any, old: Any) -> Found:
    """The value may not change (validation.ValidateImmutableField)."""
    return () if same(new, old) else (field.invalid(path, new, IMMUTABLE),)


def not_negative(path: str, value: int | None) -> Found:
    """The number may be absent, but not under zero."""
    return () if value is None or value >= 0 else (field.invalid(path, value, NEGATIVE),)


def port(path: str, value: int) -> Found:
    """The number must be a port's."""
    return () if 1 <= value <= 65535 else wrong(path, value, names.port_number(value))


def port_or_name(path: str, value: int | str) -> Found:
    """A port by its number or its name (validation.ValidatePortNumOrName)."""
    return wrong(path, value, names.port_name(value)) if isinstance(value, str) else port(path, value)


def address(path: str, value: str, known: Collection[str] = ()) -> Found:
    """An IP address in a field older than strict checks; what the old object had may stay (IsValidIPForLegacyField)."""
    return () if value in known else wrong(path, value, names.ip(value))


def is_address(text: str) -> bool:
    """Can the text be read as an IP address, strictly or not (netutils.ParseIPSloppy)?"""
    messages = names.ip(text)
    return not messages or not messages[0].startswith("must be a valid IP address")


def cidr(path: str, value: str, known: Collection[str] = ()) -> Found:
    """An address range in a field older than strict checks (IsValidCIDRForLegacyField)."""
    return () if value in known else wrong(path, value, names.cidr(value))


def labels(path: str, pairs: Mapping[str, str] | None) -> Iterator[FieldError]:
    """Keys and values as labels have them; all errors stand at the map itself (metav1/validation.ValidateLabels)."""
    for key, value in (pairs or {}).items():
        yield from wrong(path, key, names.qualified_name(key))
        yield from wrong(path, value, names.label_value(value))


def label_selector(path: str, selector: Obj | None) -> Iterator[FieldError]:
    """A metav1.LabelSelector, which may be absent (metav1/validation.ValidateLabelSelector)."""
    if selector:
        yield from within(path, _label_requirements(selector))


def _label_requirements(selector: Obj) -> Iterator[FieldError]:
    yield from labels("matchLabels", selector.get("matchLabels"))
    yield from each("matchExpressions", selector.get("matchExpressions"), _label_requirement)


def _label_requirement(requirement: Obj) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in {"In", "NotIn"}:
        yield from needed("values", values, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            yield field.forbidden("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield field.invalid("operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    yield from wrong("key", key, names.qualified_name(key))
    yield from each_wrong("values", values, names.label_value)
