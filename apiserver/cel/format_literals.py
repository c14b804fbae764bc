"""Checks literal formats: clauses that do not fit the arguments of format() (cel-go's stringFormatValidator)."""

from collections.abc import Iterator

from apiserver.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral
from apiserver.cel.checker import CheckedExpr
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


def format_issues(node: Expr, checked: CheckedExpr) -> Iterator[tuple[int, str]]:
    """Yield the errors of a call of format() with a literal text and arguments: node ids and messages."""
    if not isinstance(node, Call) or node.function != "format" or len(node.args) != 1:
        return
    text, args = node.target, node.args[0]
    if not isinstance(text, Literal) or not isinstance(text.value, str) or not isinstance(args, ListLiteral):
        return
    index = 0
    for clause in CLAUSE.finditer(text.value):
        if clause[0] == "%%":
            continue
        message = _clause_error(clause[1], clause[2], clause[3])
        if index >= len(args.items) and message != _UNFINISHED:
            message = f"index {index} out of range"
        if message:
            yield node.id, message
            return
        bad = _misfit(clause[3], args.items[index], checked)
        if bad is not None:
            words = STRING_WORDS if clause[3] == "s" else CLAUSES[clause[3]]
            yield bad.id, f"error during formatting: {words}, was given {_name(checked.types[bad.id])}"
            return
        index += 1
    if len(args.items) > index:
        yield node.id, f"too many arguments supplied to string.format (expected {index}, got {len(args.items)})"


def _clause_error(point: str | None, digits: str | None, verb: str) -> str:
    """Return the error of a clause itself; "" if there is none."""
    if not verb and point is None:
        return _UNFINISHED
    prefix = "could not parse formatting clause"
    if not verb:
        return f"{prefix}: error while parsing precision: could not find end of precision specifier"
    if point is not None and not digits:
        reason = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        return f"{prefix}: error while parsing precision: {reason}"
    return "" if verb == "s" or verb in CLAUSES else f'{prefix}: unrecognized formatting clause "{verb}"'


def _misfit(verb: str, arg: Expr, checked: CheckedExpr) -> Expr | None:
    """Return the part of an argument that the clause cannot print; None if it can print all."""
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
