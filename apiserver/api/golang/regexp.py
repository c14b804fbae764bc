r"""Regular expressions of Go's package regexp, searched by RE2, the library that Go's package was made after.

Any search takes time linear in the text. The two agree on syntax and matches; this module evens out the rest:

- errors have Go's words and quote what Go quotes ("missing closing ): `(a`");
- \C (any byte), group names that are not ASCII, and groups nested deeper than 1,000 are refused, as in Go;
- what expands to too much is refused before RE2 allocates memory for it. Go's limits are higher, by the
  factors named at the constants.

What differs: class names that only recent releases of Go have (\p{Letter}, \p{greek}) are unknown, and \B is found
between the bytes of a character that is not ASCII.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

_MAX_DEPTH: Final = 1000
_MAX_REPEAT: Final = 1000
_MAX_REPEATS: Final = 1_000_000
"""The highest sum of all counts {n,m}: RE2 needs 0.2 s and 100 MiB to expand these. Go's limit is 3.3 times that."""
_MAX_UNICODE_CLASSES: Final = 1000
r"""The maximum number of classes like \p{L}, which take 60 microseconds each to parse. Go's limit is 26 times that."""
_MUCH_MEMORY: Final = 64 << 20
"""Bytes for a pattern that does not fit into RE2's default of 8 MiB. Searches may fill what the pattern leaves of them,
so others get no more than that.
"""
_TOO_LARGE: Final = "pattern too large"
_TEXTS: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
"""RE2's words → Go's; the others are equal."""
_ANY_BYTE, _REFUSED = r"\C", "\\\ue000"
r"""RE2 reads \C as any byte. It refuses an escaped character that is not ASCII."""
_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^]\\])*\]|[()]"
    r"|\{(?:[1-9][0-9]{8,}(?:,[0-9]*)?|(?:0|[1-9][0-9]*),[1-9][0-9]{8,})\}",
    re.DOTALL,
)
"""A quoted text, an escape, a class, a parenthesis, or counts of so many digits that RE2 reads literal text."""
_DEPTH_STEPS: Final = {"(": 1, ")": -1}
_COUNTS: Final = re.compile(r"\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_LAST_REPEAT: Final = re.compile(r"(\{([0-9]+)(?:,([0-9]*))?\})\??\Z")
_NAME: Final = re.compile(r"[^>]*>?")


class Regexp:
    """A compiled pattern.

    Attributes:
        size: the number of RE2's instructions; a search takes at most this many steps for each byte of the text.
    """

    __slots__ = ("_pattern", "size")

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self.size: int = pattern.programsize

    def matches(self, text: str) -> bool:
        """Return True if the pattern is found in a text."""
        return self._pattern.search(_encoded(text)) is not None  # bytes: RE2 need not count their characters

    def find(self, text: str) -> str:
        """Return the first match, "" if there is none."""
        match = self._pattern.search(_encoded(text))
        return match.group().decode() if match else ""

    def find_all(self, text: str) -> Iterator[str]:
        """Return all matches. As in Go, none of them is empty and right after another match."""
        end = -1
        for match in self._pattern.finditer(_encoded(text).decode()):
            if match.end() > match.start() or match.start() != end:
                yield match.group()
            end = match.end()


@lru_cache(maxsize=256)  # each may take up to 8 MiB, if texts are made for that
def compile_regexp(pattern: str) -> Regexp:
    """Return the compiled pattern.

    Raises:
        ValueError: the pattern is malformed; the message is Go's.
    """
    if _expands_too_far(pattern):
        raise _error("expression too large", pattern)
    compiled = _compiled(pattern)
    for name in compiled.groupindex:
        if not name.isascii():
            raise _error("invalid named capture", _part_after(pattern, (f"(?P<{name.decode()}", f"(?<{name.decode()}")))
    _check_tokens(pattern)
    return Regexp(compiled)


def _compiled(pattern: str) -> Any:
    """Return RE2's pattern; raises Go's error."""
    import re2  # noqa: PLC0415 - costs a hundredth of the start, and most clusters have no patterns

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    text = _encoded(_TOKEN.sub(_syntax_error, pattern) if _ANY_BYTE in pattern else pattern)
    for memory in (options.max_mem, _MUCH_MEMORY):
        options.max_mem = memory
        try:
            return re2.compile(text, options)
        except re2.error as error:
            code, _, part = error.args[0].decode(errors="replace").partition(": ")
        if not code.startswith(_TOO_LARGE):
            break
    raise _error(*_go_error(pattern, code, part.replace(_REFUSED, _ANY_BYTE)))


def _go_error(pattern: str, code: str, part: str) -> tuple[str, str]:
    """Return Go's error for one of RE2's, and the part of the pattern that Go quotes."""
    if code.startswith(_TOO_LARGE):
        return "expression too large", pattern
    if part.startswith(("(?<=", "(?<!")):  # Go knows no lookbehind: this is a group without a valid name
        return "invalid named capture", _part_after(pattern, (part,))
    if "repetition" in code and (repeat := _LAST_REPEAT.search(part)):  # Go checks counts first
        low, high = (int(count[:5]) for count in (repeat[2], repeat[3] or repeat[2]))
        if high > _MAX_REPEAT or low > min(high, _MAX_REPEAT):
            return "invalid repeat count", repeat[1]
    return _TEXTS.get(code, code), part


def _part_after(pattern: str, openings: tuple[str, ...]) -> str:
    """Return the first group's opening up to its ">", or the rest of the pattern if there is none."""
    start = min(pattern.find(opening) for opening in openings if opening in pattern)
    match = _NAME.match(pattern, start)
    assert match is not None
    return match[0]


def _syntax_error(token: re.Match[str]) -> str:
    return _REFUSED if token[0] == _ANY_BYTE else token[0]


def _expands_too_far(pattern: str) -> bool:
    if pattern.count(r"\p") + pattern.count(r"\P") > _MAX_UNICODE_CLASSES:
        return True
    return sum(int(high or low) for low, high in _COUNTS.findall(pattern)) > _MAX_REPEATS


def _check_tokens(pattern: str) -> None:
    """Refuse counts of many digits, and groups that nest too deeply, in a pattern that RE2 accepts."""
    depth = 0
    for token in _TOKEN.findall(pattern):
        if token[0] == "{":
            raise _error("invalid repeat count", token)
        depth += _DEPTH_STEPS.get(token, 0)
        if depth > _MAX_DEPTH:
            raise _error("expression nests too deeply", pattern)


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # surrogates, which no valid JSON has


def _error(reason: str, part: str) -> ValueError:
    return ValueError(f"error parsing regexp: {reason}: `{part}`")
