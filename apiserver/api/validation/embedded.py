"""Validation of embedded objects (apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go)."""

from collections.abc import Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.metadata import validate_metadata_of_any_kind

_NO_TEXT = "must be a string"
_EMPTY = "must not be empty"
_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_embedded(path: str, resource: Obj) -> list[FieldError]:
    """Return the errors in the version, the kind and the metadata of an embedded resource.

    Args:
        path: the path of the object, "" for none.
        resource: the object; its metadata is decoded as an ObjectMeta.
    """
    return [*checks.prefix_errors(path, _errors(resource))]


def _errors(resource: Obj) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in resource:
            yield field.required(name)
    if "apiVersion" in resource:
        yield from _api_version(resource["apiVersion"])
    if "kind" in resource:
        yield from _kind(resource["kind"])
    if resource.get("metadata"):
        yield from validate_metadata_of_any_kind(resource["metadata"])


def _api_version(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield field.invalid("apiVersion", value, _NO_TEXT)
    elif not value:
        yield field.invalid("apiVersion", value, _EMPTY)
    elif value.count("/") > 1:
        yield field.invalid("apiVersion", value, f"unexpected GroupVersion string: {value}")


def _kind(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield field.invalid("kind", value, _NO_TEXT)
    elif not value:
        yield field.invalid("kind", value, _EMPTY)
    elif messages := names.dns1035_label(value.lower()):
        yield field.invalid("kind", value, _MIXED_CASE + ",".join(messages))
