"""Combinators of checks: tables of rules for objects and lists; a valid part costs no path and no generator.

A pod's rules run for every written pod: so they return sequences, and build paths only for errors.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names

FieldErrors = Sequence[FieldError]
"""The errors of a part, with paths relative to it, in upstream's order."""

Check = Callable[[Any], FieldErrors]
Rule = tuple[str, Check]
"""A field's name and the check of its value, which is skipped if the field is absent; "" is the whole object."""

_MAX_CACHED_BYTES = 4096
_MAX_CACHED_OBJECTS = 256


def struct(*rules: Rule) -> Check:
    """Return a check of an object by the rules of its fields, in this order."""

    def check(obj: Obj) -> FieldErrors:
        all_errors: list[FieldError] = []
        for name, rule in rules:
            value = obj.get(name) if name else obj
            if value is not None and (errors := rule(value)):
                all_errors += checks.prefix_errors(name, errors) if name else errors
        return all_errors

    return check


def items(check: Check) -> Check:
    """Return a check of a list, item by item."""

    def check_all(values: Iterable[Any]) -> FieldErrors:
        all_errors: list[FieldError] = []
        for index, value in enumerate(values):
            if errors := check(value):
                all_errors += checks.prefix_errors(f"[{index}]", errors)
        return all_errors

    return check_all


def cached(check: Check) -> Check:
    """Return the check with a cache of valid parts, since pods of one template have the same parts.

    Encoding a part as JSON costs a tenth of checking it. Large parts are not cached: few recur.
    """
    valid: set[bytes] = set()

    def cached(value: Any) -> FieldErrors:
        data = orjson.dumps(value)
        if data in valid:
            return ()
        errors = check(value)
        if not errors and len(data) <= _MAX_CACHED_BYTES:
            if len(valid) == _MAX_CACHED_OBJECTS:
                valid.clear()
            valid.add(data)
        return errors

    return cached


def at(path: str, errors: FieldErrors) -> FieldErrors:
    """Return the errors of the part at the path, with paths from the whole."""
    return list(checks.prefix_errors(path, errors)) if errors else ()


def key(path: str, name: str) -> str:
    """Return the path of a map's entry: "requests[cpu]"."""
    return f"{path}[{name}]"


def required(name: str, detail: str = "") -> Rule:
    """Return the rule that the field is set and not empty."""
    return "", lambda obj: () if obj.get(name) else (field.required(name, detail),)


def named(check: names.Check) -> Check:
    """Return a check of a text unless it is empty."""
    return lambda value: checks.invalid_values("", value, check(value)) if value else ()


def text(check: names.Check) -> Check:
    """Return a check of a text, even of an empty one."""
    return lambda value: checks.invalid_values("", value, check(value))


def in_range(low: int, high: int) -> Check:
    """Return a check that the number is between both, inclusive."""
    return lambda value: () if low <= value <= high else (field.invalid("", value, names.range_error(low, high)),)


def one_of(*allowed: str) -> Check:
    """Return a check that the text is one of a closed set, which errors list in this order."""
    known = frozenset(allowed)
    return lambda value: () if value in known else (field.not_supported("", value, allowed),)


def required_one_of(name: str, *allowed: str) -> Rule:
    """Return the rule that the field is set and one of a closed set."""
    known = frozenset(allowed)

    def check(obj: Obj) -> FieldErrors:
        value = obj.get(name)
        if value in known:
            return ()
        return (field.not_supported(name, value, allowed) if value else field.required(name),)

    return "", check


def required_name(name: str, check: names.Check) -> Rule:
    """Return the rule that the field is set and well-formed."""
    return "", lambda obj: checks.required_name(name, obj.get(name), check)


def nonnegative(value: int) -> FieldErrors:
    """Return an error if the number is below zero."""
    return () if value >= 0 else (field.invalid("", value, checks.NEGATIVE),)


def labels(pairs: Mapping[str, str]) -> FieldErrors:
    """Return the errors of labels, all at the map itself (metav1/validation.ValidateLabels)."""
    for name, value in pairs.items():
        if names.qualified_name(name) or names.label_value(value):
            return list(checks.labels("", pairs))
    return ()


def label_selector(selector: Obj) -> FieldErrors:
    """Return the errors of a metav1.LabelSelector."""
    errors = checks.label_selector("", selector)
    return [replace(error, path=error.path.removeprefix(".")) for error in errors]


def deeply_equal(left: Any, right: Any) -> bool:
    """Return whether values are equal if null and empty count as absent at every depth (Semantic.DeepEqual)."""
    return bool(left == right or _pruned(left) == _pruned(right))


def deeply_immutable(path: str, new: Any, old: Any) -> FieldErrors:
    """Return an error if the value is not `deeply_equal` to the old one."""
    return () if deeply_equal(new, old) else (field.invalid(path, new, checks.IMMUTABLE),)


def _pruned(value: Any) -> Any:
    match value:
        case dict():
            return {name: _pruned(item) for name, item in value.items() if item is not None and item not in ([], "")}
        case list():
            return [_pruned(item) for item in value] or None
        case _:
            return value
