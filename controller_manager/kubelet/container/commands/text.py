"""Commands that read and write text: cat, head, tail, grep, echo, printf, seq, sort, tee, wc, yes."""

import re
from collections.abc import Iterator

from controller_manager.kubelet.container.commands.call import UsageError, contents, number, options
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import File, FileError
from controller_manager.kubelet.container.patterns import Expression
from controller_manager.kubelet.container.syscalls import (
    OUT,
    Now,
    Process,
    Read,
    Sleep,
    Turn,
    Write,
    bytes_of,
    complain,
    say,
    text_of,
)

POLL = 1.0
"""Seconds between two looks at a file that is followed."""
BLOCK, LINES = 4096, 200
"""Bytes, and lines, that are put out at a time."""
WIDEST = 4096
"""Letters to which printf fills up."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|0?[0-7]{1,3}|[ntrabfve\\])")
_CONVERSION = re.compile(r"%(?:%|([-+ 0#]*)(\d*)(?:\.(\d*))?([sdiuxXobcefg]))")


def cat(call: Call) -> Process:
    """Files, one after the other; the standard input as it comes."""
    given = options(call, "uAbensTvE")
    code = 0
    for path in given.operands or ("-",):
        if path == "-":
            while data := (yield Read()):
                yield Write(OUT, data)
            continue
        try:
            yield Write(OUT, call.read(path))
        except FileError as error:
            yield complain(f"cat: {path}: {error.why}")
            code = 1
    return code


def tee(call: Call) -> Process:
    """The standard input, into files as well."""
    given = options(call, "ai")
    now = yield Now()
    files = [call.open(path, now, append="a" in given.letters) for path in given.operands]
    while data := (yield Read()):
        for file in files:
            call.files.extend(file, data, now)
        yield Write(OUT, data)
    return 0


def head(call: Call) -> Process:
    """The first lines, or bytes."""
    given = options(_modern(call), "qv", "nc")
    if "c" in given.values:
        found = yield from contents(call, given.operands)
        yield Write(OUT, found[: number(given.values["c"])])
        return 0
    left = number(given.values.get("n", "10"))
    if given.operands:
        yield Write(OUT, b"".join((yield from contents(call, given.operands)).splitlines(keepends=True)[:left]))
        return 0
    while left > 0 and (data := (yield Read())):  # what comes may be endless
        lines = data.splitlines(keepends=True)[:left]
        left -= sum(line.endswith(b"\n") for line in lines)
        yield Write(OUT, b"".join(lines))
    return 0


def tail(call: Call) -> Process:
    """The last lines or bytes, or all from one on ("+3"); and with -f what is added to a file later."""
    given = options(_modern(call), "fFqv", "ncs")
    wanted = given.values.get("c", given.values.get("n", "10"))
    found = yield from contents(call, given.operands)
    lines = [] if "c" in given.values else found.splitlines(keepends=True)
    count, there = number(wanted.lstrip("+-")), len(found) if "c" in given.values else len(lines)
    start = max(count - 1 if wanted.startswith("+") else there - count, 0)
    yield Write(OUT, found[start:] if "c" in given.values else b"".join(lines[start:]))
    if given.letters & {"f", "F"} and given.operands:
        yield from _followed(call, given.operands[-1])
    return 0


def _followed(call: Call, path: str) -> Process:
    place = call.path(path)
    sent = len(call.files.read(place))
    while True:
        yield Sleep(POLL)
        node = call.files.find(place)
        data = bytes(node.data) if isinstance(node, File) else b""
        if len(data) < sent:
            sent = 0
        if len(data) > sent:
            yield Write(OUT, data[sent:])
            sent = len(data)


def _modern(call: Call) -> Call:
    """A call whose first argument is not -5 but -n5."""
    first = call.arguments[0] if call.arguments else ""
    if re.fullmatch(r"-\d+", first):
        rest = (f"-n{first[1:]}", *call.arguments[1:])
        return Call(call.name, rest, call.container, call.environment, call.directory, call.terminal)
    return call


def wc(call: Call) -> Process:
    """How many lines, words and bytes there are."""
    given = options(call, "lwcm")
    for path in given.operands or ("",):
        found = yield from contents(call, (path,) if path else ())
        counts = {"l": found.count(b"\n"), "w": len(found.split()), "c": len(found), "m": len(text_of(found))}
        shown = [str(counts[letter]) for letter in "lwmc" if letter in (given.letters or {"l", "w", "c"})]
        filled = shown if len(shown) == 1 else [f"{text:>9}" for text in shown]
        yield say(" ".join([*filled, *([path] if path else [])]))
    return 0


def grep(call: Call) -> Process:
    """The lines in which an expression is found; 1 where there is none."""
    given = options(call, "viqcnEFrHhs", "e")
    operands = given.operands
    pattern = given.values.get("e", operands[0] if operands else "")
    paths = operands if "e" in given.values else operands[1:]
    plain = "F" in given.letters
    expression = Expression(pattern, ignore_case="i" in given.letters)
    found = 0
    lines = text_of((yield from contents(call, paths))).splitlines()
    for place, line in enumerate(lines, 1):
        if place % 100 == 0:
            yield Turn()
        fits = pattern in line if plain else expression.found_in(line)
        if fits == ("v" in given.letters):
            continue
        found += 1
        if not given.letters & {"q", "c"}:
            yield say(f"{place}:{line}" if "n" in given.letters else line)
    if "c" in given.letters:
        yield say(str(found))
    return int(not found)


def sort(call: Call) -> Process:
    """Lines in order."""
    given = options(call, "rnu")
    lines = (yield from contents(call, given.operands)).splitlines()
    lines = list(dict.fromkeys(lines)) if "u" in given.letters else lines
    lines.sort(key=_number_at if "n" in given.letters else None, reverse="r" in given.letters)
    yield Write(OUT, b"".join(line + b"\n" for line in lines))
    return 0


def _number_at(line: bytes) -> int:
    found = re.match(rb"\s*(-?\d{1,18})", line)
    return int(found[1]) if found else 0


def seq(call: Call) -> Process:
    """Numbers from one to another."""
    numbers = [number(text) for text in call.arguments]
    if not 1 <= len(numbers) <= 3:
        raise UsageError("missing operand")
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) > 2 else 1
    if step == 0:
        raise UsageError("invalid increment '0'")
    found = range(first, numbers[-1] + (1 if step > 0 else -1), step)
    for start in range(0, len(found), LINES):
        yield Turn()
        yield say("\n".join(map(str, found[start : start + LINES])))
    return 0


def yes(call: Call) -> Process:
    """The same line for ever, several at a time."""
    line = bytes_of(" ".join(call.arguments) or "y") + b"\n"
    while True:
        yield Turn()
        yield Write(OUT, line * max(1, BLOCK // len(line)))


def echo(call: Call) -> Process:
    """The arguments; -n without the end of the line, -e with escapes."""
    rest, letters = list(call.arguments), set()
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        letters |= set(rest.pop(0)[1:])
    text = " ".join(rest)
    if "e" in letters:
        text = _unescaped(text)
    yield Write(OUT, bytes_of(text + ("" if "n" in letters else "\n")))
    return 0


def printf(call: Call) -> Process:
    """Arguments in a format, which is used again as long as there are any."""
    if not call.arguments:
        yield complain("printf: usage: printf FORMAT [ARGUMENT]...")
        return 1
    pattern, rest = _unescaped(call.arguments[0]), list(call.arguments[1:])
    arguments = iter(rest)
    rounds = max(1, -(-len(rest) // max(1, sum(found[4] is not None for found in _CONVERSION.finditer(pattern)))))
    if not any(found[4] for found in _CONVERSION.finditer(pattern)):
        rounds = 1
    for _ in range(rounds):
        yield Turn()
        yield Write(OUT, bytes_of(_CONVERSION.sub(lambda found: _converted(found, arguments), pattern)))
    return 0


def _converted(found: "re.Match[str]", arguments: Iterator[str]) -> str:
    flags, width, precision, kind = found[1], found[2], found[3], found[4]
    if kind is None:
        return "%"
    value = next(arguments, "")
    limit = f"{min(int(width or 0), WIDEST)}"
    head_ = "%" + flags + (limit if width else "")
    places = f".{min(int(precision or 0), WIDEST)}" if precision is not None else ""
    if kind in "sbc":
        value = _unescaped(value) if kind == "b" else value[:1] if kind == "c" else value
        return (head_ + places + "s") % value
    try:
        if kind in "efg":
            return (head_ + places + kind) % float(value or 0)
        return (head_ + places + kind.replace("u", "d")) % (int(value[:20], 0) if value else 0)
    except (ValueError, OverflowError):
        return (head_ + "s") % "0"


def _unescaped(text: str) -> str:
    def letter(found: "re.Match[str]") -> str:
        what = found[1]
        if what[0] == "x":
            return text_of(bytes([int(what[1:], 16)]))
        return text_of(bytes([int(what, 8) & 255])) if what[0].isdigit() else _ESCAPES[what]

    return _ESCAPE.sub(letter, text)
