"""Field names in expressions: keywords and special characters are escaped (k8s.io/apiserver/pkg/cel/escaping.go)."""

import re
from functools import lru_cache

_KEYWORDS = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII).fullmatch
_SPECIAL = re.compile(r"__|[-./]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__[^_]+__")
_MEANINGS = {escape: meaning for meaning, escape in _ESCAPES.items()}


def is_keyword(name: str) -> bool:
    """Return True if a word is reserved in expressions."""
    return name in _KEYWORDS


@lru_cache(maxsize=4096)
def escape(name: str) -> str | None:
    """Return the identifier of a field; None if it has none, so that rules cannot use the field."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not _NAME(name):
        return None
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], name)


def unescape(identifier: str) -> str | None:
    """Return the field of an identifier; None if no name is escaped to it."""
    if "__" not in identifier:
        return identifier
    unknown = [e for e in _ESCAPED.findall(identifier) if e not in _MEANINGS and not _is_escaped(e, identifier)]
    return None if unknown else _ESCAPED.sub(lambda match: _MEANINGS.get(match[0], match[0][2:-2]), identifier)


def _is_escaped(escaped: str, identifier: str) -> bool:
    return escaped == identifier and escaped[2:-2] in _KEYWORDS
