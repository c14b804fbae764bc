"""The policies that are bound, compiled once per change (../generic/policy_source.go)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

import orjson

from apiserver.admission.latest import ComputedValue, RangeWatcher
from apiserver.admission.matching import MatchCriteria
from apiserver.api.meta import Obj, name_of
from etcd.store import KeyValue

T = TypeVar("T")


class Binding(NamedTuple):
    """The binding of a policy.

    Attributes:
        criteria: the requests that it is for, None for all that the policy is for.
        actions: what happens where a validation fails; mutating policies have none.
        param_ref: the parameters that it chooses, None for none.
    """

    name: str
    policy: str
    criteria: MatchCriteria | None
    actions: tuple[str, ...]
    param_ref: Obj | None


class Policy(NamedTuple, Generic[T]):
    """A policy that is bound (PolicyHook).

    Attributes:
        criteria: the requests that it is for.
        param_kind: the kind of its parameters, None for none.
        fails_open: whether its failures are ignored.
        evaluator: its compiled expressions.
        bindings: by name.
    """

    name: str
    criteria: MatchCriteria
    param_kind: Obj | None
    fails_open: bool
    evaluator: T
    bindings: tuple[Binding, ...] = ()


class PolicySource(Generic[T]):
    """The policies of one kind that have a binding.

    Args:
        store: has policies and bindings.
        prefixes: the prefixes of the keys of policies and of bindings.
        compile_policy: makes the evaluator of a policy.
    """

    def __init__(self, store: RangeWatcher, prefixes: tuple[str, str], compile_policy: Callable[[Obj], T]) -> None:
        self._compile = compile_policy
        self._compiled: dict[tuple[str, int], Policy[T]] = {}
        self._specs: ComputedValue[Mapping[str, KeyValue]] = ComputedValue(store, prefixes[0], _by_name)
        self._bindings = ComputedValue(store, prefixes[1], _bindings_of)
        self._made_of: tuple[object, object] = (None, None)
        self._policies: tuple[Policy[T], ...] = ()

    def get(self) -> tuple[Policy[T], ...]:
        """Return the policies with their bindings, by name."""
        bindings = self._bindings.get()
        if not bindings:
            return ()
        specs = self._specs.get()
        if self._made_of[0] is not specs or self._made_of[1] is not bindings:
            self._policies = tuple(self._bound(specs, bindings))
            self._made_of = specs, bindings
        return self._policies

    def _bound(self, specs: Mapping[str, KeyValue], bindings: Mapping[str, tuple[Binding, ...]]) -> Iterable[Policy[T]]:
        previous, self._compiled = self._compiled, {}
        for name, kv in sorted(specs.items()):
            if name in bindings:
                key = kv.key, kv.mod_revision
                policy = self._compiled[key] = previous.get(key) or self._policy(orjson.loads(kv.value))
                yield policy._replace(bindings=bindings[name])

    def _policy(self, policy: Obj) -> Policy[T]:
        spec = policy.get("spec") or {}
        criteria = MatchCriteria.of(spec.get("matchConstraints") or {})
        fails_open = spec.get("failurePolicy") == "Ignore"
        return Policy(name_of(policy), criteria, spec.get("paramKind"), fails_open, self._compile(spec))


def _by_name(policies: Iterable[KeyValue]) -> Mapping[str, KeyValue]:
    return {kv.key.rpartition("/")[2]: kv for kv in policies}


def _bindings_of(bindings: Iterable[KeyValue]) -> Mapping[str, tuple[Binding, ...]]:
    """Return the bindings of each policy, by name."""
    by_policy: dict[str, tuple[Binding, ...]] = {}
    for kv in sorted(bindings, key=lambda each: each.key):
        binding = _binding(orjson.loads(kv.value))
        by_policy[binding.policy] = (*by_policy.get(binding.policy, ()), binding)
    return by_policy


def _binding(binding: Obj) -> Binding:
    spec = binding.get("spec") or {}
    resources = spec.get("matchResources")
    return Binding(
        name_of(binding),
        spec.get("policyName") or "",
        None if resources is None else MatchCriteria.of(resources),
        tuple(spec.get("validationActions") or ()),
        spec.get("paramRef"),
    )
