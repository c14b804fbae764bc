"""Validation of the scale fields of custom objects (apiextensions-apiserver's validator.go).

It comes after the schema's. An update of the status validates the status alone.
"""

from collections.abc import Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedField, NestedFieldError
from apiserver.api.scale_paths import ScalePaths

_MAX_REPLICAS = (1 << 31) - 1


def scale_spec(obj: Obj, paths: ScalePaths) -> Iterator[FieldError]:
    """Validate the desired replicas (ValidateScaleSpec)."""
    return _replicas(obj, paths.spec_replicas)


def scale_status(obj: Obj, paths: ScalePaths) -> Iterator[FieldError]:
    """Validate the current replicas and the label selector (ValidateScaleStatus)."""
    yield from _replicas(obj, paths.status_replicas)
    if paths.label_selector is None:
        return
    try:
        paths.label_selector.read_string(obj)
    except NestedFieldError as error:
        yield _wrong_type(paths.label_selector, "", error)


def _replicas(obj: Obj, nested: NestedField) -> Iterator[FieldError]:
    try:
        replicas = nested.read_int64(obj) or 0
    except NestedFieldError as error:
        yield _wrong_type(nested, 0, error)
        return
    if replicas < 0:
        yield field.invalid(nested.path, replicas, "should be a non-negative integer")
    elif replicas > _MAX_REPLICAS:
        yield field.invalid(nested.path, replicas, f"should be less than or equal to {_MAX_REPLICAS}")


def _wrong_type(nested: NestedField, zero: Any, error: NestedFieldError) -> FieldError:
    """Return the error for a value of another type, shown as the zero value that upstream reads from it."""
    return field.invalid(nested.path, zero, str(error))
