"""Shell words to commands: lists, pipelines, redirections, conditions and loops (POSIX shell, 2.7-2.10)."""

import re
from collections.abc import Callable, Mapping

from controller_manager.kubelet.container.shell.ast import (
    AndOr,
    Assignment,
    Branch,
    Case,
    Clause,
    Command,
    For,
    Function,
    Group,
    If,
    Pipeline,
    RedirectedCommand,
    Redirection,
    Script,
    SimpleCommand,
    While,
)
from controller_manager.kubelet.container.shell.lexer import (
    MAX_DEPTH,
    TOO_DEEP,
    Operator,
    Scanner,
    ShellSyntaxError,
    Text,
    Word,
)

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REDIRECTIONS = frozenset((">", ">>", "<", ">&", "<&", "&>"))
_CLOSING = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
RESERVED = _CLOSING | {"if", "while", "until", "for", "in", "case", "{", "!"}


def parse(text: str) -> Script:
    """Parse the commands of a text.

    Raises:
        ShellSyntaxError: it is invalid.
    """
    try:
        parser = _Parser(text)
        script = parser.script()
        parser.end()
    except RecursionError:
        raise ShellSyntaxError(TOO_DEEP) from None
    return script


def plain(word: Word | Operator | None) -> str | None:
    """Return the text of a word without quotes and expansions, None for any other word."""
    if isinstance(word, tuple) and len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
        return word[0].text
    return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._scanner = Scanner(text)
        self._token = self._scanner.next()
        self._depth = 0

    # -- tokens

    def _advance(self) -> Word | Operator | None:
        token = self._token
        self._token = self._scanner.next()
        return token

    def _at(self, *operators: str) -> bool:
        return isinstance(self._token, Operator) and self._token.text in operators

    def _skip(self, *operators: str) -> None:
        while self._at(*operators):
            self._advance()

    def _reserved(self) -> str:
        word = plain(self._token)
        return word if word in RESERVED else ""

    def _expect(self, word: str) -> None:
        if self._reserved() != word and not self._at(word):
            raise self._unexpected(word)
        self._advance()

    def _unexpected(self, expected: str = "") -> ShellSyntaxError:
        more = f' (expecting "{expected}")' if expected else ""
        if self._token is None:
            return ShellSyntaxError(f"sh: syntax error: unexpected end of file{more}", incomplete=True)
        unexpected = self._token.text if isinstance(self._token, Operator) else plain(self._token) or "word"
        unexpected = "newline" if unexpected == "\n" else f'"{unexpected}"'
        return ShellSyntaxError(f"sh: syntax error: unexpected {unexpected}{more}")

    def end(self) -> None:
        """Check that nothing follows."""
        if self._token is not None:
            raise self._unexpected()

    # -- lists

    def script(self) -> Script:
        """Parse commands up to a word or an operator that closes them."""
        and_ors = []
        self._skip("\n")
        while self._token is not None and not self._at(")", ";;") and self._reserved() not in _CLOSING:
            and_ors.append(self._and_or())
            if not self._at("\n", ";", "&"):
                break
            self._advance()
            self._skip("\n")
        return tuple(and_ors)

    def _body(self, *, until: str) -> Script:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ShellSyntaxError(TOO_DEEP)
        script = self.script()
        self._depth -= 1
        if not script:
            raise self._unexpected(until)
        return script

    def _and_or(self) -> AndOr:
        pipelines, operators = [self._pipeline()], []
        while self._at("&&", "||"):
            operators.append("&&" if self._at("&&") else "||")
            self._advance()
            self._skip("\n")
            pipelines.append(self._pipeline())
        return AndOr(tuple(pipelines), tuple(operators), background=self._at("&"))

    def _pipeline(self) -> Pipeline:
        negated = self._reserved() == "!"
        if negated:
            self._advance()
        commands = [self._command()]
        while self._at("|"):
            self._advance()
            self._skip("\n")
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    # -- commands

    def _command(self) -> Command:
        read = _COMPOUND.get(self._reserved())
        if read is None and not self._at("("):
            return self._simple()
        command = read(self) if read else self._subshell()
        redirections = self._redirections()
        return RedirectedCommand(command, redirections) if redirections else command

    def _simple(self) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirections: list[Redirection] = []
        while True:
            if self._at(*_REDIRECTIONS):
                redirections.append(self._redirection())
            elif isinstance(self._token, tuple):
                word = self._token
                self._advance()
                assignment = None if words else _assignment(word)
                if assignment:
                    assignments.append(assignment)
                else:
                    words.append(word)
            elif self._at("(") and len(words) == 1 and not assignments and _is_name(words[0]):
                return self._function(plain(words[0]) or "")
            else:
                break
        if not (words or assignments or redirections):
            raise self._unexpected()
        return SimpleCommand(tuple(words), tuple(assignments), tuple(redirections))

    def _redirections(self) -> tuple[Redirection, ...]:
        redirections = []
        while self._at(*_REDIRECTIONS):
            redirections.append(self._redirection())
        return tuple(redirections)

    def _redirection(self) -> Redirection:
        operator = self._advance()
        assert isinstance(operator, Operator)
        target = self._advance()
        if not isinstance(target, tuple):
            raise ShellSyntaxError("sh: syntax error: unexpected redirection", incomplete=target is None)
        fd = operator.fd if operator.fd is not None else int(operator.text[0] != "<")
        return Redirection(operator.text, fd, target)

    def _function(self, name: str) -> Function:
        self._expect("(")
        self._expect(")")
        self._skip("\n")
        return Function(name, self._command())

    def _subshell(self) -> Group:
        self._advance()
        body = self._body(until=")")
        self._expect(")")
        return Group(body, in_subshell=True)

    def _group(self) -> Group:
        self._advance()
        body = self._body(until="}")
        self._expect("}")
        return Group(body)

    def _if(self) -> If:
        branches = []
        while self._reserved() in ("if", "elif"):
            self._advance()
            condition = self._body(until="then")
            self._expect("then")
            branches.append(Branch(condition, self._body(until="fi")))
        otherwise: Script = ()
        if self._reserved() == "else":
            self._advance()
            otherwise = self._body(until="fi")
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _while(self) -> While:
        until = self._reserved() == "until"
        self._advance()
        condition = self._body(until="do")
        return While(condition, self._do(), until)

    def _for(self) -> For:
        self._advance()
        name = plain(self._advance())
        if name is None or not _NAME.fullmatch(name):
            raise ShellSyntaxError("sh: syntax error: bad for loop variable")
        words = None
        self._skip("\n")
        if self._reserved() == "in":
            self._advance()
            words = []
            while isinstance(self._token, tuple):
                words.append(self._token)
                self._advance()
        self._skip(";", "\n")
        return For(name, None if words is None else tuple(words), self._do())

    def _do(self) -> Script:
        self._expect("do")
        body = self._body(until="done")
        self._expect("done")
        return body

    def _case(self) -> Case:
        self._advance()
        word = self._advance()
        if not isinstance(word, tuple):
            raise self._unexpected()
        self._skip("\n")
        self._expect("in")
        self._skip("\n")
        clauses = []
        while self._reserved() != "esac":
            clauses.append(self._clause())
            self._skip("\n")
        self._advance()
        return Case(word, tuple(clauses))

    def _clause(self) -> Clause:
        self._skip("(")
        patterns = []
        while isinstance(self._token, tuple):
            patterns.append(self._token)
            self._advance()
            self._skip("|")
        self._expect(")")
        body = self.script()
        if self._reserved() != "esac":
            self._expect(";;")
        return Clause(tuple(patterns), body)


_COMPOUND: Mapping[str, Callable[[_Parser], Command]] = {
    "{": _Parser._group,  # noqa: SLF001 - the table of the class's own methods
    "if": _Parser._if,  # noqa: SLF001
    "while": _Parser._while,  # noqa: SLF001
    "until": _Parser._while,  # noqa: SLF001
    "for": _Parser._for,  # noqa: SLF001
    "case": _Parser._case,  # noqa: SLF001
}


def _assignment(word: Word) -> Assignment | None:
    first = word[0] if word else None
    if not isinstance(first, Text) or first.quoted:
        return None
    match = _ASSIGNMENT.fullmatch(first.text)
    if match is None:
        return None
    return Assignment(match[1], (Text(match[2]), *word[1:]))


def _is_name(word: Word) -> bool:
    name = plain(word)
    return name is not None and _NAME.fullmatch(name) is not None
