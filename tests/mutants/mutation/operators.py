"""The mutation operators: each maps a node of a syntax tree to the changed nodes that may take its place."""

import ast
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one node.

    Attributes:
        operator: the operator's name, which is part of the mutant's id.
        replacement: the node that takes the other's place.
        shown: its source text in reports.
    """

    operator: str
    replacement: ast.AST
    shown: str


@dataclass(frozen=True, slots=True)
class Position:
    """Where a node stands.

    Attributes:
        parent: the node that holds it.
        field: the field of the parent.
        message: whether it is part of text for people, such as the arguments of an exception.
    """

    parent: ast.AST
    field: str
    message: bool = False


Operator = Callable[[ast.AST, Position], Iterator[Change]]

_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_NEGATION = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot}
_NEGATION |= {ast.IsNot: ast.Is}
_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(node: ast.AST, position: Position) -> Iterator[Change]:
    """Yield every change of this one node; those of the nodes within it are theirs."""
    for operator in _OPERATORS.get(type(node), ()):
        yield from operator(node, position)


def _change(operator: str, replacement: ast.AST, shown: str = "") -> Change:
    return Change(operator, replacement, shown or ast.unparse(replacement))


def _is_test(position: Position) -> bool:
    return position.field == "test" and isinstance(position.parent, ast.If | ast.While | ast.IfExp)


def _comparison(node: ast.AST, position: Position) -> Iterator[Change]:
    assert isinstance(node, ast.Compare)
    for index, operator in enumerate(node.ops):
        for name, table in (("boundary", _BOUNDARY), ("negate", _NEGATION)):
            if type(operator) in table and not (name == "negate" and _is_test(position)):
                replacement = copy(node)
                replacement.ops = [*node.ops[:index], table[type(operator)](), *node.ops[index + 1 :]]
                yield _change(name, replacement)


def _and_or(node: ast.AST, _: Position) -> Iterator[Change]:
    assert isinstance(node, ast.BoolOp)
    swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield _change("and-or", ast.BoolOp(swapped, node.values))


def _not(node: ast.AST, position: Position) -> Iterator[Change]:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not) and not _is_test(position):
        yield _change("drop-not", node.operand)
    elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield _change("drop-minus", node.operand)


def _arithmetic(node: ast.AST, position: Position) -> Iterator[Change]:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    if position.message or (isinstance(node, ast.BinOp) and (_is_text(node.left) or _is_text(node.right))):
        return
    replacement = copy(node)
    if type(node.op) in _ARITHMETIC:
        replacement.op = _ARITHMETIC[type(node.op)]()
        yield _change("arithmetic", replacement)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _constant(node: ast.AST, position: Position) -> Iterator[Change]:
    assert isinstance(node, ast.Constant)
    value = node.value
    if isinstance(value, bool):
        yield _change("bool", ast.Constant(not value))
    elif isinstance(value, int | float):
        yield _change("number", ast.Constant(value + 1))
    elif isinstance(value, str) and not position.message and value and not any(map(str.isspace, value)):
        yield _change("text", ast.Constant(value + "~"))
    elif isinstance(value, bytes) and value:
        yield _change("text", ast.Constant(value + b"~"))


def _condition(node: ast.AST, _: Position) -> Iterator[Change]:
    """The test of an if or while becomes constant; `while True` would only hang and is left out."""
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    if isinstance(node.test, ast.Constant):
        return
    for value in (False,) if isinstance(node, ast.While) else (True, False):
        replacement = copy(node)
        replacement.test = ast.copy_location(ast.Constant(value), node.test)
        yield Change(f"if-{value}".lower(), replacement, "")


def _return(node: ast.AST, _: Position) -> Iterator[Change]:
    assert isinstance(node, ast.Return)
    if node.value is not None and not (isinstance(node.value, ast.Constant) and not node.value.value):
        yield _change("return-none", ast.Return(ast.Constant(None)))


def _statement(node: ast.AST, _: Position) -> Iterator[Change]:
    """Leave out a call, a yield, a raise, an assignment to an attribute or item, or an augmented assignment."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Delete():
            yield _dropped(node)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Raise():
            yield _dropped(node)


def _dropped(node: ast.stmt) -> Change:
    """`if False:` keeps what the function closes over, and a generator a generator."""
    return Change("drop-" + type(node).__name__.lower(), ast.If(ast.Constant(False), [node], []), "pass")


def _jump(node: ast.AST, _: Position) -> Iterator[Change]:
    yield _change("jump", ast.Continue() if isinstance(node, ast.Break) else ast.Break())


def _handler(node: ast.AST, _: Position) -> Iterator[Change]:
    """An except that passes the error on."""
    assert isinstance(node, ast.ExceptHandler)
    if not isinstance(node.body[0], ast.Raise):
        replacement = copy(node)
        replacement.body = [ast.copy_location(ast.Raise(), node.body[0])]
        yield Change("reraise", replacement, "")


def _slice(node: ast.AST, _: Position) -> Iterator[Change]:
    assert isinstance(node, ast.Slice)
    for bound in ("lower", "upper"):
        if getattr(node, bound) is not None:
            replacement = copy(node)
            setattr(replacement, bound, None)
            yield _change("slice", replacement)


def _call(node: ast.AST, position: Position) -> Iterator[Change]:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_CALLS:
        swapped = ast.copy_location(ast.Name(_SWAPPED_CALLS[node.func.id], ast.Load()), node.func)
        yield _change("min-max", ast.Call(swapped, node.args, node.keywords))
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None and not position.message:
            yield _change(
                "drop-keyword", ast.Call(node.func, node.args, node.keywords[:index] + node.keywords[index + 1 :])
            )


def _filter(node: ast.AST, _: Position) -> Iterator[Change]:
    assert isinstance(node, ast.comprehension)
    for index in range(len(node.ifs)):
        replacement = copy(node)
        replacement.ifs = node.ifs[:index] + node.ifs[index + 1 :]
        yield Change("drop-filter", replacement, "")


_OPERATORS: dict[type[ast.AST], tuple[Operator, ...]] = {
    ast.Compare: (_comparison,),
    ast.BoolOp: (_and_or,),
    ast.UnaryOp: (_not,),
    ast.BinOp: (_arithmetic,),
    ast.AugAssign: (_arithmetic, _statement),
    ast.Constant: (_constant,),
    ast.If: (_condition,),
    ast.IfExp: (_condition,),
    ast.While: (_condition,),
    ast.Return: (_return,),
    ast.Expr: (_statement,),
    ast.Assign: (_statement,),
    ast.Raise: (_statement,),
    ast.Delete: (_statement,),
    ast.Break: (_jump,),
    ast.Continue: (_jump,),
    ast.ExceptHandler: (_handler,),
    ast.Slice: (_slice,),
    ast.Call: (_call,),
    ast.comprehension: (_filter,),
}


def put(node: ast.AST, change: Change) -> ast.AST:
    """Return the changed node with the place in the file that the old one has."""
    replacement = deepcopy(change.replacement)
    if hasattr(node, "lineno"):
        ast.copy_location(replacement, node)
    return ast.fix_missing_locations(replacement)
