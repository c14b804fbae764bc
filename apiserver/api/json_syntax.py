"""Syntax errors of JSON with the messages of Go's encoding/json, which the API passes on to clients."""

import json
from typing import Any

_END = "unexpected end of JSON input"
_HEX = frozenset("0123456789abcdefABCDEF")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_POSITIONS = (  # start of Python's message → the position as Go describes it
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
    """Return the name that Go's decoder gives to a value's type."""
    return _TYPE_NAMES[type(value)]


def problem(text: str) -> str:
    """Return the first problem of the text, "" if it is well-formed."""
    constants: list[str] = []  # NaN and the infinities, which Python reads and Go does not
    try:
        json.loads(text, parse_constant=constants.append, parse_int=len)  # Python refuses to read long numbers
    except json.JSONDecodeError as error:
        return _go_message(text, error)
    except RecursionError:
        return "exceeded max depth"
    return _no_value(constants[0], 0) if constants else ""


def _go_message(text: str, error: json.JSONDecodeError) -> str:
    at = error.pos + (1 if error.msg.startswith("Invalid \\escape") else 0)
    if error.msg.startswith("Invalid \\uXXXX"):  # the first character that is no hexadecimal digit
        at += 1
        while text[at : at + 1] in _HEX:
            at += 1
    while at < len(text) and text[at] in " \t\r\n" and "control" not in error.msg:
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated"):
        return _END
    for start, position in _POSITIONS:
        if error.msg.startswith(start):
            return _invalid(text[at], position)
    if error.msg.startswith("Expecting ','"):
        return _invalid(text[at], _after_item(text[:at]))
    return _no_value(text, at)


def _invalid(character: str, position: str) -> str:
    quoted_character = {"'": "'\\''", '"': "'\"'"}.get(character) or repr(character)
    return f"invalid character {quoted_character} {position}"


def _after_item(before: str) -> str:
    """Return where a comma is missing: in the object or in the array whose bracket is still open."""
    open_brackets: list[str] = []
    in_string = escaped = False
    for character in before:
        if escaped:
            escaped = False
        elif in_string:
            escaped, in_string = character == "\\", character != '"'
        elif character == '"':
            in_string = True
        elif character in "{[":
            open_brackets.append(character)
        elif character in "}]":
            open_brackets.pop()
    return "after object key:value pair" if open_brackets[-1] == "{" else "after array element"


def _no_value(text: str, at: int) -> str:
    literal = _LITERALS.get(text[at], "")
    for offset, expected in enumerate(literal):
        character = text[at + offset : at + offset + 1]
        if character != expected:
            return _invalid(character, f"in literal {literal} (expecting '{expected}')") if character else _END
    if text[at] == "-":
        character = text[at + 1 : at + 2]
        return _invalid(character, "in numeric literal") if character else _END
    return _invalid(text[at], "looking for beginning of value")
