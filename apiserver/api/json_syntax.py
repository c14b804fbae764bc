"""What is wrong with a JSON text, in the words of Go's encoding/json, which messages of the API carry to clients."""

import json
from typing import Any

_END = "unexpected end of JSON input"
_HEX = frozenset("0123456789abcdefABCDEF")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_PLACES = (  # how Python's message begins → where Go says the character stands
    ("Expecting property name", "looking for beginning of object key string"),
    ("Illegal trailing comma before end of object", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Extra data", "after top-level value"),
    ("Invalid control character", "in string literal"),
    ("Invalid \\escape", "in string escape code"),
    ("Invalid \\uXXXX escape", "in \\u hexadecimal character escape"),
)
_TYPE_NAMES = {
    type(None): "null",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
}


def type_name(value: Any) -> str:
    """What Go's decoder calls a decoded value."""
    return _TYPE_NAMES[type(value)]


def problem(text: str) -> str:
    """The first problem of the text, "" where it is well-formed."""
    constants: list[str] = []  # NaN and the infinities, which Python reads and Go does not
    try:
        json.loads(text, parse_constant=constants.append, parse_int=len)  # Python refuses to read long numbers
    except json.JSONDecodeError as error:
        return _told(text, error)
    except RecursionError:
        return "exceeded max depth"
    return _no_value(constants[0], 0) if constants else ""


def _told(text: str, error: json.JSONDecodeError) -> str:
    at = error.pos + (1 if error.msg.startswith("Invalid \\escape") else 0)
    if error.msg.startswith("Invalid \\uXXXX"):  # the first character that is no hexadecimal digit
        at += 1
        while text[at : at + 1] in _HEX:
            at += 1
    while at < len(text) and text[at] in " \t\r\n" and "control" not in error.msg:
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated"):
        return _END
    for start, place in _PLACES:
        if error.msg.startswith(start):
            return _invalid(text[at], place)
    if error.msg.startswith("Expecting ','"):
        return _invalid(text[at], _after_item(text[:at]))
    return _no_value(text, at)


def _invalid(character: str, place: str) -> str:
    shown = {"'": "'\\''", '"': "'\"'"}.get(character) or repr(character)
    return f"invalid character {shown} {place}"


def _after_item(before: str) -> str:
    """Is the innermost open bracket before a missing comma an object's or an array's?"""
    open_brackets: list[str] = []
    inside = escaped = False
    for character in before:
        if escaped:
            escaped = False
        elif inside:
            escaped, inside = character == "\\", character != '"'
        elif character == '"':
            inside = True
        elif character in "{[":
            open_brackets.append(character)
        elif character in "}]":
            open_brackets.pop()
    return "after object key:value pair" if open_brackets[-1] == "{" else "after array element"


def _no_value(text: str, at: int) -> str:
    literal = _LITERALS.get(text[at], "")
    for offset, expected in enumerate(literal):
        found = text[at + offset : at + offset + 1]
        if found != expected:
            return _invalid(found, f"in literal {literal} (expecting '{expected}')") if found else _END
    if text[at] == "-":
        found = text[at + 1 : at + 2]
        return _invalid(found, "in numeric literal") if found else _END
    return _invalid(text[at], "looking for beginning of value")
