"""`test` and `[`: conditions on files, texts and numbers (POSIX test)."""

from collections.abc import Callable, Mapping

from controller_manager.kubelet.container.commands.call import UsageError, number
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import Directory, File, FileError, Link, Node
from controller_manager.kubelet.container.shell.lexer import MAX_DEPTH
from controller_manager.kubelet.container.syscalls import MISUSE, Process, write_error

_OF_NODES: Mapping[str, Callable[[Node | None], bool]] = {
    "-e": lambda node: node is not None,
    "-f": lambda node: isinstance(node, File) and not node.device,
    "-d": lambda node: isinstance(node, Directory),
    "-s": lambda node: isinstance(node, Directory) or (isinstance(node, File) and bool(node.data)),
    "-r": lambda node: node is not None,
    "-w": lambda node: node is not None,
    "-x": lambda node: isinstance(node, Directory) or (isinstance(node, File) and bool(node.mode & 0o111)),
    "-c": lambda node: isinstance(node, File) and node.device,
}
_OF_TEXTS: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_OF_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


def test(call: Call) -> Process:
    """Evaluate a condition, and return 0 if it holds."""
    words = call.arguments
    if call.name.endswith("["):
        if words[-1:] != ("]",):
            yield write_error("sh: missing ]")
            return MISUSE
        words = words[:-1]
    try:
        return int(not _Reader(words, call).whole())
    except FileError as error:
        yield write_error(f"sh: {error}")
        return MISUSE


class _Reader:
    def __init__(self, words: tuple[str, ...], call: Call) -> None:
        self._words = list(reversed(words))
        self._call = call
        self._depth = 0

    def whole(self) -> bool:
        if not self._words:
            return False
        value = self._either()
        if self._words:
            raise UsageError(f"{self._words[-1]}: unknown operand")
        return value

    def _either(self) -> bool:
        value = self._both()
        while self._words and self._words[-1] == "-o":
            self._words.pop()
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._negation()
        while self._words and self._words[-1] == "-a":
            self._words.pop()
            value = self._negation() and value
        return value

    def _negation(self) -> bool:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UsageError("too many arguments")
        try:
            return self._primary()
        finally:
            self._depth -= 1

    def _primary(self) -> bool:
        first = self._next()
        operator = self._words[-1] if self._words else ""
        if len(self._words) >= 2 and (operator in _OF_TEXTS or operator in _OF_NUMBERS):
            self._words.pop()
            second = self._words.pop()
            if operator in _OF_TEXTS:
                return _OF_TEXTS[operator](first, second)
            return _OF_NUMBERS[operator](number(first.strip()), number(second.strip()))
        if not self._words:
            return bool(first)
        if first == "!":
            return not self._negation()
        if first == "(":
            value = self._either()
            if self._next() != ")":
                raise UsageError("closing paren expected")
            return value
        return self._unary(first)

    def _unary(self, operator: str) -> bool:
        if operator in _OF_NODES:
            return _OF_NODES[operator](self._call.files.find(self._call.path(self._next())))
        match operator:
            case "-n":
                return bool(self._next())
            case "-z":
                return not self._next()
            case "-L" | "-h":
                return isinstance(self._call.files.find(self._call.path(self._next()), follow=False), Link)
            case "-t":
                return bool(self._next()) and self._call.terminal
        return bool(operator)

    def _next(self) -> str:
        if not self._words:
            raise UsageError("argument expected")
        return self._words.pop()
