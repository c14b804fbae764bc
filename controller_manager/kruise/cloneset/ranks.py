"""The order in which pods of a CloneSet are deleted and updated, and how crowded they are where they run.

(pkg/controller/cloneset/utils/pod_sorter.go, and ActivePods of k8s.io/kubernetes/pkg/controller) Where upstream leaves
the order of two pods to chance, their names decide.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf, log

from apiserver.api.meta import Obj, name_of
from apiserver.api.nodes import HOSTNAME
from controller_manager.kruise.cloneset.spec import Member
from controller_manager.reconcile.pods import deletion_cost, phase_rank, ready_since
from controller_manager.reconcile.times import parse_time

Ranks = Mapping[str, float]
"""The crowding of pods, by uid; a pod that is alone has no entry."""


def in_update_order(members: Iterable[Member]) -> list[Member]:
    """Sort members in the order of updates: first those without a node, not running, not ready, ready only lately."""
    return sorted(members, key=lambda member: (*_readiness(member.pod), *_age(member.pod)))


def in_deletion_order(members: Iterable[Member], ranks: Ranks) -> list[Member]:
    """Sort members in the order of deletion (ActivePodsWithRanks)."""

    def key(member: Member) -> tuple[object, ...]:
        node, phase, ready = _readiness(member.pod)
        cost, rank = deletion_cost(member.pod), -ranks.get(_uid(member.pod), 0.0)
        return (node, phase, member.available, ready, cost, rank, *_age(member.pod))

    return sorted(members, key=key)


def _readiness(pod: Obj) -> tuple[bool, int, bool]:
    return bool(pod["spec"].get("nodeName")), phase_rank(pod), ready_since(pod) is not None


def _age(pod: Obj) -> tuple[object, ...]:
    """Break ties between pods of equal rank: no timestamp before later before earlier; many restarts first."""
    created = pod["metadata"].get("creationTimestamp")
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    restarts = max((status.get("restartCount") or 0 for status in statuses), default=0)
    return (
        _later_first(ready_since(pod)),
        -restarts,
        _later_first(parse_time(created) if created else 0.0),
        name_of(pod),
    )


def _later_first(time: float | None) -> float:
    return -time if time else -inf


def _uid(pod: Obj) -> str:
    return str(pod["metadata"]["uid"])


# -- ranks -------------------------------------------------------------------------------------------------------------


def node_ranks(members: Sequence[Member]) -> dict[str, float]:
    """Return ranks by node: of several pods on a node, all but the one to be deleted last have one.

    (NewSameNodeRanker)
    """
    ranks: dict[str, float] = {}
    for pods in _by_node(members).values():
        crowd = _in_order(pods, {})[:-1]
        ranks.update((_uid(pod), float(len(crowd) - index)) for index, pod in enumerate(crowd))
    return ranks


def spread_ranks(members: Sequence[Member], keys: Collection[str], nodes: Mapping[str, Mapping[str, str]]) -> Ranks:
    """Return ranks by the domains that a template spreads its pods over (NewSpreadConstraintsRanker).

    Args:
        members: the candidates for deletion.
        keys: the topology keys of the template's constraints.
        nodes: the labels of each node by its name.
    """
    by_node, on_node, ranks = _by_node(members), node_ranks(members), defaultdict[str, float](float)
    for key in keys:
        domains = defaultdict[str, list[Obj]](list)
        for name, pods in by_node.items():
            if (value := nodes.get(name, {}).get(key)) is not None:
                domains[value] += pods
        weight = log(len(domains) + 2)
        for pods in domains.values():
            for index, pod in enumerate(_in_order(pods, {} if key == HOSTNAME else on_node)):
                ranks[_uid(pod)] += (len(pods) - index) * weight
    return ranks


def _by_node(members: Iterable[Member]) -> dict[str, list[Obj]]:
    by_node = defaultdict[str, list[Obj]](list)
    for member in members:
        if name := member.pod["spec"].get("nodeName"):
            by_node[name].append(member.pod)
    return by_node


def _in_order(pods: Iterable[Obj], ranks: Ranks) -> list[Obj]:
    """Sort pods in the order of deletion, regardless of availability (ActivePodsWithRanks without AvailableFunc)."""

    def key(pod: Obj) -> tuple[object, ...]:
        return (*_readiness(pod), deletion_cost(pod), -ranks.get(_uid(pod), 0.0), *_age(pod))

    return sorted(pods, key=key)
