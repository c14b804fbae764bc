"""Checks literals: invalid patterns, times, durations and formats, and lists and maps of mixed types.

Formats are checked for clauses that do not fit the arguments of format() (cel-go's stringFormatValidator).
"""

from collections.abc import Callable, Iterator
from typing import Any

from apiserver.api.golang.regexp import compile_regexp
from apiserver.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral, parts
from apiserver.cel.checker import CheckedExpr
from apiserver.cel.errors import Issues
from apiserver.cel.functions.formatting import CLAUSE, CLAUSES, STRING_WORDS
from apiserver.cel.functions.times import of_seconds, parse_duration, strict_timestamp
from apiserver.cel.types import CelType, unwrapped
from apiserver.cel.values import EvaluationError

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


_Nodes = list[tuple[Expr, bool]]
"""All nodes of an expression, and whether they are within a call of format()."""


def _is_duration(value: Any) -> bool:
    return not isinstance(value, str) or parse_duration(value) is not None


def _is_timestamp(value: Any) -> bool:
    try:
        if type(value) is int:
            return of_seconds(value).nanos is not None
        return not isinstance(value, str) or strict_timestamp(value) is not None
    except EvaluationError:
        return False


def _is_pattern(value: Any) -> bool:
    try:
        return not isinstance(value, str) or bool(compile_regexp(value))
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "duration": _is_duration,
    "timestamp": _is_timestamp,
    "matches": _is_pattern,
}
"""Function → the check of a literal that is its first argument."""


def check_literals(checked: CheckedExpr, *, all_kinds: bool = True) -> None:
    """Check the literals of an expression.

    Args:
        checked: the expression.
        all_kinds: whether to check more than lists and maps.

    Raises:
        CompileError: a literal is invalid.
    """
    issues = Issues(checked.parsed.text, checked.parsed.positions)
    nodes: _Nodes = list(_all(checked.parsed.root, formats=False))
    _check_mixed(nodes, checked, issues)
    for function, is_right in _CHECKS.items() if all_kinds else ():
        for node, _ in nodes:
            literal = node.args[0] if isinstance(node, Call) and node.function == function and node.args else None
            if isinstance(literal, Literal) and not is_right(literal.value):
                issues.add(literal.id, f"invalid {function} argument")
    for node, _ in nodes if all_kinds else ():
        for issue_node, message in format_issues(node, checked):
            issues.add(issue_node, message)
    issues.raise_any()


def _all(node: Expr, *, formats: bool) -> Iterator[tuple[Expr, bool]]:
    yield node, formats
    inside = formats or (isinstance(node, Call) and node.function == "format")
    for part in parts(node):
        yield from _all(part, formats=inside)


def _check_mixed(nodes: _Nodes, checked: CheckedExpr, issues: Issues) -> None:
    """Check that the items of each list and map have one type; the arguments of format() need not."""
    for node, formats in nodes:
        if isinstance(node, ListLiteral) and not formats:
            optional = [index in node.optional for index in range(len(node.items))]
            kinds = [(i.id, _kind(checked, i, optional=o)) for i, o in zip(node.items, optional, strict=True)]
            _check_same(kinds, issues, report_all=False)
    for node, formats in nodes:
        if isinstance(node, MapLiteral) and not formats:
            keys = [entry.key for entry in node.entries if not isinstance(entry.key, str)]
            _check_same([(key.id, checked.types[key.id]) for key in keys], issues, report_all=True)
            values = [(e.value.id, _kind(checked, e.value, optional=e.optional)) for e in node.entries]
            _check_same(values, issues, report_all=True)


def _kind(checked: CheckedExpr, node: Expr, *, optional: bool) -> CelType:
    kind = checked.types[node.id]
    return unwrapped(kind) if optional else kind


def _check_same(kinds: list[tuple[int, CelType]], issues: Issues, *, report_all: bool) -> None:
    for node, kind in kinds[1:]:
        if kind != kinds[0][1]:
            issues.add(node, f"expected type '{kinds[0][1]}' but found '{kind}'")
            if not report_all:
                return
