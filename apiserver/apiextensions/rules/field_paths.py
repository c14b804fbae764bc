"""Paths that rules give for their errors: ".spec.items['a.b']" (ValidFieldPath in schema/cel/validation.go)."""

import re

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import at, child, has_values, properties, values

_TOKEN = re.compile(r"'(?:[^']|(?<=\\)')+'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The text is no path, or one to a field that the schema does not know."""


def normal_path(text: str, schema: Obj) -> str:
    """The path as errors print it, below the schema's own: "spec.items[a.b]".

    Raises:
        FieldPathError: there is no such field.
    """
    tokens = _TOKEN.findall(text)
    path, at_token = "", 0
    while at_token < len(tokens):
        opening = tokens[at_token]
        if opening not in (".", "["):
            raise FieldPathError(f"expected [ or . but got: {opening}")
        if at_token + (1 if opening == "." else 2) >= len(tokens):
            raise FieldPathError("unexpected end of JSON path")
        name = tokens[at_token + 1] if opening == "." else _quoted(tokens[at_token + 1])
        if opening == "[" and tokens[at_token + 2] != "]":
            raise FieldPathError(f"expected ] but got {tokens[at_token + 2]}")
        path, schema = _step(path, schema, name)
        at_token += 2 if opening == "." else 3
    return path


def _step(path: str, schema: Obj, name: str) -> tuple[str, Obj]:
    """The path and the schema one field further."""
    if properties(schema):
        if name not in properties(schema):
            raise FieldPathError("does not refer to a valid field")
        return child(path, name), properties(schema)[name]
    if not has_values(schema):
        raise FieldPathError("does not refer to a valid field")
    return at(path, name), values(schema) or {}


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    unknown = [found[0] for found in _ESCAPE.finditer(token[1:-1]) if found[1] not in _ESCAPES]
    if unknown:
        raise FieldPathError(f"invalid string literal: invalid escape char {unknown[0]}")
    return _ESCAPE.sub(lambda found: _ESCAPES[found[1]], token[1:-1])
