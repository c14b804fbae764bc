"""Paths to a field of a schema, such as ".spec.size" (apiextensions-apiserver's schema/cel.ValidFieldPath)."""

import re
from dataclasses import dataclass

from apiserver.api.meta import Obj

_WORDS = re.compile(r"[.\[\]]|'(?:[^']|(?<=\\)')*(?:'|$)|[^.\[\]]+", re.DOTALL)
_NO_FIELD = "does not refer to a valid field"


class PathError(ValueError):
    """The path leads nowhere; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a path leads.

    Attributes:
        path: as errors name it: "spec.size", with keys of maps in brackets.
        schema: of the field, None where nothing is said of it.
    """

    path: str
    schema: Obj | None


def follow(path: str, schema: Obj) -> Found:
    """The field at a path without brackets.

    Raises:
        PathError: no such field, or no path of this form.
    """
    words = iter(_WORDS.findall(path))
    told, at = "", _Level(schema)
    for word in words:
        if word == "[":
            raise PathError("array notation is not allowed")
        if word != ".":
            raise PathError(f"expected [ or . but got: {word}")
        name = next(words, None)
        if name is None:
            raise PathError("unexpected end of JSON path")
        named = at.is_named
        at = at.below(name)
        told = (f"{told}.{name}" if told else name) if named else f"{told}[{name}]"
    return Found(told, at.schema)


@dataclass(frozen=True, slots=True)
class _Level:
    """A schema on the way, None where nothing is said."""

    schema: Obj | None

    @property
    def is_named(self) -> bool:
        """Has it fields, and no keys?"""
        return bool((self.schema or {}).get("properties"))

    def below(self, name: str) -> "_Level":
        """The schema of a field or a key."""
        here = self.schema or {}
        if self.is_named:
            if name not in here["properties"]:
                raise PathError(_NO_FIELD)
            return _Level(here["properties"][name])
        values = here.get("additionalProperties")
        if values is None:
            raise PathError(_NO_FIELD)
        return _Level(values if isinstance(values, dict) else None)
