"""The Go type of a JSON patch's operations, which detects unknown and repeated fields (jsonPatchOp of patch.go)."""

from typing import Any

from apiserver.api.schema import may_repeat_fields
from apiserver.api.schema.strict import ANYTHING, decode_errors
from apiserver.api.schema.type_decoders import List, Scalar, Struct
from apiserver.api.schema.values import read_anything, read_string

_TEXTS = frozenset(("op", "path", "from"))
_FIELDS = _TEXTS | {"value"}


def decoding_errors(raw: bytes, body: Any) -> list[str]:
    """Return the unknown and the repeated fields of the operations of a JSON patch, in the order of the body.

    Args:
        raw: the body.
        body: the parsed body.

    Raises:
        DecodeError: the body is not a list of operations.
    """
    if _is_plain(body) and not may_repeat_fields(raw, body):
        return []
    text = Scalar("string", read_string, "")
    operation = Struct("handlers.jsonPatchOp", {**dict.fromkeys(_TEXTS, text), "value": ANYTHING})
    return decode_errors(List("[]handlers.jsonPatchOp", operation, read_anything), raw)


def _is_plain(body: Any) -> bool:
    """Return whether all operations have only known fields, of the right types."""
    return isinstance(body, list) and all(
        isinstance(operation, dict)
        and operation.keys() <= _FIELDS
        and all(isinstance(operation.get(name, ""), str) for name in _TEXTS)
        for operation in body
    )
