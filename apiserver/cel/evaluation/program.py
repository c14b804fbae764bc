"""Programs: from a checked expression to closures, and their evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select
from apiserver.cel.checker import Checked
from apiserver.cel.declarations import TYPES
from apiserver.cel.evaluation import loops, nodes
from apiserver.cel.evaluation.calls import call
from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.patterns import searcher
from apiserver.cel.types import CelType
from apiserver.cel.values import CostExceededError, EvaluationError, TypeValue, Uint

_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"))
"""What is computed once, in the program, where its argument is a constant."""

_SEARCHES = frozenset(("matches", "find", "findAll"))
"""What is called with a pattern, which is looked at in the program where it is a constant."""

_UNOBSERVED = frozenset(("_[_]", "_[?_]", "_?_:_"))
"""What has keys or branches as its arguments from the second on."""

_PARTS = frozenset(("_[_]", "_[?_]", "_?._"))
"""What takes a part of its first argument."""

_TYPE_NAMES = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation came to.

    Attributes:
        value: the result; meaningless if there is an error.
        error: what went wrong, "" where nothing did.
        cost: what it cost.
    """

    value: Any
    error: str
    cost: int


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that can be evaluated, any number of times."""

    step: Step
    places: int

    def evaluate(self, variables: Sequence[Any], limit: int) -> Outcome:
        """The expression's value.

        Args:
            variables: the values of the free variables, in the order in which the program was told of them.
            limit: what it may cost.
        """
        frame = Frame([*variables, *[None] * self.places], limit)
        try:
            value = self.step(frame)
            frame.charge(0)
        except (EvaluationError, CostExceededError) as error:
            return Outcome(None, str(error), frame.cost)
        except RecursionError:  # data may be nested as deep as JSON may be
            return Outcome(None, "value nests too deeply", frame.cost)
        return Outcome(value, "", frame.cost)


def program(checked: Checked, variables: Sequence[str]) -> Program:
    """The program of an expression.

    Args:
        checked: the expression.
        variables: its free variables.

    Raises:
        EvaluationError: a constant cannot be converted to the type that the expression wants, such as int('x').
    """
    planner = _Planner(checked, variables)
    step = planner.plan(checked.parsed.root)
    return Program(step, planner.places)


class _Planner:
    def __init__(self, checked: Checked, variables: Sequence[str]) -> None:
        self.places = 0
        self._checked = checked
        self._free = len(variables)
        self._scope = {name: place for place, name in enumerate(variables)}
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
            "_&&_": nodes.conjunction,
            "_||_": nodes.disjunction,
            "_?_:_": nodes.conditional,
            "or": nodes.optional_or,
            "orValue": nodes.or_value,
            "_==_": nodes.equality,
            "_!=_": nodes.inequality,
            "_[_]": nodes.index,
            "_[?_]": nodes.optional_index,
            "_?._": nodes.optional_index,
            "@in": self._in,
        }

    def plan(self, node: Expr) -> Step:
        """The closure of a node."""
        return self._plans[type(node)](node)

    def _constant(self, value: Any) -> Step:
        def run(_frame: Frame) -> Any:
            return value

        self._constants[run] = value
        return run

    def _literal(self, node: Literal) -> Step:
        return self._constant(node.value)

    def _ident(self, node: Ident) -> Step:
        place = self._scope.get(node.name.removeprefix("."))
        return self._type(node.name) if place is None else nodes.variable(place)

    def _type(self, name: str) -> Step:
        kind: CelType = TYPES[name.removeprefix(".")]
        return self._constant(TypeValue(kind.name or _TYPE_NAMES.get(kind.kind, kind.kind)))

    def _select(self, node: Select) -> Step:
        if node.id in self._checked.names:
            return self._type(self._checked.names[node.id])
        operand = self._whole(node.operand)
        return nodes.presence(operand, node.field) if node.test else nodes.field_of(operand, node.field)

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
        """The closure of what a part is taken of."""
        step = step or self.plan(node)
        return step if _is_attribute(node) or _is_choice(node) else nodes.computed(step)

    def _unobserved(self, node: Expr, step: Step) -> Step:
        is_counted = _is_attribute(node) and not _is_choice(node) and step not in self._constants
        return nodes.unobserved(step) if is_counted else step

    def _check_pattern(self, pattern: str) -> None:
        try:
            searcher(pattern)
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    def _in(self, value: Step, container: Step) -> Step:
        constants = self._constants.get(container)
        if type(constants) is list and all(type(item) in (str, int, Uint) for item in constants):
            return nodes.membership_of_constants(value, frozenset(constants))
        return nodes.membership(value, container)

    def _list(self, node: ListLiteral) -> Step:
        items = tuple(map(self.plan, node.items))
        if not node.optional and all(item in self._constants for item in items):
            return self._constant([self._constants[item] for item in items])
        return nodes.list_literal(items, node.optional)

    def _map(self, node: MapLiteral) -> Step:
        entries = []
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            entries.append((self.plan(entry.key), self.plan(entry.value), entry.optional))
        literal = nodes.map_literal(entries)
        is_constant = all(
            key in self._constants and value in self._constants and not optional for key, value, optional in entries
        )
        return self._constant(literal(Frame([], 0))) if is_constant else literal

    def _comprehension(self, node: Comprehension) -> Step:
        if node.binds:
            value = self.plan(node.start)
            place = self._new_place()
            return loops.named(value, place, self._within({node.result_name: place}, node.result))
        second = self._new_place() if node.item2 else -1
        within = loops.Range(self.plan(node.over), self._new_place(), second)
        names = {node.item: within.first} | ({node.item2: second} if node.item2 else {})
        return self._loop(node, within, names)

    def _loop(self, node: Comprehension, within: loops.Range, names: dict[str, int]) -> Step:
        step, predicate = node.step, None
        assert isinstance(step, Call)
        if step.function in ("_&&_", "_||_"):
            body = self._within(names, step.args[1])
            return loops.quantifier(within, body, stops_at=step.function == "_||_")
        if step.function == "_?_:_":
            predicate = self._within(names, step.args[0])
            step = step.args[1]
            assert isinstance(step, Call)
        if step.function == "cel.@mapInsert":
            return loops.insert(within, tuple(self._within(names, arg) for arg in step.args[1:]), predicate)
        added = step.args[1]
        if isinstance(added, ListLiteral):
            return loops.collect(within, self._within(names, added.items[0]), predicate)
        assert predicate is not None
        counted = self._new_place()
        result = self._within({node.result_name: counted}, node.result)
        return loops.named(loops.count(within, predicate), counted, result)

    def _new_place(self) -> int:
        self.places += 1
        return self._free + self.places - 1

    def _within(self, names: dict[str, int], node: Expr) -> Step:
        outer = self._scope
        self._scope = outer | names
        step = self.plan(node)
        self._scope = outer
        return step


def _is_attribute(node: Expr) -> bool:
    """Whether a node is a variable, or a part of something."""
    return isinstance(node, Ident) or _whole_of(node) is not None


def _whole_of(node: Expr) -> Expr | None:
    """What a node is a part of, None where it is none."""
    match node:
        case Select(test=False):
            return node.operand
        case Call() if node.function in _PARTS:
            return node.args[0]
        case _:
            return None


def _is_choice(node: Expr) -> bool:
    """Whether a node is one of two, or a part of such."""
    whole = _whole_of(node)
    return _is_choice(whole) if whole is not None else isinstance(node, Call) and node.function == "_?_:_"
