"""Validation of a version except for its schema: deprecation, subresources, columns, selectable fields.

The rules are those of apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, with the paths of the
internal type: a column's path is named "JSONPath".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.names import Messages

_WORDS = re.compile(r"[.\[\]]|'(?:[^']|(?<=\\)')*(?:'|$)|[^.\[\]]+", re.DOTALL)
_NO_FIELD = "does not refer to a valid field"


class PathError(ValueError):
    """The path cannot be resolved; the message says why."""


@dataclass(frozen=True, slots=True)
class ResolvedField:
    """The field at a path.

    Attributes:
        path: the path in errors: "spec.size", with keys of maps in brackets.
        schema: the schema of the field, None if it is not declared.
    """

    path: str
    schema: Obj | None


def resolve_path(path: str, schema: Obj) -> ResolvedField:
    """Return the field at a path without brackets.

    Raises:
        PathError: there is no such field, or the path has another form.
    """
    words = iter(_WORDS.findall(path))
    resolved, level = "", _Level(schema)
    for word in words:
        if word == "[":
            raise PathError("array notation is not allowed")
        if word != ".":
            raise PathError(f"expected [ or . but got: {word}")
        name = next(words, None)
        if name is None:
            raise PathError("unexpected end of JSON path")
        named = level.is_named
        level = level.below(name)
        resolved = (f"{resolved}.{name}" if resolved else name) if named else f"{resolved}[{name}]"
    return ResolvedField(resolved, level.schema)


@dataclass(frozen=True, slots=True)
class _Level:
    """A schema on the way to the field, None if it is not declared."""

    schema: Obj | None

    @property
    def is_named(self) -> bool:
        """True if it has fields, not keys of a map."""
        return bool((self.schema or {}).get("properties"))

    def below(self, name: str) -> "_Level":
        """Return the schema of a field or a key."""
        schema = self.schema or {}
        if self.is_named:
            if name not in schema["properties"]:
                raise PathError(_NO_FIELD)
            return _Level(schema["properties"][name])
        value_schema = schema.get("additionalProperties")
        if value_schema is None:
            raise PathError(_NO_FIELD)
        return _Level(value_schema if isinstance(value_schema, dict) else None)


MAX_SELECTABLE_FIELDS = 8
MAX_WARNING_LENGTH = 256

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = frozenset({"boolean", "integer", "string"})
_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def deprecation_problems(version: Obj) -> Messages:
    """Return the problems of the warning that clients of a version get."""
    warning: str | None = version.get("deprecationWarning")
    if warning is None:
        return ()
    if not version.get("deprecated"):
        return ("can only be set for deprecated versions",)
    too_long = (
        (f"must be <= {MAX_WARNING_LENGTH} characters long",) if len(warning.encode()) > MAX_WARNING_LENGTH else ()
    )
    if not warning:
        return ("must not be an empty string",)
    bad_index = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if bad_index is None:
        return too_long
    message = "must only contain printable UTF-8 characters; non-printable character found at index"
    return (*too_long, f"{message} {len(warning[:bad_index].encode())}")


def subresources(declared: Obj | None) -> Iterator[FieldError]:
    """Yield the errors of subresources, which may be absent: of the paths of a scale subresource."""
    scale = (declared or {}).get("scale")
    if scale is None:
        return
    yield from _scale_path("scale.specReplicasPath", scale.get("specReplicasPath") or "", ".spec")
    yield from _scale_path("scale.statusReplicasPath", scale.get("statusReplicasPath") or "", ".status")
    selector = scale.get("labelSelectorPath")
    if not selector:
        return
    if path_errors := _simple_path("scale.labelSelectorPath", selector):
        yield from path_errors
    elif not selector.startswith((".spec.", ".status.")):
        yield field.invalid("scale.labelSelectorPath", selector, "should be a json path under either .spec or .status")


def column(declared: Obj) -> Iterator[FieldError]:
    """Yield the errors of an additional printer column."""
    kind, value_format, path = (declared.get(name) or "" for name in ("type", "format", "jsonPath"))
    yield from checks.required("name", declared.get("name"))
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield field.required("type", types)
    elif kind not in _COLUMN_TYPES:
        yield field.invalid("type", kind, types)
    if value_format and value_format not in _COLUMN_FORMATS:
        yield field.invalid("format", value_format, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _simple_path("JSONPath", path) if path else (field.required("JSONPath"),)


def selectable_fields(fields: list[Obj], schema: Obj, *, too_many: bool) -> Iterator[FieldError]:
    """Yield the errors of selectable fields.

    Args:
        fields: the fields that the definition declares.
        schema: the schema of the objects.
        too_many: True if there may be more than the limit, since there were before.
    """
    seen = set()
    for index, selectable in enumerate(fields):
        path, name = selectable.get("jsonPath") or "", f"[{index}].jsonPath"
        if not path:
            yield field.required(name)
            continue
        try:
            target = resolve_path(path, schema)
        except PathError as error:
            yield field.invalid(name, path, f"is an invalid path: {error}")
            continue
        if target.path.partition(".")[0] == "metadata":
            yield field.invalid(name, path, "must not point to fields in metadata")
        if (target.schema or {}).get("type") not in _SELECTABLE_TYPES:
            yield field.invalid(name, path, _NOT_SELECTABLE)
        if target.path in seen:
            yield field.duplicate(name, path)
        seen.add(target.path)
    if len(seen) > MAX_SELECTABLE_FIELDS and not too_many:
        yield field.too_many("", len(seen), MAX_SELECTABLE_FIELDS)


def _scale_path(name: str, path: str, root: str) -> checks.FieldErrors:
    if not path:
        return (field.required(name),)
    root_errors = (
        () if path.startswith(f"{root}.") else (field.invalid(name, path, f"should be a json path under {root}"),)
    )
    return _simple_path(name, path) or root_errors


def _simple_path(name: str, path: str) -> checks.FieldErrors:
    return () if path[0] == "." else (field.invalid(name, path, "must be a simple json path starting with ."),)
