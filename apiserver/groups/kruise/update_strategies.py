"""What CloneSets and Advanced StatefulSets say of their updates, and how images alone may change in a template.

(openkruise/kruise apis/apps/pub/update_priority.go, pkg/util/tools.go, pkg/webhook/{cloneset,statefulset}/validating)
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from apiserver.api import field, selectors
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import Found, nonnegative, struct

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_IMAGE = re.compile(r"/containers/([0-9]+)/image")

_ABSENT = object()


def scaled(value: int | str | None, total: int) -> int:
    """How many pods a number or a percentage means, rounded up (GetScaledValueFromIntOrPercent).

    Raises:
        ValueError: it is neither; the message is upstream's.
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
    """The same of a field, 0 where it is neither, of which an error then tells."""
    try:
        return scaled(value, total)
    except ValueError as error:
        told = f"failed GetScaledValueFromIntOrPercent for {name}: {error}"
        errors.append(field.invalid(name, "<nil>" if value is None else str(value), told))
        return 0


def priority(strategy: Obj | None) -> Found:
    """What is wrong with the order of updates (UpdatePriorityStrategy.FieldsValidation)."""
    try:
        _check_priority(strategy or {})
    except ValueError as error:
        return (field.required("", str(error)),)
    return ()


def _check_priority(strategy: Obj) -> None:
    weights, orders = strategy.get("weightPriority") or (), strategy.get("orderPriority") or ()
    if weights and orders:
        raise ValueError("only one of weightPriority and orderPriority can be used")
    for each in weights:
        if not 0 <= (each.get("weight") or 0) <= 100:
            raise ValueError("weight must be valid number in the range 1-100")
        selector = each.get("matchSelector") or {}
        if not any(selector.get(name) for name in ("matchLabels", "matchExpressions")):
            raise ValueError("selector can not be empty")
        try:
            selectors.label_selector_of(selector)
        except selectors.SelectorError as error:
            raise ValueError(f"invalid selector {error}") from error
    if not all(each.get("orderedKey") for each in orders):
        raise ValueError("order key can not be empty")


def scatter(terms: list[Obj] | None) -> Found:
    """What is wrong with how pods are spread over an update (UpdateScatterStrategy.FieldsValidation)."""
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
    """What is wrong with how images are fetched before pods are updated as they are."""
    errors: list[FieldError] = []
    given = strategy or {}
    name = "imagePreDownloadParallelism"
    value = given.get(name)
    if isinstance(value, str) and value.endswith("%"):
        errors.append(field.invalid(name, value, f"{name} does not support percentage value"))
    elif isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value):
        told = f"strconv.ParseInt: parsing {field.show(value)}: invalid syntax"
        errors.append(field.invalid(name, value, f"{name} must be a valid integer: {told}"))
    elif value is not None and int(value) < 0:
        errors.append(field.invalid(name, value, f"{name} must be non-negative"))
    return [*errors, *_in_place_numbers(given)]


def beyond_images(new: Obj, old: Obj) -> str:
    """The first change of a pod's spec that is none of a container's image: "replace /hostname", "" for none.

    Its form is that of a JSON patch, and what counts as an image is upstream's expression, which a pull policy matches.
    """
    changes = _changes("", new, old)
    return next((each for each in changes if not (each.startswith("replace ") and _IMAGE.search(each))), "")


def _changes(path: str, new: Any, old: Any) -> Iterator[str]:
    if new == old:
        return
    if isinstance(new, dict) and isinstance(old, dict):
        pairs = [(name, new.get(name, _ABSENT), old.get(name, _ABSENT)) for name in sorted(new.keys() | old.keys())]
    elif isinstance(new, list) and isinstance(old, list):
        longest = range(max(len(new), len(old)))
        pairs = [(str(place), _item(new, place), _item(old, place)) for place in longest]
    else:
        yield f"replace {path}"
        return
    for name, one, other in pairs:
        place = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if one is _ABSENT or other is _ABSENT:
            yield f"{'remove' if one is _ABSENT else 'add'} {place}"
        else:
            yield from _changes(place, one, other)


def _item(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else _ABSENT
