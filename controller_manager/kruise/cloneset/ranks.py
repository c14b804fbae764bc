"""In which order pods of a CloneSet go and are updated, and how crowded they are where they run.

(pkg/controller/cloneset/utils/pod_sorter.go, and ActivePods of k8s.io/kubernetes/pkg/controller) Where upstream leaves
the order of two pods to chance, their names tell.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf, log

from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.cloneset.spec import Member
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.pods import deletion_cost, ready_since
from controller_manager.reconcile.times import seconds

_PHASES = {"Unknown": 1, "Running": 2}  # Pending, and no phase yet, are 0
_HOSTNAME = "kubernetes.io/hostname"

Ranks = Mapping[str, float]
"""How crowded pods are, by their uids; a pod that stands alone has no entry."""


def in_update_order(members: Iterable[Member]) -> list[Member]:
    """The members, those first that are updated first: without a node, not running, not ready, ready lately."""
    return sorted(members, key=lambda each: (*_standing(each.pod), *_age(each.pod)))


def in_deletion_order(members: Iterable[Member], ranks: Ranks) -> list[Member]:
    """The members, those first that go first (ActivePodsWithRanks)."""

    def key(each: Member) -> tuple[object, ...]:
        node, phase, ready = _standing(each.pod)
        cost, rank = deletion_cost(each.pod), -ranks.get(_uid(each.pod), 0.0)
        return (node, phase, each.available, ready, cost, rank, *_age(each.pod))

    return sorted(members, key=key)


def _standing(pod: Obj) -> tuple[bool, int, bool]:
    return bool(pod["spec"].get("nodeName")), _PHASES.get(phase_of(pod), 0), ready_since(pod) is not None


def _age(pod: Obj) -> tuple[object, ...]:
    """What tells pods apart that stand alike: times that are none first, then later ones; many restarts first."""
    created = pod["metadata"].get("creationTimestamp")
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    restarts = max((each.get("restartCount") or 0 for each in statuses), default=0)
    return _later_first(ready_since(pod)), -restarts, _later_first(seconds(created) if created else 0.0), name_of(pod)


def _later_first(time: float | None) -> float:
    return -time if time else -inf


def _uid(pod: Obj) -> str:
    return str(pod["metadata"]["uid"])


# -- how crowded pods are ----------------------------------------------------------------------------------------------


def node_ranks(members: Sequence[Member]) -> dict[str, float]:
    """Ranks by node: of several pods on one, all but the one that would go last (NewSameNodeRanker)."""
    found: dict[str, float] = {}
    for pods in _by_node(members).values():
        crowd = _in_order(pods, {})[:-1]
        found.update((_uid(pod), float(len(crowd) - place)) for place, pod in enumerate(crowd))
    return found


def spread_ranks(members: Sequence[Member], keys: Collection[str], nodes: Mapping[str, Mapping[str, str]]) -> Ranks:
    """Ranks by the domains over which a template spreads its pods (NewSpreadConstraintsRanker).

    Args:
        members: of which some are to go.
        keys: the topology keys of the template's constraints.
        nodes: the labels of each node by its name.
    """
    by_node, crowded, found = _by_node(members), node_ranks(members), defaultdict[str, float](float)
    for key in keys:
        domains = defaultdict[str, list[Obj]](list)
        for name, pods in by_node.items():
            if (value := nodes.get(name, {}).get(key)) is not None:
                domains[value] += pods
        weight = log(len(domains) + 2)
        for pods in domains.values():
            for place, pod in enumerate(_in_order(pods, {} if key == _HOSTNAME else crowded)):
                found[_uid(pod)] += (len(pods) - place) * weight
    return found


def _by_node(members: Iterable[Member]) -> dict[str, list[Obj]]:
    found = defaultdict[str, list[Obj]](list)
    for each in members:
        if name := each.pod["spec"].get("nodeName"):
            found[name].append(each.pod)
    return found


def _in_order(pods: Iterable[Obj], ranks: Ranks) -> list[Obj]:
    """Pods, those first that go first, whatever of them is available (ActivePodsWithRanks without AvailableFunc)."""

    def key(pod: Obj) -> tuple[object, ...]:
        return (*_standing(pod), deletion_cost(pod), -ranks.get(_uid(pod), 0.0), *_age(pod))

    return sorted(pods, key=key)
