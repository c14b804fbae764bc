"""Cost estimates: the most that an expression can cost, whatever the object (cel-go's checker/cost.go).

Sizes are known for literals, for values that the schema bounds, and for results of functions of these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.cel.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select, parts
from apiserver.cel.checker import CheckedExpr
from apiserver.cel.cost_estimate_calls import CallEstimate, Operand, estimate
from apiserver.cel.runtime_cost import MAKE_LIST, MAKE_MAP
from apiserver.cel.sizes import EMPTY, MAX_COST, ONE, UNKNOWN, Size, fixed_size, times
from apiserver.cel.types import CelType

Path = tuple[str, ...]
SizeOf = Callable[[Path], Size | None]
"""Returns the possible size of the value at a path: a variable, then fields, "@items", "@values" and "@keys"."""

_MAKE_MESSAGE = 40
_SCALARS = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_HIDDEN = ("@result", "__result__")


@dataclass(frozen=True, slots=True)
class _EntrySizes:
    """The possible sizes of the keys and values of a list or map that an expression creates."""

    kind: str
    key: Size
    value: Size

    def joined(self, other: "_EntrySizes | None") -> "_EntrySizes | None":
        return None if other is None else _EntrySizes(self.kind, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class _LocalVariable:
    path: Path
    size: Size | None
    entries: _EntrySizes | None = None


def max_cost(checked: CheckedExpr, size_of: SizeOf) -> int:
    """Return the most that an expression can cost.

    Args:
        checked: the expression.
        size_of: the known sizes of variables.
    """
    return _Estimator(checked, size_of).cost(checked.parsed.root)


class _Estimator:
    def __init__(self, checked: CheckedExpr, size_of: SizeOf) -> None:
        self._checked = checked
        self._size_of = size_of
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Size] = {}
        self._entries: dict[int, _EntrySizes] = {}
        self._locals: dict[str, list[_LocalVariable]] = {}
        self._costs: dict[type[Expr], Callable[..., int]] = {
            Literal: lambda _node: 0,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Comprehension: self._comprehension,
        }

    def cost(self, node: Expr) -> int:
        """Return the most that a node can cost."""
        cost_of_kind = self._costs.get(type(node))
        return cost_of_kind(node) if cost_of_kind else sum(map(self.cost, parts(node))) + _MAKE_MESSAGE

    def _type(self, node: Expr) -> CelType:
        return self._checked.types[node.id]

    def _local(self, node: Expr) -> _LocalVariable | None:
        scopes = self._locals.get(node.name) if isinstance(node, Ident) else None
        return scopes[-1] if scopes else None

    def _path(self, node: Expr) -> Path:
        local = self._local(node)
        return self._paths.get(node.id, ()) if local is None else local.path

    def _ident(self, node: Ident) -> int:
        local = self._local(node)
        self._paths[node.id] = (node.name,) if local is None else local.path
        return 1

    def _select(self, node: Select) -> int:
        if node.id in self._checked.names:
            self._paths[node.id] = (self._checked.names[node.id],)
            return 1
        cost = self.cost(node.operand)
        if node.test:
            return cost
        self._paths[node.id] = (*self._path(node.operand), node.field)
        return min(cost + (self._type(node.operand).kind in ("map", "struct", "param")), MAX_COST)

    def _list(self, node: ListLiteral) -> int:
        cost = sum(map(self.cost, node.items)) + MAKE_LIST
        self._entries[node.id] = _EntrySizes("list", ONE, self._joined(node.items))
        return min(cost, MAX_COST)

    def _map(self, node: MapLiteral) -> int:
        cost = sum(map(self.cost, parts(node))) + MAKE_MAP
        keys = [entry.key for entry in node.entries if not isinstance(entry.key, str)]
        values = [entry.value for entry in node.entries]
        self._entries[node.id] = _EntrySizes("map", self._joined(keys), self._joined(values))
        return min(cost, MAX_COST)

    def _joined(self, nodes: Any) -> Size:
        sizes = [self._size_or_unknown(node) for node in nodes]
        return Size(min(size.min for size in sizes), max(size.max for size in sizes)) if sizes else EMPTY

    def _call(self, node: Call) -> int:
        function, target = self._checked.call(node)
        if function == "dyn":
            cost = self.cost(node.args[0]) + 1
            self._copy(node, node.args[0])
            return min(cost, MAX_COST)
        costs = [self.cost(arg) for arg in node.args]
        target_cost = self.cost(target) if target is not None else 0
        operands = [self._operand(arg) for arg in (node.args if target is None else (target, *node.args))]
        overloads = [overload.id for overload in self._checked.overloads.get(node.id, ())]
        if not overloads:
            return 0
        if function == "_?_:_":
            return self._conditional(node, costs)
        args_cost = sum(costs)
        if function in ("_&&_", "_||_"):
            return min(args_cost, MAX_COST)
        estimates = [estimate(function, overload, operands) for overload in overloads]
        self._keep_size(node, overloads, estimates)
        return min(target_cost + args_cost + max(estimated.cost for estimated in estimates), MAX_COST)

    def _conditional(self, node: Call, costs: list[int]) -> int:
        then, otherwise = node.args[1], node.args[2]
        entries = self._entries_of(then)
        joined = entries.joined(self._entries_of(otherwise)) if entries else None
        if joined:
            self._entries[node.id] = joined
        self._sizes[node.id] = self._size_or_unknown(then) | self._size_or_unknown(otherwise)
        return min(costs[0] + max(costs[1], costs[2]), MAX_COST)

    def _keep_size(self, node: Call, overloads: list[str], estimates: list[CallEstimate]) -> None:
        size: Size | None = None
        for overload, estimated in zip(overloads, estimates, strict=True):
            if estimated.size is not None:
                size = estimated.size if size is None else size | estimated.size
            if overload in ("index_list", "index_map"):
                entries = self._entries_of(node.args[0])
                size = entries.value if entries else None
                step = "@items" if overload == "index_list" else "@values"
                self._paths[node.id] = (*self._path(node.args[0]), step)
            if overload in ("add_list", "add_string", "add_bytes"):
                self._join_entries(node)
            size = self._size(node) if size is None else size
        if size is not None:
            self._sizes[node.id] = size

    def _join_entries(self, node: Call) -> None:
        entries = self._entries_of(node.args[0])
        joined = entries.joined(self._entries_of(node.args[1])) if entries else None
        if joined:
            self._entries[node.id] = joined

    def _operand(self, node: Expr) -> Operand:
        kind = self._type(node)
        path = self._path(node)
        visible_path = () if path and path[0] in _HIDDEN else path
        size = self._size(node)
        item: Size | None = None
        if kind.kind == "list" and kind.params[0].kind in ("string", "bytes"):
            item = (self._size_of((*visible_path, "@items")) if visible_path else None) or UNKNOWN
        literal = node.value if isinstance(node, Literal) and type(node.value) is int else None
        return Operand(kind, UNKNOWN if size is None else size, item, literal)

    def _comprehension(self, node: Comprehension) -> int:
        cost = self.cost(node.over) + self.cost(node.start)
        start = _LocalVariable(self._path(node.start), self._size(node.start), self._entries_of(node.start))
        self._push(node.result_name, start)
        if node.binds:
            cost += self.cost(node.result)
            self._pop(node.result_name)
            self._copy(node, node.result)
            return min(cost, MAX_COST)
        self._push_loop_variables(node)
        item_cost = self.cost(node.condition) + self.cost(node.step)
        self._pop(node.item)
        if node.item2:
            self._pop(node.item2)
        cost += self.cost(node.result)
        self._pop(node.result_name)
        item_count = self._size_or_unknown(node.over)
        self._keep_loop_size(node, item_count)
        return min(cost + times(item_count.max, min(item_cost, MAX_COST)), MAX_COST)

    def _keep_loop_size(self, node: Comprehension, item_count: Size) -> None:
        if isinstance(node.start, Literal):
            self._sizes[node.id] = self._size_or_unknown(node.start)
        elif isinstance(node.start, ListLiteral | MapLiteral):
            self._sizes[node.id] = item_count
            entries = self._entries_of(node.step)
            if entries:
                self._entries[node.id] = entries

    def _push_loop_variables(self, node: Comprehension) -> None:
        entries, path = self._entries_of(node.over), self._path(node.over)
        kind = entries.kind if entries else self._type(node.over).kind
        key, value = ("@indices", "@items") if kind == "list" else ("@keys", "@values")
        key_size, value_size = (entries.key, entries.value) if entries else (None, None)
        if node.item2:
            self._push(node.item, _LocalVariable((*path, key), key_size))
            self._push(node.item2, _LocalVariable((*path, value), value_size))
        elif kind == "list":
            self._push(node.item, _LocalVariable((*path, value), value_size))
        else:
            self._push(node.item, _LocalVariable((*path, key), key_size))

    def _push(self, name: str, local: _LocalVariable) -> None:
        self._locals.setdefault(name, []).append(local)

    def _pop(self, name: str) -> None:
        self._locals[name].pop()

    def _copy(self, into: Expr, source: Expr) -> None:
        size, entries = self._size(source), self._entries_of(source)
        if size is not None:
            self._sizes[into.id] = size
        if entries is not None:
            self._entries[into.id] = entries

    def _entries_of(self, node: Expr) -> _EntrySizes | None:
        local = self._local(node)
        return self._entries.get(node.id) or (local.entries if local else None)

    def _size_or_unknown(self, node: Expr) -> Size:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _size(self, node: Expr) -> Size | None:
        """Return the possible size of a value; None if it is unknown."""
        size = self._sizes.get(node.id) or _literal_size(node)
        if size is not None:
            return size
        path = self._path(node)
        declared = self._size_of(path) if path else None
        if declared is not None:
            self._sizes[node.id] = declared
            return declared
        if _is_scalar(self._type(node)):
            return ONE
        local = self._local(node)
        return local.size if local else None


def _literal_size(node: Expr) -> Size | None:
    match node:
        case Literal():
            return fixed_size(len(node.value)) if isinstance(node.value, str | bytes) else ONE
        case ListLiteral():
            return fixed_size(len(node.items))
        case MapLiteral():
            return fixed_size(len(node.entries))
        case _:
            return None


def _is_scalar(kind: CelType) -> bool:
    return kind.kind in _SCALARS or (kind.is_optional and _is_scalar(kind.params[0]))
