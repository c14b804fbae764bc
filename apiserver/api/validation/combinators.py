"""Objects and lists checked part by part, by tables of rules; a good part costs no path and no generator.

The rules of a pod run for every pod written, which is why they return sequences and name their way only on failure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names

Found = Sequence[FieldError]
"""What is wrong with a part, with paths relative to it, in the order upstream finds it."""

Check = Callable[[Any], Found]
Rule = tuple[str, Check]
"""A field's name and the check of its value, which is skipped where the field is absent; "" is the whole object."""

_REMEMBERED_BYTES = 4096
_REMEMBERED_PARTS = 256


def struct(*rules: Rule) -> Check:
    """A check of an object by the rules of its fields, in this order."""

    def check(obj: Obj) -> Found:
        found: list[FieldError] = []
        for name, rule in rules:
            value = obj.get(name) if name else obj
            if value is not None and (errors := rule(value)):
                found += checks.within(name, errors) if name else errors
        return found

    return check


def items(check: Check) -> Check:
    """A check of a list, item by item."""

    def check_all(values: Iterable[Any]) -> Found:
        found: list[FieldError] = []
        for index, value in enumerate(values):
            if errors := check(value):
                found += checks.within(f"[{index}]", errors)
        return found

    return check_all


def remembered(check: Check) -> Check:
    """The check, which good parts pass unseen when they come again: what comes of templates comes often.

    Writing a part as JSON costs a tenth of checking it. Large parts are checked each time: few come again.
    """
    good: set[bytes] = set()

    def remembering(value: Any) -> Found:
        data = orjson.dumps(value)
        if data in good:
            return ()
        found = check(value)
        if not found and len(data) <= _REMEMBERED_BYTES:
            if len(good) == _REMEMBERED_PARTS:
                good.clear()
            good.add(data)
        return found

    return remembering


def at(path: str, errors: Found) -> Found:
    """The errors of the part at the path, told from the whole."""
    return list(checks.within(path, errors)) if errors else ()


def key(path: str, name: str) -> str:
    """The path of a map's entry: "requests[cpu]"."""
    return f"{path}[{name}]"


def required(name: str, detail: str = "") -> Rule:
    """The rule that the field is set, and not empty."""
    return "", lambda obj: () if obj.get(name) else (field.required(name, detail),)


def named(check: names.Check) -> Check:
    """A check of a text by its messages, where it is not empty."""
    return lambda value: checks.wrong("", value, check(value)) if value else ()


def text(check: names.Check) -> Check:
    """A check of a text by its messages, be it empty or not."""
    return lambda value: checks.wrong("", value, check(value))


def ranged(low: int, high: int) -> Check:
    """A check that the number is between both, inclusive."""
    return lambda value: () if low <= value <= high else (field.invalid("", value, names.range_error(low, high)),)


def one_of(*allowed: str) -> Check:
    """A check that the text is one of a closed set, which is told in this order."""
    known = frozenset(allowed)
    return lambda value: () if value in known else (field.not_supported("", value, allowed),)


def needed_one_of(name: str, *allowed: str) -> Rule:
    """The rule that the field is set, and one of a closed set."""
    known = frozenset(allowed)

    def check(obj: Obj) -> Found:
        value = obj.get(name)
        if value in known:
            return ()
        return (field.not_supported(name, value, allowed) if value else field.required(name),)

    return "", check


def needed_name(name: str, check: names.Check) -> Rule:
    """The rule that the field is set, and well-formed."""
    return "", lambda obj: checks.needed_name(name, obj.get(name), check)


def nonnegative(value: int) -> Found:
    """A check that the number is not below zero."""
    return () if value >= 0 else (field.invalid("", value, checks.NEGATIVE),)


def labels(pairs: Mapping[str, str]) -> Found:
    """A check of labels; its errors stand at the map itself (metav1/validation.ValidateLabels)."""
    for name, value in pairs.items():
        if names.qualified_name(name) or names.label_value(value):
            return list(checks.labels("", pairs))
    return ()


def label_selector(selector: Obj) -> Found:
    """A check of a metav1.LabelSelector."""
    found = checks.label_selector("", selector)
    return [replace(error, path=error.path.removeprefix(".")) for error in found]


def same(one: Any, other: Any) -> bool:
    """Semantic equality: what is null or empty is as good as absent, at every depth (apimachinery's Semantic)."""
    return bool(one == other or _bare(one) == _bare(other))


def immutable(path: str, new: Any, old: Any) -> Found:
    """The value may not change."""
    return () if same(new, old) else (field.invalid(path, new, checks.IMMUTABLE),)


def _bare(value: Any) -> Any:
    match value:
        case dict():
            return {name: _bare(item) for name, item in value.items() if item is not None and item not in ([], "")}
        case list():
            return [_bare(item) for item in value] or None
        case _:
            return value
