"""Patterns of file names and of `case` (*, ?, [...]), and simple regular expressions for grep, in linear time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = frozenset("*?[")
MAX_LINE_LENGTH = 4096
"""The length to which a line is searched."""


def has_pattern(text: str) -> bool:
    """Return True if a text has wildcard characters."""
    return not _SPECIAL.isdisjoint(text)


def literal(text: str) -> str:
    """Return the pattern that matches exactly this text."""
    return "".join(f"\\{letter}" if letter in "*?[\\" else letter for letter in text)


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a pattern: the characters that it matches (None: any), and how often."""

    letters: "re.Pattern[str] | str | None"
    many: bool = False
    maybe: bool = False

    def matches(self, letter: str) -> bool:
        if self.letters is None:
            return True
        if isinstance(self.letters, str):
            return self.letters == letter
        return self.letters.fullmatch(letter) is not None


class Glob:
    """A pattern of the shell."""

    def __init__(self, pattern: str) -> None:
        self._items = _glob_items(pattern)

    def matches(self, text: str) -> bool:
        """Return True if the pattern matches the whole text."""
        return len(text) in _ends(self._items, text, {0})

    def prefix_lengths(self, text: str) -> set[int]:
        """Return the lengths of the prefixes of the text that the pattern matches."""
        return _ends(self._items, text, {0})

    def suffix_lengths(self, text: str) -> set[int]:
        """Return the lengths of the suffixes of the text that the pattern matches."""
        return _ends(self._items[::-1], text[::-1], {0})


class RegularExpression:
    """A basic regular expression without groups: . * + ? [...] ^ $ and, between whole ones, |."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        folded = pattern.lower() if ignore_case else pattern
        self._choices = [_Choice.of(part) for part in folded.split("|")]

    def search(self, line: str) -> bool:
        """Return True if the expression matches a part of the line."""
        line = (line.lower() if self._ignore_case else line)[:MAX_LINE_LENGTH]
        return any(choice.search(line) for choice in self._choices)


@dataclass(frozen=True, slots=True)
class _Choice:
    items: Sequence[_Item]
    from_start: bool
    to_end: bool

    @classmethod
    def of(cls, pattern: str) -> "_Choice":
        start = pattern.startswith("^")
        end = pattern.endswith("$") and not pattern.endswith("\\$")
        return cls(_expression_items(pattern[start : len(pattern) - end]), start, end)

    def search(self, line: str) -> bool:
        starts = {0} if self.from_start else set(range(len(line) + 1))
        ends = _ends(self.items, line, starts)
        return len(line) in ends if self.to_end else bool(ends)


def _ends(items: Sequence[_Item], text: str, starts: set[int]) -> set[int]:
    """Return where a match can end that starts at one of these positions; all of them advance together."""
    positions = starts
    for item in items:
        stepped = {position + 1 for position in positions if position < len(text) and item.matches(text[position])}
        reached = (stepped | positions) if item.maybe else stepped
        if item.many:
            for start in sorted(stepped):
                position = start
                while position < len(text) and item.matches(text[position]) and position + 1 not in reached:
                    position += 1
                    reached.add(position)
        positions = reached
        if not positions:
            break
    return positions


def _glob_items(pattern: str) -> list[_Item]:
    items, position = [], 0
    while position < len(pattern):
        letter = pattern[position]
        position += 1
        match letter:
            case "*":
                items.append(_Item(None, many=True, maybe=True))
            case "?":
                items.append(_Item(None))
            case _:
                item, position = _letters(letter, pattern, position)
                items.append(item)
    return items


def _expression_items(pattern: str) -> list[_Item]:
    items: list[_Item] = []
    position = 0
    while position < len(pattern):
        letter = pattern[position]
        position += 1
        match letter:
            case "*" | "+" | "?" if items:
                items[-1] = _Item(items[-1].letters, many=letter != "?", maybe=letter != "+")
            case ".":
                items.append(_Item(None))
            case _:
                item, position = _letters(letter, pattern, position)
                items.append(item)
    return items


def _letters(letter: str, pattern: str, position: int) -> tuple[_Item, int]:
    """Return the item for a character that is not special, or an escape or a bracket, and where the pattern goes on."""
    if letter == "[":
        return _bracket(pattern, position)
    if letter == "\\" and position < len(pattern):
        return _Item(pattern[position]), position + 1
    return _Item(letter), position


def _bracket(pattern: str, position: int) -> tuple[_Item, int]:
    """Return the item for the characters in brackets, and where the pattern goes on; without "]" it is "[" itself."""
    start = position + 1 if pattern[position : position + 1] in ("!", "^") else position
    end = pattern.find("]", start + 1)
    if end < 0:
        return _Item("["), position
    inner = pattern[start:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("]", "\\]")
    try:
        return _Item(re.compile(f"[{'^' if start > position else ''}{inner}]", re.DOTALL)), end + 1
    except re.error:  # a range that goes backwards
        return _Item("["), position
