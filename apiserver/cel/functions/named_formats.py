"""Named formats, whose validate() returns a text's errors (k8s.io/apiserver/pkg/cel/library/format.go)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from apiserver.api.formats import known_format
from apiserver.api.labels import key_errors, value_errors
from apiserver.cel.functions.urls import FUNCTIONS as URLS
from apiserver.cel.values import NONE, EvaluationError, Optional

_Errors = Callable[[str], Sequence[str]]

_ENDS = "and must start and end with an alphanumeric character"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NEWEST = 99


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format by its name.

    Attributes:
        pattern_size: the length of its pattern, or of a pattern with the same cost.
    """

    name: str
    pattern_size: int

    type_name: ClassVar[str] = "kubernetes.NamedFormat"


def _pattern(pattern: str, message: str, examples: str, limit: int) -> _Errors:
    matches = re.compile(pattern).fullmatch
    error = f"{message} ({examples}, regex used for validation is '{pattern}')"

    def errors(text: str) -> list[str]:
        too_long = [f"must be no more than {limit} bytes"] if len(text.encode(errors="replace")) > limit else []
        return too_long if matches(text) else [*too_long, error]

    return errors


def _prefix(errors: _Errors) -> _Errors:
    """Return the format for a prefix of a name: it may end with a dash (maskTrailingDash)."""
    return lambda text: errors(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _known(name: str, error: str) -> _Errors:
    is_format = known_format(name, _NEWEST)
    assert is_format is not None
    return lambda text: [] if is_format(text) else [error]


def _uri(text: str) -> list[str]:
    try:
        URLS["string_to_url"](text)
    except EvaluationError as error:
        return [str(error).partition(": ")[2]]
    return []


_label = _pattern(
    _LABEL,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    "e.g. 'my-name',  or '123-abc'",
    63,
)
_subdomain = _pattern(
    rf"{_LABEL}(\.{_LABEL})*",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    "e.g. 'example.com'",
    253,
)
_label_1035 = _pattern(
    _LABEL_1035,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "e.g. 'my-name',  or 'abc-123'",
    63,
)

_FORMATS: dict[str, tuple[NamedFormat, _Errors]] = {
    "dns1123Label": (NamedFormat("DNS1123Label", 30), _label),
    "dns1123Subdomain": (NamedFormat("DNS1123Subdomain", 60), _subdomain),
    "dns1035Label": (NamedFormat("DNS1035Label", 30), _label_1035),
    "qualifiedName": (NamedFormat("QualifiedName", 60), key_errors),
    "dns1123LabelPrefix": (NamedFormat("DNS1123LabelPrefix", 30), _prefix(_label)),
    "dns1123SubdomainPrefix": (NamedFormat("DNS1123SubdomainPrefix", 60), _prefix(_subdomain)),
    "dns1035LabelPrefix": (NamedFormat("DNS1035LabelPrefix", 30), _prefix(_label_1035)),
    "labelValue": (NamedFormat("LabelValue", 40), value_errors),
    "uri": (NamedFormat("URI", 1103), _uri),
    "uuid": (NamedFormat("uuid", 88), _known("uuid", "does not match the UUID format")),
    "byte": (NamedFormat("byte", 84), _known("byte", "invalid base64")),
    "date": (NamedFormat("date", 98), _known("date", "invalid date")),
    "datetime": (NamedFormat("datetime", 98), _known("datetime", "invalid datetime")),
}
_ERRORS = {named.name: errors for named, errors in _FORMATS.values()}


def _named(name: str) -> Optional:
    entry = _FORMATS.get(name)
    return Optional(entry[0]) if entry else NONE


def _validate(named: NamedFormat, text: str) -> Optional:
    errors = list(_ERRORS[named.name](text))
    return Optional(errors) if errors else NONE


def _constant(named: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: named


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"format.{name}": _constant(named) for name, (named, _) in _FORMATS.items()},
    "format-named": _named,
    "format-validate": _validate,
}
