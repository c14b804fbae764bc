"""Requirements and preferences of pods for nodes themselves: labels, name, and taints that the pod tolerates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, SelectorError, requirement
from controller_manager.reconcile.taints import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE, tolerates

Labels = Mapping[str, str]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}
_NAME_FIELD = "metadata.name"
_EXCLUDING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))


# -- terms -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A NodeSelectorTerm; it matches if all of its requirements hold.

    Attributes:
        labels: the requirements on labels; None if one is invalid, so that no node matches.
        names: the only names that match; None for any.
        others: names that the node must not have.
        weight: the weight of a preferred term.
    """

    labels: LabelSelector | None
    names: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    weight: int = 0

    def matches(self, labels: Labels, name: str) -> bool:
        """Return True if the term matches a node with these labels and this name."""
        if self.labels is None or not self.labels.matches(labels):
            return False
        return (self.names is None or name in self.names) and name not in self.others


def node_term(term: Obj, weight: int = 0) -> NodeTerm:
    """Parse a term (nodeaffinity.go newNodeSelectorTerm); one without requirements matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return NodeTerm(None)
    names: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    for field in fields:
        values = frozenset(field.get("values") or ())
        if field.get("key") != _NAME_FIELD or field.get("operator") not in ("In", "NotIn") or len(values) != 1:
            return NodeTerm(None)
        if field["operator"] == "NotIn":
            others |= values
        else:
            names = values if names is None else names & values
    return NodeTerm(_selector(expressions), names, others, weight)


def _selector(expressions: Iterable[Obj]) -> LabelSelector | None:
    try:
        return LabelSelector(
            tuple(
                requirement(e.get("key") or "", _OPERATORS[e.get("operator") or ""], e.get("values") or ())
                for e in expressions
            )
        )
    except (SelectorError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """The requirements and preferences of a pod for nodes.

    Attributes:
        selector: spec.nodeSelector.
        required: one of these terms must match; None if there is no such requirement.
        preferred: terms that each add their weight if they match.
    """

    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeTerm, ...] | None = None
    preferred: tuple[NodeTerm, ...] = ()

    @property
    def names(self) -> frozenset[str] | None:
        """The node names that all required terms are limited to; None if other nodes may match too (PreFilter)."""
        if not self.required:
            return None
        names: frozenset[str] = frozenset()
        for term in self.required:
            if term.names is None:
                return None
            names |= term.names
        return names

    def matches(self, labels: Labels, name: str) -> bool:
        """Return True if a node meets the requirements (RequiredNodeAffinity.Match)."""
        for key, value in self.selector:
            if labels.get(key) != value:
                return False
        return self.required is None or any(term.matches(labels, name) for term in self.required)

    def weight(self, labels: Labels, name: str) -> int:
        """Return the sum of the weights of the preferred terms that match."""
        return sum(term.weight for term in self.preferred if term.matches(labels, name))


def node_affinity(spec: Obj) -> NodeAffinity:
    """Parse the node selector and node affinity of a pod's spec."""
    selector = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return NodeAffinity(
        selector,
        None if required is None else node_terms(required),
        tuple(node_term(p.get("preference") or {}, p.get("weight") or 0) for p in preferred),
    )


def node_terms(selector: Obj) -> tuple[NodeTerm, ...]:
    """Parse the terms of a NodeSelector; at least one has to match."""
    return tuple(node_term(term) for term in selector.get("nodeSelectorTerms") or ())


# -- taints ------------------------------------------------------------------------------------------------------------


def has_untolerated_taint(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> bool:
    """Return True if a taint keeps the pod off the node (FindMatchingUntoleratedTaint)."""
    return any(taint.get("effect") in _EXCLUDING_EFFECTS and not _tolerated(taint, tolerations) for taint in taints)


def count_prefer_no_schedule(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> int:
    """Count the PreferNoSchedule taints that the pod does not tolerate (countIntolerableTaintsPreferNoSchedule)."""
    return sum(taint.get("effect") == "PreferNoSchedule" and not _tolerated(taint, tolerations) for taint in taints)


def tolerates_cordon(tolerations: Sequence[Obj]) -> bool:
    """Return True if the pod may go to cordoned nodes (plugins/nodeunschedulable)."""
    return _tolerated({"key": UNSCHEDULABLE, "effect": NO_SCHEDULE}, tolerations)


def _tolerated(taint: Obj, tolerations: Sequence[Obj]) -> bool:
    return any(tolerates(toleration, taint, compares=True) for toleration in tolerations)
