"""What a version of a definition may say beside its schema: deprecation, subresources, columns, selectable fields.

The rules are those of apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, with its paths: those of
the internal type, so that a column's path is told at "JSONPath".
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.names import Messages
from apiserver.apiextensions.validation.field_paths import PathError, follow

MOST_SELECTABLE_FIELDS = 8
LONGEST_WARNING = 256

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = frozenset({"boolean", "integer", "string"})
_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def deprecation_problems(version: Obj) -> Messages:
    """What is wrong with the warning that clients of a version get."""
    warning: str | None = version.get("deprecationWarning")
    if warning is None:
        return ()
    if not version.get("deprecated"):
        return ("can only be set for deprecated versions",)
    long = (f"must be <= {LONGEST_WARNING} characters long",) if len(warning.encode()) > LONGEST_WARNING else ()
    if not warning:
        return ("must not be an empty string",)
    bad = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if bad is None:
        return long
    words = "must only contain printable UTF-8 characters; non-printable character found at index"
    return (*long, f"{words} {len(warning[:bad].encode())}")


def subresources(given: Obj | None) -> Iterator[FieldError]:
    """What is wrong with subresources, which may be absent: the paths that a scale reads and writes."""
    scale = (given or {}).get("scale")
    if scale is None:
        return
    yield from _scale_path("scale.specReplicasPath", scale.get("specReplicasPath") or "", ".spec")
    yield from _scale_path("scale.statusReplicasPath", scale.get("statusReplicasPath") or "", ".status")
    selector = scale.get("labelSelectorPath")
    if not selector:
        return
    if wrong := _simple_path("scale.labelSelectorPath", selector):
        yield from wrong
    elif not selector.startswith((".spec.", ".status.")):
        yield field.invalid("scale.labelSelectorPath", selector, "should be a json path under either .spec or .status")


def column(given: Obj) -> Iterator[FieldError]:
    """What is wrong with a column that tables of the kind have."""
    kind, shape, path = (given.get(name) or "" for name in ("type", "format", "jsonPath"))
    yield from checks.needed("name", given.get("name"))
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield field.required("type", types)
    elif kind not in _COLUMN_TYPES:
        yield field.invalid("type", kind, types)
    if shape and shape not in _COLUMN_FORMATS:
        yield field.invalid("format", shape, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _simple_path("JSONPath", path) if path else (field.required("JSONPath"),)


def selectable_fields(fields: list[Obj], schema: Obj, *, too_many: bool) -> Iterator[FieldError]:
    """What is wrong with the fields that selectors may name.

    Args:
        fields: what the definition says.
        schema: of the objects they are of.
        too_many: there may be more than the limit, since there were.
    """
    seen = set()
    for index, each in enumerate(fields):
        path, name = each.get("jsonPath") or "", f"[{index}].jsonPath"
        if not path:
            yield field.required(name)
            continue
        try:
            found = follow(path, schema)
        except PathError as error:
            yield field.invalid(name, path, f"is an invalid path: {error}")
            continue
        if found.path.partition(".")[0] == "metadata":
            yield field.invalid(name, path, "must not point to fields in metadata")
        if (found.schema or {}).get("type") not in _SELECTABLE_TYPES:
            yield field.invalid(name, path, _NOT_SELECTABLE)
        if found.path in seen:
            yield field.duplicate(name, path)
        seen.add(found.path)
    if len(seen) > MOST_SELECTABLE_FIELDS and not too_many:
        yield field.too_many("", len(seen), MOST_SELECTABLE_FIELDS)


def _scale_path(name: str, path: str, root: str) -> checks.Found:
    if not path:
        return (field.required(name),)
    outside = () if path.startswith(f"{root}.") else (field.invalid(name, path, f"should be a json path under {root}"),)
    return _simple_path(name, path) or outside


def _simple_path(name: str, path: str) -> checks.Found:
    return () if path[0] == "." else (field.invalid(name, path, "must be a simple json path starting with ."),)
