"""The fieldPath of rules: ".spec.items['a.b']" (ValidFieldPath in schema/cel/validation.go)."""

import re

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import at, child, has_values, properties, values

_TOKEN = re.compile(r"'(?:[^']|(?<=\\)')+'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The text is not a path, or names a field that the schema does not have."""


def normal_path(text: str, schema: Obj) -> str:
    """Return the path as errors print it, relative to the schema's own path: "spec.items[a.b]".

    Raises:
        FieldPathError: there is no such field.
    """
    tokens = _TOKEN.findall(text)
    path, position = "", 0
    while position < len(tokens):
        opening = tokens[position]
        if opening not in (".", "["):
            raise FieldPathError(f"expected [ or . but got: {opening}")
        if position + (1 if opening == "." else 2) >= len(tokens):
            raise FieldPathError("unexpected end of JSON path")
        name = tokens[position + 1] if opening == "." else _quoted(tokens[position + 1])
        if opening == "[" and tokens[position + 2] != "]":
            raise FieldPathError(f"expected ] but got {tokens[position + 2]}")
        path, schema = _path_element(path, schema, name)
        position += 2 if opening == "." else 3
    return path


def _path_element(path: str, schema: Obj, name: str) -> tuple[str, Obj]:
    """Return the path and the schema one field further down."""
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
    unknown = [match[0] for match in _ESCAPE.finditer(token[1:-1]) if match[1] not in _ESCAPES]
    if unknown:
        raise FieldPathError(f"invalid string literal: invalid escape char {unknown[0]}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], token[1:-1])
