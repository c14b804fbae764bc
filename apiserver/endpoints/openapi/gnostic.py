"""The protobuf form of a version 2 document: gnostic's openapi.v2.Document.

client-go's OpenAPISchema requests /openapi/v2 with this form alone in Accept and reads nothing else, so kubectl fails
if it gets JSON: 1.27 and 1.28 in apply, create, diff and explain, 1.29 to 1.33 in `explain -o plaintext-openapiv2`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.api.meta import Obj
from apiserver.api.protobuf.wire import encode_field, encode_varint

ACCEPTED = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
"""The media types by which clients request this form."""

CONTENT_TYPE = ACCEPTED[1]
"""The media type of every answer: Go rejects a Content-Type with "@", as the first one has."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Attributes:
        kind: the name of a message, or one of "string", "bool", "any" (JSON, which is YAML, in Any.yaml).
        wraps: numbers of the one-field messages around the value, outermost first.
        entries: for a mapping, the number of its entries in the message that holds them.
    """

    number: int
    kind: str = "string"
    wraps: tuple[int, ...] = ()
    entries: int = 0


PARAMETER = {
    "required": Field(1, "bool"),
    "in": Field(2),
    "description": Field(3),
    "name": Field(4),
}
MESSAGES: Mapping[str, Mapping[str, Field]] = {
    "Document": {
        "swagger": Field(1),
        "info": Field(2, "Info"),
        "paths": Field(8, "PathItem", entries=2),
        "definitions": Field(9, "Schema", entries=1),
        "security": Field(12, "StringArray", entries=1),
        "securityDefinitions": Field(13, "ApiKeySecurity", wraps=(2,), entries=1),
    },
    "Info": {"title": Field(1), "version": Field(2)},
    "StringArray": {},
    "ApiKeySecurity": {"type": Field(1), "name": Field(2), "in": Field(3), "description": Field(4)},
    "PathItem": {
        "get": Field(2, "Operation"),
        "put": Field(3, "Operation"),
        "post": Field(4, "Operation"),
        "delete": Field(5, "Operation"),
        "options": Field(6, "Operation"),
        "head": Field(7, "Operation"),
        "patch": Field(8, "Operation"),
        "parameters": Field(9, "Parameter", wraps=(1,)),
    },
    "Operation": {
        "tags": Field(1),
        "description": Field(3),
        "operationId": Field(5),
        "produces": Field(6),
        "consumes": Field(7),
        "parameters": Field(8, "Parameter", wraps=(1,)),
        "responses": Field(9, "Response", wraps=(1,), entries=1),
    },
    "BodyParameter": {
        "description": Field(1),
        "name": Field(2),
        "in": Field(3),
        "required": Field(4, "bool"),
        "schema": Field(5, "Schema"),
    },
    "QueryParameter": PARAMETER | {"type": Field(6)},
    "PathParameter": PARAMETER | {"type": Field(5)},
    "Response": {"description": Field(1), "schema": Field(2, "Schema", wraps=(1,))},
    "Schema": {
        "$ref": Field(1),
        "format": Field(2),
        "title": Field(3),
        "description": Field(4),
        "default": Field(5, "any"),
        "pattern": Field(13),
        "required": Field(19),
        "enum": Field(20, "any"),
        "additionalProperties": Field(21, "Schema", wraps=(1,)),
        "type": Field(22, wraps=(1,)),
        "items": Field(23, "Schema", wraps=(1,)),
        "allOf": Field(24, "Schema"),
        "properties": Field(25, "Schema", entries=1),
    },
}
"""Message → JSON key → field (google/gnostic-models, openapiv2/OpenAPIv2.proto), as far as these documents use them."""

EXTENSIONS = {"Operation": 13, "Schema": 31}
"""Message → number of the field that holds its "x-" keys."""

PARAMETERS = {"body": ("BodyParameter", (1,)), "query": ("QueryParameter", (2, 3)), "path": ("PathParameter", (2, 4))}
"""Location of a parameter → its message, and the wrappers around it."""


def encode_document(document: Obj) -> bytes:
    """Return the protobuf form of a version 2 document."""
    return _message("Document", document)


def _message(name: str, value: Obj) -> bytes:
    fields = MESSAGES[name]
    parts = []
    for key, inner in value.items():
        if key in fields:
            parts.append(_value(fields[key], inner))
        elif key.startswith("x-") and name in EXTENSIONS:
            parts.append(encode_field(EXTENSIONS[name], encode_field(1, key.encode()) + encode_field(2, _any(inner))))
    return b"".join(parts)


def _value(field: Field, value: Any) -> bytes:
    if field.entries:
        entries = value if isinstance(value, dict) else {key: one for part in value for key, one in part.items()}
        named = (
            encode_field(1, key.encode()) + encode_field(2, _wrap_value(field, one)) for key, one in entries.items()
        )
        return encode_field(field.number, b"".join(encode_field(field.entries, entry) for entry in named))
    if field.kind == "bool":
        return encode_varint(field.number << 3) + (b"\x01" if value else b"\x00")
    if isinstance(value, list | tuple):
        return b"".join(encode_field(field.number, _wrap_value(field, one)) for one in value)
    return encode_field(field.number, _wrap_value(field, value))


def _wrap_value(field: Field, value: Any) -> bytes:
    """Return the value's bytes inside the field's wrappers."""
    wraps, kind = field.wraps, field.kind
    if kind == "Parameter":
        kind, inner = PARAMETERS[value["in"]]
        wraps += inner
    content = _content(kind, value)
    for number in reversed(wraps):
        content = encode_field(number, content)
    return content


def _content(kind: str, value: Any) -> bytes:
    if kind == "string":
        return str(value).encode()
    if kind == "any":
        return _any(value)
    return _message(kind, value) if isinstance(value, dict) else b""


def _any(value: Any) -> bytes:
    return encode_field(2, orjson.dumps(value))
