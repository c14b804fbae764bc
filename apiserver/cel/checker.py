"""The checker: finds the types of an expression's nodes, and the possible overloads of its calls (cel-go's checker)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apiserver.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    ParsedExpr,
    Select,
)
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment
from apiserver.cel.errors import Issues
from apiserver.cel.signatures import Overload
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
    unwrapped,
)
from apiserver.cel.unification import Unifier, is_more_general, substituted
from apiserver.cel.values import Uint

Fields = Callable[[str, str], CelType | None]
"""(the name of a struct, a field) → the field's type, None if there is no such field."""

_LITERALS = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


@dataclass(frozen=True, slots=True)
class CheckedExpr:
    """A checked expression. Its tables have node ids as keys.

    Attributes:
        types: the type of each node.
        overloads: the possible overloads of a call; several if the types of the arguments are not known.
        names: nodes that are a qualified name: net.IP, and functions such as optional.of.
        variables: the free variables that it uses.
    """

    parsed: ParsedExpr
    types: dict[int, CelType]
    overloads: dict[int, tuple[Overload, ...]]
    names: dict[int, str]
    variables: frozenset[str]

    @property
    def result(self) -> CelType:
        """The type of the whole expression."""
        return self.types[self.parsed.root.id]

    def call(self, node: Call) -> tuple[str, Expr | None]:
        """Return the function and the target of a call: `optional` of `optional.of(1)` is not a target."""
        name = self.names.get(node.id)
        return (node.function, node.target) if name is None else (name, None)


def check(
    parsed: ParsedExpr, variables: Mapping[str, CelType], fields: Fields, environment: Environment = STORED_EXPRESSIONS
) -> CheckedExpr:
    """Check an expression and return it with its types.

    Args:
        parsed: the expression.
        variables: the free variables that it may use.
        fields: the fields of structs.
        environment: the functions and types that it may use.

    Raises:
        CompileError: names that are not declared, or operations on types that have no such operation.
    """
    checker = _Checker(parsed, variables, fields, environment)
    checker.check(parsed.root)
    checker.issues.raise_any()
    types = {node: checker.unifier.resolved(kind, final=True) for node, kind in checker.types.items()}
    return CheckedExpr(parsed, types, checker.overloads, checker.names, frozenset(checker.used))


