r"""Regular expressions of Go's package regexp (RE2 syntax), translated for Python's re.

Syntax that RE2 does not have (lookaround, back references) is refused with Go's message; syntax with another meaning in
Go ("$", "\d", "\b") is translated. Python's matcher is no automaton: a pattern of nested repetitions can take a long
time where Go is always fast.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

Ranges = list[tuple[int, int]]
"""Ranges of code points, first and last included."""

_MAX = 0x10FFFF
_MAX_REPEAT = 1000
_DIGITS: Ranges = [(0x30, 0x39)]
_UPPER: Ranges = [(0x41, 0x5A)]
_LOWER: Ranges = [(0x61, 0x7A)]
_WORD: Ranges = [*_DIGITS, *_UPPER, (0x5F, 0x5F), *_LOWER]
_PERL: Mapping[str, Ranges] = {"d": _DIGITS, "s": [(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)], "w": _WORD}
_POSIX: Mapping[str, Ranges] = {
    "alnum": [*_DIGITS, *_UPPER, *_LOWER],
    "alpha": [*_UPPER, *_LOWER],
    "ascii": [(0, 0x7F)],
    "blank": [(0x09, 0x09), (0x20, 0x20)],
    "cntrl": [(0, 0x1F), (0x7F, 0x7F)],
    "digit": _DIGITS,
    "graph": [(0x21, 0x7E)],
    "lower": _LOWER,
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(0x09, 0x0D), (0x20, 0x20)],
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": [*_DIGITS, (0x41, 0x46), (0x61, 0x66)],
}
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_ASSERTIONS = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}
_FLAGGED = {  # character → the flag that changes it, its translation with the flag, and without
    ".": ("s", "(?s:.)", r"[^\n]"),
    "^": ("m", "(?:(?m:^))", r"(?:\A)"),
    "$": ("m", r"(?:(?=\n|\Z))", r"(?:\Z)"),
}
_COUNTED = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_REPEAT = re.compile(rf"[*+?]|{_COUNTED.pattern}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([^>]*)>")
_SCRIPT_NAMES = {"Han": "CJK UNIFIED IDEOGRAPH"}
"""Script → the prefix of its letters' names, if that is not the name of the script."""


_MAX_CLASS_TEXT = 300_000
"""The most characters of all expanded classes: they take 0.3 s to compile. Go's limit is many times that."""


