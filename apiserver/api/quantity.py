"""Quantities: amounts of cpu, memory and the like as exact numbers (k8s.io/apimachinery/pkg/api/resource).

A quantity keeps the kind of suffix that it was written with, and is printed with the same: binary (Ki), decimal (k) or
exponent (e3). Text in canonical form, and some text that upstream takes for canonical, is kept as it was written.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC = "unable to parse numeric part of quantity"
_SUFFIX = "unable to parse quantity's suffix"

_DECIMAL, _BINARY, _EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"
_POWERS_OF_10 = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWERS_OF_2 = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _POWERS_OF_10.items()}
_BINARY_SUFFIXES = ("", *_POWERS_OF_2)
_DIGITS, _LETTERS, _SIGNS = "0123456789", "eEinumkKMGTP", "+-"
_NANO = -9
_UNIT = 10**9
_MAX = (2**63 - 1) * _UNIT
_FAST_DIGITS = 18  # upstream computes up to that many digits in an int64; for more digits it never keeps the text
_MAX_EXPONENT = 1000  # our own limit: upstream would compute with a number of that many digits


class QuantityError(ValueError):
    """The text is not a quantity; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount.

    Attributes:
        nanos: the amount in billionths; more precise amounts are rounded away from zero.
        format: DecimalSI, BinarySI or DecimalExponent.
        text: the text it was parsed from, if that is kept; "" if it is computed.
    """

    nanos: int
    format: str = _DECIMAL
    text: str = ""

    def __str__(self) -> str:
        return self.text or _formatted(self.nanos, self.format)

    def __add__(self, other: Self) -> Self:
        """Return the sum, in the format of the first amount that is not zero."""
        return type(self)(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Self) -> Self:
        """Return the difference, in the format of the first amount that is not zero."""
        return type(self)(self.nanos - other.nanos, self.format if self.nanos else other.format)

    @property
    def value(self) -> int:
        """Return whole units, rounded away from zero (Value)."""
        return _away_from_zero(self.nanos, _UNIT)

    @property
    def milli_value(self) -> int:
        """Return thousandths, rounded away from zero (MilliValue)."""
        return _away_from_zero(self.nanos, _UNIT // 1000)


def _away_from_zero(nanos: int, unit: int) -> int:
    return -(-nanos // unit) if nanos > 0 else nanos // unit


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Return the quantity in a text (ParseQuantity).

    Raises:
        QuantityError: the text is not a quantity; the message is upstream's.
    """
    if not text:
        raise QuantityError(_FORM)
    number = _Number(text)
    base, power, form = _interpret(number.suffix)
    if abs(power) > _MAX_EXPONENT:
        raise QuantityError(_SUFFIX)
    digits, places = number.whole + number.fraction, len(number.fraction)
    if _is_short(number, power=power, form=form):
        nanos = (
            int(digits) * base**power * 10 ** (-_NANO - places) if base == 2 else _scaled(int(digits), power - places)
        )
        keeps_text = _is_kept(digits, scale=power - places, form=form)
        return Quantity(number.sign * nanos, form, text if keeps_text else "")
    if not number.has_digits:
        raise QuantityError(_NUMERIC)
    nanos = _scaled(int(digits) * (base**power if base == 2 else 1), (0 if base == 2 else power) - places)
    if form == _BINARY:
        form, nanos = (_DECIMAL if 0 < nanos < _UNIT else form), min(nanos, _MAX)
    return Quantity(number.sign * nanos, form)


class _Number:
    """The parts of a quantity's text; as upstream, it may lack digits altogether ("m" is zero)."""

    def __init__(self, text: str) -> None:
        self.sign = -1 if text[0] == "-" else 1
        unsigned = text[1:] if text[0] in _SIGNS else text
        rest = unsigned.lstrip(_DIGITS)
        self.whole = unsigned[: len(unsigned) - len(rest)].lstrip("0") or "0"
        self.fraction = ""
        if rest[:1] == ".":
            after = rest[1:].lstrip(_DIGITS)
            self.fraction = rest[1 : len(rest) - len(after)]
            rest = after
        self.has_digits = any(character in _DIGITS for character in unsigned[: len(unsigned) - len(rest)])
        self.suffix = rest
        tail = rest.lstrip(_LETTERS)
        if (tail[1:] if tail[:1] in set(_SIGNS) else tail).strip(_DIGITS):
            raise QuantityError(_FORM)


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Return the suffix as a base, a power and a format."""
    if suffix in _POWERS_OF_10:
        return 10, _POWERS_OF_10[suffix], _DECIMAL
    if suffix in _POWERS_OF_2:
        return 2, _POWERS_OF_2[suffix], _BINARY
    exponent = suffix[1:]
    if suffix[0] in "eE" and exponent.lstrip(_SIGNS).isdigit():
        return 10, int(exponent), _EXPONENT
    raise QuantityError(_SUFFIX)


def _is_short(number: _Number, *, power: int, form: str) -> bool:
    """Return whether upstream computes this number in an int64."""
    length = len(number.whole) + len(number.fraction)
    if form == _BINARY:
        return not number.fraction and 15 - len(number.whole) - int(power * 3 / 10) - 1 >= 0
    return length <= _FAST_DIGITS and power - len(number.fraction) >= _NANO


def _is_kept(digits: str, *, scale: int, form: str) -> bool:
    """Return whether upstream takes the text for canonical, as it does with a few forms that are not."""
    if form == _BINARY:
        return int(digits) & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _scaled(number: int, power: int) -> int:
    """Return the number times 10**power, in billionths, rounded up."""
    shift = power - _NANO
    factor: int = 10 ** abs(shift)
    return number * factor if shift >= 0 else -(-number // factor)


def _formatted(nanos: int, form: str) -> str:
    if not nanos:
        return "0"
    if form == _BINARY and abs(nanos) >= 1024 * _UNIT and nanos % _UNIT == 0:
        units, power = nanos // _UNIT, 0
        while units % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
            units, power = units // 1024, power + 1
        return f"{units}{_BINARY_SUFFIXES[power]}"
    power = _NANO
    while nanos % 1000 == 0:
        nanos, power = nanos // 1000, power + 3
    if form == _EXPONENT:
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIXES.get(power, '')}"  # beyond E upstream has no suffix, and prints none


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return the text as it is stored and printed: "0.5" is "500m", "1024Ki" is "1Mi".

    Raises:
        QuantityError: the text is not a quantity.
    """
    return str(parse(text))


def of(value: str | float | None) -> Quantity:
    """Return the quantity of a JSON value: text (stripped), number, or null for zero (UnmarshalJSON).

    Raises:
        QuantityError: the value is not a quantity.
    """
    return Quantity(0) if value is None else parse(value.strip() if isinstance(value, str) else str(value))
