"""Builds nodes: each gets an id, under which its position is kept."""

from dataclasses import replace
from typing import Any

from apiserver.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Select,
    StructEntry,
)

MAX_COPIES = 20_000


class TooManyError(ValueError):
    """The expansion of nested macros makes the expression too large.

    The limit is specific to this server. Upstream has none and runs out of memory: optMap() copies its target, so each
    optMap() on another one doubles it.
    """


class ExprFactory:
    """Builds the nodes of one expression.

    Attributes:
        positions: node id → position in characters.
    """

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}
        self._copies = 0

    def number(self, at: int) -> int:
        """Return the id of a new node at a position."""
        number = len(self.positions) + 1
        self.positions[number] = at
        return number

    def literal(self, at: int, value: Any) -> Expr:
        """Return a constant."""
        return Literal(self.number(at), value)

    def ident(self, at: int, name: str) -> Expr:
        """Return a name."""
        return Ident(self.number(at), name)

    def call(self, at: int, function: str, *args: Expr, target: Expr | None = None) -> Expr:
        """Return a call of a function, with or without a target."""
        return Call(self.number(at), function, target, args)

    def list(self, at: int, *items: Expr) -> Expr:
        """Return a list."""
        return ListLiteral(self.number(at), items, frozenset())

    def copy(self, node: Expr) -> Expr:
        """Return a copy of an expression at the same position, with new ids.

        Raises:
            TooManyError: too many nodes have been copied.
        """
        self._copies += 1
        if self._copies > MAX_COPIES:
            raise TooManyError(f"expression has more than {MAX_COPIES} nodes that its macros copy")
        number = self.number(self.positions[node.id])
        match node:
            case Literal() | Ident():
                return replace(node, id=number)
            case Select():
                return replace(node, id=number, operand=self.copy(node.operand))
            case Call():
                target = None if node.target is None else self.copy(node.target)
                return replace(node, id=number, target=target, args=tuple(map(self.copy, node.args)))
            case ListLiteral():
                return replace(node, id=number, items=tuple(map(self.copy, node.items)))
            case MapLiteral() | MessageLiteral():
                return replace(node, id=number, entries=tuple(map(self._copy_entry, node.entries)))
            case Comprehension():
                over, start, condition, step, result = map(
                    self.copy, (node.over, node.start, node.condition, node.step, node.result)
                )
                return replace(node, id=number, over=over, start=start, condition=condition, step=step, result=result)

    def _copy_entry(self, entry: StructEntry) -> StructEntry:
        key = entry.key if isinstance(entry.key, str) else self.copy(entry.key)
        return replace(entry, id=self.number(self.positions[entry.id]), key=key, value=self.copy(entry.value))
