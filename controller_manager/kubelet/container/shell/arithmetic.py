"""$((expression)): 64-bit integers, C's operators and their precedence (POSIX shell, 2.6.4)."""

import operator
import re
from collections import deque
from collections.abc import Callable, Mapping, MutableMapping

from controller_manager.kubelet.container.shell.lexer import MAX_DEPTH, TOO_DEEP, ShellSyntaxError

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*|<<=|>>=|\*\*|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)", re.DOTALL
)
_ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))
_DIGITS = 20
"""The maximum number of digits of a number."""


def _divide(a: int, b: int) -> int:
    """Divide like C, which rounds towards zero."""
    if b == 0:
        raise ShellSyntaxError("sh: divide by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _power(a: int, b: int) -> int:
    if b < 0:
        raise ShellSyntaxError("sh: arithmetic syntax error")
    return pow(a, b, 1 << 64)


_LEVELS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divide, "%": lambda a, b: a - _divide(a, b) * b},
    {"**": _power},
)
"""Operators from the lowest precedence to the highest."""


def evaluate(expression: str, variables: MutableMapping[str, str]) -> int:
    """Evaluate an expression; variables are read and assigned.

    Raises:
        ShellSyntaxError: it is invalid.
    """
    reader = _Reader(expression, variables)
    try:
        value = reader.assignment()
    except RecursionError:
        raise ShellSyntaxError(TOO_DEEP) from None
    reader.end()
    return value


class _Reader:
    def __init__(self, expression: str, variables: MutableMapping[str, str]) -> None:
        self._tokens = deque(match[1] for match in _TOKEN.finditer(expression.strip()))
        self._variables = variables
        self._depth = 0

    def end(self) -> None:
        if self._tokens:
            raise ShellSyntaxError("sh: arithmetic syntax error")

    def assignment(self) -> int:
        if not self._tokens:
            return 0
        if len(self._tokens) > 1 and self._tokens[1] in _ASSIGNING and _is_name(self._tokens[0]):
            name, sign = self._tokens.popleft(), self._tokens.popleft()[:-1]
            value = self.assignment()
            if sign:
                value = self._apply(sign, self._value(name), value)
            self._variables[name] = str(value)
            return value
        return self._choice()

    def _choice(self) -> int:
        value = self._level(0)
        if self._peek() != "?":
            return value
        self._tokens.popleft()
        first = self.assignment()
        if self._peek() != ":":
            raise ShellSyntaxError("sh: arithmetic syntax error")
        self._tokens.popleft()
        second = self.assignment()
        return first if value else second

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._level(level + 1)
        while (sign := self._peek()) in _LEVELS[level]:
            self._tokens.popleft()
            value = _wrap_64_bits(_LEVELS[level][sign](value, self._level(level + 1)))
        return value

    def _unary(self) -> int:
        self._depth += 1
        if self._depth > MAX_DEPTH or not self._tokens:
            raise ShellSyntaxError("sh: arithmetic syntax error")
        token = self._tokens.popleft()
        match token:
            case "-":
                value = -self._unary()
            case "+":
                value = self._unary()
            case "!":
                value = int(not self._unary())
            case "~":
                value = ~self._unary()
            case "(":
                value = self.assignment()
                if self._peek() != ")":
                    raise ShellSyntaxError("sh: arithmetic syntax error")
                self._tokens.popleft()
            case _:
                value = self._value(token)
        self._depth -= 1
        return _wrap_64_bits(value)

    def _value(self, token: str) -> int:
        if _is_name(token):
            token = self._variables.get(token, "").strip() or "0"
        digits = token.lstrip("-")
        if len(digits) > _DIGITS or not digits.isascii() or not digits.isalnum():
            raise ShellSyntaxError("sh: arithmetic syntax error")
        octal = digits.startswith("0") and digits.isdecimal()
        try:
            return _wrap_64_bits(int(token, 8 if octal else 0))
        except ValueError:
            raise ShellSyntaxError("sh: arithmetic syntax error") from None

    def _apply(self, sign: str, a: int, b: int) -> int:
        (operation,) = (level[sign] for level in _LEVELS if sign in level)
        return _wrap_64_bits(operation(a, b))

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""


def _wrap_64_bits(value: int) -> int:
    """Return a value as a signed 64-bit number."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _is_name(token: str) -> bool:
    return token.replace("_", "a").isalnum() and not token[0].isdigit() and token.isascii()
