"""Issues: what is wrong with an expression, each with the line it stands in (cel-go's common/errors.go)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_MOST = 100
_LONGEST_LINE = 16384


class CompileError(ValueError):
    """An expression that cannot be used; the message tells all its issues, a line with a mark below each."""


@dataclass(slots=True)
class Issues:
    """The issues of one expression.

    Attributes:
        text: the expression.
        positions: node → where it stands, in characters.
    """

    text: str
    positions: Mapping[int, int]
    found: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, node: int, message: str) -> None:
        """An issue with a node, which stands where the parser saw it."""
        before = self.text[: self.positions.get(node, 0)]
        line = before.count("\n")
        self.found.append((line, len(before) - (before.rfind("\n") + 1), message))

    def raise_any(self) -> None:
        """Tells the issues, in the order in which they stand in the text.

        Raises:
            CompileError: there are some.
        """
        if not self.found:
            return
        told = [self._told(*issue) for issue in sorted(self.found[:_MOST], key=lambda issue: issue[:2])]
        if len(self.found) > _MOST:
            told.append(f"{len(self.found) - _MOST} more errors were truncated")
        raise CompileError("\n".join(told))

    def _told(self, line: int, column: int, message: str) -> str:
        head = f"ERROR: <input>:{line + 1}:{column + 1}: {message}"
        text = self.text.split("\n")[line].replace("\t", " ")
        if len(text) > _LONGEST_LINE:
            return head
        dots = "".join("." if character.isascii() else "\uff0e" for character in text[:column])
        mark = "^" if text[column : column + 1].isascii() else "\uff3e"
        return f"{head}\n | {text}\n | {dots}{mark}"
