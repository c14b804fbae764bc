"""Patterns of file names and of `case` (*, ?, [...]), and the plain expressions of grep, matched in linear time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = frozenset("*?[")
LONGEST_LINE = 4096
"""How much of a line is looked at."""


def has_pattern(text: str) -> bool:
    """Whether a text has letters that stand for others."""
    return not _SPECIAL.isdisjoint(text)


def literal(text: str) -> str:
    """The pattern that fits this text alone."""
    return "".join(f"\\{letter}" if letter in "*?[\\" else letter for letter in text)


@dataclass(frozen=True, slots=True)
class _Item:
    """One place of a pattern: which letters may stand there (None: any), and how often."""

    letters: "re.Pattern[str] | str | None"
    many: bool = False
    maybe: bool = False

    def fits(self, letter: str) -> bool:
        if self.letters is None:
            return True
        if isinstance(self.letters, str):
            return self.letters == letter
        return self.letters.fullmatch(letter) is not None


class Glob:
    """A pattern of the shell."""

    def __init__(self, pattern: str) -> None:
        self._items = _glob_items(pattern)

    def fits(self, text: str) -> bool:
        """Whether the whole text is of the pattern."""
        return len(text) in _ends(self._items, text, {0})

    def beginnings(self, text: str) -> set[int]:
        """How long the beginnings of the text are that are of the pattern."""
        return _ends(self._items, text, {0})

    def endings(self, text: str) -> set[int]:
        """How long the endings of the text are that are of the pattern."""
        return _ends(self._items[::-1], text[::-1], {0})


class Expression:
    """A basic regular expression without groups: . * + ? [...] ^ $ and, between whole ones, |."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        folded = pattern.lower() if ignore_case else pattern
        self._choices = [_Choice.of(part) for part in folded.split("|")]

    def found_in(self, line: str) -> bool:
        """Whether a part of the line is of the expression."""
        line = (line.lower() if self._ignore_case else line)[:LONGEST_LINE]
        return any(choice.found_in(line) for choice in self._choices)


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

    def found_in(self, line: str) -> bool:
        starts = {0} if self.from_start else set(range(len(line) + 1))
        ends = _ends(self.items, line, starts)
        return len(line) in ends if self.to_end else bool(ends)


def _ends(items: Sequence[_Item], text: str, starts: set[int]) -> set[int]:
    """Where a match can end that begins at one of these places: all of them go forward together."""
    places = starts
    for item in items:
        stepped = {at + 1 for at in places if at < len(text) and item.fits(text[at])}
        found = (stepped | places) if item.maybe else stepped
        if item.many:
            for start in sorted(stepped):
                at = start
                while at < len(text) and item.fits(text[at]) and at + 1 not in found:
                    at += 1
                    found.add(at)
        places = found
        if not places:
            break
    return places


def _glob_items(pattern: str) -> list[_Item]:
    found, at = [], 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        match letter:
            case "*":
                found.append(_Item(None, many=True, maybe=True))
            case "?":
                found.append(_Item(None))
            case _:
                item, at = _letters(letter, pattern, at)
                found.append(item)
    return found


def _expression_items(pattern: str) -> list[_Item]:
    found: list[_Item] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        match letter:
            case "*" | "+" | "?" if found:
                found[-1] = _Item(found[-1].letters, many=letter != "?", maybe=letter != "+")
            case ".":
                found.append(_Item(None))
            case _:
                item, at = _letters(letter, pattern, at)
                found.append(item)
    return found


def _letters(letter: str, pattern: str, at: int) -> tuple[_Item, int]:
    """What a letter stands for that is no sign of its own, in both kinds, and where the pattern goes on."""
    if letter == "[":
        return _bracket(pattern, at)
    if letter == "\\" and at < len(pattern):
        return _Item(pattern[at]), at + 1
    return _Item(letter), at


def _bracket(pattern: str, at: int) -> tuple[_Item, int]:
    """The letters between brackets, and where the pattern goes on; without a closing bracket, "[" itself."""
    start = at + 1 if pattern[at : at + 1] in ("!", "^") else at
    end = pattern.find("]", start + 1)
    if end < 0:
        return _Item("["), at
    inner = pattern[start:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("]", "\\]")
    try:
        return _Item(re.compile(f"[{'^' if start > at else ''}{inner}]", re.DOTALL)), end + 1
    except re.error:  # a range that goes backwards
        return _Item("["), at
