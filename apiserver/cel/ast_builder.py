"""Making of nodes: each gets a number of its own, under which is kept where it stands."""

from dataclasses import replace
from typing import Any

from apiserver.cel.ast import Call, Comprehension, Entry, Expr, Ident, ListLiteral, Literal, MapLiteral, Message, Select

MOST_COPIES = 20_000


class TooManyError(ValueError):
    """Macros within what macros are called on make the expression too large.

    The limit is ours. Upstream has none and runs out of memory: optMap() copies what it is called on, so each that is
    called on another one doubles it.
    """


class Nodes:
    """Makes nodes of one expression.

    Attributes:
        positions: node → where it stands, in characters.
    """

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}
        self._copies = 0

    def number(self, at: int) -> int:
        """The number of a new node that stands there."""
        number = len(self.positions) + 1
        self.positions[number] = at
        return number

    def literal(self, at: int, value: Any) -> Expr:
        """A constant."""
        return Literal(self.number(at), value)

    def ident(self, at: int, name: str) -> Expr:
        """A name."""
        return Ident(self.number(at), name)

    def call(self, at: int, function: str, *args: Expr, target: Expr | None = None) -> Expr:
        """A call of a function, on something or on nothing."""
        return Call(self.number(at), function, target, args)

    def list(self, at: int, *items: Expr) -> Expr:
        """A list."""
        return ListLiteral(self.number(at), items, frozenset())

    def copy(self, node: Expr) -> Expr:
        """The same expression at the same place, as other nodes.

        Raises:
            TooManyError: too many have been copied.
        """
        self._copies += 1
        if self._copies > MOST_COPIES:
            raise TooManyError(f"expression has more than {MOST_COPIES} nodes that its macros copy")
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
            case MapLiteral() | Message():
                return replace(node, id=number, entries=tuple(map(self._copy_entry, node.entries)))
            case Comprehension():
                over, start, condition, step, result = map(
                    self.copy, (node.over, node.start, node.condition, node.step, node.result)
                )
                return replace(node, id=number, over=over, start=start, condition=condition, step=step, result=result)

    def _copy_entry(self, entry: Entry) -> Entry:
        key = entry.key if isinstance(entry.key, str) else self.copy(entry.key)
        return replace(entry, id=self.number(self.positions[entry.id]), key=key, value=self.copy(entry.value))
