"""Signatures: the overloads of functions, each parsed from one line of text.

add_int64(int, int) int             a function, or an operator
.list_size(list(A)) int             a member function: its first argument is the target of the call
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apiserver.cel.types import CelType, optional_of, param, struct

_SIGNATURE = re.compile(r"(\.?)([^(]+)\((.*)\) ([^ ].*)")
_STRUCTS = frozenset(
    (
        *("kubernetes.URL", "kubernetes.Quantity", "kubernetes.NamedFormat", "kubernetes.Semver"),
        *("kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck"),
        *("kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck"),
        "kubernetes.authorization.Decision",
    )
)
_OPAQUE = frozenset(("net.IP", "net.CIDR"))


@dataclass(frozen=True, slots=True)
class Overload:
    """An overload of a function.

    Attributes:
        id: its id, under which it is implemented and costed.
        member: True if it is called on a target, which is its first argument.
        args, result: the types of its arguments and its result.
        params: the names of the type parameters in these types.
    """

    id: str
    member: bool
    args: tuple[CelType, ...]
    result: CelType
    params: frozenset[str]


def overloads(table: Mapping[str, Iterable[str]]) -> dict[str, tuple[Overload, ...]]:
    """Return the functions of a table, each with its overloads in the order in which they are tried."""
    return {name: tuple(map(_overload, lines)) for name, lines in table.items()}


def _overload(line: str) -> Overload:
    match = _SIGNATURE.fullmatch(line)
    assert match is not None, line
    dot, name, args, result = match.groups()
    kinds = tuple(map(cel_type, _split(args)))
    returned = cel_type(result)
    return Overload(name, bool(dot), kinds, returned, frozenset(n for k in (*kinds, returned) for n in _params(k)))


def _split(text: str) -> list[str]:
    """Return the parts between the commas that are not in brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def cel_type(text: str) -> CelType:
    """Return the type for a text such as "map(K, list(int))"; a single capital letter is a parameter."""
    name, bracket, params = text.partition("(")
    inner = tuple(map(cel_type, _split(params.removesuffix(")")))) if bracket else ()
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
