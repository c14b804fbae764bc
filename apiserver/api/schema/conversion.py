"""Conversion of a parsed document to the types of its kind, as strategic merge patches do (runtime/converter.go).

The outcome of such a patch is never written as JSON, so its errors are not those of a JSON decoder: they name neither
field nor path. A number is converted where a decoder would refuse it:

    replicas: "3"            unrecognized type: int32
    replicas: 3.0            3
    labels: {a: 1}           cannot convert int64 to string
    spec: [1]                cannot restore struct from: slice
"""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema import values
from apiserver.api.schema.type_decoders import List, Map, Scalar, Struct, TypeDecoder

_FIRST_FIELDS = ("kind", "apiVersion", "metadata")
"""The first fields of the Go structs of all kinds; others are taken in alphabetical order."""
_GO_KINDS: Mapping[values.Convert, str] = {
    values.read_string: "string",
    values.read_bool: "bool",
    values.read_int32: "int32",
    values.read_int64: "int64",
    values.read_float64: "float64",
}
"""Decoder of a scalar → the Go kind of its type."""
_BITS = {"int32": 32, "int64": 64}


class ConversionError(Exception):
    """A value cannot become one of its type; the message is that of upstream's converter."""


def convert(shape: TypeDecoder, value: Any) -> Any:
    """Return a document whose values have the types of a shape; unknown fields and nulls stay (fromUnstructured).

    Raises:
        ConversionError: a value does not fit its type.
    """
    match shape:
        case _ if value is None:
            return None
        case Struct():
            return _struct(shape, value)
        case Map():
            return _map(shape, value)
        case List():
            return _list(shape, value)
        case Scalar():
            kind = _GO_KINDS.get(shape.decode)
            return _self_decoding(shape, value) if kind is None else _plain(shape.type, kind, value)
    return value


def _map(shape: Map, value: Any) -> Obj:
    if not isinstance(value, dict):
        raise ConversionError(f"cannot restore map from {_kind_of(value)}")
    return {key: convert(shape.item, item) for key, item in value.items()}


def _list(shape: List, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ConversionError(f"cannot restore slice from {_kind_of(value)}")
    return [convert(shape.item, item) for item in value]


def _struct(shape: Struct, value: Any) -> Obj:
    if not isinstance(value, dict):
        raise ConversionError(f"cannot restore struct from: {_kind_of(value)}")
    names = [*(name for name in _FIRST_FIELDS if name in shape.fields), *sorted(shape.fields)]
    converted = {name: convert(shape.fields[name], value[name]) for name in dict.fromkeys(names) if name in value}
    return {name: converted.get(name, item) for name, item in value.items()}


def _plain(go_type: str, kind: str, value: Any) -> Any:
    """Return a string, bool or number as a value of a Go type of some kind."""
    given = _kind_of(value)
    if given == kind or (kind == "float64" and given == "int64"):
        return value
    if kind in _BITS and given == "int64":
        return _wrapped(value, _BITS[kind])
    if kind in _BITS and given == "float64" and float(value).is_integer():
        return _wrapped(int(value), _BITS[kind])
    if (kind == "string" and given == "int64") or (kind in _BITS and given == "float64"):
        raise ConversionError(f"cannot convert {given} to {go_type}")
    raise ConversionError(f"unrecognized type: {kind}")


def _wrapped(number: int, bits: int) -> int:
    """Return a number as Go's conversion to fewer bits leaves it."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def _self_decoding(shape: Scalar, value: Any) -> Any:
    """Return a value of a type that decodes JSON by itself, such as a quantity, or of bytes."""
    is_bytes = shape.decode is values.read_bytes
    if is_bytes and not isinstance(value, str):
        raise ConversionError(f"cannot restore slice from {_kind_of(value)}")
    try:
        shape.decode(value)
    except values.UnmarshalTypeError:
        described = {"map": "object", "slice": "array", "int64": "number", "float64": "number"}
        given = described.get(_kind_of(value), _kind_of(value))
        if given == "number" and shape.numeric:
            given = f"number {value}"
        raise ConversionError(f"json: cannot unmarshal {given} into Go value of type {shape.type}") from None
    except (values.UnmarshalError, values.MalformedError) as error:
        raise ConversionError(f"error decoding from json: {error}" if is_bytes else str(error)) from error
    return value


def _kind_of(value: Any) -> str:
    """Return the Go kind of a parsed value; an integer of more than 64 bits is parsed as a float."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64" if -(1 << 63) <= value < 1 << 63 else "float64"
        case float():
            return "float64"
        case dict():
            return "map"
    return "slice"
