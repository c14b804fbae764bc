"""What pods ask of the company they keep: spread over domains of nodes, near some pods and far from others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector, Requirement, requirement
from controller_manager.reconcile.selectors import lenient_selector

Labels = Mapping[str, str]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


# -- spreading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """How evenly pods are to be spread over the domains that nodes make by a label.

    Attributes:
        topology_key: the label.
        max_skew: how many more pods a domain may have than the emptiest.
        hard: whether a node that breaks it is refused, or only less liked.
        selector: of the pods that count, in the namespace of the one to place.
        itself: 1 where the pod to place is one of them, 0 where it is not.
        min_domains: with fewer domains than that, the emptiest counts as empty.
        heeds_affinity: only nodes that the pod's node affinity allows make domains.
        heeds_taints: only nodes whose taints the pod tolerates do.
    """

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    itself: int
    min_domains: int = 1
    heeds_affinity: bool = True
    heeds_taints: bool = False


def spread_constraint(constraint: Obj, labels: Labels) -> SpreadConstraint:
    """The constraint of its object, for a pod with these labels (podtopologyspread/common.go)."""
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in labels]
    selector = _selector(constraint.get("labelSelector"), (Requirement(key, "=", (labels[key],)) for key in keys))
    return SpreadConstraint(
        constraint["topologyKey"],
        constraint["maxSkew"],
        constraint["whenUnsatisfiable"] == "DoNotSchedule",
        selector,
        int(selector.matches(labels)),
        constraint.get("minDomains") or 1,
        constraint.get("nodeAffinityPolicy") != "Ignore",
        constraint.get("nodeTaintsPolicy") == "Honor",
    )


def default_constraints(selector: LabelSelector) -> tuple[SpreadConstraint, ...]:
    """How pods are spread that say nothing of it themselves (systemDefaultConstraints)."""
    if selector.empty or selector.nothing:
        return ()
    return (SpreadConstraint(HOSTNAME, 3, False, selector, 1), SpreadConstraint(ZONE, 5, False, selector, 1))


def default_selector(pod: Obj, *, services: Iterable[Obj], owner: Obj | None) -> LabelSelector:
    """The pods among which one is spread that says nothing of it itself (plugins/helper/spread.go DefaultSelector).

    Args:
        pod: which it is.
        services: all of its namespace.
        owner: the ReplicaSet, StatefulSet or ReplicationController that controls it.
    """
    labels = pod["metadata"].get("labels") or {}
    wanted: dict[str, str] = {}
    for service in services:
        selector = (service.get("spec") or {}).get("selector") or {}
        if all(labels.get(key) == value for key, value in selector.items()):
            wanted |= selector
    requirements = [Requirement(key, "=", (value,)) for key, value in wanted.items()]
    if owner is not None:
        selector = (owner.get("spec") or {}).get("selector") or {}
        if owner.get("kind") == "ReplicationController":
            selector = {"matchLabels": selector}
        requirements += [r for r in _selector(selector).requirements if r not in requirements]
    return LabelSelector(tuple(sorted(requirements, key=str)))


# -- affinity ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A PodAffinityTerm: pods, near which means in the same domain.

    Attributes:
        topology_key: the label of nodes that makes the domains.
        selector: of the pods.
        namespaces: where they are.
        by_label: where they may be as well, by the labels of the namespaces; None for nowhere else.
        weight: of a preferred term; below 0 for one of anti-affinity.
    """

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    by_label: LabelSelector | None = None
    weight: int = 0

    def matches(self, labels: Labels, namespace: str, *, of_namespace: Labels) -> bool:
        """Whether a pod is one of those meant.

        Args:
            labels: its labels.
            namespace: where it is.
            of_namespace: the labels of that namespace.
        """
        if namespace not in self.namespaces and (self.by_label is None or not self.by_label.matches(of_namespace)):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Company:
    """The pods that a pod wants near or far; where it is kept, equal ones are one object.

    Attributes:
        near: all of these must be near.
        far: none of these may be near.
        preferred: who is liked near, or with a weight below 0 disliked.
    """

    near: tuple[PodTerm, ...] = ()
    far: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()

    @property
    def terms(self) -> tuple[tuple[PodTerm, ...], tuple[PodTerm, ...], tuple[PodTerm, ...]]:
        """By which two are equal."""
        return self.near, self.far, self.preferred


ANY_COMPANY = Company()


def company(affinity: Obj, labels: Labels, *, namespace: str) -> Company:
    """What spec.affinity of a pod with these labels, in that namespace, says of other pods."""
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    of = partial(_term, labels=labels, namespace=namespace)
    return Company(
        tuple(map(of, near.get(_REQUIRED) or ())),
        tuple(map(of, far.get(_REQUIRED) or ())),
        tuple(
            of(preferred.get("podAffinityTerm") or {}, weight=sign * (preferred.get("weight") or 0))
            for affinities, sign in ((near, 1), (far, -1))
            for preferred in affinities.get(_PREFERRED) or ()
        ),
    )


def _term(term: Obj, *, labels: Labels, namespace: str, weight: int = 0) -> PodTerm:
    chosen = term.get("namespaces") or ()
    by_label = term.get("namespaceSelector")
    more = [
        requirement(key, operator, (labels[key],))
        for name, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin"))
        for key in term.get(name) or ()
        if key in labels
    ]
    return PodTerm(
        term.get("topologyKey") or "",
        _selector(term.get("labelSelector"), more),
        frozenset(chosen or (() if by_label is not None else (namespace,))),
        None if by_label is None else _selector(by_label),
        weight,
    )


def _selector(selector: Obj | None, more: Iterable[Requirement] = ()) -> LabelSelector:
    """The selector with further requirements; one that cannot be understood selects nothing."""
    found = lenient_selector(selector)
    if found.nothing:
        return found
    added = {r for r in more if not _has(found, r)}
    return LabelSelector((*found.requirements, *sorted(added, key=str))) if added else found


def _has(selector: LabelSelector, requirement: Requirement) -> bool:
    """Whether a server has merged the requirement into the selector already."""
    return any((r.key, r.values) == (requirement.key, requirement.values) for r in selector.requirements)
