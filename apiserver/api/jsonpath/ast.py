"""The nodes of a parsed template: text, and actions (between braces), which are sequences of nodes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a template, or a quoted string in an action: it evaluates to itself, once."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a boolean in an action: it evaluates to itself, once for each value so far."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """`.name`: the value of a map at a key."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`[2]`: one item of a list, counted from its end if negative."""

    index: int


@dataclass(frozen=True, slots=True)
class Slice:
    """`[1:3]`, `[:8:2]`, `[*]`: some items of a list; None for an omitted part."""

    start: int | None
    end: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(@.price<10)]`: the items of a list for which a comparison holds.

    Attributes:
        left, right: the operands; the right one of "exists" has no nodes.
        operator: the operator as written, even an unknown one; "exists" if there is none.
    """

    left: "Action"
    operator: str
    right: "Action"


@dataclass(frozen=True, slots=True)
class Union:
    """`['a', 2]`: the results of each of the actions, one after the other."""

    actions: tuple["Action", ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`.*`: all items of a map or a list."""


@dataclass(frozen=True, slots=True)
class Recursive:
    """`..`: a value and all its descendants that have children."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A bare word, such as `range`."""

    name: str


Node = Text | Literal | Field | Index | Slice | Filter | Union | Wildcard | Recursive | Identifier
Action = tuple[Node, ...]
Part = Text | Action
