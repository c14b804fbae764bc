"""Commands that read and write text: cat, head, tail, grep, echo, printf, seq, sort, tee, wc, yes."""

import re
from collections.abc import Iterator

from controller_manager.kubelet.container.commands.call import UsageError, number, options, read_inputs
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import File, FileError
from controller_manager.kubelet.container.patterns import RegularExpression
from controller_manager.kubelet.container.syscalls import (
    OUT,
    Now,
    Process,
    Read,
    Sleep,
    Write,
    Yield,
    bytes_of,
    text_of,
    write_error,
    write_line,
)

POLL = 1.0
"""The seconds between two checks of a file that is followed."""
BLOCK, LINES = 4096, 200
"""The bytes, and lines, that are written at a time."""
MAX_WIDTH = 4096
"""The width to which printf pads at most."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|0?[0-7]{1,3}|[ntrabfve\\])")
_CONVERSION = re.compile(r"%(?:%|([-+ 0#]*)(\d*)(?:\.(\d*))?([sdiuxXobcefg]))")


def cat(call: Call) -> Process:
    """Print files, one after the other, and the standard input as it comes."""
    parsed = options(call, "uAbensTvE")
    code = 0
    for path in parsed.operands or ("-",):
        if path == "-":
            while data := (yield Read()):
                yield Write(OUT, data)
            continue
        try:
            yield Write(OUT, call.read(path))
        except FileError as error:
            yield write_error(f"cat: {path}: {error.why}")
            code = 1
    return code


def tee(call: Call) -> Process:
    """Copy the standard input to the standard output and into files."""
    parsed = options(call, "ai")
    now = yield Now()
    files = [call.open(path, now, append="a" in parsed.letters) for path in parsed.operands]
    while data := (yield Read()):
        for file in files:
            call.files.extend(file, data, now)
        yield Write(OUT, data)
    return 0


def head(call: Call) -> Process:
    """Print the first lines, or bytes."""
    parsed = options(_with_n_option(call), "qv", "nc")
    if "c" in parsed.values:
        content = yield from read_inputs(call, parsed.operands)
        yield Write(OUT, content[: number(parsed.values["c"])])
        return 0
    left = number(parsed.values.get("n", "10"))
    if parsed.operands:
        yield Write(OUT, b"".join((yield from read_inputs(call, parsed.operands)).splitlines(keepends=True)[:left]))
        return 0
    while left > 0 and (data := (yield Read())):  # the input may be endless
        lines = data.splitlines(keepends=True)[:left]
        left -= sum(line.endswith(b"\n") for line in lines)
        yield Write(OUT, b"".join(lines))
    return 0


def tail(call: Call) -> Process:
    """Print the last lines or bytes, or all from one on ("+3"); with -f also what is added to a file later."""
    parsed = options(_with_n_option(call), "fFqv", "ncs")
    position = parsed.values.get("c", parsed.values.get("n", "10"))
    content = yield from read_inputs(call, parsed.operands)
    lines = [] if "c" in parsed.values else content.splitlines(keepends=True)
    count, there = number(position.lstrip("+-")), len(content) if "c" in parsed.values else len(lines)
    start = max(count - 1 if position.startswith("+") else there - count, 0)
    yield Write(OUT, content[start:] if "c" in parsed.values else b"".join(lines[start:]))
    if parsed.letters & {"f", "F"} and parsed.operands:
        yield from _follow(call, parsed.operands[-1])
    return 0


def _follow(call: Call, path: str) -> Process:
    absolute_path = call.path(path)
    sent = len(call.files.read(absolute_path))
    while True:
        yield Sleep(POLL)
        node = call.files.find(absolute_path)
        data = bytes(node.data) if isinstance(node, File) else b""
        if len(data) < sent:
            sent = 0
        if len(data) > sent:
            yield Write(OUT, data[sent:])
            sent = len(data)


def _with_n_option(call: Call) -> Call:
    """Return the call with a first argument like -5 written as -n5."""
    first = call.arguments[0] if call.arguments else ""
    if re.fullmatch(r"-\d+", first):
        rest = (f"-n{first[1:]}", *call.arguments[1:])
        return Call(call.name, rest, call.container, call.environment, call.directory, call.terminal)
    return call


def wc(call: Call) -> Process:
    """Count lines, words and bytes."""
    parsed = options(call, "lwcm")
    for path in parsed.operands or ("",):
        content = yield from read_inputs(call, (path,) if path else ())
        counts = {"l": content.count(b"\n"), "w": len(content.split()), "c": len(content), "m": len(text_of(content))}
        shown = [str(counts[letter]) for letter in "lwmc" if letter in (parsed.letters or {"l", "w", "c"})]
        filled = shown if len(shown) == 1 else [f"{text:>9}" for text in shown]
        yield write_line(" ".join([*filled, *([path] if path else [])]))
    return 0


def grep(call: Call) -> Process:
    """Print the lines that match an expression; fail if there is none."""
    parsed = options(call, "viqcnEFrHhs", "e")
    operands = parsed.operands
    pattern = parsed.values.get("e", operands[0] if operands else "")
    paths = operands if "e" in parsed.values else operands[1:]
    plain = "F" in parsed.letters
    expression = RegularExpression(pattern, ignore_case="i" in parsed.letters)
    matched = 0
    lines = text_of((yield from read_inputs(call, paths))).splitlines()
    for line_number, line in enumerate(lines, 1):
        if line_number % 100 == 0:
            yield Yield()
        fits = pattern in line if plain else expression.search(line)
        if fits == ("v" in parsed.letters):
            continue
        matched += 1
        if not parsed.letters & {"q", "c"}:
            yield write_line(f"{line_number}:{line}" if "n" in parsed.letters else line)
    if "c" in parsed.letters:
        yield write_line(str(matched))
    return int(not matched)


def sort(call: Call) -> Process:
    """Sort lines."""
    parsed = options(call, "rnu")
    lines = (yield from read_inputs(call, parsed.operands)).splitlines()
    lines = list(dict.fromkeys(lines)) if "u" in parsed.letters else lines
    lines.sort(key=_number_at if "n" in parsed.letters else None, reverse="r" in parsed.letters)
    yield Write(OUT, b"".join(line + b"\n" for line in lines))
    return 0


def _number_at(line: bytes) -> int:
    match = re.match(rb"\s*(-?\d{1,18})", line)
    return int(match[1]) if match else 0


def seq(call: Call) -> Process:
    """Print numbers from one to another."""
    numbers = [number(text) for text in call.arguments]
    if not 1 <= len(numbers) <= 3:
        raise UsageError("missing operand")
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) > 2 else 1
    if step == 0:
        raise UsageError("invalid increment '0'")
    sequence = range(first, numbers[-1] + (1 if step > 0 else -1), step)
    for start in range(0, len(sequence), LINES):
        yield Yield()
        yield write_line("\n".join(map(str, sequence[start : start + LINES])))
    return 0


def yes(call: Call) -> Process:
    """Print the same line forever, several at a time."""
    line = bytes_of(" ".join(call.arguments) or "y") + b"\n"
    while True:
        yield Yield()
        yield Write(OUT, line * max(1, BLOCK // len(line)))


def echo(call: Call) -> Process:
    """Print the arguments; -n without a newline, -e with escapes."""
    rest, letters = list(call.arguments), set()
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        letters |= set(rest.pop(0)[1:])
    text = " ".join(rest)
    if "e" in letters:
        text = _unescape(text)
    yield Write(OUT, bytes_of(text + ("" if "n" in letters else "\n")))
    return 0


def printf(call: Call) -> Process:
    """Print arguments in a format, which is repeated as long as there are any."""
    if not call.arguments:
        yield write_error("printf: usage: printf FORMAT [ARGUMENT]...")
        return 1
    pattern, rest = _unescape(call.arguments[0]), list(call.arguments[1:])
    arguments = iter(rest)
    rounds = max(1, -(-len(rest) // max(1, sum(match[4] is not None for match in _CONVERSION.finditer(pattern)))))
    if not any(match[4] for match in _CONVERSION.finditer(pattern)):
        rounds = 1
    for _ in range(rounds):
        yield Yield()
        yield Write(OUT, bytes_of(_CONVERSION.sub(lambda match: _convert(match, arguments), pattern)))
    return 0


def _convert(match: "re.Match[str]", arguments: Iterator[str]) -> str:
    flags, width, precision, kind = match[1], match[2], match[3], match[4]
    if kind is None:
        return "%"
    value = next(arguments, "")
    limit = f"{min(int(width or 0), MAX_WIDTH)}"
    head_ = "%" + flags + (limit if width else "")
    places = f".{min(int(precision or 0), MAX_WIDTH)}" if precision is not None else ""
    if kind in "sbc":
        value = _unescape(value) if kind == "b" else value[:1] if kind == "c" else value
        return (head_ + places + "s") % value
    try:
        if kind in "efg":
            return (head_ + places + kind) % float(value or 0)
        return (head_ + places + kind.replace("u", "d")) % (int(value[:20], 0) if value else 0)
    except (ValueError, OverflowError):
        return (head_ + "s") % "0"


def _unescape(text: str) -> str:
    def letter(match: "re.Match[str]") -> str:
        what = match[1]
        if what[0] == "x":
            return text_of(bytes([int(what[1:], 16)]))
        return text_of(bytes([int(what, 8) & 255])) if what[0].isdigit() else _ESCAPES[what]

    return _ESCAPE.sub(letter, text)
