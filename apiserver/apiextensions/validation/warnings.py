"""What the writer of a definition is warned of: it is accepted, and will not do what it seems to.

The words are those of apiextensions-apiserver's pkg/registry/customresourcedefinition/strategy.go.
"""

from apiserver.api.formats import format_of
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_TYPE
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of

_NO_SET = (
    'x-kubernetes-list-type: set for items of type "%s" is not supported by server-side apply or CEL validation rules'
)

FORMATS_SINCE, SETS_SINCE = 34, 37
"""The releases that began to warn of formats that nothing knows, and of sets of what is no scalar."""


def definition_warnings(new: Obj, old: Obj | None, minor: int) -> tuple[str, ...]:
    """What to warn of when a definition is made, or when it says something new.

    Args:
        new: as it will be.
        old: as it was, None for a new one; what is wrong with it already is not told again.
        minor: of the release, such as 34: it decides which formats there are.
    """
    known = {*_told(old, minor)} if old is not None else set()
    return tuple(warning for warning in dict.fromkeys(_told(new, minor)) if warning not in known)


def _told(definition: Obj, minor: int) -> list[str]:
    parts = [part for schema in schemas_of(definition.get("spec") or {}) for part in each_schema(schema)]
    return [
        *(_formats(parts, minor) if minor >= FORMATS_SINCE else ()),
        *(_sets(parts) if minor >= SETS_SINCE else ()),
    ]


def _formats(parts: list[Obj], minor: int) -> list[str]:
    """Formats that values are not held to."""
    formatted = (part for part in parts if part.get("format"))
    return [f'unrecognized format "{part["format"]}"' for part in formatted if not format_of(part, minor)]


def _sets(parts: list[Obj]) -> list[str]:
    """Sets of what is no scalar, which nothing else takes for sets."""
    sets = (part for part in parts if part.get(LIST_TYPE) == "set" and isinstance(part.get("items"), dict))
    kinds = {part["items"].get("type") for part in sets}
    return [_NO_SET % kind for kind in ("array", "object") if kind in kinds]
