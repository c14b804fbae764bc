"""Signatures: the overloads of functions, read from one line of text each.

add_int64(int, int) int             a function, or an operator
.list_size(list(A)) int             a member function: what it is called on comes first
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apiserver.cel.types import CelType, optional_of, param, struct

_SIGNATURE = re.compile(r"(\.?)([^(]+)\((.*)\) ([^ ].*)")
_STRUCTS = frozenset(("kubernetes.URL", "kubernetes.Quantity", "kubernetes.NamedFormat", "kubernetes.Semver"))
_OPAQUE = frozenset(("net.IP", "net.CIDR"))


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function.

    Attributes:
        id: its name, by which it is implemented and costed.
        member: whether it is called on something, which is then its first argument.
        args, result: their types.
        params: the names of the type parameters in them.
    """

    id: str
    member: bool
    args: tuple[CelType, ...]
    result: CelType
    params: frozenset[str]


def overloads(table: Mapping[str, Iterable[str]]) -> dict[str, tuple[Overload, ...]]:
    """The functions of a table, each with its overloads in the order in which they are tried."""
    return {name: tuple(map(_overload, lines)) for name, lines in table.items()}


def _overload(line: str) -> Overload:
    found = _SIGNATURE.fullmatch(line)
    assert found is not None, line
    dot, name, args, result = found.groups()
    kinds = tuple(map(cel_type, _split(args)))
    returned = cel_type(result)
    return Overload(name, bool(dot), kinds, returned, frozenset(n for k in (*kinds, returned) for n in _params(k)))


def _split(text: str) -> list[str]:
    """The parts between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def cel_type(text: str) -> CelType:
    """The type that a text such as "map(K, list(int))" says; one capital letter is a parameter."""
    name, bracket, rest = text.partition("(")
    inner = tuple(map(cel_type, _split(rest.removesuffix(")")))) if bracket else ()
    if len(name) == 1:
        return param(name)
    if name == "optional":
        return optional_of(inner[0])
    if name in _STRUCTS:
        return struct(name)
    return CelType("opaque", name) if name in _OPAQUE else CelType(name, params=inner)


def _params(kind: CelType) -> set[str]:
    own = {kind.name} if kind.kind == "param" else set()
    return own.union(*map(_params, kind.params))
