"""Scalars: one JSON value made what its Go type would make of it, or refused as Go's decoder refuses it."""

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable
from math import isinf
from typing import Any

from apiserver.api.quantity import canonical
from apiserver.api.schema.times import canonical_micro_time, canonical_time, is_canonical

Convert = Callable[[Any], Any]
"""Makes the canonical form of a value other than null; raises UnfitError or MalformedError."""


class UnfitError(Exception):
    """The value has the wrong JSON type, or is a number out of range: told with the field, after all else was read."""


class IllegibleError(Exception):
    """The value has the right type but cannot be read; told like UnfitError, but in words of its own."""


class MalformedError(Exception):
    """A type that reads itself refuses the value: that ends the decoding at once."""


def read_string(value: Any) -> str:
    """A string of any kind."""
    if type(value) is str:
        return value
    raise UnfitError


def read_bool(value: Any) -> bool:
    """A bool."""
    if type(value) is bool:
        return value
    raise UnfitError


def read_int32(value: Any) -> int:
    """An int32; a number with a point or an exponent is none, whatever its value."""
    if type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return value
    raise UnfitError


def read_int64(value: Any) -> int:
    """An int64."""
    if type(value) is int and -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        return value
    raise UnfitError


def read_float64(value: Any) -> float:
    """A float64, which Go writes without a point where it is whole."""
    if type(value) is int:
        return value if abs(value) < 1 << 63 else float(value)
    if type(value) is float:
        if isinf(value):
            raise UnfitError
        return int(value) if value.is_integer() and abs(value) < 1 << 63 else value
    raise UnfitError


def read_quantity(value: Any) -> str:
    """A resource.Quantity; numbers are quantities too, and space around one is skipped."""
    try:
        return canonical(value.strip() if type(value) is str else _as_text(value))
    except ValueError as error:
        raise MalformedError(str(error)) from error


def _as_text(value: Any) -> str:
    return str(value) if type(value) in (int, float) else ""


def read_int_or_string(value: Any) -> int | str:
    """An intstr.IntOrString."""
    if type(value) is str:
        return value
    return read_int32(value)


def read_time(value: Any) -> str | None:
    """A metav1.Time."""
    return value if type(value) is str and is_canonical(value) else _moment(value, canonical_time)


def read_micro_time(value: Any) -> str | None:
    """A metav1.MicroTime."""
    return _moment(value, canonical_micro_time)


def _moment(value: Any, parse: Callable[[str], str | None]) -> str | None:
    if type(value) is not str:
        raise UnfitError
    try:
        return parse(value)
    except ValueError as error:
        raise MalformedError(str(error)) from error


def read_bytes(value: Any) -> str:
    """A []byte in base64; newlines in it are skipped."""
    if type(value) is not str:
        raise UnfitError
    try:
        return b64encode(a2b_base64(value.translate(_NO_NEWLINES), strict_mode=True)).decode()
    except ValueError as error:  # binascii.Error is one
        raise IllegibleError(f"illegal base64 data at input byte {_illegal_byte(value.encode())}") from error


_NO_NEWLINES = {ord("\r"): None, ord("\n"): None}
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _illegal_byte(text: bytes) -> int:
    """Where Go's base64.StdEncoding stops: at a foreign byte, or where the last group of four that is broken begins."""
    places = [place for place, byte in enumerate(text) if byte not in b"\r\n"]
    for count, place in enumerate(places):
        if text[place] in _ALPHABET:
            continue
        if text[place] != ord("=") or count % 4 < 2:
            return place
        return _illegal_padding(text, places, count=count)
    return len(text) - len(places) % 4


def _illegal_padding(text: bytes, places: list[int], *, count: int) -> int:
    if count % 4 == 2:
        count += 1
        if count == len(places):
            return len(text)
        if text[places[count]] != ord("="):
            return places[count] - 1
    return places[count + 1] if count + 1 < len(places) else len(text)


def read_anything(value: Any) -> Any:
    """A value that is kept as it is: runtime.RawExtension, apiextensions JSON."""
    return value
