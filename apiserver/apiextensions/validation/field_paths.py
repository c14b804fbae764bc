"""Resolves paths to a field of a schema, such as ".spec.size" (apiextensions-apiserver's schema/cel.ValidFieldPath)."""

import re
from dataclasses import dataclass

from apiserver.api.meta import Obj

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
