"""The mutants of a source file: their ids, lines, code and diffs."""

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from mutation.operators import Change, Position, changes, put

_LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_UNTOUCHED_NAMES = {"__all__", "__slots__"}
_UNTOUCHED_CALLS = {"dataclass", "TypeVar", "NewType"}
_LOGGER = "getLogger"
_ANNOTATIONS = {"annotation", "returns"}

Path_ = tuple[tuple[str, int | None], ...]
"""The fields, and indexes within them, that lead from the module to a node."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file.

    Attributes:
        id: file, function or constant, operator and ordinal; lines that move leave it as it is.
        file: relative to the root of the repository.
        line: the line that a test has to run to notice.
        last: the last line of the statement that is changed.
        interest: where the change is carried out at import, the lines whose behaviour it changes.
        at_import: whether it lies outside of functions.
    """

    id: str
    file: str
    line: int
    last: int
    interest: frozenset[int]
    at_import: bool
    change: Change = field(compare=False, repr=False)
    path: Path_ = field(compare=False, repr=False)

    def source(self, root: Path) -> str:
        """Return the file's text."""
        return (root / self.file).read_text()

    def code(self, root: Path) -> CodeType:
        """Compile the changed file; what did not change compiles to code equal to the original."""
        tree = ast.parse(self.source(root))
        parent, node = _node_at(tree, self.path)
        name, index = self.path[-1]
        replacement = put(node, self.change)
        if index is None:
            setattr(parent, name, replacement)
        else:
            getattr(parent, name)[index] = replacement
        return compile(tree, str(root / self.file), "exec", dont_inherit=True)

    def diff(self, root: Path) -> str:
        """Return a unified diff."""
        before = self.source(root)
        _, node = _node_at(ast.parse(before), self.path)
        lines = difflib.unified_diff(
            before.splitlines(), self._changed(before, node).splitlines(), self.file, self.file, lineterm="", n=1
        )
        return "\n".join(lines)

    def _changed(self, before: str, node: ast.AST) -> str:
        """Return the text after the change, which keeps the original's formatting around it."""
        match node, self.change.replacement:
            case ((ast.If() | ast.IfExp() | ast.While()), (ast.If() | ast.IfExp() | ast.While()) as replacement):
                return _replaced(before, node.test, ast.unparse(replacement.test))
            case ast.ExceptHandler(), _:
                return _replaced(before, node.body, "raise")
            case ast.Call(), ast.Call() as replacement if len(node.keywords) > len(replacement.keywords):
                gone = next(each for each in node.keywords if ast.dump(each) not in map(ast.dump, replacement.keywords))
                return _replaced(before, gone, "")
            case ast.comprehension(), ast.comprehension() as replacement:
                dropped = next(test for test in node.ifs if ast.dump(test) not in map(ast.dump, replacement.ifs))
                return _replaced(before, dropped, "True")
        return _replaced(before, node, self.change.shown)


def _replaced(text: str, node: ast.AST | list[ast.stmt], shown: str) -> str:
    first, last = (node[0], node[-1]) if isinstance(node, list) else (node, node)
    start = _offset(text, getattr(first, "lineno"), getattr(first, "col_offset"))  # noqa: B009
    end = _offset(text, getattr(last, "end_lineno"), getattr(last, "end_col_offset"))  # noqa: B009
    encoded = text.encode()
    return (encoded[:start] + shown.encode() + encoded[end:]).decode()


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(each.encode()) for each in text.splitlines(keepends=True)[: line - 1]) + column


