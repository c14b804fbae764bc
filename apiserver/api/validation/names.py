"""Rules of names and numbers: each function returns what is wrong with a value, in upstream's words.

The rules are those of k8s.io/apimachinery/pkg/util/validation and pkg/api/validate/content. Every function returns
the messages as a tuple that is empty for a valid value; results are cached, since the same names recur.
"""

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache, wraps

from apiserver.api.labels import key_errors, value_errors

Messages = tuple[str, ...]
Check = Callable[[str], Messages]

_MAX_CACHED_LENGTH = 320  # a longer text is not a valid name of any kind, and is not worth caching
_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123 = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1123_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123_UNDERSCORE = rf"{_LABEL_1123_UNDERSCORE}(\.{_LABEL_1123_UNDERSCORE})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_SUBDOMAIN_1123}"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT = "[0-9]+%"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_ALNUM_ENDS = "and must start and end with an alphanumeric character"


def _cached(check: Check) -> Check:
    """Return the check with a cache of its latest results, except for texts that would take too much memory."""
    cached = lru_cache(maxsize=4096)(check)

    @wraps(check)
    def check_cached(value: str) -> Messages:
        return cached(value) if len(value) < _MAX_CACHED_LENGTH else check(value)

    return check_cached


def regex_error(description: str, pattern: str, *examples: str) -> str:
    """Return the message for a value that does not match a pattern (content.RegexError)."""
    if not examples:
        return f"{description} (regex used for validation is '{pattern}')"
    examples_text = " or ".join(f"'{example}', " for example in examples)
    return f"{description} (e.g. {examples_text}regex used for validation is '{pattern}')"


def max_length_error(limit: int) -> str:
    """Return the message for a text of more than `limit` bytes (validation.MaxLenError)."""
    return f"must be no more than {limit} characters"


def range_error(low: int, high: int) -> str:
    """Return the message for a number that is not between both (validation.InclusiveRangeError)."""
    return f"must be between {low} and {high}, inclusive"


def _too_long(value: str, limit: int) -> Messages:
    return () if len(value.encode(errors="replace")) <= limit else (max_length_error(limit),)


def _pattern(pattern: str, description: str, *examples: str, limit: int | None = None) -> Check:
    matches = re.compile(pattern).fullmatch
    messages = (regex_error(description, pattern, *examples),)

    def check(value: str) -> Messages:
        fits = matches(value)
        if fits and (limit is None or len(value) <= limit):  # a matching text is ASCII, so a character is a byte
            return ()
        length_messages = _too_long(value, limit) if limit else ()
        return length_messages if fits else length_messages + messages

    return check


dns1123_subdomain = _pattern(
    _SUBDOMAIN_1123,
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ALNUM_ENDS}",
    "example.com",
    limit=253,
)
"""IsDNS1123Subdomain: most objects' names."""

_dns1123_label = _pattern(
    _LABEL_1123,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ALNUM_ENDS}",
    "my-name",
    "123-abc",
    limit=63,
)
_is_subdomain = re.compile(_SUBDOMAIN_1123).fullmatch


def dns1123_label(value: str) -> Messages:
    """Check IsDNS1123Label: names of namespaces, containers and volumes."""
    messages = _dns1123_label(value)
    if messages and "." in value and _is_subdomain(value):
        return (*messages[:-1], "must not contain dots")
    return messages


dns1123_subdomain_with_underscore = _pattern(
    _SUBDOMAIN_1123_UNDERSCORE,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    f"{_ALNUM_ENDS}",
    "example.com",
    limit=253,
)
"""IsDNS1123SubdomainWithUnderscore: DNS search paths."""

dns1035_label = _pattern(
    _LABEL_1035,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "my-name",
    "abc-123",
    limit=63,
)
"""IsDNS1035Label: names of services before RelaxedServiceNameValidation."""

wildcard_dns1123_subdomain = _pattern(
    _WILDCARD,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
    limit=253,
)
"""IsWildcardDNS1123Subdomain: hosts of ingress rules."""

