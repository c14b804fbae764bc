"""The formats that a schema can demand of values; an unknown format is no constraint.

The list of formats is from apiextensions-apiserver/pkg/apiserver/validation/formats.go, their rules are from
kube-openapi/pkg/validation/strfmt.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping

from apiserver.api.addresses import is_cidr, is_email, is_hostname, is_ipv4, is_ipv6, is_mac, is_uri
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import INT_OR_STRING

IsFormat = Callable[[str], bool]

NAMES_SINCE = 34
"""The minor release that added the formats of Kubernetes' names."""

_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}

_HEX_ID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LEVEL = r"(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_NOT_A_DIGIT = re.compile(r"[^0-9]+")
_SPACE_OR_DASH = re.compile(r"[\t\n\f\r -]+")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})").fullmatch
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})").fullmatch
_USUAL_TIME = re.compile(
    "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
).fullmatch
"""The form of most times; the days 29 to 31, which some months lack, are checked separately."""
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))+)").fullmatch
_AMOUNTS = re.compile(r"(?<![0-9])([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").findall
_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_MAX_INT64 = (1 << 63) - 1


def known_format(name: str, minor: int) -> IsFormat | None:
    """Return the check of a string format, or None if the release does not know it; dashes in its name are ignored."""
    normal = name.replace("-", "")
    if normal in _NAMES:
        return _NAMES[normal] if minor >= NAMES_SINCE else None
    return _FORMATS.get(normal)


def format_of(schema: Obj, minor: int) -> str:
    """Return the format that a schema demands of its values, "" for none or one that its type does not have."""
    name: str = schema.get("format") or ""
    if not name:
        return ""
    kind = "" if schema.get(INT_OR_STRING) else schema.get("type") or ""
    if kind in ("", "string"):
        return name if known_format(name, minor) else ""
    return name if name in _NUMBERS.get(kind, ()) else ""


def _matches(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> IsFormat:
    matcher = re.compile(pattern, flags).fullmatch
    return lambda text: matcher(text) is not None


def _is_hex_id(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> IsFormat:
    return _matches(_HEX_ID % (version, variant), re.IGNORECASE | re.ASCII)


def _is_isbn10(text: str) -> bool:
    digits = _SPACE_OR_DASH.sub("", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return sum(position * (10 if digit == "X" else int(digit)) for position, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _SPACE_OR_DASH.sub("", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum((1, 3)[index % 2] * int(digit) for index, digit in enumerate(digits)) % 10 == 0


def _is_isbn(text: str) -> bool:
    return _is_isbn10(text) or _is_isbn13(text)


_is_card_number = _matches(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


def _is_credit_card(text: str) -> bool:
    digits = _NOT_A_DIGIT.sub("", text)
    if not _is_card_number(digits):
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(value % 10 + 1 if value > 9 else value for value in doubled) % 10 == 0


_is_security_number = _matches("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")


def _is_ssn(text: str) -> bool:
    return len(text) == 11 and _is_security_number(text)


def _is_date(text: str) -> bool:
    match = _DATE(text)
    if not match:
        return False
    year, month, day = map(int, match.groups())
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 400, month)[1]


def _is_datetime(text: str) -> bool:
    """Return whether a text is a date and a time; unlike in RFC 3339, a minute has no second 60 here."""
    if _USUAL_TIME(text):
        return True
    date, *rest = text.lower().split("t")
    match = _TIME(rest[0]) if rest and _is_date(date) else None
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    """Return whether a text is a duration of Go's, or has numbers with longer units in it, as Scala writes them."""
    amounts = _AMOUNTS(text)
    if any(_exceeds_int64(number) for number, _ in amounts):
        return False
    return _DURATION(text) is not None or any(_is_unit(unit.lower()) for _, unit in amounts)


def _exceeds_int64(digits: str) -> bool:
    """Return whether a number exceeds 64 bits; Python refuses to parse absurdly many digits."""
    digits = digits.lstrip("0")
    return len(digits) > len(str(_MAX_INT64)) or int(digits or 0) > _MAX_INT64


def _is_unit(unit: str) -> bool:
    return unit in _UNITS or unit.startswith(_LONG_UNITS)


def _is_named(limit: int, pattern: str) -> IsFormat:
    is_name = _matches(pattern)
    return lambda text: len(text) <= limit and is_name(text)


_NAMES: Mapping[str, IsFormat] = {
    "k8sshortname": _is_named(63, _LABEL),
    "k8slongname": _is_named(253, rf"{_LABEL}(?:\.{_LABEL})*"),
}
_FORMATS: Mapping[str, IsFormat] = {
    "bsonobjectid": _matches("[0-9A-Fa-f]{24}"),
    "byte": _matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_datetime,
    "duration": _is_duration,
    "email": is_email,
    "hexcolor": _matches("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "isbn": _is_isbn,
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "mac": is_mac,
    "password": lambda _text: True,
    "rgbcolor": _matches(rf"rgb\([\t\n\f\r ]*{_LEVEL}(?:[\t\n\f\r ]*,[\t\n\f\r ]*{_LEVEL}){{2}}[\t\n\f\r ]*\)"),
    "ssn": _is_ssn,
    "uri": is_uri,
    "uuid": _is_hex_id(),
    "uuid3": _is_hex_id("3"),
    "uuid4": _is_hex_id("4", "[89ab]"),
    "uuid5": _is_hex_id("5", "[89ab]"),
}
