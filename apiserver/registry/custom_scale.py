"""What a Scale tells of custom objects: whole numbers and a text (apiextensions-apiserver's validator.go).

Both come after what the schema says. An update of the status is asked for the status alone.
"""

from collections.abc import Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedField, NestedFieldError
from apiserver.api.scale_paths import ScalePaths

_MOST = (1 << 31) - 1


def scale_spec(obj: Obj, paths: ScalePaths) -> Iterator[FieldError]:
    """What is wrong with how many are wanted (ValidateScaleSpec)."""
    return _replicas(obj, paths.spec_replicas)


def scale_status(obj: Obj, paths: ScalePaths) -> Iterator[FieldError]:
    """What is wrong with how many there are, and with what selects them (ValidateScaleStatus)."""
    yield from _replicas(obj, paths.status_replicas)
    if paths.label_selector is None:
        return
    try:
        paths.label_selector.text(obj)
    except NestedFieldError as error:
        yield _odd(paths.label_selector, "", error)


def _replicas(obj: Obj, place: NestedField) -> Iterator[FieldError]:
    try:
        replicas = place.integer(obj) or 0
    except NestedFieldError as error:
        yield _odd(place, 0, error)
        return
    if replicas < 0:
        yield field.invalid(place.path, replicas, "should be a non-negative integer")
    elif replicas > _MOST:
        yield field.invalid(place.path, replicas, f"should be less than or equal to {_MOST}")


def _odd(place: NestedField, zero: Any, error: NestedFieldError) -> FieldError:
    """A value of another type is told as the zero value, which is what upstream has read of it."""
    return field.invalid(place.path, zero, str(error))