class _Checker:
    def __init__(
        self, parsed: ParsedExpr, variables: Mapping[str, CelType], fields: Fields, environment: Environment
    ) -> None:
        self.issues = Issues(parsed.text, parsed.positions)
        self.unifier = Unifier()
        self.types: dict[int, CelType] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.names: dict[int, str] = {}
        self.used: set[str] = set()
        self._globals = variables
        self._fields = fields
        self._functions = environment.functions
        self._types = environment.types
        self._locals: list[dict[str, CelType]] = []
        self._fresh = 0
        self._checks: dict[type[Expr], Callable[..., CelType]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            MessageLiteral: self._message,
            Comprehension: self._comprehension,
        }

    def check(self, node: Expr) -> CelType:
        """Return the type of a node, and note it and the types of all nodes below it."""
        kind = self._checks[type(node)](node)
        self.types[node.id] = kind
        return kind

    def _parameter(self) -> CelType:
        self._fresh += 1
        return param(f"_var{self._fresh - 1}")

    def _literal(self, node: Literal) -> CelType:
        return _LITERALS[type(node.value)]

    def _local(self, name: str) -> CelType | None:
        return next((scope[name] for scope in reversed(self._locals) if name in scope), None)

    def _global(self, name: str) -> CelType | None:
        plain = name.removeprefix(".")
        if plain in self._globals:
            self.used.add(plain)
            return self._globals[plain]
        return type_of(self._types[plain]) if plain in self._types else None

    def _ident(self, node: Ident) -> CelType:
        kind = self._local(node.name) or self._global(node.name)
        return kind or self._undeclared(node.id, node.name)

    def _undeclared(self, node: int, name: str) -> CelType:
        self.issues.add(node, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def _select(self, node: Select) -> CelType:
        qualified = _qualified(node)
        if qualified and self._local(qualified.partition(".")[0]) is None:
            named_type = self._global(qualified)
            if named_type is not None:
                self.names[node.id] = qualified
                return named_type
        kind = self._field(node.id, node.operand, node.field, optional=False)
        return BOOL if node.test else self.unifier.resolved(kind)

    def _field(self, node: int, operand: Expr, field: str, *, optional: bool) -> CelType:
        target = self.unifier.resolved(self.check(operand))
        inner = unwrapped(target)
        match inner.kind:
            case "map":
                kind = inner.params[1]
            case "struct":
                kind = self._fields(inner.name, field) or ERROR
                if kind is ERROR:
                    self.issues.add(node, f"undefined field '{field}'")
            case "param":
                self.unifier.is_assignable(DYN, inner)
                kind = DYN
            case _:
                if inner.kind not in ("dyn", "error"):
                    self.issues.add(node, f"type '{inner}' does not support field selection")
                kind = DYN
        return optional_of(kind) if optional or target.is_optional else kind

    def _call(self, node: Call) -> CelType:
        if node.function == "_?._":
            operand, field = node.args
            self.check(field)
            self.overloads[node.id] = self._functions["_?._"]
            assert isinstance(field, Literal)
            return self.unifier.resolved(self._field(node.id, operand, field.value, optional=True))
        args = tuple(map(self.check, node.args))
        declared = self._functions
        if node.target is not None:
            qualified = _qualified(node.target)
            if qualified and f"{qualified}.{node.function}" in declared:
                self.names[node.id] = f"{qualified}.{node.function}"
                return self._overload(node, self.names[node.id], args, member=False)
            args = (self.check(node.target), *args)
        if node.function not in declared:
            return self._undeclared(node.id, node.function)
        return self._overload(node, node.function, args, member=node.target is not None)

    def _overload(self, node: Call, function: str, args: tuple[CelType, ...], *, member: bool) -> CelType:
        if function in ("_&&_", "_||_"):
            return self._logic(node, function, args)
        matching: list[Overload] = []
        result: CelType | None = None
        for overload in self._functions[function]:
            if overload.member is not member:
                continue
            fresh = {name: self._parameter() for name in sorted(overload.params)}
            if not self.unifier.are_assignable(args, tuple(substituted(a, fresh) for a in overload.args)):
                continue
            matching.append(overload)
            returned = self.unifier.resolved(substituted(overload.result, fresh))
            result = returned if result in (None, returned) else DYN
        if result is None:
            return self._no_overload(node, function, args, member=member)
        self.overloads[node.id] = tuple(matching)
        return result

    def _no_overload(self, node: Call, function: str, args: tuple[CelType, ...], *, member: bool) -> CelType:
        shown = [str(self.unifier.resolved(a, final=True)) for a in args]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
        self.issues.add(node.id, f"found no matching overload for '{function}' applied to '{applied}'")
        return ERROR

    def _logic(self, node: Call, function: str, args: tuple[CelType, ...]) -> CelType:
        mismatches = [
            arg for arg, kind in zip(node.args, args, strict=True) if not self.unifier.is_assignable(kind, BOOL)
        ]
        for arg in mismatches:
            self._mismatch(arg.id, BOOL, self.types[arg.id])
        self.overloads[node.id] = self._functions[function]
        return ERROR if mismatches else BOOL

    def _mismatch(self, node: int, expected: CelType, actual: CelType) -> None:
        self.issues.add(node, f"expected type '{expected}' but found '{actual}'")

    def _joined(self, joined: CelType | None, kind: CelType) -> CelType:
        """Return the common type of two, or dyn."""
        if joined is None:
            return kind
        if not self.unifier.is_assignable(joined, kind):
            return DYN
        return joined if is_more_general(joined, kind) else kind

    def _checked_item(self, node: Expr, *, optional: bool) -> CelType:
        kind = self.check(node)
        if not optional:
            return kind
        if not kind.is_optional and not kind.is_dyn:
            self._mismatch(node.id, optional_of(kind), kind)
        return unwrapped(kind)

    def _list(self, node: ListLiteral) -> CelType:
        joined: CelType | None = None
        for index, item in enumerate(node.items):
            joined = self._joined(joined, self._checked_item(item, optional=index in node.optional))
        return list_of(joined or self._parameter())

    def _map(self, node: MapLiteral) -> CelType:
        keys: CelType | None = None
        values: CelType | None = None
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            keys = self._joined(keys, self.check(entry.key))
            values = self._joined(values, self._checked_item(entry.value, optional=entry.optional))
        return map_of(keys or self._parameter(), values or self._parameter())

    def _message(self, node: MessageLiteral) -> CelType:
        for entry in node.entries:
            self.check(entry.value)
        return self._undeclared(node.id, node.name)

    def _comprehension(self, node: Comprehension) -> CelType:
        over = self.unifier.resolved(self.check(node.over))
        start = self.check(node.start)
        self._locals.append({node.result_name: start})
        self._locals.append(self._loop_variables(node, over))
        self._expect(node.condition, BOOL)
        self._expect(node.step, start)
        self._locals.pop()
        result = self.check(node.result)
        self._locals.pop()
        return self.unifier.resolved(result)

    def _expect(self, node: Expr, kind: CelType) -> None:
        actual = self.check(node)
        if not self.unifier.is_assignable(kind, actual):
            self._mismatch(node.id, kind, actual)

    def _loop_variables(self, node: Comprehension, over: CelType) -> dict[str, CelType]:
        match over.kind:
            case "list":
                kinds = (INT, over.params[0]) if node.item2 else (over.params[0], DYN)
            case "map":
                kinds = (over.params[0], over.params[1])
            case "dyn" | "error" | "param":
                self.unifier.is_assignable(DYN, over)
                kinds = (DYN, DYN)
            case _:
                message = "cannot be range of a comprehension (must be list, map, or dynamic)"
                self.issues.add(node.over.id, f"expression of type '{over}' {message}")
                kinds = (ERROR, ERROR)
        return {node.item: kinds[0]} | ({node.item2: kinds[1]} if node.item2 else {})


def _qualified(node: Expr) -> str:
    """Return the qualified name that a chain of selections is, "" if it is none."""
    if isinstance(node, Ident):
        return node.name
    if not isinstance(node, Select) or node.test:
        return ""
    prefix = _qualified(node.operand)
    return f"{prefix}.{node.field}" if prefix else ""
