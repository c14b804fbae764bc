"""Macros: calls that are expanded when they are parsed, most of them to comprehensions.

Source: cel-go's parser/macro.go, cel/library.go (optMap, optFlatMap), ext/comprehensions.go and ext/lists.go (sortBy).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from apiserver.cel.ast import Comprehension, Expr, Ident, Literal, MapLiteral, Select
from apiserver.cel.ast_builder import ExprFactory

_RESULT = "@result"
_RESERVED = (_RESULT, "__result__")
_UNUSED = "#unused"
_SORTED = "@__sortBy_input__"


class MacroError(ValueError):
    """A macro with invalid arguments; the message is upstream's.

    Attributes:
        node: the argument.
    """

    def __init__(self, node: Expr, message: str) -> None:
        super().__init__(message)
        self.node = node


def expand(nodes: ExprFactory, at: int, function: str, target: Expr | None, args: Sequence[Expr]) -> Expr | None:
    """Return the expansion of a call; None if it is not a macro.

    Args:
        nodes: builds the nodes.
        at: the position of the call, and of its expansion.
        function: the called function.
        target: the target of the call, if there is one.
        args: its arguments.

    Raises:
        MacroError: the macro does not take these arguments.
    """
    if target is None:
        return _has(nodes, at, args[0]) if function == "has" and len(args) == 1 else None
    expand = _MACROS.get((function, len(args)))
    return expand(_ExprHelper(nodes, at), target, args) if expand else None


def _has(nodes: ExprFactory, at: int, field: Expr) -> Expr:
    if not isinstance(field, Select):
        raise MacroError(field, "invalid argument to has() macro")
    return Select(nodes.number(at), field.operand, field.field, test=True)


@dataclass(frozen=True, slots=True)
class _ExprHelper:
    """Builds the expansion of a macro; all its nodes have the macro's position."""

    nodes: ExprFactory
    at: int

    def literal(self, value: object) -> Expr:
        return self.nodes.literal(self.at, value)

    def ident(self, name: str) -> Expr:
        return self.nodes.ident(self.at, name)

    @property
    def result(self) -> Expr:
        return self.ident(_RESULT)

    def call(self, function: str, *args: Expr) -> Expr:
        return self.nodes.call(self.at, function, *args)

    def list(self, *items: Expr) -> Expr:
        return self.nodes.list(self.at, *items)

    def map(self) -> Expr:
        return MapLiteral(self.nodes.number(self.at), ())

    def loop(
        self,
        over: Expr,
        names: Sequence[str],
        start: Expr,
        step: Expr,
        *,
        condition: Expr | None = None,
        result: Expr | None = None,
    ) -> Expr:
        """Return a comprehension; by default it visits all items, and its result is the accumulator."""
        condition = self.literal(value=True) if condition is None else condition
        result = self.result if result is None else result
        first, second = names[0], names[1] if len(names) > 1 else ""
        return Comprehension(
            self.nodes.number(self.at),
            over,
            item=first,
            item2=second,
            result_name=_RESULT,
            start=start,
            condition=condition,
            step=step,
            result=result,
        )

    def bound(self, name: str, value: Expr, result: Expr) -> Expr:
        """Return an expression in which a value has a name."""
        return Comprehension(
            self.nodes.number(self.at),
            self.list(),
            item=_UNUSED,
            item2="",
            result_name=name,
            start=value,
            condition=self.literal(value=False),
            step=self.ident(name),
            result=result,
        )


_Expand = Callable[[_ExprHelper, Expr, Sequence[Expr]], Expr]


def _names(args: Sequence[Expr], message: str) -> list[str]:
    """Return the names of the loop's variables."""
    for arg in args:
        if not isinstance(arg, Ident):
            raise MacroError(arg, message)
    names = [arg.name for arg in args if isinstance(arg, Ident)]
    if len(set(names)) < len(names):
        raise MacroError(args[-1], f"duplicate variable name: {names[0]}")
    for arg, name in zip(args, names, strict=True):
        if name in _RESERVED:
            raise MacroError(arg, "iteration variable overwrites accumulator variable")
    return names


