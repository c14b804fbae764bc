"""Requirements and preferences of pods for other pods: topology spread constraints, affinity and anti-affinity."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from apiserver.api.meta import Obj
from apiserver.api.nodes import HOSTNAME, ZONE
from apiserver.api.selectors import LabelSelector, Requirement, requirement
from controller_manager.reconcile.selectors import lenient_selector

Labels = Mapping[str, str]


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


# -- spreading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A limit on how unevenly pods are spread over the domains of nodes with the same value of a label.

    Attributes:
        topology_key: the label.
        max_skew: how many more pods a domain may have than the one with the fewest.
        hard: True if a node that violates it is refused, False if its score is lower.
        selector: of the pods that count, in the namespace of the pod to schedule.
        selects_own_pod: 1 if the selector matches the pod to schedule, else 0.
        min_domains: with fewer domains than this, the smallest count is taken to be 0.
        honors_affinity: only nodes that the pod's node affinity allows make domains.
        honors_taints: only nodes whose taints the pod tolerates make domains.
    """

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    selects_own_pod: int
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


def spread_constraint(constraint: Obj, labels: Labels) -> SpreadConstraint:
    """Parse a constraint of a pod with these labels (podtopologyspread/common.go)."""
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
    """Return the constraints of pods that have none themselves (systemDefaultConstraints)."""
    if selector.empty or selector.nothing:
        return ()
    return (SpreadConstraint(HOSTNAME, 3, False, selector, 1), SpreadConstraint(ZONE, 5, False, selector, 1))


def default_selector(pod: Obj, *, services: Iterable[Obj], owner: Obj | None) -> LabelSelector:
    """Return the selector of the pods to spread a pod among that has no constraints (plugins/helper/spread.go).

    (plugins/helper/spread.go DefaultSelector)

    Args:
        pod: the pod to schedule.
        services: all Services of its namespace.
        owner: the ReplicaSet, StatefulSet or ReplicationController that controls it.
    """
    labels = pod["metadata"].get("labels") or {}
    service_labels: dict[str, str] = {}
    for service in services:
        selector = (service.get("spec") or {}).get("selector") or {}
        if all(labels.get(key) == value for key, value in selector.items()):
            service_labels |= selector
    requirements = [Requirement(key, "=", (value,)) for key, value in service_labels.items()]
    if owner is not None:
        selector = (owner.get("spec") or {}).get("selector") or {}
        if owner.get("kind") == "ReplicationController":
            selector = {"matchLabels": selector}
        requirements += [r for r in _selector(selector).requirements if r not in requirements]
    return LabelSelector(tuple(sorted(requirements, key=str)))


# -- affinity ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A PodAffinityTerm: selects pods, which are near if they are in the same domain.

    Attributes:
        topology_key: the label of nodes that makes the domains.
        selector: of the pods.
        namespaces: the names of the pods' namespaces.
        by_label: selects further namespaces by their labels; None for no others.
        weight: of a preferred term; below 0 for anti-affinity.
    """

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    by_label: LabelSelector | None = None
    weight: int = 0

    def matches(self, labels: Labels, namespace: str, *, of_namespace: Labels) -> bool:
        """Return True if the term selects a pod.

        Args:
            labels: the pod's labels.
            namespace: the pod's namespace.
            of_namespace: the labels of that namespace.
        """
        if namespace not in self.namespaces and (self.by_label is None or not self.by_label.matches(of_namespace)):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodAffinity:
    """A pod's affinity and anti-affinity to other pods; where it is kept, equal ones are one object.

    Attributes:
        affinity: required affinity: all of these must be near.
        anti_affinity: required anti-affinity: none of these may be near.
        preferred: preferred affinity, and with a weight below 0 preferred anti-affinity.
    """

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()

    @property
    def terms(self) -> tuple[tuple[PodTerm, ...], tuple[PodTerm, ...], tuple[PodTerm, ...]]:
        """The terms, by which two pod affinities are equal."""
        return self.affinity, self.anti_affinity, self.preferred


NO_POD_AFFINITY = PodAffinity()


def pod_affinity(affinity: Obj, labels: Labels, *, namespace: str) -> PodAffinity:
    """Parse the pod affinity and anti-affinity in spec.affinity of a pod with these labels in that namespace."""
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    of = partial(_term, labels=labels, namespace=namespace)
    return PodAffinity(
        tuple(map(of, near.get(_REQUIRED) or ())),
        tuple(map(of, far.get(_REQUIRED) or ())),
        tuple(
            of(preferred.get("podAffinityTerm") or {}, weight=sign * (preferred.get("weight") or 0))
            for affinities, sign in ((near, 1), (far, -1))
            for preferred in affinities.get(_PREFERRED) or ()
        ),
    )


def _term(term: Obj, *, labels: Labels, namespace: str, weight: int = 0) -> PodTerm:
    names = term.get("namespaces") or ()
    by_label = term.get("namespaceSelector")
    requirements = [
        requirement(key, operator, (labels[key],))
        for name, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin"))
        for key in term.get(name) or ()
        if key in labels
    ]
    return PodTerm(
        term.get("topologyKey") or "",
        _selector(term.get("labelSelector"), requirements),
        frozenset(names or (() if by_label is not None else (namespace,))),
        None if by_label is None else _selector(by_label),
        weight,
    )


def _selector(selector: Obj | None, more: Iterable[Requirement] = ()) -> LabelSelector:
    """Return the selector with further requirements; an invalid one selects nothing."""
    parsed = lenient_selector(selector)
    if parsed.nothing:
        return parsed
    added = {r for r in more if not _has(parsed, r)}
    return LabelSelector((*parsed.requirements, *sorted(added, key=str))) if added else parsed


def _has(selector: LabelSelector, requirement: Requirement) -> bool:
    """Return True if an API server has merged the requirement into the selector already."""
    return any((r.key, r.values) == (requirement.key, requirement.values) for r in selector.requirements)
