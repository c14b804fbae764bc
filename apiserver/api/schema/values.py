"""Decoders of scalars: a JSON value as its Go type decodes it, or the errors of Go's decoder."""

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable
from math import isinf
from typing import Any

from apiserver.api.quantity import canonical
from apiserver.api.schema.times import canonical_micro_time, canonical_time, is_canonical

Convert = Callable[[Any], Any]
"""A function that returns the canonical form of a value other than null; it raises UnfitError or MalformedError."""


class UnmarshalTypeError(Exception):
    """The value has the wrong JSON type, or is a number out of range: reported with its field, after all others."""


class UnmarshalError(Exception):
    """The value has the right type but is malformed; reported like UnfitError, but with its own message."""


class MalformedError(Exception):
    """A type with its own decoder refuses the value: that ends the decoding at once."""


def read_string(value: Any) -> str:
    """Return a string."""
    if type(value) is str:
        return value
    raise UnmarshalTypeError


def read_bool(value: Any) -> bool:
    """Return a bool."""
    if type(value) is bool:
        return value
    raise UnmarshalTypeError


def read_int32(value: Any) -> int:
    """Return an int32; a number with a point or an exponent is none, whatever its value."""
    if type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return value
    raise UnmarshalTypeError


def read_int64(value: Any) -> int:
    """Return an int64."""
    if type(value) is int and -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        return value
    raise UnmarshalTypeError


def read_float64(value: Any) -> float:
    """Return a float64, which Go writes without a point if it is whole."""
    if type(value) is int:
        return value if abs(value) < 1 << 63 else float(value)
    if type(value) is float:
        if isinf(value):
            raise UnmarshalTypeError
        return int(value) if value.is_integer() and abs(value) < 1 << 63 else value
    raise UnmarshalTypeError


def read_quantity(value: Any) -> str:
    """Return a resource.Quantity; numbers are quantities too, and space around one is skipped."""
    try:
        return canonical(value.strip() if type(value) is str else _as_text(value))
    except ValueError as error:
        raise MalformedError(str(error)) from error


def _as_text(value: Any) -> str:
    return str(value) if type(value) in (int, float) else ""


def read_int_or_string(value: Any) -> int | str:
    """Return an intstr.IntOrString."""
    if type(value) is str:
        return value
    return read_int32(value)


def read_time(value: Any) -> str | None:
    """Return a metav1.Time."""
    return value if type(value) is str and is_canonical(value) else _moment(value, canonical_time)


def read_micro_time(value: Any) -> str | None:
    """Return a metav1.MicroTime."""
    return _moment(value, canonical_micro_time)


def _moment(value: Any, parse: Callable[[str], str | None]) -> str | None:
    if type(value) is not str:
        raise UnmarshalTypeError
    try:
        return parse(value)
    except ValueError as error:
        raise MalformedError(str(error)) from error


def read_bytes(value: Any) -> str:
    """Return a []byte in base64; newlines in it are skipped."""
    if type(value) is not str:
        raise UnmarshalTypeError
    try:
        return b64encode(a2b_base64(value.translate(_NO_NEWLINES), strict_mode=True)).decode()
    except ValueError as error:  # binascii.Error is one
        raise UnmarshalError(f"illegal base64 data at input byte {_illegal_byte(value.encode())}") from error


_NO_NEWLINES = {ord("\r"): None, ord("\n"): None}
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _illegal_byte(text: bytes) -> int:
    """Return where Go's base64.StdEncoding stops: at an illegal byte, or at the start of a broken last group."""
    positions = [position for position, byte in enumerate(text) if byte not in b"\r\n"]
    for count, position in enumerate(positions):
        if text[position] in _ALPHABET:
            continue
        if text[position] != ord("=") or count % 4 < 2:
            return position
        return _illegal_padding(text, positions, count=count)
    return len(text) - len(positions) % 4


def _illegal_padding(text: bytes, positions: list[int], *, count: int) -> int:
    if count % 4 == 2:
        count += 1
        if count == len(positions):
            return len(text)
        if text[positions[count]] != ord("="):
            return positions[count] - 1
    return positions[count + 1] if count + 1 < len(positions) else len(text)


def read_anything(value: Any) -> Any:
    """Return a value as it is: runtime.RawExtension, apiextensions JSON."""
    return value