def _node_at(tree: ast.AST, path: Path_) -> tuple[ast.AST, ast.AST]:
    parent = node = tree
    for name, index in path:
        parent = node
        node = getattr(node, name) if index is None else getattr(node, name)[index]
    return parent, node


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of its text."""
    return list(_Finder(file, ast.parse(source)).mutants())


@dataclass(frozen=True, slots=True)
class _Context:
    """The facts about a node that come from the nodes around it."""

    scope: tuple[str, ...] = ()
    running: bool = False
    message: bool = False
    statement: ast.stmt | None = None
    interest: frozenset[int] = frozenset()


class _Finder:
    def __init__(self, file: str, tree: ast.Module) -> None:
        self._file = file
        self._tree = tree
        self._ordinals: Counter[tuple[str, str]] = Counter()

    def mutants(self) -> Iterator[Mutant]:
        yield from self._within(self._tree, (), _Context())

    def _within(self, node: ast.AST, path: Path_, context: _Context) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name in _ANNOTATIONS:
                continue
            inner = self._inner(node, name, context)
            children = value if isinstance(value, list) else [value]
            for index, child in enumerate(children):
                if isinstance(child, ast.AST) and not _is_cast_type(node, name, index):
                    step = (name, index if isinstance(value, list) else None)
                    yield from self._at(child, Position(node, name, inner.message), (*path, step), inner)

    def _at(self, node: ast.AST, position: Position, path: Path_, context: _Context) -> Iterator[Mutant]:
        if _untouched(node):
            return
        if isinstance(node, ast.stmt):
            interest = context.interest if context.running else self._interest(node, context)
            scope = context.scope if context.running else (*context.scope, *_assigned(node))
            context = _Context(scope, context.running, context.message, node, interest)
        for change in changes(node, position):
            if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and not context.running):
                yield self._mutant(node, change, path, context)
        yield from self._within(node, path, context)

    def _inner(self, node: ast.AST, name: str, context: _Context) -> _Context:
        """The context of the nodes in one field of a node."""
        scope, running, message = context.scope, context.running, context.message
        interest = context.interest
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            label = getattr(node, "name", "<lambda>")
            scope = scope if isinstance(node, ast.Lambda) else (*scope, label)
            running = running or (name == "body" and not isinstance(node, ast.ClassDef))
        elif isinstance(node, ast.Raise):
            message = True
        return _Context(scope, running, message, context.statement, interest)

    def _interest(self, node: ast.stmt, context: _Context) -> frozenset[int]:
        """The lines that a statement carried out at import has a say in."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return _lines(node)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return (
                    frozenset(
                        each.lineno
                        for each in ast.walk(self._tree)
                        if (isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load))
                        or (isinstance(each, ast.Attribute) and each.attr == name)
                    )
                    or context.interest
                )
        return context.interest

    def _mutant(self, node: ast.AST, change: Change, path: Path_, context: _Context) -> Mutant:
        scope = ".".join(context.scope) or "<module>"
        self._ordinals[scope, change.operator] += 1
        line = _line(node)
        statement = context.statement
        simple = statement is not None and not hasattr(statement, "body")
        last = (statement.end_lineno if statement is not None and simple else None) or line
        return Mutant(
            id=f"{self._file}:{scope}:{change.operator}:{self._ordinals[scope, change.operator]}",
            file=self._file,
            line=line if not simple or statement is None else min(line, last),
            last=last,
            interest=context.interest,
            at_import=not context.running,
            change=change,
            path=path,
        )


def _assigned(node: ast.stmt) -> list[str]:
    """Return the name that a statement binds, which tells constants apart."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _line(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            return node.test.lineno
        case ast.ExceptHandler():
            return node.body[0].lineno
        case ast.comprehension():
            return node.target.lineno
    return int(getattr(node, "lineno"))  # noqa: B009


def _lines(node: ast.stmt) -> frozenset[int]:
    return frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _is(node: object, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_cast_type(node: ast.AST, field_name: str, index: int) -> bool:
    return isinstance(node, ast.Call) and _is(node.func, {"cast"}) and field_name == "args" and index == 0


def _untouched(node: ast.AST) -> bool:
    """Return whether a node has nothing that a test could notice, or is for people or type checkers alone."""
    match node:
        case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target):
            return _is(target, _UNTOUCHED_NAMES)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=base, attr=method))):
            return method in _LOG_METHODS and _last_name(base).lstrip("_") in {"log", "logger", "logging"}
        case ast.Call(func=called):
            return _is(called, _UNTOUCHED_CALLS) or _last_name(called) == _LOGGER
        case ast.ClassDef(bases=bases):
            return any(_last_name(base) == "Protocol" for base in bases)
    return _is_text(node)


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).partition("[")[0].rpartition(".")[2]