c_identifier = _pattern(
    _C_IDENTIFIER,
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
"""IsCIdentifier."""

percent = _pattern(_PERCENT, "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%")
"""IsValidPercent."""

http_header_name = _pattern(
    _HTTP_HEADER, "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
"""IsHTTPHeaderName."""

http_path = _pattern(_HTTP_PATH, "Invalid path")
"""The part of a domain-prefixed path after its first slash (httpPathFmt)."""

_config_key = _pattern(
    _CONFIG_KEY,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
    limit=253,
)


def _no_parent(value: str) -> Messages:
    if value in {".", ".."}:
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else ()


@_cached
def config_map_key(value: str) -> Messages:
    """Check IsConfigMapKey: keys of a ConfigMap's or Secret's data."""
    return _config_key(value) + _no_parent(value)


qualified_name = key_errors
"""IsQualifiedName: a name with an optional DNS subdomain and "/" before it."""

label_value = value_errors
"""IsValidLabelValue."""


@_cached
def env_var_name(value: str) -> Messages:
    """Check IsRelaxedEnvVarName, the rule since RelaxedEnvironmentVariableValidation: printable ASCII but "="."""
    if not value:
        return ("environment variable name must be non-empty",)
    if value.isascii() and value.isprintable() and "=" not in value:
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


_PORT_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


@_cached
def port_name(value: str) -> Messages:
    """Check IsValidPortName: an IANA service name."""
    letters = set(value)
    rules = (
        (len(value.encode(errors="replace")) > 15, "must be no more than 15 characters"),
        (
            not value or not letters <= _PORT_CHARACTERS,
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not letters & _LETTERS, "must contain at least one letter (a-z)"),
        ("--" in value, "must not contain consecutive hyphens"),
        (value[:1] == "-" or value[-1:] == "-", "must not begin or end with a hyphen"),
    )
    return tuple(message for broken, message in rules if broken)


def in_range(value: int, low: int, high: int) -> Messages:
    """Check IsInRange: the number is between both, inclusive."""
    return () if low <= value <= high else (range_error(low, high),)


def port_number(value: int) -> Messages:
    """Check IsValidPortNum."""
    return in_range(value, 1, 65535)


def user_id(value: int) -> Messages:
    """Check IsValidUserID and IsValidGroupID."""
    return in_range(value, 0, 2**31 - 1)


@_cached
def path_segment(value: str) -> Messages:
    """Check IsPathSegmentName: names that only need to fit into a URL, such as those of RBAC."""
    if value in {".", ".."}:
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> Messages:
    """Check IsPathSegmentPrefix: the same for a name that something will be appended to."""
    return tuple(f"may not contain '{part}'" for part in "/%" if part in value)


_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_is_plain_ipv4 = re.compile(rf"{_BYTE}(\.{_BYTE}){{3}}").fullmatch


def ip(value: str) -> Messages:
    """Check IsValidIPForLegacyField with strict validation (StrictIPCIDRValidation)."""
    return () if _is_plain_ipv4(value) else _ip(value)  # addresses of pods do not recur, so they are not cached


@_cached
def _ip(value: str) -> Messages:
    messages, address = _parsed_ip(value)
    if address is None or messages:
        return messages
    mapped = address.version == 6 and address.ipv4_mapped is not None
    return ("must not be an IPv4-mapped IPv6 address",) if mapped else ()


@_cached
def canonical_ip(value: str) -> Messages:
    """Check IsValidIP: an address in the form of RFC 5952."""
    messages = ip(value)
    if messages or value == (canonical := str(ipaddress.ip_address(value))):
        return messages
    return (f'must be in canonical form ("{canonical}")',)


@_cached
def cidr(value: str) -> Messages:
    """Check IsValidCIDRForLegacyField with strict validation."""
    address, slash, length = value.partition("/")
    messages, parsed = _parsed_ip(address)
    limit = 32 if parsed and parsed.version == 4 else 128
    if parsed is None or not slash or not (length.isascii() and length.isdigit()) or int(length) > limit:
        return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    if messages or (length[0] == "0" and length != "0"):
        return ("must not have leading 0s in IP or prefix length",)
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        return ("must not have an IPv4-mapped IPv6 address",)
    beyond = int(parsed) & ((1 << (limit - int(length))) - 1)
    return ("must not have bits set beyond the prefix length",) if beyond else ()


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _parsed_ip(value: str) -> tuple[Messages, _Address | None]:
    bare = re.sub(r"(?<![0-9A-Fa-f:])0+(?=[0-9])", "", value) if "." in value else value
    try:
        address = ipaddress.ip_address(bare) if "%" not in bare else None
    except ValueError:
        address = None
    if address is None:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",), None
    return (("must not have leading 0s",) if bare != value else ()), address
