"""Unification: which types are assignable, and the types of parameters that follow (cel-go's checker/types.go)."""

from dataclasses import replace

from apiserver.cel.errors import CompileError
from apiserver.cel.types import DYN, CelType

Bindings = dict[str, CelType]
"""Parameter → the type found for it."""

_MAX_SIZE = 2000
"""The most parts of a type. Upstream has no such limit, and {x: x} has twice as many parts as x."""

_NULLABLE = frozenset(("opaque", "struct", "timestamp", "duration", "null_type"))
"""Kinds that accept null, in types checked as of old."""


class Unifier:
    """The types found so far for the parameters of an expression's types."""

    def __init__(self) -> None:
        self.bindings: Bindings = {}
        self._changes: list[tuple[str, CelType | None]] = []

    def is_assignable(self, left: CelType, right: CelType) -> bool:
        """Return True if one type can be assigned to the other; only then the parameters found are kept."""
        return self.are_assignable((left,), (right,))

    def are_assignable(self, left: tuple[CelType, ...], right: tuple[CelType, ...]) -> bool:
        """Return True if all types can be assigned to the others, pair by pair."""
        changes_before = len(self._changes)
        if self._are_lists_assignable(left, right):
            return True
        while len(self._changes) > changes_before:
            name, previous = self._changes.pop()
            if previous is None:
                del self.bindings[name]
            else:
                self.bindings[name] = previous
        return False

    def _bind(self, parameter: CelType, kind: CelType) -> None:
        self._changes.append((parameter.name, self.bindings.get(parameter.name)))
        self.bindings[parameter.name] = kind

    def resolved(self, kind: CelType, *, final: bool = False) -> CelType:
        """Return the type with its parameters replaced by the types found; if `final`, unknown ones become dyn.

        Raises:
            CompileError: the type is too large.
        """
        if kind.params or kind.kind == "param":
            self._check_size(kind)
        return substituted(kind, self.bindings, final=final)

    def _check_size(self, kind: CelType) -> None:
        pending, count = [kind], 0
        while pending:
            current = pending.pop()
            count += 1
            if count > _MAX_SIZE:
                raise CompileError(f"ERROR: <input>:-1:0: type has more than {_MAX_SIZE} parts")
            bound = self.bindings.get(current.name) if current.kind == "param" else None
            pending += current.params if bound is None else (bound,)

    def _are_lists_assignable(self, left: tuple[CelType, ...], right: tuple[CelType, ...]) -> bool:
        return len(left) == len(right) and all(self._is_assignable(a, b) for a, b in zip(left, right, strict=True))

    def _is_assignable(self, left: CelType, right: CelType) -> bool:
        if right.kind == "param":
            is_bound = right.name in self.bindings
            return self._can_bind(right, left) or (
                not is_bound and left.kind == "param" and self._can_bind(left, right)
            )
        if left.kind == "param":
            return self._can_bind(left, right)
        if left.kind in ("dyn", "error") or right.kind in ("dyn", "error"):
            return True
        if left.kind == "null_type" or right.kind == "null_type":
            return (right if left.kind == "null_type" else left).kind in _NULLABLE
        if left.kind == "type":
            return right.kind == "type"
        return (
            left.kind == right.kind
            and left.name == right.name
            and self._are_lists_assignable(left.params, right.params)
        )

    def _can_bind(self, parameter: CelType, kind: CelType) -> bool:
        """Return True if the parameter can be the type; the more general of the known types is kept."""
        if kind == parameter:
            return True
        bound = self.bindings.get(parameter.name)
        if bound is None:
            if not self._occurs(parameter, kind):
                self._bind(parameter, kind)
                return True
            return False
        if kind == bound:
            return True
        if not self._is_assignable(kind, bound):
            return False
        general = kind if is_more_general(kind, bound) else bound
        if not self._occurs(parameter, general):
            self._bind(parameter, general)
        return True

    def _occurs(self, parameter: CelType, within: CelType) -> bool:
        if within == parameter:
            return True
        if within.kind == "param":
            bound = self.bindings.get(within.name)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, inner) for inner in within.params)


def substituted(kind: CelType, bindings: Bindings, *, final: bool = False) -> CelType:
    """Return the type with its parameters replaced; those without a type become dyn if `final`."""
    if kind.kind == "param":
        bound = bindings.get(kind.name)
        if bound is not None:
            return substituted(bound, bindings, final=final)
        return DYN if final else kind
    if not kind.params:
        return kind
    return replace(kind, params=tuple(substituted(p, bindings, final=final) for p in kind.params))


def is_more_general(left: CelType, right: CelType) -> bool:
    """Return True if the first of two assignable types is as general as the second, or more."""
    if left.kind in ("dyn", "param"):
        return True
    if right.kind in ("dyn", "param") or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(map(is_more_general, left.params, right.params))
