"""Unification: which types fit into which, and what stands for the parameters then (cel-go's checker/types.go)."""

from dataclasses import replace

from apiserver.cel.errors import CompileError
from apiserver.cel.types import DYN, CelType

Bindings = dict[str, CelType]
"""Parameter → the type found for it."""

_MOST = 2000
"""How many types a type may be made of. Ours: upstream has no limit, and {x: x} has twice as many as x."""

_NULLABLE = frozenset(("opaque", "struct", "timestamp", "duration", "null_type"))
"""What may be null, in types checked as of old."""


class Unifier:
    """What has been found out about the parameters of an expression's types so far."""

    def __init__(self) -> None:
        self.bindings: Bindings = {}
        self._changes: list[tuple[str, CelType | None]] = []

    def fits(self, one: CelType, two: CelType) -> bool:
        """Whether one type can be assigned to the other; what that says about parameters is kept if so."""
        return self.all_fit((one,), (two,))

    def all_fit(self, ones: tuple[CelType, ...], twos: tuple[CelType, ...]) -> bool:
        """Whether types can be assigned to others, each to the one at its place."""
        before = len(self._changes)
        if self._lists_fit(ones, twos):
            return True
        while len(self._changes) > before:
            name, known = self._changes.pop()
            if known is None:
                del self.bindings[name]
            else:
                self.bindings[name] = known
        return False

    def _bind(self, parameter: CelType, kind: CelType) -> None:
        self._changes.append((parameter.name, self.bindings.get(parameter.name)))
        self.bindings[parameter.name] = kind

    def resolved(self, kind: CelType, *, final: bool = False) -> CelType:
        """The type with its parameters replaced by what was found; what was not is dyn at the end.

        Raises:
            CompileError: the type is too large.
        """
        if kind.params or kind.kind == "param":
            self._check_size(kind)
        return substituted(kind, self.bindings, final=final)

    def _check_size(self, kind: CelType) -> None:
        waiting, count = [kind], 0
        while waiting:
            found = waiting.pop()
            count += 1
            if count > _MOST:
                raise CompileError(f"ERROR: <input>:-1:0: type has more than {_MOST} parts")
            bound = self.bindings.get(found.name) if found.kind == "param" else None
            waiting += found.params if bound is None else (bound,)

    def _lists_fit(self, ones: tuple[CelType, ...], twos: tuple[CelType, ...]) -> bool:
        return len(ones) == len(twos) and all(self._fits(a, b) for a, b in zip(ones, twos, strict=True))

    def _fits(self, one: CelType, two: CelType) -> bool:
        if two.kind == "param":
            is_bound = two.name in self.bindings
            return self._may_be(two, one) or (not is_bound and one.kind == "param" and self._may_be(one, two))
        if one.kind == "param":
            return self._may_be(one, two)
        if one.kind in ("dyn", "error") or two.kind in ("dyn", "error"):
            return True
        if one.kind == "null_type" or two.kind == "null_type":
            return (two if one.kind == "null_type" else one).kind in _NULLABLE
        if one.kind == "type":
            return two.kind == "type"
        return one.kind == two.kind and one.name == two.name and self._lists_fit(one.params, two.params)

    def _may_be(self, parameter: CelType, kind: CelType) -> bool:
        """Whether the parameter can stand for the type; the more general of what is known is kept."""
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
        if not self._fits(kind, bound):
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
    """The type with its parameters replaced; those that stand for nothing become dyn if `final`."""
    if kind.kind == "param":
        bound = bindings.get(kind.name)
        if bound is not None:
            return substituted(bound, bindings, final=final)
        return DYN if final else kind
    if not kind.params:
        return kind
    return replace(kind, params=tuple(substituted(p, bindings, final=final) for p in kind.params))


def is_more_general(one: CelType, two: CelType) -> bool:
    """Whether the first of two types that fit says as much as the second, or less."""
    if one.kind in ("dyn", "param"):
        return True
    if two.kind in ("dyn", "param") or one.kind != two.kind:
        return False
    if one.kind == "type":
        return True
    if one.name != two.name or len(one.params) != len(two.params):
        return False
    return all(map(is_more_general, one.params, two.params))
