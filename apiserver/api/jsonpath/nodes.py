"""What a template consists of: text, and between braces actions, each of them a row of nodes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a template, or a quoted string in an action: it stands for itself, once."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a boolean in an action: it stands for itself, once for each value that came so far."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """`.name`: what a map has under a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`[2]`: one item of a list, counted from its end where it is negative."""

    index: int


@dataclass(frozen=True, slots=True)
class Slice:
    """`[1:3]`, `[:8:2]`, `[*]`: some items of a list; None where a part was left out."""

    start: int | None
    end: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(@.price<10)]`: the items of a list for which a comparison holds.

    Attributes:
        left, right: what is compared; the right side of "exists" has no nodes.
        operator: as it was written, whether it means something or not; "exists" where there is none.
    """

    left: "Action"
    operator: str
    right: "Action"


@dataclass(frozen=True, slots=True)
class Union:
    """`['a', 2]`: what each of the actions finds, one after the other."""

    actions: tuple["Action", ...]


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`.*`: everything that a map or a list has."""


@dataclass(frozen=True, slots=True)
class Recursive:
    """`..`: a value and everything below it, as far as there is something below."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A bare word, such as `range`."""

    name: str


Node = Text | Literal | Field | Index | Slice | Filter | Union | Wildcard | Recursive | Identifier
Action = tuple[Node, ...]
Part = Text | Action
