r"""Regular expressions of Go's package regexp, searched by RE2, the library that Go's package was made after.

Any search takes time linear in the text. The two agree on syntax and matches; this module evens out the rest:

- errors have Go's words and quote what Go quotes ("missing closing ): `(a`");
- \C (any byte), group names that are not ASCII, and groups nested deeper than 1,000 are refused, as in Go;
- what expands to too much is refused before RE2 allocates memory for it. Go's limits are higher, by the
  factors named at the constants: RE2 copies a class for each repetition, so `\pL{500}` is read, `\pL{1000}` is not.

What differs: class names that only recent releases of Go have (\p{Letter}, \p{greek}) are unknown, and \B is found
between the bytes of a character that is not ASCII.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

_MAX_DEPTH: Final = 1000
_MAX_REPEAT: Final = 1000
_MAX_REPEATS: Final = 1_000_000
"""The highest sum of all counts {n,m}: RE2 needs 0.2 s and 100 MiB to expand these. Go's limit is 3.3 times that."""
_MAX_UNICODE_CLASSES: Final = 1000
r"""The maximum number of classes like \p{L}, which take 60 microseconds each to parse. Go's limit is 26 times that."""
_MUCH_MEMORY: Final = 16 << 20
"""Bytes for a pattern that does not fit into RE2's default of 8 MiB: 700,000 instructions, which take 0.2 s to compile.
Go counts a class as one instruction of 3.3 million. Searches may fill what the pattern leaves of the memory, so others
get no more than 8 MiB.
"""
_MAX_INSTRUCTIONS: Final = 750_000
"""More than RE2's limit for that memory."""
_CLASS_SIZE: Final = 1500
r"""The instructions of a large class like [^\pL\pN]."""
_LARGE: Final = 32_000
"""The number of instructions up to which a program is kept as long as its Regexp."""
_LARGE_PROGRAMS: Final = 16
"""The maximum number of larger programs in memory; they have up to 11 MiB each."""
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
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^]\\])*(?:\]|\\?\Z)|[()]"
    r"|\{(?:[1-9][0-9]{8,}(?:,[0-9]*)?|(?:0|[1-9][0-9]*),[1-9][0-9]{8,})\}",
    re.DOTALL,
)
"""A quoted text, an escape, a class that may be unclosed, a parenthesis, or counts of so many digits that RE2
reads literal text.
"""
_SMALL: Final = 1024
"""The number of instructions up to which a program's searches are not worth a closer look."""
_UNICODE_CLASS: Final = re.compile(r"\\(?:[pP](?:\{\^?\w+\}|\w)|.)", re.DOTALL)
"""A class like \\p{L}, or another escape."""
_REPEATED_SET: Final = re.compile(r"(?<!\\)(\[[^][]*\])\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_REPEATED_CLASS: Final = re.compile(r"(?<!\\)(\\[pP](?:\{\^?\w+\}|\w))\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
"""Repeated classes that are plain to see: a set without brackets in it, or a class in a pattern without sets."""
_DEPTH_STEPS: Final = {"(": 1, ")": -1}
_COUNTS: Final = re.compile(r"\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_LAST_REPEAT: Final = re.compile(r"(\{([0-9]+)(?:,([0-9]*))?\})\??\Z")
_NAME: Final = re.compile(r"[^>]*>?")


class Regexp:
    """A compiled pattern.

    Attributes:
        text: the pattern.
        program: RE2's, None if it is large.
        size: the number of RE2's instructions.
        search_size: the number that matters to searches. They take time for each class of characters that may come
            next, hardly more for a class of many ranges.
    """

    __slots__ = ("_test", "program", "search_size", "size", "text")

    def __init__(self, text: str, program: Any) -> None:
        self.text = text
        self.size: int = program.programsize
        self.search_size = _search_size(text, self.size)
        self.program = program
        if self.size > _LARGE:
            large_program(self)
            self.program = None
        self._test: Callable[[bytes], object] | None = None

    def load(self) -> Any:
        """Return RE2's program. That of a large pattern is compiled again if many others were used since."""
        return large_program(self) if self.program is None else self.program

    def matches(self, text: str) -> bool:
        """Return True if the pattern is found in a text."""
        encoded = _encoded(text)  # bytes: RE2 need not count their characters
        if self._test is None:
            if self.size > _SMALL:
                return self.load().search(encoded) is not None
            self._test = _test_of(self.program)
        return bool(self._test(encoded))

    def find(self, text: str) -> str:
        """Return the first match, "" if there is none."""
        match = self.load().search(_encoded(text))
        return match.group().decode() if match else ""

    def find_all(self, text: str) -> Iterator[str]:
        """Return all matches. As in Go, none of them is empty and right after another match."""
        end = -1
        for match in self.load().finditer(_encoded(text).decode()):
            if match.end() > match.start() or match.start() != end:
                yield match.group()
            end = match.end()


def _test_of(program: Any) -> Callable[[bytes], object]:
    """Return the search of a small program that does not say where it matches, which takes a quarter of the time.

    A large one could run out of memory, and a set of patterns would then find nothing.
    """
    import re2  # noqa: PLC0415 - see _compiled

    patterns = re2.Set.SearchSet(program.options)
    patterns.Add(program.pattern)
    patterns.Compile()
    test: Callable[[bytes], object] = patterns.Match
    return test


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
    return Regexp(pattern, compiled)


@lru_cache(maxsize=_LARGE_PROGRAMS)
def large_program(regexp: Regexp) -> Any:
    """Return RE2's program of a large pattern, which is kept as long as it is among the last that were used."""
    return _compiled(regexp.text) if regexp.program is None else regexp.program


def _search_size(pattern: str, size: int) -> int:
    """Return a program's size as if each class of Unicode had one range."""
    if size <= _SMALL or not _UNICODE_CLASS.search(pattern):
        return size
    try:
        reduced: int = _compiled(_UNICODE_CLASS.sub(_one_range, pattern)).programsize
    except ValueError:  # a quoted text or a range, which read differently
        return size
    return min(size, reduced)


def _one_range(token: re.Match[str]) -> str:
    return r"\d" if token[0][1] in "pP" else token[0]


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
            program = re2.compile(text, options)
        except re2.error as error:
            code, _, part = error.args[0].decode(errors="replace").partition(": ")
        else:
            re2.purge()  # it would keep the last 128, whatever their size
            return program
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
    if sum(int(high or low) for low, high in _COUNTS.findall(pattern)) > _MAX_REPEATS:
        return True
    return _UNICODE_CLASS.search(pattern) is not None and _repeats_large_classes(pattern)


def _repeats_large_classes(pattern: str) -> bool:
    """Return True if repeated classes alone need too many instructions: RE2 takes 0.1 s to see that."""
    if r"\Q" in pattern:
        return False
    repeated = (_REPEATED_SET if "[" in pattern else _REPEATED_CLASS).findall(pattern)
    counts = [(characters, int(high or low)) for characters, low, high in repeated]
    if sum(count for _, count in counts) * _CLASS_SIZE < _MAX_INSTRUCTIONS:
        return False
    try:
        sizes = [int(_compiled(characters).programsize) * count for characters, count in counts]
    except ValueError:  # the pattern is refused for the same reason
        return False
    return sum(sizes) > _MAX_INSTRUCTIONS


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
