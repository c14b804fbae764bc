"""Formats that are literals: what of their clauses does not fit the arguments (cel-go's stringFormatValidator)."""

from collections.abc import Iterator

from apiserver.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral
from apiserver.cel.checker import Checked
from apiserver.cel.functions.formatting import CLAUSE, CLAUSES, STRING_WORDS
from apiserver.cel.types import CelType

_RUN_TIME = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_PRINTED = frozenset(
    (
        *("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type"),
        *("null_type", "dyn"),
    )
)
_UNFINISHED = "unexpected end of string"
_FITTING = {
    "d": frozenset(("int", "uint", "dyn")),
    "f": frozenset(("double", "string", "dyn")),
    "e": frozenset(("double", "string", "dyn")),
    "b": frozenset(("int", "uint", "bool", "dyn")),
    "x": frozenset(("int", "uint", "string", "bytes", "dyn")),
    "X": frozenset(("int", "uint", "string", "bytes", "dyn")),
    "o": frozenset(("int", "uint", "dyn")),
}


def format_issues(node: Expr, checked: Checked) -> Iterator[tuple[int, str]]:
    """What is wrong with a call of format() whose text and arguments are written out: the nodes, and why."""
    if not isinstance(node, Call) or node.function != "format" or len(node.args) != 1:
        return
    text, args = node.target, node.args[0]
    if not isinstance(text, Literal) or not isinstance(text.value, str) or not isinstance(args, ListLiteral):
        return
    place = 0
    for found in CLAUSE.finditer(text.value):
        if found[0] == "%%":
            continue
        why = _clause_error(found[1], found[2], found[3])
        if place >= len(args.items) and why != _UNFINISHED:
            why = f"index {place} out of range"
        if why:
            yield node.id, why
            return
        bad = _misfit(found[3], args.items[place], checked)
        if bad is not None:
            words = STRING_WORDS if found[3] == "s" else CLAUSES[found[3]]
            yield bad.id, f"error during formatting: {words}, was given {_name(checked.types[bad.id])}"
            return
        place += 1
    if len(args.items) > place:
        yield node.id, f"too many arguments supplied to string.format (expected {place}, got {len(args.items)})"


def _clause_error(point: str | None, digits: str | None, verb: str) -> str:
    """What is wrong with a clause itself."""
    if not verb and point is None:
        return _UNFINISHED
    parsing = "could not parse formatting clause"
    if not verb:
        return f"{parsing}: error while parsing precision: could not find end of precision specifier"
    if point is not None and not digits:
        why = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        return f"{parsing}: error while parsing precision: {why}"
    return "" if verb == "s" or verb in CLAUSES else f'{parsing}: unrecognized formatting clause "{verb}"'


def _misfit(verb: str, arg: Expr, checked: Checked) -> Expr | None:
    """What of an argument the clause cannot print, None if it can print all."""
    kind = checked.types[arg.id].kind
    if verb != "s":
        return None if kind in _FITTING[verb] else arg
    if kind not in _PRINTED:
        return arg
    inner: list[Expr] = []
    if isinstance(arg, ListLiteral):
        inner = list(arg.items)
    elif isinstance(arg, MapLiteral):
        inner = [node for e in arg.entries for node in (e.key, e.value) if not isinstance(node, str)]
    return next((bad for node in inner if (bad := _misfit("s", node, checked)) is not None), None)


def _name(kind: CelType) -> str:
    return kind.name or _RUN_TIME.get(kind.kind, kind.kind)
