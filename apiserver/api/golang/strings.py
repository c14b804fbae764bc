"""Text as Go's strconv quotes it; messages of the API show names and values that way."""

from collections.abc import Iterable

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """Return the text as Go's strconv.Quote writes it, which is %q of fmt."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escaped(ord(c))) for c in text) + '"'


def _escaped(code: int) -> str:
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def quoted_list(texts: Iterable[str]) -> str:
    """Return texts as fmt's %q prints a slice of them: ["a" "b"]."""
    return f"[{' '.join(map(quoted, texts))}]"
