"""Quoted strings as Go reads them, in single or double quotes (strconv.UnquoteChar)."""

import re

_PLAIN = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_ESCAPE = re.compile(
    r"\\(?:x(?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-7]{3})|(?P<plain>.))",
    re.DOTALL,
)
_SYNTAX = "invalid syntax"


def unquoted(text: str, quote: str) -> str:
    """Return the string that a quoted text stands for, given the text between the quotes.

    Raises:
        ValueError: the text is malformed; the message is Go's.
    """
    if "\\" not in text and quote not in text:
        return text
    result, position = bytearray(), 0
    while position < len(text):
        char = text[position]
        if char == quote:
            raise ValueError(_SYNTAX)
        if char != "\\":
            result += char.encode()
            position += 1
            continue
        escape = _ESCAPE.match(text, position)
        if escape is None:
            raise ValueError(_SYNTAX)
        result += _escaped_bytes(escape, quote)
        position = escape.end()
    return result.decode(errors="replace")


def _escaped_bytes(escape: re.Match[str], quote: str) -> bytes:
    """Return the bytes of an escape: one byte for two hexadecimal or three octal digits, else a character."""
    kind, digits = escape.lastgroup, escape[escape.lastgroup or 0]
    if kind in ("byte", "octal"):
        byte = int(digits, 16 if kind == "byte" else 8)
        if byte > 255:
            raise ValueError(_SYNTAX)
        return bytes((byte,))
    code = _plain(digits, quote) if kind == "plain" else int(digits, 16)
    if code is None or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(_SYNTAX)
    return chr(code).encode()


def _plain(char: str, quote: str) -> int | None:
    return ord(quote) if char == quote else _PLAIN.get(char)
