"""Issues: the errors of an expression, each with its line and column (cel-go's common/errors.go)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_MAX_ISSUES = 100
_MAX_LINE_LENGTH = 16384


class CompileError(ValueError):
    """An expression that cannot be used; the message has all its issues, each with its line and a mark below."""


@dataclass(slots=True)
class Issues:
    """The issues of one expression.

    Attributes:
        text: the expression.
        positions: node id → position in characters.
    """

    text: str
    positions: Mapping[int, int]
    issues: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, node: int, message: str) -> None:
        """Add an issue of a node, at the position from the parser."""
        text_before = self.text[: self.positions.get(node, 0)]
        line = text_before.count("\n")
        self.issues.append((line, len(text_before) - (text_before.rfind("\n") + 1), message))

    def raise_any(self) -> None:
        """Raise the issues, if there are any, in the order of the text.

        Raises:
            CompileError: there are issues.
        """
        if not self.issues:
            return
        lines = [self._formatted(*issue) for issue in sorted(self.issues[:_MAX_ISSUES], key=lambda issue: issue[:2])]
        if len(self.issues) > _MAX_ISSUES:
            lines.append(f"{len(self.issues) - _MAX_ISSUES} more errors were truncated")
        raise CompileError("\n".join(lines))

    def _formatted(self, line: int, column: int, message: str) -> str:
        head = f"ERROR: <input>:{line + 1}:{column + 1}: {message}"
        text = self.text.split("\n")[line].replace("\t", " ")
        if len(text) > _MAX_LINE_LENGTH:
            return head
        dots = "".join("." if character.isascii() else "\uff0e" for character in text[:column])
        mark = "^" if text[column : column + 1].isascii() else "\uff3e"
        return f"{head}\n | {text}\n | {dots}{mark}"
