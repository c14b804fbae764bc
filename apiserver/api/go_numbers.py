"""Numbers as Go's strconv reads them from text and fmt prints them, and its words for what is none."""

from decimal import Decimal

from apiserver.api.go_strings import quoted

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


def _in_range(function: str, text: str, digits: str, *, most: int) -> int:
    counted = digits.lstrip("0")
    value = int(counted or "0") if len(counted) <= _DIGITS else most + 1
    if value > most:
        raise _refused(function, text, "value out of range")
    return value


def _refused(function: str, text: str, why: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {quoted(text)}: {why}")
