"""Programs: compiles checked expressions to closures, and evaluates them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.golang.regexp import compile_regexp
from apiserver.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select
from apiserver.cel.checker import CheckedExpr
from apiserver.cel.declarations import TYPES
from apiserver.cel.evaluation import expressions, loops
from apiserver.cel.evaluation.calls import call
from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.types import CelType
from apiserver.cel.values import CostExceededError, EvaluationError, TypeValue, Uint

_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"))
"""Functions that are computed once, in the program, if their argument is a constant."""

_SEARCHES = frozenset(("matches", "find", "findAll"))
"""Functions with a pattern, which is checked in the program if it is a constant."""

_UNOBSERVED = frozenset(("_[_]", "_[?_]", "_?_:_"))
"""Functions whose arguments from the second on are keys or branches."""

_PARTS = frozenset(("_[_]", "_[?_]", "_?._"))
"""Functions that return a part of their first argument."""

_TYPE_NAMES = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The outcome of an evaluation.

    Attributes:
        value: the result; meaningless if there is an error.
        error: the error, "" if there is none.
        cost: the cost of the evaluation.
    """

    value: Any
    error: str
    cost: int


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that can be evaluated, any number of times."""

    step: Step
    slots: int

    def evaluate(self, variables: Sequence[Any], limit: int) -> EvalResult:
        """Evaluate the expression.

        Args:
            variables: the values of the free variables, in the order given to the program.
            limit: the highest allowed cost.
        """
        frame = Frame([*variables, *[None] * self.slots], limit)
        try:
            value = self.step(frame)
            frame.charge(0)
        except (EvaluationError, CostExceededError) as error:
            return EvalResult(None, str(error), frame.cost)
        except RecursionError:  # data may be nested as deeply as JSON
            return EvalResult(None, "value nests too deeply", frame.cost)
        return EvalResult(value, "", frame.cost)


def program(checked: CheckedExpr, variables: Sequence[str]) -> Program:
    """Return the program of an expression.

    Args:
        checked: the expression.
        variables: its free variables.

    Raises:
        EvaluationError: a constant cannot be converted to the required type, such as int('x').
    """
    planner = _Planner(checked, variables)
    step = planner.plan(checked.parsed.root)
    return Program(step, planner.places)


class _Planner:
    def __init__(self, checked: CheckedExpr, variables: Sequence[str]) -> None:
        self.places = 0
        self._checked = checked
        self._free = len(variables)
        self._scope = {name: index for index, name in enumerate(variables)}
        self._constants: dict[Step, Any] = {}
        self._plans: dict[type[Expr], Callable[..., Step]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Comprehension: self._comprehension,
        }
        self._lazy: dict[str, Callable[..., Step]] = {
            "_&&_": expressions.conjunction,
            "_||_": expressions.disjunction,
            "_?_:_": expressions.conditional,
            "or": expressions.optional_or,
            "orValue": expressions.or_value,
            "_==_": expressions.equality,
            "_!=_": expressions.inequality,
            "_[_]": expressions.index,
            "_[?_]": expressions.optional_index,
            "_?._": expressions.optional_index,
            "@in": self._in,
        }

    def plan(self, node: Expr) -> Step:
        """Return the closure of a node."""
        return self._plans[type(node)](node)

    def _constant(self, value: Any) -> Step:
        def evaluate(_frame: Frame) -> Any:
            return value

        self._constants[evaluate] = value
        return evaluate

    def _literal(self, node: Literal) -> Step:
        return self._constant(node.value)

    def _ident(self, node: Ident) -> Step:
        return self._named(node.name)

    def _named(self, name: str) -> Step:
        """Return the closure of a variable, or of a type."""
        index = self._scope.get(name.removeprefix("."))
        return self._type(name) if index is None else expressions.variable(index)

    def _type(self, name: str) -> Step:
        kind: CelType = TYPES[name.removeprefix(".")]
        return self._constant(TypeValue(kind.name or _TYPE_NAMES.get(kind.kind, kind.kind)))

    def _select(self, node: Select) -> Step:
        if node.id in self._checked.names:
            return self._named(self._checked.names[node.id])  # a type, or a variable such as authorizer.requestResource
        operand = self._whole(node.operand)
        return expressions.presence(operand, node.field) if node.test else expressions.field_of(operand, node.field)

    def _call(self, node: Call) -> Step:
        function, target = self._checked.call(node)
        operands = node.args if target is None else (target, *node.args)
        args = tuple(map(self.plan, operands))
        if function in _PARTS:
            args = (self._whole(operands[0], args[0]), *args[1:])
        if function in _UNOBSERVED:
            args = (args[0], *(self._unobserved(*pair) for pair in zip(operands[1:], args[1:], strict=True)))
        if function in self._lazy:
            return self._lazy[function](*args)
        types = tuple(self._checked.types[arg.id] for arg in operands)
        step = call(function, self._checked.overloads[node.id], args, types)
        if function in _CONVERSIONS and args[0] in self._constants:
            return self._constant(step(Frame([], 10**6)))
        if function in _SEARCHES and type(self._constants.get(args[1])) is str:
            self._check_pattern(self._constants[args[1]])
        return step

    def _whole(self, node: Expr, step: Step | None = None) -> Step:
        """Return the closure of an operand whose part is taken."""
        step = step or self.plan(node)
        return step if _is_attribute(node) or _is_choice(node) else expressions.computed(step)

    def _unobserved(self, node: Expr, step: Step) -> Step:
        is_counted = _is_attribute(node) and not _is_choice(node) and step not in self._constants
        return expressions.unobserved(step) if is_counted else step

    def _check_pattern(self, pattern: str) -> None:
        try:
            compile_regexp(pattern)
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    def _in(self, value: Step, container: Step) -> Step:
        constants = self._constants.get(container)
        if type(constants) is list and all(type(item) in (str, int, Uint) for item in constants):
            return expressions.membership_of_constants(value, frozenset(constants))
        return expressions.membership(value, container)

    def _list(self, node: ListLiteral) -> Step:
        items = tuple(map(self.plan, node.items))
        if not node.optional and all(item in self._constants for item in items):
            return self._constant([self._constants[item] for item in items])
        return expressions.list_literal(items, node.optional)

    def _map(self, node: MapLiteral) -> Step:
        entries = []
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            entries.append((self.plan(entry.key), self.plan(entry.value), entry.optional))
        literal = expressions.map_literal(entries)
        is_constant = all(
            key in self._constants and value in self._constants and not optional for key, value, optional in entries
        )
        return self._constant(literal(Frame([], 0))) if is_constant else literal

    def _comprehension(self, node: Comprehension) -> Step:
        if node.binds:
            value = self.plan(node.start)
            index = self._new_index()
            return loops.named(value, index, self._within({node.result_name: index}, node.result))
        second = self._new_index() if node.item2 else -1
        loop_range = loops.LoopRange(self.plan(node.over), self._new_index(), second)
        names = {node.item: loop_range.first} | ({node.item2: second} if node.item2 else {})
        return self._loop(node, loop_range, names)

    def _loop(self, node: Comprehension, loop_range: loops.LoopRange, names: dict[str, int]) -> Step:
        step, predicate = node.step, None
        assert isinstance(step, Call)
        if step.function in ("_&&_", "_||_"):
            body = self._within(names, step.args[1])
            return loops.quantifier(loop_range, body, stops_at=step.function == "_||_")
        if step.function == "_?_:_":
            predicate = self._within(names, step.args[0])
            step = step.args[1]
            assert isinstance(step, Call)
        if step.function == "cel.@mapInsert":
            return loops.insert(loop_range, tuple(self._within(names, arg) for arg in step.args[1:]), predicate)
        addition = step.args[1]
        if isinstance(addition, ListLiteral):
            return loops.collect(loop_range, self._within(names, addition.items[0]), predicate)
        assert predicate is not None
        counter = self._new_index()
        result = self._within({node.result_name: counter}, node.result)
        return loops.named(loops.count(loop_range, predicate), counter, result)

    def _new_index(self) -> int:
        self.places += 1
        return self._free + self.places - 1

    def _within(self, names: dict[str, int], node: Expr) -> Step:
        outer = self._scope
        self._scope = outer | names
        step = self.plan(node)
        self._scope = outer
        return step


def _is_attribute(node: Expr) -> bool:
    """Return True if a node is a variable, or a part of something."""
    return isinstance(node, Ident) or _whole_of(node) is not None


def _whole_of(node: Expr) -> Expr | None:
    """Return the operand whose part a node is; None if it is no part."""
    match node:
        case Select(test=False):
            return node.operand
        case Call() if node.function in _PARTS:
            return node.args[0]
        case _:
            return None


def _is_choice(node: Expr) -> bool:
    """Return True if a node is a conditional, or a part of one."""
    operand = _whole_of(node)
    return _is_choice(operand) if operand is not None else isinstance(node, Call) and node.function == "_?_:_"
