"""Numbers as Go's strconv reads them from text, as fmt and encoding/json print them, and its words for what is none."""

import re
from decimal import Decimal
from math import isinf
from typing import Any

from apiserver.api.golang.strings import quoted

_DIGITS = 20
"""More digits than these no number of 64 bits has."""


def parse_uint(text: str) -> int:
    """A decimal number from 0 to 2**64 - 1 (strconv.ParseUint).

    Raises:
        ValueError: it is none; the message is Go's.
    """
    if not (text.isascii() and text.isdigit()):
        raise _refused("ParseUint", text, "invalid syntax")
    return _in_range("ParseUint", text, text, most=(1 << 64) - 1)


def parse_int(text: str) -> int:
    """A decimal number from -2**63 to 2**63 - 1, with or without a sign (strconv.ParseInt).

    Raises:
        ValueError: it is none; the message is Go's.
    """
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not (digits.isascii() and digits.isdigit()):
        raise _refused("ParseInt", text, "invalid syntax")
    if sign == "-":
        return -_in_range("ParseInt", text, digits, most=1 << 63)
    return _in_range("ParseInt", text, digits, most=(1 << 63) - 1)


def format_float(value: float) -> str:
    """A float64 as fmt prints it with %v: 1.5, 100000, 1e+06."""
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    exponent = Decimal(repr(value)).adjusted() if value else 0
    if -4 <= exponent < 6 or not value:
        return f"{value:.{max(len(digits) - 1 - exponent, 0)}f}"
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}{'.' if rest else ''}{''.join(rest)}e{exponent:+03d}"


_ODD = (b".0,", b".0}", b".0]", b"e+1", b"e+2", b"e-6")
"""What a text has somewhere, if orjson has written a number in it otherwise than Go would."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?', re.DOTALL)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def as_go_writes(text: bytes) -> bytes:
    """Return a JSON text that orjson wrote with its numbers as encoding/json writes them.

    A float64 has no point where it is whole, and an exponent only below 1e-6 and from 1e21 on: 1.0 is 1, 1e+20 is
    100000000000000000000, 1e-6 is 0.000001.
    """
    for part in _ODD:
        if part in text:
            return _TOKEN.sub(_go_token, text)
    return text


def _go_token(match: re.Match[bytes]) -> bytes:
    token = match[0]
    if token[:1] == b'"':
        return token
    if token.endswith(b".0"):
        return token[:-2]
    if b"e" not in token or not 1e-6 <= abs(float(token)) < 1e21:
        return token
    return format(Decimal(token.decode()), "f").encode()


def floats_as_go_reads(value: Any) -> None:
    """Make a float64 of each whole number in a dict or list, however deep, that no int64 holds.

    Raises:
        OverflowError: a number is infinite, as it is where no float64 holds it.
    """
    for key, item in value.items() if value.__class__ is dict else enumerate(value):
        kind = item.__class__
        if kind is dict or kind is list:
            floats_as_go_reads(item)
        elif kind is int:
            if not _LEAST <= item <= _MOST:
                value[key] = float(item)
        elif kind is float and isinf(item):
            raise OverflowError


def _in_range(function: str, text: str, digits: str, *, most: int) -> int:
    counted = digits.lstrip("0")
    value = int(counted or "0") if len(counted) <= _DIGITS else most + 1
    if value > most:
        raise _refused(function, text, "value out of range")
    return value


def _refused(function: str, text: str, why: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quoted(text)}: {why}")
