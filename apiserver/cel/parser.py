"""The grammar: from tokens to nodes (cel-go's CEL.g4 and parser.go)."""

from collections.abc import Callable
from math import isinf
from typing import Any, TypeVar

from apiserver.cel.ast import Entry, Expr, ListLiteral, MapLiteral, Message, Parsed, Select
from apiserver.cel.ast_builder import Nodes
from apiserver.cel.environments import Environment
from apiserver.cel.errors import Issues
from apiserver.cel.lexer import NotAnExpressionError, Token, tokens, unquoted, unquoted_bytes
from apiserver.cel.macros import MacroError, expanded
from apiserver.cel.values import Uint, is_int64, is_uint64

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DEEPEST = 250
_MOST_DIGITS = 30
"""More than any number has that is not too large."""

_LEVELS = {  # operator → how tightly it binds
    "||": 0,
    "&&": 1,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 2),
    **dict.fromkeys(("+", "-"), 3),
    **dict.fromkeys(("*", "/", "%"), 4),
}
_FUNCTIONS = {"in": "@in"} | {sign: f"_{sign}_" for sign in _LEVELS if sign != "in"}
_LOGICAL = ("||", "&&")
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    )
)


_Item = TypeVar("_Item")


class TooDeepError(ValueError):
    """The expression is nested too deeply; the message is upstream's."""


def read(text: str, environment: Environment) -> Parsed:
    """The expression that a text says.

    Raises:
        NotAnExpressionError: it does not follow the grammar.
        TooDeepError: it is nested too deeply.
        CompileError: it follows the grammar, but has names, numbers or macros that are none.
    """
    reader = _Reader(text, environment)
    root = reader.read()
    reader.issues.raise_any()
    return Parsed(text, root, reader.nodes.positions)


