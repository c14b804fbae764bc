"""Parsing: the text of an expression as nodes, read by the library and taken over from its protobuf form."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from apiserver.api.protobuf.wire import VARINT, chunk, signed, varint
from apiserver.api.rules.language.syntax import (
    Call,
    Comprehension,
    Entry,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Parsed,
    Select,
)
from apiserver.api.rules.language.values import Uint

if TYPE_CHECKING:
    from cel_expr_python import cel

_EXTENSIONS = ("optional", "two-var-comprehensions", "lists")
"""What adds syntax or macros: `a.?b` and optMap(), all() over keys and values, sortBy()."""

_DOUBLE = struct.Struct("<d")


class ParseError(ValueError):
    """The text is no expression; the message is the library's, which has upstream's form."""


@cache  # importing takes 30 ms, so it waits for the first rule; an environment is never written to
def _environment() -> cel.Env:
    from cel_expr_python import cel  # noqa: PLC0415

    extensions = "".join(f"\n- name: {name}" for name in _EXTENSIONS)
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(f"name: rules\nextensions:{extensions}"))


@lru_cache(maxsize=2048)  # a rule is parsed when its definition is created, and again for each version that has it
def parse(text: str) -> Parsed:
    """The expression that the text says.

    Raises:
        ParseError: it says none, or one that is nested more than 32 deep.
    """
    try:
        data = _environment().compile(text, disable_check=True).serialize()
    except (RuntimeError, ValueError) as error:
        raise ParseError(_words(str(error))) from None
    fields = _fields(_fields(data)[2][-1])
    positions = (_fields(pair) for pair in _fields(fields[3][-1]).get(4, ()))
    return Parsed(text, _expr(fields[2][-1]), {p[1][-1]: p.get(2, [0])[-1] for p in positions})


_KEYWORD = re.compile(r"no viable alternative at input '\.(\w+)'")


def _words(message: str) -> str:
    """The library's message without its status code, which stands before and behind it, in upstream's words."""
    code, found, rest = message.partition(": ")
    told = rest.removesuffix(f" [{code}]") if found and code.isupper() else message
    return _KEYWORD.sub(r"mismatched input '\1' expecting IDENTIFIER", told)


def _fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a message: number → values, each an int or bytes."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value: Any
        value, at = varint(data, at) if tag & 7 == VARINT else chunk(data, at, tag & 7)
        found.setdefault(tag >> 3, []).append(value)
    return found


def _expr(data: bytes) -> Expr:
    fields = _fields(data)
    number = fields.get(2, [0])[-1]
    for kind, read in _KINDS.items():
        if kind in fields:
            return read(number, _fields(fields[kind][-1]))
    raise ParseError("unspecified expression")  # the library makes none


def _text(fields: dict[int, list[Any]], number: int) -> str:
    return str(fields[number][-1], "utf-8") if number in fields else ""


def _literal(node: int, fields: dict[int, list[Any]]) -> Literal:
    ((kind, values),) = fields.items() or ((1, [0]),)
    return Literal(node, _CONSTANTS[kind](values[-1]))


_CONSTANTS: dict[int, Callable[[Any], Any]] = {  # the field of the Constant message → what its value is
    1: lambda _: None,
    2: bool,
    3: signed,
    4: Uint,
    5: lambda data: _DOUBLE.unpack(data)[0],
    6: lambda data: str(data, "utf-8"),
    7: bytes,
}


def _select(node: int, fields: dict[int, list[Any]]) -> Select:
    return Select(node, _expr(fields[1][-1]), _text(fields, 2), test=bool(fields.get(3, [0])[-1]))


def _call(node: int, fields: dict[int, list[Any]]) -> Call:
    target = _expr(fields[1][-1]) if 1 in fields else None
    return Call(node, _text(fields, 2), target, tuple(map(_expr, fields.get(3, ()))))


def _list(node: int, fields: dict[int, list[Any]]) -> ListLiteral:
    optional = [place for data in fields.get(2, ()) for place in _packed(data)]
    return ListLiteral(node, tuple(map(_expr, fields.get(1, ()))), frozenset(optional))


def _packed(data: bytes | int) -> list[int]:
    if isinstance(data, int):
        return [data]
    places, at = [], 0
    while at < len(data):
        place, at = varint(data, at)
        places.append(place)
    return places


def _struct(node: int, fields: dict[int, list[Any]]) -> MapLiteral | Message:
    entries = tuple(_entry(_fields(data)) for data in fields.get(2, ()))
    name = _text(fields, 1)
    return Message(node, name, entries) if name else MapLiteral(node, entries)


def _entry(fields: dict[int, list[Any]]) -> Entry:
    key = _expr(fields[3][-1]) if 3 in fields else _text(fields, 2)
    return Entry(fields.get(1, [0])[-1], key, _expr(fields[4][-1]), optional=bool(fields.get(5, [0])[-1]))


def _comprehension(node: int, fields: dict[int, list[Any]]) -> Comprehension:
    over, start, condition, step, result = (_expr(fields[n][-1]) for n in (2, 4, 5, 6, 7))
    names = _text(fields, 1), _text(fields, 8), _text(fields, 3)
    return Comprehension(
        node,
        over,
        item=names[0],
        item2=names[1],
        result_name=names[2],
        start=start,
        condition=condition,
        step=step,
        result=result,
    )


_KINDS: dict[int, Callable[[int, dict[int, list[Any]]], Expr]] = {  # the field of the Expr message → what it is
    3: _literal,
    4: lambda node, fields: Ident(node, _text(fields, 1)),
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
