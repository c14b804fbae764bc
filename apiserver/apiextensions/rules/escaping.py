"""Field names as expressions spell them: keywords and dashes are written out (k8s.io/apiserver/pkg/cel/escaping.go)."""

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
    """Whether expressions use a word for themselves."""
    return name in _KEYWORDS


@lru_cache(maxsize=4096)
def escape(name: str) -> str | None:
    """The identifier of a field, None where it can have none; such a field cannot be reached from rules."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not _NAME(name):
        return None
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], name)


def unescape(identifier: str) -> str | None:
    """The field of an identifier, None where no name is escaped to it."""
    if "__" not in identifier:
        return identifier
    unknown = [e for e in _ESCAPED.findall(identifier) if e not in _MEANINGS and not _is_escaped(e, identifier)]
    return None if unknown else _ESCAPED.sub(lambda found: _MEANINGS.get(found[0], found[0][2:-2]), identifier)


def _is_escaped(escaped: str, identifier: str) -> bool:
    return escaped == identifier and escaped[2:-2] in _KEYWORDS
