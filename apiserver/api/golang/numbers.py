"""Numbers as Go's strconv reads them and as fmt and encoding/json print them, with Go's error messages."""

import re
from decimal import Decimal
from math import isinf
from typing import Any

from apiserver.api.golang.strings import quoted

_MAX_DIGITS = 20
"""The most digits of a 64-bit number."""


def parse_uint(text: str) -> int:
    """Return the decimal number in a text, from 0 to 2**64 - 1 (strconv.ParseUint).

    Raises:
        ValueError: the text is no such number; the message is Go's.
    """
    if not (text.isascii() and text.isdigit()):
        raise _number_error("ParseUint", text, "invalid syntax")
    return _in_range("ParseUint", text, text, most=(1 << 64) - 1)


def parse_int(text: str) -> int:
    """Return the decimal number in a text, with or without sign, from -2**63 to 2**63 - 1 (strconv.ParseInt).

    Raises:
        ValueError: the text is no such number; the message is Go's.
    """
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not (digits.isascii() and digits.isdigit()):
        raise _number_error("ParseInt", text, "invalid syntax")
    if sign == "-":
        return -_in_range("ParseInt", text, digits, most=1 << 63)
    return _in_range("ParseInt", text, digits, most=(1 << 63) - 1)


def format_float(value: float) -> str:
    """Return a float64 as fmt prints it with %v: 1.5, 100000, 1e+06."""
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    exponent = Decimal(repr(value)).adjusted() if value else 0
    if -4 <= exponent < 6 or not value:
        return f"{value:.{max(len(digits) - 1 - exponent, 0)}f}"
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}{'.' if rest else ''}{''.join(rest)}e{exponent:+03d}"


_NOT_GO = (b".0,", b".0}", b".0]", b"e+1", b"e+2", b"e-6")
"""A text has one of these if orjson wrote a number in it differently from Go."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?', re.DOTALL)
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1


def as_go_writes(text: bytes) -> bytes:
    """Return a JSON text of orjson's with its numbers as encoding/json writes them.

    A whole float64 has no point, and only numbers below 1e-6 and from 1e21 on have an exponent: 1.0 is written as 1,
    1e+20 as 100000000000000000000, 1e-6 as 0.000001.
    """
    for part in _NOT_GO:
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
    """Replace each integer beyond int64 in a dict or list, at any depth, by a float64.

    Raises:
        OverflowError: a number is infinite, which it is if it exceeds float64.
    """
    for key, item in value.items() if value.__class__ is dict else enumerate(value):
        kind = item.__class__
        if kind is dict or kind is list:
            floats_as_go_reads(item)
        elif kind is int:
            if not _MIN_INT64 <= item <= _MAX_INT64:
                value[key] = float(item)
        elif kind is float and isinf(item):
            raise OverflowError


def _in_range(function: str, text: str, digits: str, *, most: int) -> int:
    significant = digits.lstrip("0")
    value = int(significant or "0") if len(significant) <= _MAX_DIGITS else most + 1
    if value > most:
        raise _number_error(function, text, "value out of range")
    return value


def _number_error(function: str, text: str, reason: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quoted(text)}: {reason}")
