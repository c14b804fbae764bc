"""What pods ask of a node itself: its labels, its name, and that its taints are tolerated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, SelectorError, requirement
from controller_manager.reconcile.taints import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE, tolerates

Labels = Mapping[str, str]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}
_NAME = "metadata.name"
_KEEPS_AWAY = frozenset((NO_SCHEDULE, NO_EXECUTE))


# -- terms -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A NodeSelectorTerm: all of its conditions hold.

    Attributes:
        labels: None where a condition cannot be understood, so that no node matches.
        names: the node's name is one of them; None for any.
        others: the node's name is none of them.
        weight: of a preferred term.
    """

    labels: LabelSelector | None
    names: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    weight: int = 0

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node is one that the term means."""
        if self.labels is None or not self.labels.matches(labels):
            return False
        return (self.names is None or name in self.names) and name not in self.others


def node_term(term: Obj, weight: int = 0) -> NodeTerm:
    """The term of its object (nodeaffinity.go newNodeSelectorTerm); one without conditions matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return NodeTerm(None)
    names: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    for field in fields:
        values = frozenset(field.get("values") or ())
        if field.get("key") != _NAME or field.get("operator") not in ("In", "NotIn") or len(values) != 1:
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
    """What a pod requires and prefers of nodes.

    Attributes:
        selector: spec.nodeSelector.
        required: one of these terms holds; None where nothing is required.
        preferred: each that holds counts its weight.
    """

    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeTerm, ...] | None = None
    preferred: tuple[NodeTerm, ...] = ()

    @property
    def names(self) -> frozenset[str] | None:
        """The nodes that are asked for by name, by every term; None where other nodes are looked at too (PreFilter)."""
        if not self.required:
            return None
        found: frozenset[str] = frozenset()
        for term in self.required:
            if term.names is None:
                return None
            found |= term.names
        return found

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node has what is required (RequiredNodeAffinity.Match)."""
        for key, value in self.selector:
            if labels.get(key) != value:
                return False
        return self.required is None or any(term.matches(labels, name) for term in self.required)

    def weight(self, labels: Labels, name: str) -> int:
        """The weights of what is preferred and holds."""
        return sum(term.weight for term in self.preferred if term.matches(labels, name))


def node_affinity(spec: Obj) -> NodeAffinity:
    """What the spec of a pod asks of nodes."""
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
    """The terms of a NodeSelector, one of which is to hold."""
    return tuple(node_term(term) for term in selector.get("nodeSelectorTerms") or ())


# -- taints ------------------------------------------------------------------------------------------------------------


def untolerated(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> bool:
    """Whether a taint keeps the pod away from the node (FindMatchingUntoleratedTaint)."""
    return any(taint.get("effect") in _KEEPS_AWAY and not _tolerated(taint, tolerations) for taint in taints)


def disliked(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> int:
    """How many taints would rather have the pod elsewhere (countIntolerableTaintsPreferNoSchedule)."""
    return sum(taint.get("effect") == "PreferNoSchedule" and not _tolerated(taint, tolerations) for taint in taints)


def ignores_cordon(tolerations: Sequence[Obj]) -> bool:
    """Whether the pod may go to nodes that are closed to new pods (plugins/nodeunschedulable)."""
    return _tolerated({"key": UNSCHEDULABLE, "effect": NO_SCHEDULE}, tolerations)


def _tolerated(taint: Obj, tolerations: Sequence[Obj]) -> bool:
    return any(tolerates(toleration, taint, compares=True) for toleration in tolerations)