class _Reader:
    """Reads one expression, each method one part of the grammar."""

    def __init__(self, text: str, environment: Environment) -> None:
        self.nodes = Nodes()
        self._environment = environment
        self.issues = Issues(text, self.nodes.positions)
        self._tokens = list(tokens(text))
        self._place = 0
        self._depth = 0
        self._heights: dict[int, int] = {}
        self._literals: dict[str, Callable[[Token, str], Any]] = {
            "int": _int,
            "uint": _uint,
            "float": _float,
            "text": lambda token, _sign: unquoted(token.text),
            "bytes": lambda token, _sign: unquoted_bytes(token.text),
            "true": lambda _token, _sign: True,
            "false": lambda _token, _sign: False,
            "null": lambda _token, _sign: None,
        }

    def read(self) -> Expr:
        """The whole."""
        self._check_brackets()
        root = self._expr()
        self._expect("")
        return root

    def _check_brackets(self) -> None:
        """Check how deep brackets are nested, in each of which is an expression.

        Raises:
            TooDeepError: the innermost expression is too deep.
        """
        depth = 1
        for token in self._tokens:
            depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
            if depth > _DEEPEST:
                raise TooDeepError(f"expression recursion limit exceeded: {_DEEPEST}")

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._tokens[self._place]
        self._place += 1
        return token

    def _taken(self, kind: str) -> Token | None:
        """The next token if it is of a kind."""
        return self._take() if self._next.kind == kind else None

    def _expect(self, kind: str) -> Token:
        token = self._next
        if token.kind != kind:
            raise NotAnExpressionError
        self._place += bool(kind)
        return token

    def _expr(self) -> Expr:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooDeepError(f"expression recursion limit exceeded: {_DEEPEST}")
        node = self._binary(0)
        question = self._taken("?")
        if question:
            yes = self._binary(0)
            self._expect(":")
            no = self._expr()
            node = self._measured(self.nodes.call(question.at, "_?_:_", node, yes, no), 1, node, yes, no)
        self._depth -= 1
        return node

    def _measured(self, node: Expr, deeper: int, *inner: Expr) -> Expr:
        """A node that is known to be so much deeper than what is within it."""
        height = deeper + max((self._heights.get(part.id, 0) for part in inner), default=0)
        if height > _DEEPEST:
            raise TooDeepError("max recursion depth exceeded")
        self._heights[node.id] = height
        return node

    def _binary(self, least: int) -> Expr:
        """Operators that bind at least as tightly as `least`, and what they stand between."""
        left = self._unary()
        while (level := _LEVELS.get(self._next.kind, -1)) >= least:
            token = self._take()
            right = self._binary(level + 1)
            if token.kind in _LOGICAL:
                left = self._logical(token, left, right, level)
            else:
                call = self.nodes.call(token.at, _FUNCTIONS[token.kind], left, right)
                left = self._measured(call, 1, left, right)
        return left

    def _logical(self, token: Token, left: Expr, right: Expr, level: int) -> Expr:
        """Terms with one logical operator between them, as a tree that is as low as it can be."""
        marks, terms = [token], [left, right]
        while self._next.kind == token.kind:
            marks.append(self._take())
            terms.append(self._binary(level + 1))

        def balanced(low: int, high: int) -> Expr:
            middle = (low + high + 1) // 2
            one = terms[middle] if middle == low else balanced(low, middle - 1)
            two = terms[middle + 1] if middle == high else balanced(middle + 1, high)
            return self.nodes.call(marks[middle].at, _FUNCTIONS[token.kind], one, two)

        return self._measured(balanced(0, len(marks) - 1), 0, *terms)

    def _unary(self) -> Expr:
        """Signs before a member, of which two cancel each other; the last minus before a number is a part of it."""
        sign = self._next
        if sign.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._next.kind == sign.kind and not (sign.kind == "-" and count == 0 and self._has_number()):
            self._take()
            count += 1
        member = self._member()
        if count % 2 == 0:
            return member
        return self._measured(self.nodes.call(sign.at, "!_" if sign.kind == "!" else "-_", member), 0, member)

    def _has_number(self) -> bool:
        """Whether a number follows the next token."""
        return self._tokens[self._place + 1].kind in ("int", "float")

    def _member(self) -> Expr:
        """Fields, calls and items of something, one after the other."""
        node = self._primary()
        while True:
            if dot := self._taken("."):
                node = self._selected(node, dot)
            elif bracket := self._taken("["):
                node = self._indexed(node, bracket)
            else:
                return node

    def _indexed(self, operand: Expr, bracket: Token) -> Expr:
        optional = self._taken("?")
        index = self._expr()
        self._expect("]")
        if optional and not self._environment.optional_syntax:
            return self._mistake(bracket.at, "unsupported syntax '[?'")
        call = self.nodes.call(bracket.at, "_[?_]" if optional else "_[_]", operand, index)
        return self._measured(call, 1, operand, index)

    def _selected(self, operand: Expr, dot: Token) -> Expr:
        optional = self._taken("?")
        name = self._taken("quoted") or self._expect("name")
        field = name.text.strip("`")
        if optional:
            if not self._environment.optional_syntax:
                return self._mistake(dot.at, "unsupported syntax '.?'")
            return self._measured(
                self.nodes.call(dot.at, "_?._", operand, self.nodes.literal(name.at, field)), 1, operand
            )
        if name.kind == "name" and self._next.kind == "(":
            return self._called(field, operand)
        return self._measured(Select(self.nodes.number(dot.at), operand, field, test=False), 1, operand)

    def _called(self, function: str, target: Expr | None) -> Expr:
        """A call, of which the opening bracket comes next."""
        at = self._take().at
        args = self._list(")", self._expr)
        inner = args if target is None else [target, *args]
        try:
            known = (function, len(args)) not in self._environment.unknown_macros
            node = expanded(self.nodes, at, function, target, args) if known else None
        except MacroError as error:
            node = self._mistake(self.nodes.positions[error.node.id], str(error))
        return self._measured(node or self.nodes.call(at, function, *args, target=target), target is not None, *inner)

    def _list(self, end: str, read: Callable[[], _Item], *, loose: bool = False) -> list[_Item]:
        """What stands between commas before the end; one more comma may stand there where it is `loose`."""
        found: list[_Item] = []
        if loose and self._next.kind == "," and self._tokens[self._place + 1].kind == end:
            self._take()
        while not self._taken(end):
            if found:
                self._expect(",")
                if loose and self._taken(end):
                    break
            found.append(read())
        return found

    def _primary(self) -> Expr:
        token = self._next
        if token.kind in self._literals or token.kind == "-":
            return self._literal()
        if token.kind in (".", "name"):
            return self._named()
        self._take()
        if token.kind == "(":
            node = self._expr()
            self._expect(")")
            return node
        if token.kind == "[":
            return self._list_literal(token.at)
        if token.kind == "{":
            number = self.nodes.number(token.at)
            entries = tuple(self._list("}", self._map_entry, loose=True))
            return self._measured(MapLiteral(number, entries), 0, *_inner(entries))
        raise NotAnExpressionError

    def _literal(self) -> Expr:
        sign = self._taken("-")
        token = self._take()
        if sign and token.kind not in ("int", "float"):
            raise NotAnExpressionError
        at = sign.at if sign else token.at
        try:
            return self.nodes.literal(at, self._literals[token.kind](token, "-" if sign else ""))
        except ValueError as error:
            return self._mistake(at, str(error))

    def _named(self) -> Expr:
        """A name, a call of what it names, or a message of the type that it names."""
        start = self._next
        dot = self._taken(".")
        name = self._expect("name")
        behind = self._place
        while self._tokens[behind].kind == "." and self._tokens[behind + 1].kind == "name":
            behind += 2
        prefix = "." if dot else ""
        if self._tokens[behind].kind == "{":
            path = "".join(token.text for token in self._tokens[self._place : behind])
            self._place = behind
            return self._message(f"{prefix}{name.text}{path}")
        is_call = self._next.kind == "("
        if name.text in _RESERVED:
            if is_call:
                self._take()
                self._list(")", self._expr)
            return self._mistake(start.at, f"reserved identifier: {name.text}")
        if is_call:
            return self._called(f"{prefix}{name.text}", None)
        return self.nodes.ident(name.at, f"{prefix}{name.text}")

    def _list_literal(self, at: int) -> Expr:
        number = self.nodes.number(at)
        found = self._list("]", lambda: (self._is_optional(), self._expr()), loose=True)
        items = tuple(item for _, item in found)
        optional = frozenset(place for place, (is_optional, _) in enumerate(found) if is_optional)
        return self._measured(ListLiteral(number, items, optional), 0, *items)

    def _is_optional(self) -> bool:
        """Whether the mark of an item that may be missing comes next, which is taken."""
        mark = self._taken("?")
        if mark and not self._environment.optional_syntax:
            self._mistake(mark.at, "unsupported syntax '?'")
        return mark is not None

    def _map_entry(self) -> Entry:
        optional = self._is_optional()
        key = self._expr()
        colon = self._expect(":")
        return Entry(self.nodes.number(colon.at), key, self._expr(), optional)

    def _message(self, name: str) -> Expr:
        number = self.nodes.number(self._take().at)
        entries = tuple(self._list("}", self._field, loose=True))
        return self._measured(Message(number, name, entries), 0, *_inner(entries))

    def _field(self) -> Entry:
        optional = self._is_optional()
        name = self._taken("quoted") or self._expect("name")
        colon = self._expect(":")
        return Entry(self.nodes.number(colon.at), name.text.strip("`"), self._expr(), optional)

    def _mistake(self, at: int, message: str) -> Expr:
        """Notes a mistake that leaves the grammar as it is; what it is made in stands for nothing."""
        node = self.nodes.literal(at, None)
        self.issues.add(node.id, message)
        return node


def _inner(entries: tuple[Entry, ...]) -> list[Expr]:
    return [node for entry in entries for node in (entry.key, entry.value) if not isinstance(node, str)]


def _int(token: Token, sign: str) -> int:
    number = _whole(token.text)
    number = -number if sign else number
    if not is_int64(number):
        raise ValueError("invalid int literal")
    return number


def _uint(token: Token, _sign: str) -> Uint:
    number = _whole(token.text[:-1])
    if not is_uint64(number):
        raise ValueError("invalid uint literal")
    return Uint(number)


def _whole(text: str) -> int:
    """A number, or one that is as much too large."""
    base = 16 if text.startswith("0x") else 10
    return int(text.removeprefix("0x").lstrip("0")[:_MOST_DIGITS] or "0", base)


def _float(token: Token, sign: str) -> float:
    number = float(f"{sign}{token.text}")
    if isinf(number):
        raise ValueError("invalid double literal")
    return number
