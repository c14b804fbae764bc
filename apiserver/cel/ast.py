"""The syntax tree: the nodes of a parsed expression, with macros already expanded (cel/expr/syntax.proto)."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: None, bool, int, Uint, float, str or bytes."""

    id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an operand; `test` only checks that it is present, which is what has() expands to."""

    id: int
    operand: "Expr"
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, with or without a target. Operators are functions, such as "_+_"."""

    id: int
    function: str
    target: "Expr | None"
    args: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list; the items at the indexes in `optional` are left out if they have no value."""

    id: int
    items: tuple["Expr", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class StructEntry:
    """A key with its value, of a map or, if the key is a str, of a message."""

    id: int
    key: "Expr | str"
    value: "Expr"
    optional: bool


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """A map."""

    id: int
    entries: tuple[StructEntry, ...]


@dataclass(frozen=True, slots=True)
class MessageLiteral:
    """A message of a named type. Expressions cannot create the server's types, so the checker always refuses it."""

    id: int
    name: str
    entries: tuple[StructEntry, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """The expansion of macros such as all() and map(): a fold over a list, or over the keys of a map.

    Attributes:
        item, item2: the loop's variables; if there are two, they are index and item, or key and value.
        result_name, start: the accumulator, and its initial value.
        condition, step: evaluated for each item; the step's value is the next accumulator.
        result: evaluated after the last item.
    """

    id: int
    over: "Expr"
    item: str
    item2: str
    result_name: str
    start: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"

    @property
    def binds(self) -> bool:
        """True if it only gives a value a name, as optMap() does: it loops over nothing."""
        return (
            isinstance(self.over, ListLiteral)
            and not self.over.items
            and isinstance(self.condition, Literal)
            and self.condition.value is False
        )


Expr = Literal | Ident | Select | Call | ListLiteral | MapLiteral | MessageLiteral | Comprehension


@dataclass(frozen=True, slots=True)
class ParsedExpr:
    """An expression and the positions of its nodes in the text.

    Attributes:
        positions: node id → offset in characters.
    """

    text: str
    root: Expr
    positions: dict[int, int]


def parts(node: Expr) -> tuple[Expr, ...]:
    """Return the nodes directly below a node, in the order of evaluation."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.items
        case MapLiteral() | MessageLiteral():
            keys_and_values = ((e.key, e.value) for e in node.entries)
            return tuple(p for pair in keys_and_values for p in pair if not isinstance(p, str))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
        case _:
            return ()