def _all(count: int, making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:count], _NO_NAME)
    start = making.literal(value=True)
    condition = making.call("@not_strictly_false", making.result)
    return making.loop(over, names, start, making.call("_&&_", making.result, args[count]), condition=condition)


def _exists(count: int, making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:count], _NO_NAME)
    start = making.literal(value=False)
    condition = making.call("@not_strictly_false", making.call("!_", making.result))
    return making.loop(over, names, start, making.call("_||_", making.result, args[count]), condition=condition)


def _exists_one(count: int, making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:count], _NO_NAME)
    start = making.literal(0)
    more = making.call("_+_", making.result, making.literal(1))
    step = making.call("_?_:_", args[count], more, making.result)
    return making.loop(over, names, start, step, result=making.call("_==_", making.result, making.literal(1)))


def _to_list(count: int, message: str, making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    """Return a list of the transformed items, filtered if there is a filter."""
    names = _names(args[:count], message)
    *filters, transform = args[count:]
    step = making.call("_+_", making.result, making.list(transform))
    return making.loop(over, names, making.list(), _filtered(making, filters, step))


def _filter(making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:1], _NO_IDENTIFIER)
    step = making.call("_+_", making.result, making.list(args[0]))
    return making.loop(over, names, making.list(), _filtered(making, args[1:], step))


def _to_map(making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:2], _NO_NAME)
    *filters, transform = args[2:]
    step = making.call("cel.@mapInsert", making.result, making.ident(names[0]), transform)
    return making.loop(over, names, making.map(), _filtered(making, filters, step))


def _to_entries(making: _ExprHelper, over: Expr, args: Sequence[Expr]) -> Expr:
    names = _names(args[:2], _NO_NAME)
    *filters, transform = args[2:]
    step = making.call("cel.@mapInsert", making.result, transform)
    return making.loop(over, names, making.map(), _filtered(making, filters, step))


def _filtered(making: _ExprHelper, filters: Sequence[Expr], step: Expr) -> Expr:
    return making.call("_?_:_", filters[0], step, making.result) if filters else step


def _optional(function: str, making: _ExprHelper, target: Expr, args: Sequence[Expr]) -> Expr:
    """Return the transformed value of an optional, if it has one."""
    name, transform = args
    if not isinstance(name, Ident):
        raise MacroError(name, f"{function}() variable name must be a simple identifier")
    nodes, at = making.nodes, making.at
    value = making.bound(name.name, nodes.call(at, "value", target=nodes.copy(target)), transform)
    has_value = nodes.call(at, "hasValue", target=target)
    present = making.call("optional.of", value) if function == "optMap" else value
    return making.call("_?_:_", has_value, present, making.call("optional.none"))


def _sort_by(making: _ExprHelper, target: Expr, args: Sequence[Expr]) -> Expr:
    if isinstance(target, Literal | MapLiteral):
        what = "a list, identifier, comprehension, call or select expression"
        raise MacroError(target, f"sortBy can only be applied to {what}")
    keys = _to_list(1, _NO_IDENTIFIER, making, making.ident(_SORTED), args)
    sort = making.nodes.call(making.at, "@sortByAssociatedKeys", keys, target=making.ident(_SORTED))
    return making.bound(_SORTED, target, sort)


_NO_NAME = "argument must be a simple name"
_NO_IDENTIFIER = "argument is not an identifier"

_MACROS: dict[tuple[str, int], _Expand] = {  # function and number of arguments → what writes it out
    **{("all", count + 1): partial(_all, count) for count in (1, 2)},
    **{("exists", count + 1): partial(_exists, count) for count in (1, 2)},
    **{(name, count + 1): partial(_exists_one, count) for name in ("exists_one", "existsOne") for count in (1, 2)},
    **{("map", count): partial(_to_list, 1, _NO_IDENTIFIER) for count in (2, 3)},
    ("filter", 2): _filter,
    **{("transformList", count): partial(_to_list, 2, _NO_NAME) for count in (3, 4)},
    **{("transformMap", count): _to_map for count in (3, 4)},
    **{("transformMapEntry", count): _to_entries for count in (3, 4)},
    **{(name, 2): partial(_optional, name) for name in ("optMap", "optFlatMap")},
    ("sortBy", 2): _sort_by,
}
