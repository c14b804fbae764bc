"""string.format(): replaces clauses such as %s and %.2f in a text by values (cel-go's ext/formatting.go)."""

import math
import re
from collections.abc import Callable
from typing import Any

from apiserver.api.schema import quoted
from apiserver.cel.functions.times import duration_text, timestamp_text
from apiserver.cel.limits import check_length
from apiserver.cel.values import (
    Duration,
    EvaluationError,
    Lister,
    Mapper,
    Timestamp,
    TypeValue,
    Uint,
    format_value,
    go_float,
    is_list,
    items_of,
    type_name,
)

CLAUSE = re.compile(r"%(?:%|(\.([0-9]*))?(.?))", re.DOTALL)
"""A clause: its precision with the point, and without it, and its letter; or a percent sign."""

STRING_WORDS = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps"
)

CLAUSES = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""Letter of a clause → its error message; %s is missing."""

_DEFAULT_PRECISION = 6
_MAX_PRECISION = 1024
"""A limit of this server; upstream pads with as many zeros as requested."""

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def format_string(text: str, args: Any) -> str:
    """Return the text with its clauses replaced, each by its argument.

    Raises:
        EvaluationError: a clause is unknown, has no argument, or one that it cannot print.
    """
    values = items_of(args)
    parts: list[str] = []
    at = index = 0
    for clause in CLAUSE.finditer(text):
        parts.append(text[at : clause.start()])
        at = clause.end()
        if clause[0] == "%%":
            parts.append("%")
            continue
        if index >= len(values):
            raise EvaluationError(f"index {index} out of range")
        parts.append(_clause(clause, values[index]))
        index += 1
    result = "".join([*parts, text[at:]])
    check_length(len(result))
    return result


def _clause(clause: re.Match[str], value: Any) -> str:
    verb = clause[3]
    if not verb:
        if clause[1] is None:
            raise EvaluationError("unexpected end of string")
        raise _unparsable("error while parsing precision: could not find end of precision specifier")
    precision = _precision(clause[2])
    formatter = _VERBS.get(verb)
    if formatter is None:
        raise _unparsable(f'unrecognized formatting clause "{verb}"')
    try:
        return formatter(value, precision)
    except EvaluationError as error:
        raise EvaluationError(f"error during formatting: {error}") from None


def _unparsable(reason: str) -> EvaluationError:
    return EvaluationError(f"could not parse formatting clause: {reason}")


def _precision(digits: str | None) -> int:
    if digits is None:
        return _DEFAULT_PRECISION
    if not digits:
        reason = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        raise _unparsable(f"error while parsing precision: {reason}")
    return min(int(digits[:9]), _MAX_PRECISION)


def _format_error(message: str, value: Any) -> EvaluationError:
    return EvaluationError(f"{message}, was given {type_name(value)}")


def _string(value: Any, _precision: int) -> str:
    if value is None or type(value) in (bool, str, int, Uint, float, bytes, TypeValue):
        return value.decode(errors="replace") if type(value) is bytes else format_value(value)
    if type(value) is Timestamp:
        return timestamp_text(value)
    if type(value) is Duration:
        return duration_text(value)
    if is_list(value):
        return _list(value)
    if isinstance(value, Mapper):
        return _map(value)
    raise _format_error(STRING_WORDS, value)


def _list(value: Any) -> str:
    return f"[{', '.join(map(_inner, items_of(value)))}]"


def _map(value: Mapper) -> str:
    pairs = []
    for key in value.key_list():
        if type(key) not in (str, bool, int, Uint):
            raise EvaluationError(f"no formatting function for map key of type {type_name(key)}")
        pairs.append((_inner(key), _inner(value.find(key))))
    return f"{{{', '.join(f'{key}:{inner}' for key, inner in sorted(pairs))}}}"


def _inner(value: Any) -> str:
    """Return the text of a value within a list or a map."""
    match value:
        case str():
            text = quoted(value)
        case bytes():
            text = f"b{quoted(value.decode(errors='replace'))}"
        case float():
            text = f"{value:.{_DEFAULT_PRECISION}f}" if math.isfinite(value) else f'"{go_float(value)}"'
        case Timestamp():
            text = f'timestamp("{timestamp_text(value)}")'
        case Duration():
            text = f'duration("{duration_text(value)}")'
        case None | bool() | int() | TypeValue() | Mapper() | list() | Lister():
            text = _string(value, 0)
        case _:
            raise EvaluationError(f"no formatting function for {type_name(value)}")
    return text


def _decimal(value: Any, _precision: int) -> str:
    if type(value) in (int, Uint):
        return str(int(value))
    raise _format_error(CLAUSES["d"], value)


def _fixed(value: Any, precision: int) -> str:
    """Return digits in groups of three, as in the locale en_US."""
    number = _number("f", value)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(value: Any, precision: int) -> str:
    """Return scientific notation: 2.718280 x 10^00, with a multiplication sign and a superscript exponent."""
    number = _number("e", value)
    if not math.isfinite(number):
        return _not_finite(number)
    mantissa, _, power = f"{number:.{precision}e}".partition("e")
    return f"{mantissa}\u00d710{power.removeprefix('+').translate(_SUPERSCRIPTS)}"


_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def _number(verb: str, value: Any) -> float:
    number = _SPECIAL.get(value) if type(value) is str else value
    if type(number) is not float:
        raise _format_error(CLAUSES[verb], value)
    return number


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "\u221e" if number > 0 else "-\u221e"


def _binary(value: Any, _precision: int) -> str:
    if type(value) in (bool, int, Uint):
        return f"{int(value):b}"
    raise _format_error(CLAUSES["b"], value)


def _hex(value: Any, _precision: int) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):x}"
    if type(value) in (str, bytes):
        return (value.encode() if type(value) is str else value).hex()
    raise _format_error(CLAUSES["x"], value)


def _octal(value: Any, _precision: int) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):o}"
    raise _format_error(CLAUSES["o"], value)


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": _octal,
}