@lru_cache(maxsize=1024)
def compile_regexp(pattern: str) -> re.Pattern[str]:
    """Return Python's pattern for one of Go's; call its `search`, which does what Go calls matching.

    Raises:
        ValueError: the pattern is malformed; the message is Go's.
    """
    try:
        return re.compile(_Parser(pattern).whole())
    except RecursionError:
        _refuse("expression nests too deeply", pattern)


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a sequence, translated.

    Attributes:
        text: the item in Python's syntax; an operator after it repeats all of it.
        repeats: the largest product of nested counts {n,m} in it, which Go limits.
    """

    text: str
    repeats: int = 1


class _Parser:
    """A single pass through a pattern that translates it."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._written = 0
        self._flags: frozenset[str] = frozenset()

    def whole(self) -> str:
        """Return the pattern in Python's syntax."""
        item = self._alternatives()
        if self._at < len(self._pattern):
            _refuse("unexpected )", self._pattern)
        return item.text

    def _rest(self) -> str:
        return self._pattern[self._at :]

    def _alternatives(self) -> _Item:
        """Return all branches up to the end, or to the parenthesis that closes the group; flags end there, too."""
        outer, branches = self._flags, [self._sequence()]
        while self._pattern[self._at : self._at + 1] == "|":
            self._at += 1
            branches.append(self._sequence())
        self._flags = outer
        text = "|".join("".join(item.text for item in branch) for branch in branches)
        return _Item(text, max((item.repeats for branch in branches for item in branch), default=1))

    def _sequence(self) -> list[_Item]:
        items: list[_Item] = []
        repeated_at = -1
        while (char := self._pattern[self._at : self._at + 1]) not in ("", "|", ")"):
            operator = _REPEAT.match(self._pattern, self._at)
            if operator is None:
                repeated_at = -1
                item = self._item(char)
                if item is not None:
                    items.append(item)
                continue
            start = self._at
            self._repeat(operator, items, since=start if repeated_at < 0 else repeated_at)
            repeated_at = start
        return items

    def _repeat(self, operator: re.Match[str], items: list[_Item], *, since: int) -> None:
        """Repeat the last item; `since` is the start of the operator right before this one, or of this one."""
        start, text, self._at = self._at, operator[0], operator.end()
        minimum, maximum = _bounds(operator)
        if max(minimum, maximum) > _MAX_REPEAT or 0 <= maximum < minimum:
            _refuse("invalid repeat count", text)
        lazy = self._pattern[self._at : self._at + 1] == "?"
        self._at += lazy
        if since != start:
            _refuse("invalid repeat operator", self._pattern[since : self._at])
        if not items:
            _refuse("missing argument to repetition operator", self._pattern[start : self._at])
        item, times = items.pop(), maximum if maximum > 0 else minimum
        repeats = item.repeats * max(times, 1) if text[0] == "{" else item.repeats
        if repeats > _MAX_REPEAT:
            _refuse("invalid repeat count", self._pattern[start : self._at])
        mark = "?" if lazy != ("U" in self._flags) else ""
        items.append(_Item(f"(?:{item.text}{text}{mark})", repeats))

    def _item(self, char: str) -> _Item | None:
        """Return the item at the current position, or None if it stands for nothing (a group that only sets flags)."""
        match char:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
        self._at += 1
        if char in _FLAGGED:
            flag, with_flag, without = _FLAGGED[char]
            return _Item(with_flag if flag in self._flags else without)
        return self._literal(ord(char))

    def _literal(self, code: int) -> _Item:
        return _Item(f"(?i:{_char(code)})" if "i" in self._flags else _char(code))

    def _group(self) -> _Item | None:
        rest = self._rest()
        if flags := _FLAGS.match(rest):
            return self._flagged(flags)
        name_match = _NAMED.match(rest)
        if rest.startswith(("(?P<", "(?<")):
            if name_match is None:
                _refuse("invalid named capture", rest)
            if not re.fullmatch(r"\w+", name_match[1], re.ASCII):
                _refuse("invalid named capture", name_match[0])
        elif rest.startswith("(?"):
            opening = re.match(r"\(\?[imsU]*-?[imsU]*", rest)
            end = opening.end() + 1 if opening else 3
            if end > len(rest):
                _refuse("missing closing )", self._pattern)
            _refuse("invalid or unsupported Perl syntax", rest[:end])
        self._at += name_match.end() if name_match else 1
        return self._grouped()

    def _flagged(self, match: re.Match[str]) -> _Item | None:
        on, off, end = match.groups()
        self._at += match.end()
        outer, self._flags = self._flags, (self._flags | set(on)) - set(off or "")
        if end == ")":
            return None
        item = self._grouped()
        self._flags = outer
        return item

    def _grouped(self) -> _Item:
        """Return a group whose opening is already read; captures are not needed."""
        inner = self._alternatives()
        if self._pattern[self._at : self._at + 1] != ")":
            _refuse("missing closing )", self._pattern)
        self._at += 1
        return _Item(f"(?:{inner.text})", inner.repeats)

    def _escaped(self) -> _Item:
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter in _ASSERTIONS:
            self._at += 2
            return _Item(f"(?:{_ASSERTIONS[letter]})")
        if letter == "Q":
            return self._quoted()
        if (ranges := self._named_class(letter)) is not None:
            return self._one_of(ranges)
        return self._literal(self._escape())

    def _quoted(self) -> _Item:
        quoted, end, _ = self._rest()[2:].partition(r"\E")
        self._at += 2 + len(quoted) + len(end)
        text = "".join(self._literal(ord(char)).text for char in quoted)
        return _Item(f"(?:{text})")

    def _named_class(self, letter: str) -> Ranges | None:
        r"""Return the characters of \d or \p{Greek}, or None if no such class starts here."""
        if letter and letter in "pP":
            return self._unicode_class(negated=letter == "P")
        if not letter or letter.lower() not in _PERL:
            return None
        self._at += 2
        ranges = _PERL[letter.lower()]
        return ranges if letter.islower() else _complement(ranges)

    def _unicode_class(self, *, negated: bool) -> Ranges:
        rest = self._rest()
        match = re.match(r"\\.(?:\{([^}]*)\}|([^{]))", rest, re.DOTALL)
        if match is None:
            _refuse("invalid character class range", rest)
        self._at += match.end()
        name = match[1] if match[2] is None else match[2]
        if name.startswith("^"):
            name, negated = name[1:], not negated
        ranges = _unicode_ranges(name)
        if not ranges:
            _refuse("invalid character class range", match[0])
        return _complement(ranges) if negated else ranges

    def _escape(self) -> int:
        """Return the character that an escape stands for (parseEscape)."""
        rest = self._rest()
        if rest == "\\":
            _refuse("trailing backslash at end of expression", "")
        match = re.match(
            r"\\(?:(0[0-7]{0,2}|[1-7][0-7]{1,2})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|(.))", rest, re.DOTALL
        )
        assert match is not None
        octal, short, long, other = match.groups()
        self._at += match.end()
        if octal:
            return int(octal, 8)
        if short or (long and int(long, 16) <= _MAX):
            return int(short or long, 16)
        if other in _CONTROLS:
            return _CONTROLS[other]
        if other is None or other.isalnum() or not other.isascii():
            _refuse("invalid escape sequence", _bad_escape(rest))
        return ord(other)

    def _class(self) -> _Item:
        start = self._at
        self._at += 1
        negated = self._pattern[self._at : self._at + 1] == "^"
        self._at += negated
        ranges: Ranges = []
        first = True
        while first or self._pattern[self._at : self._at + 1] != "]":
            first = False
            ranges += self._posix_class() or self._class_part(start)
        self._at += 1
        return self._one_of(ranges, negated=negated)

    def _posix_class(self) -> Ranges:
        match = re.match(r"\[:(\^?)(.*?):\]", self._rest(), re.DOTALL)
        if match is None:
            return []
        if match[2] not in _POSIX:
            _refuse("invalid character class range", match[0])
        self._at += match.end()
        return _complement(_POSIX[match[2]]) if match[1] else _POSIX[match[2]]

    def _class_part(self, start: int) -> Ranges:
        """Return the ranges of a character, a range or a named class within brackets that opened at `start`."""
        rest = self._rest()
        if rest.startswith("\\") and (ranges := self._named_class(rest[1:2])) is not None:
            return ranges
        part_start = self._at
        low = high = self._class_char(start)
        if self._pattern[self._at : self._at + 1] == "-" and self._pattern[self._at + 1 : self._at + 2] not in (
            "",
            "]",
        ):
            self._at += 1
            high = self._class_char(start)
            if high < low:
                _refuse("invalid character class range", self._pattern[part_start : self._at])
        return [(low, high)]

    def _class_char(self, start: int) -> int:
        if self._at >= len(self._pattern):
            _refuse("missing closing ]", self._pattern[start:])
        if self._pattern[self._at] == "\\":
            return self._escape()
        self._at += 1
        return ord(self._pattern[self._at - 1])

    def _one_of(self, ranges: Ranges, *, negated: bool = False) -> _Item:
        inner = "".join(_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in ranges)
        text = f"[{'^' if negated else ''}{inner}]"
        self._written += len(text)
        if self._written > _MAX_CLASS_TEXT:
            _refuse("expression too large", self._pattern)
        return _Item(f"(?i:{text})" if "i" in self._flags else text)


