"""Validation of the update strategies of CloneSets and Advanced StatefulSets, and of changes beyond images.

(openkruise/kruise apis/apps/pub/update_priority.go, pkg/util/tools.go, pkg/webhook/{cloneset,statefulset}/validating)
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from apiserver.api import field, selectors
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, nonnegative, struct

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_IMAGE = re.compile(r"/containers/([0-9]+)/image")

_ABSENT = object()


def scaled(value: int | str | None, total: int) -> int:
    """Return the number of pods that a number or a percentage stands for, rounded up (GetScaledValueFromIntOrPercent).

    Raises:
        ValueError: the value is neither; the message is upstream's.
    """
    if value is None:
        raise ValueError("nil value for IntOrString")
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value:
        raise ValueError("invalid type: string is not a percentage")
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"strconv.ParseFloat: parsing {field.show(digits)}: invalid syntax")
    if math.isinf(percent := float(digits)):
        raise ValueError(f"strconv.ParseFloat: parsing {field.show(digits)}: value out of range")
    return math.ceil(percent * total / 100)


def share(name: str, value: int | str | None, total: int, *, errors: list[FieldError]) -> int:
    """Return a field's number of pods; if the value is no number or percentage, append an error and return 0."""
    try:
        return scaled(value, total)
    except ValueError as error:
        detail = f"failed GetScaledValueFromIntOrPercent for {name}: {error}"
        errors.append(field.invalid(name, "<nil>" if value is None else str(value), detail))
        return 0


def priority(strategy: Obj | None) -> FieldErrors:
    """Return the errors of an update's priorities (UpdatePriorityStrategy.FieldsValidation)."""
    try:
        _check_priority(strategy or {})
    except ValueError as error:
        return (field.required("", str(error)),)
    return ()


def _check_priority(strategy: Obj) -> None:
    weights, orders = strategy.get("weightPriority") or (), strategy.get("orderPriority") or ()
    if weights and orders:
        raise ValueError("only one of weightPriority and orderPriority can be used")
    for term in weights:
        if not 0 <= (term.get("weight") or 0) <= 100:
            raise ValueError("weight must be valid number in the range 1-100")
        selector = term.get("matchSelector") or {}
        if not any(selector.get(name) for name in ("matchLabels", "matchExpressions")):
            raise ValueError("selector can not be empty")
        try:
            selectors.label_selector_of(selector)
        except selectors.SelectorError as error:
            raise ValueError(f"invalid selector {error}") from error
    if not all(term.get("orderedKey") for term in orders):
        raise ValueError("order key can not be empty")


def scatter(terms: list[Obj] | None) -> FieldErrors:
    """Return the errors of the terms that scatter pods over an update (UpdateScatterStrategy.FieldsValidation)."""
    known = set[tuple[str, str]]()
    for term in terms or ():
        key, value = term.get("key") or "", term.get("value") or ""
        if not key:
            return (field.required("", "key should not be empty"),)
        if (key, value) in known:
            return (field.required("", f"duplicated key={key} value={value}"),)
        known.add((key, value))
    return ()


_in_place_numbers = struct(
    ("imagePreDownloadTimeoutSeconds", nonnegative), ("imagePreDownloadMinUpdatedReadyPods", nonnegative)
)


def in_place(strategy: Obj | None) -> list[FieldError]:
    """Return the errors of an inPlaceUpdateStrategy, which sets how images are pulled ahead of an update in place."""
    errors: list[FieldError] = []
    fields = strategy or {}
    name = "imagePreDownloadParallelism"
    value = fields.get(name)
    if isinstance(value, str) and value.endswith("%"):
        errors.append(field.invalid(name, value, f"{name} does not support percentage value"))
    elif isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value):
        reason = f"strconv.ParseInt: parsing {field.show(value)}: invalid syntax"
        errors.append(field.invalid(name, value, f"{name} must be a valid integer: {reason}"))
    elif value is not None and int(value) < 0:
        errors.append(field.invalid(name, value, f"{name} must be non-negative"))
    return [*errors, *_in_place_numbers(fields)]


def beyond_images(new: Obj, old: Obj) -> str:
    """Return the first change of a pod's spec other than of a container's image ("replace /hostname"), or "".

    It has the form of a JSON patch operation; upstream's expression for images matches a pull policy, too.
    """
    changes = _changes("", new, old)
    return next((change for change in changes if not (change.startswith("replace ") and _IMAGE.search(change))), "")


def _changes(path: str, new: Any, old: Any) -> Iterator[str]:
    if new == old:
        return
    if isinstance(new, dict) and isinstance(old, dict):
        pairs = [(name, new.get(name, _ABSENT), old.get(name, _ABSENT)) for name in sorted(new.keys() | old.keys())]
    elif isinstance(new, list) and isinstance(old, list):
        indexes = range(max(len(new), len(old)))
        pairs = [(str(child_path), _item(new, child_path), _item(old, child_path)) for child_path in indexes]
    else:
        yield f"replace {path}"
        return
    for name, new_value, old_value in pairs:
        child_path = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if new_value is _ABSENT or old_value is _ABSENT:
            yield f"{'remove' if new_value is _ABSENT else 'add'} {child_path}"
        else:
            yield from _changes(child_path, new_value, old_value)


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else _ABSENT
