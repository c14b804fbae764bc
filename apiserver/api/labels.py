"""The format of labels' keys and values (k8s.io/apimachinery/pkg/util/validation)."""

from functools import lru_cache

_ALNUM = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_INNER = _ALNUM | frozenset("-_.")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_LOWER_INNER = _LOWER | {"-"}
_NAME_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_EMPTY = "must be non-empty"
_PREFIX_LIMIT = 253
_LIMIT = 63


def _no_longer(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _is_word(text: str) -> bool:
    return text[:1] in _ALNUM and text[-1:] in _ALNUM and _INNER.issuperset(text) if text else False


def _is_subdomain(text: str) -> bool:
    parts = text.split(".")
    return all(p and p[0] in _LOWER and p[-1] in _LOWER and _LOWER_INNER.issuperset(p) for p in parts)


@lru_cache(maxsize=4096)
def key_errors(key: str, called: str = "a qualified name") -> tuple[str, ...]:
    """Return the errors of the key of a label or annotation (IsQualifiedName): an optional subdomain, "/", a name.

    Args:
        key: the key.
        called: the name that messages about the whole key give to it.
    """
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (f"{called} {_NAME_WORDS} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    return (*(_prefix_errors(prefix) if slash else ()), *_name_errors(name))


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return [f"prefix part {_EMPTY}"]
    errors = [f"prefix part {_no_longer(_PREFIX_LIMIT)}"] if len(prefix.encode()) > _PREFIX_LIMIT else []
    return errors if _is_subdomain(prefix) else [*errors, f"prefix part {_SUBDOMAIN_WORDS}"]


def _name_errors(name: str) -> list[str]:
    errors = [] if name else [f"name part {_EMPTY}"]
    if len(name.encode()) > _LIMIT:
        errors.append(f"name part {_no_longer(_LIMIT)}")
    return errors if _is_word(name) else [*errors, f"name part {_NAME_WORDS}"]


@lru_cache(maxsize=4096)
def value_errors(value: str) -> tuple[str, ...]:
    """Return the errors of the value of a label (IsValidLabelValue)."""
    errors = (_no_longer(_LIMIT),) if len(value.encode(errors="surrogatepass")) > _LIMIT else ()
    return errors if not value or _is_word(value) else (*errors, _VALUE_WORDS)