def _refuse(error: str, part: str) -> NoReturn:
    raise ValueError(f"error parsing regexp: {error}: `{part}`")


def _bad_escape(rest: str) -> str:
    """Return the part of an escape that Go had read when it failed."""
    if rest[1] != "x":
        return rest[:2]
    match = re.match(r"\\x(?:\{[0-9A-Fa-f]*.?|.{0,2})", rest, re.DOTALL)
    assert match is not None
    return match[0]


def _bounds(operator: re.Match[str]) -> tuple[int, int]:
    """Return the minimum and the maximum of a repetition, the maximum -1 if there is no limit."""
    text, minimum, comma, maximum = operator[0], operator[1], operator[2], operator[3]
    if text[0] != "{":
        return (1 if text == "+" else 0), (1 if text == "?" else -1)
    return int(minimum), int(maximum) if maximum else (-1 if comma else int(minimum))


def _char(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\U{code:08x}"


def _complement(ranges: Ranges) -> Ranges:
    gaps, after = [], 0
    for low, high in sorted(ranges):
        if low > after:
            gaps.append((after, low - 1))
        after = max(after, high + 1)
    return [*gaps, (after, _MAX)] if after <= _MAX else gaps


@lru_cache(maxsize=64)
def _unicode_ranges(name: str) -> Ranges:
    """Return the characters of a category ("L", "Lu") or a script ("Greek"), [] if there is no such class."""
    if name == "Any":
        return [(0, _MAX)]
    if len(name) <= 2:
        return _ranges(code for code in range(_MAX + 1) if unicodedata.category(chr(code)).startswith(name or " "))
    if not (name.isidentifier() and name[0].isupper()):
        return []
    begins = _SCRIPT_NAMES.get(name, name.replace("_", " ").upper()) + ("-" if name in _SCRIPT_NAMES else " ")
    return _ranges(code for code in range(_MAX + 1) if unicodedata.name(chr(code), "").startswith(begins))


def _ranges(codes: Iterable[int]) -> Ranges:
    ranges: Ranges = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges
