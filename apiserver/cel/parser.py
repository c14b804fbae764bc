"""The parser: from tokens to nodes (cel-go's CEL.g4 and parser.go)."""

from collections.abc import Callable
from math import isinf
from typing import Any, TypeVar

from apiserver.cel.ast import Expr, ListLiteral, MapLiteral, MessageLiteral, ParsedExpr, Select, StructEntry
from apiserver.cel.ast_builder import ExprFactory
from apiserver.cel.environments import Environment
from apiserver.cel.errors import Issues
from apiserver.cel.lexer import NotAnExpressionError, Token, tokens, unquoted, unquoted_bytes
from apiserver.cel.macros import MacroError, expand
from apiserver.cel.values import Uint, is_int64, is_uint64

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_MAX_DEPTH = 250
_MAX_DIGITS = 30
"""More digits than any number in range has."""

_LEVELS = {  # operator → precedence
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


def parse_expression(text: str, environment: Environment) -> ParsedExpr:
    """Return the parsed expression.

    Raises:
        NotAnExpressionError: the text does not follow the grammar.
        TooDeepError: it is nested too deeply.
        CompileError: it follows the grammar, but has invalid names, numbers or macros.
    """
    reader = _Parser(text, environment)
    root = reader.read()
    reader.issues.raise_any()
    return ParsedExpr(text, root, reader.nodes.positions)


class _Parser:
    """Parses one expression, each method one rule of the grammar."""

    def __init__(self, text: str, environment: Environment) -> None:
        self.nodes = ExprFactory()
        self._environment = environment
        self.issues = Issues(text, self.nodes.positions)
        self._tokens = list(tokens(text))
        self._index = 0
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
        """Return the whole expression."""
        self._check_brackets()
        root = self._expr()
        self._expect("")
        return root

    def _check_brackets(self) -> None:
        """Check how deeply brackets are nested, as each contains an expression.

        Raises:
            TooDeepError: the innermost expression is too deep.
        """
        depth = 1
        for token in self._tokens:
            depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
            if depth > _MAX_DEPTH:
                raise TooDeepError(f"expression recursion limit exceeded: {_MAX_DEPTH}")

    @property
    def _next(self) -> Token:
        return self._tokens[self._index]

    def _advance(self) -> Token:
        token = self._tokens[self._index]
        self._index += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        """Return the next token and move on if it is of a kind, else None."""
        return self._advance() if self._next.kind == kind else None

    def _expect(self, kind: str) -> Token:
        token = self._next
        if token.kind != kind:
            raise NotAnExpressionError
        self._index += bool(kind)
        return token

    def _expr(self) -> Expr:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooDeepError(f"expression recursion limit exceeded: {_MAX_DEPTH}")
        node = self._binary(0)
        question = self._accept("?")
        if question:
            yes = self._binary(0)
            self._expect(":")
            no = self._expr()
            node = self._measured(self.nodes.call(question.at, "_?_:_", node, yes, no), 1, node, yes, no)
        self._depth -= 1
        return node

    def _measured(self, node: Expr, deeper: int, *inner: Expr) -> Expr:
        """Return a node after checking its height: that of its highest inner node plus `deeper`."""
        height = deeper + max((self._heights.get(part.id, 0) for part in inner), default=0)
        if height > _MAX_DEPTH:
            raise TooDeepError("max recursion depth exceeded")
        self._heights[node.id] = height
        return node

    def _binary(self, least: int) -> Expr:
        """Return operators with a precedence of at least `least`, with their operands."""
        left = self._unary()
        while (level := _LEVELS.get(self._next.kind, -1)) >= least:
            token = self._advance()
            right = self._binary(level + 1)
            if token.kind in _LOGICAL:
                left = self._logical(token, left, right, level)
            else:
                call = self.nodes.call(token.at, _FUNCTIONS[token.kind], left, right)
                left = self._measured(call, 1, left, right)
        return left

    def _logical(self, token: Token, left: Expr, right: Expr, level: int) -> Expr:
        """Return terms joined by the same logical operator, as a balanced tree."""
        operators, terms = [token], [left, right]
        while self._next.kind == token.kind:
            operators.append(self._advance())
            terms.append(self._binary(level + 1))

        def balanced(low: int, high: int) -> Expr:
            middle = (low + high + 1) // 2
            lower = terms[middle] if middle == low else balanced(low, middle - 1)
            upper = terms[middle + 1] if middle == high else balanced(middle + 1, high)
            return self.nodes.call(operators[middle].at, _FUNCTIONS[token.kind], lower, upper)

        return self._measured(balanced(0, len(operators) - 1), 0, *terms)

    def _unary(self) -> Expr:
        """Return a member with its signs; two of them cancel each other; a minus before a number is a part of it."""
        sign = self._next
        if sign.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._next.kind == sign.kind and not (sign.kind == "-" and count == 0 and self._has_number()):
            self._advance()
            count += 1
        member = self._member()
        if count % 2 == 0:
            return member
        return self._measured(self.nodes.call(sign.at, "!_" if sign.kind == "!" else "-_", member), 0, member)

    def _has_number(self) -> bool:
        """Return True if a number follows the next token."""
        return self._tokens[self._index + 1].kind in ("int", "float")

    def _member(self) -> Expr:
        """Return a primary followed by any number of field selections, calls and indexes."""
        node = self._primary()
        while True:
            if dot := self._accept("."):
                node = self._selected(node, dot)
            elif bracket := self._accept("["):
                node = self._indexed(node, bracket)
            else:
                return node

    def _indexed(self, operand: Expr, bracket: Token) -> Expr:
        optional = self._accept("?")
        index = self._expr()
        self._expect("]")
        if optional and not self._environment.optional_syntax:
            return self._add_issue(bracket.at, "unsupported syntax '[?'")
        call = self.nodes.call(bracket.at, "_[?_]" if optional else "_[_]", operand, index)
        return self._measured(call, 1, operand, index)

    def _selected(self, operand: Expr, dot: Token) -> Expr:
        optional = self._accept("?")
        name = self._accept("quoted") or self._expect("name")
        field = name.text.strip("`")
        if optional:
            if not self._environment.optional_syntax:
                return self._add_issue(dot.at, "unsupported syntax '.?'")
            return self._measured(
                self.nodes.call(dot.at, "_?._", operand, self.nodes.literal(name.at, field)), 1, operand
            )
        if name.kind == "name" and self._next.kind == "(":
            return self._called(field, operand)
        return self._measured(Select(self.nodes.number(dot.at), operand, field, test=False), 1, operand)

    def _called(self, function: str, target: Expr | None) -> Expr:
        """Return a call; the next token is its opening bracket."""
        at = self._advance().at
        args = self._list(")", self._expr)
        inner = args if target is None else [target, *args]
        try:
            is_known = (function, len(args)) not in self._environment.unknown_macros
            node = expand(self.nodes, at, function, target, args) if is_known else None
        except MacroError as error:
            node = self._add_issue(self.nodes.positions[error.node.id], str(error))
        return self._measured(node or self.nodes.call(at, function, *args, target=target), target is not None, *inner)

    def _list(self, end: str, read: Callable[[], _Item], *, loose: bool = False) -> list[_Item]:
        """Return the items between commas up to the end token; if `loose`, a trailing comma is allowed."""
        parsed_items: list[_Item] = []
        if loose and self._next.kind == "," and self._tokens[self._index + 1].kind == end:
            self._advance()
        while not self._accept(end):
            if parsed_items:
                self._expect(",")
                if loose and self._accept(end):
                    break
            parsed_items.append(read())
        return parsed_items

    def _primary(self) -> Expr:
        token = self._next
        if token.kind in self._literals or token.kind == "-":
            return self._literal()
        if token.kind in (".", "name"):
            return self._named()
        self._advance()
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
        sign = self._accept("-")
        token = self._advance()
        if sign and token.kind not in ("int", "float"):
            raise NotAnExpressionError
        at = sign.at if sign else token.at
        try:
            return self.nodes.literal(at, self._literals[token.kind](token, "-" if sign else ""))
        except ValueError as error:
            return self._add_issue(at, str(error))

    def _named(self) -> Expr:
        """Return a name, a call of a function with this name, or a message of a type with this name."""
        start = self._next
        dot = self._accept(".")
        name = self._expect("name")
        end = self._index
        while self._tokens[end].kind == "." and self._tokens[end + 1].kind == "name":
            end += 2
        prefix = "." if dot else ""
        if self._tokens[end].kind == "{":
            path = "".join(token.text for token in self._tokens[self._index : end])
            self._index = end
            return self._message(f"{prefix}{name.text}{path}")
        is_call = self._next.kind == "("
        if name.text in _RESERVED:
            if is_call:
                self._advance()
                self._list(")", self._expr)
            return self._add_issue(start.at, f"reserved identifier: {name.text}")
        if is_call:
            return self._called(f"{prefix}{name.text}", None)
        return self.nodes.ident(name.at, f"{prefix}{name.text}")

    def _list_literal(self, at: int) -> Expr:
        number = self.nodes.number(at)
        pairs = self._list("]", lambda: (self._is_optional(), self._expr()), loose=True)
        items = tuple(item for _, item in pairs)
        optional = frozenset(index for index, (is_optional, _) in enumerate(pairs) if is_optional)
        return self._measured(ListLiteral(number, items, optional), 0, *items)

    def _is_optional(self) -> bool:
        """Return True, and move on, if the next token marks an optional item."""
        mark = self._accept("?")
        if mark and not self._environment.optional_syntax:
            self._add_issue(mark.at, "unsupported syntax '?'")
        return mark is not None

    def _map_entry(self) -> StructEntry:
        optional = self._is_optional()
        key = self._expr()
        colon = self._expect(":")
        return StructEntry(self.nodes.number(colon.at), key, self._expr(), optional)

    def _message(self, name: str) -> Expr:
        number = self.nodes.number(self._advance().at)
        entries = tuple(self._list("}", self._field, loose=True))
        return self._measured(MessageLiteral(number, name, entries), 0, *_inner(entries))

    def _field(self) -> StructEntry:
        optional = self._is_optional()
        name = self._accept("quoted") or self._expect("name")
        colon = self._expect(":")
        return StructEntry(self.nodes.number(colon.at), name.text.strip("`"), self._expr(), optional)

    def _add_issue(self, at: int, message: str) -> Expr:
        """Note an error that leaves the grammar intact, and return a node in place of the erroneous one."""
        node = self.nodes.literal(at, None)
        self.issues.add(node.id, message)
        return node


def _inner(entries: tuple[StructEntry, ...]) -> list[Expr]:
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
    """Return a number; one with too many digits is shortened, but stays out of range."""
    base = 16 if text.startswith("0x") else 10
    return int(text.removeprefix("0x").lstrip("0")[:_MAX_DIGITS] or "0", base)


def _float(token: Token, sign: str) -> float:
    number = float(f"{sign}{token.text}")
    if isinf(number):
        raise ValueError("invalid double literal")
    return number
