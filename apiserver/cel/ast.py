"""Expressions: the nodes of a parsed text; its macros are already comprehensions (cel/expr/syntax.proto)."""

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
    """A field of something; `test` asks only whether it is there, which is what has() becomes."""

    id: int
    operand: "Expr"
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function, with or without something that it is called on. Operators are functions, such as "_+_"."""

    id: int
    function: str
    target: "Expr | None"
    args: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list; the items at the places in `optional` are left out where they have no value."""

    id: int
    items: tuple["Expr", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value, of a map or, where the key is text, of a message."""

    id: int
    key: "Expr | str"
    value: "Expr"
    optional: bool


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """A map."""

    id: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a named type. No type of ours can be made in an expression, so this never passes the checker."""

    id: int
    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """What macros such as all() and map() become: a fold over a list, or over the keys of a map.

    Attributes:
        item, item2: the loop's variables; with two they are index and item, or key and value.
        result_name, start: the accumulator, and what it is before the first step.
        condition, step: evaluated for each item; the step's value is the next accumulator.
        result: evaluated at the end.
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
        """Whether it only gives a value a name, as optMap() does: it loops over nothing."""
        return (
            isinstance(self.over, ListLiteral)
            and not self.over.items
            and isinstance(self.condition, Literal)
            and self.condition.value is False
        )


Expr = Literal | Ident | Select | Call | ListLiteral | MapLiteral | Message | Comprehension


@dataclass(frozen=True, slots=True)
class Parsed:
    """An expression and where its nodes stand in the text.

    Attributes:
        positions: node → offset in characters.
    """

    text: str
    root: Expr
    positions: dict[int, int]


def parts(node: Expr) -> tuple[Expr, ...]:
    """The nodes directly below a node, in the order of evaluation."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListLiteral():
            return node.items
        case MapLiteral() | Message():
            keys_and_values = ((e.key, e.value) for e in node.entries)
            return tuple(p for pair in keys_and_values for p in pair if not isinstance(p, str))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
        case _:
            return ()
