"""The cluster as the scheduler sees it: nodes with their free resources, pods on nodes, and nominations.

A pod that gets a node counts there at once (it is assumed), so that the next decision sees the room taken; the watch
confirms it, and a refused binding takes it back (pkg/scheduler/backend/cache).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.pods import is_terminal
from controller_manager.scheduler.feasible_nodes import FeasibleNodes
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_affinity import TopologyRules, rules_of
from controller_manager.scheduler.pod_info import PodInfo, PodInfoCache, PodRequirements
from controller_manager.scheduler.topology import NO_POD_AFFINITY, PodAffinity, default_constraints

_MAX_CACHED_NODES = 65_536
"""The most nodes that all cached FeasibleNodes together may hold; those used last are kept."""
_MAX_CACHED_POD_INFOS = 1024
"""For how many PodInfos their FeasibleNodes are cached."""


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """A pod's node."""

    info: PodInfo
    node: NodeInfo


class Cluster:
    """The nodes, the pods on them, and cached FeasibleNodes.

    Attributes:
        nodes: by name; also those that pods name but that have not been seen.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self._infos = PodInfoCache()
        self._placements: dict[str, PodPlacement] = {}
        self._assumed: set[str] = set()
        self._terminating: set[str] = set()
        self._nominated: dict[str, NodeInfo] = {}
        self._pod_affinities: dict[PodAffinity, int] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._made = 0
        self._existing = 0
        self._journal: list[tuple[NodeInfo, PodInfo | None]] = []
        self._trimmed = 0
        self._feasible_nodes: dict[tuple[PodRequirements, TopologyRules], FeasibleNodes] = {}
        self._by_pod_info: dict[PodInfo, FeasibleNodes] = {}

    def __len__(self) -> int:
        """Return the number of nodes that exist."""
        return self._existing

    def info_of(self, pod: Obj) -> PodInfo:
        """Return the PodInfo of a pod (PodInfoCache.of)."""
        return self._infos.of(pod)

    # -- events of the watch

    def node_changed(self, name: str, node: Obj | None) -> None:
        """Take over a node that came or changed; None if it is gone."""
        info = self._node(name)
        self._existing += (node is not None) - info.exists
        info.set_node(node)
        self._record_change(info)
        if node is None:
            self._forget_if_empty(info)

    def pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        """Take over a pod that came or changed; None if it is gone."""
        if new is None:
            uid = (old or {})["metadata"]["uid"]
            self._remove_pod(uid)
            self.delete_nomination(uid)
            return
        uid = new["metadata"]["uid"]
        node_name = new["spec"].get("nodeName")
        if not node_name:
            self._pod_without_node(uid, new, old=old)
        elif is_terminal(new):
            self._remove_pod(uid)
        else:
            self._pod_with_node(uid, new, old=old, name=node_name)

    def _pod_without_node(self, uid: str, new: Obj, *, old: Obj | None) -> None:
        """Take over a pod that has no node according to the watch; it may have been assumed on one a moment ago."""
        before = ((old or {}).get("status") or {}).get("nominatedNodeName")
        after = (new.get("status") or {}).get("nominatedNodeName")
        if after == before or uid in self._placements:
            return
        if after:
            self.nominate(uid, self._infos.of(new).requirements, name=after)
        else:
            self.delete_nomination(uid)

    def _pod_with_node(self, uid: str, new: Obj, *, old: Obj | None, name: str) -> None:
        placed = self._placements.get(uid)
        if placed is None or placed.node.name != name:
            self._remove_pod(uid)
            self._add_pod(uid, self._infos.of(new), name=name)
        elif old is not None and _may_change_pod_info(old, new):
            info = self._infos.of(new)
            if info is not placed.info:
                self._remove_pod(uid)
                self._add_pod(uid, info, name=name)
        if new["metadata"].get("deletionTimestamp") and uid not in self._terminating:
            self._begin_terminating(uid)
        self._assumed.discard(uid)
        if self._nominated:
            self.delete_nomination(uid)

    def namespace_changed(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Take over a namespace that came or got other labels; None if it is gone."""
        before = self._namespaces.pop(name, None)
        if labels is not None:
            self._namespaces[name] = labels
        if before is not None and before != labels:
            self.invalidate_selectors()
            self._feasible_nodes.clear()

    def invalidate_selectors(self) -> None:
        """Drop what depends on the selectors by which pods are spread, since a Service or the like has changed."""
        self._by_pod_info.clear()

    # -- pods on nodes

    def placement_of(self, uid: str) -> PodPlacement | None:
        """Return the node that a pod is on or assumed on, None if it has none."""
        return self._placements.get(uid)

    def is_assumed(self, uid: str) -> bool:
        """Return True if the pod is assumed on a node and the watch has not confirmed it."""
        return uid in self._assumed

    def assume_pod(self, uid: str, info: PodInfo, *, node: NodeInfo) -> None:
        """Count a pod on its node before the watch has confirmed it (AssumePod)."""
        self._add_pod(uid, info, name=node.name)
        self._assumed.add(uid)
        self.delete_nomination(uid)

    def forget_pod(self, uid: str) -> None:
        """Stop assuming a pod; do nothing if the watch has confirmed its node (ForgetPod)."""
        if uid in self._assumed:
            self._remove_pod(uid)

    def _add_pod(self, uid: str, info: PodInfo, *, name: str) -> None:
        node = self._node(name)
        node.add_pod(info)
        self._placements[uid] = PodPlacement(info, node)
        if info.pod_affinity is not NO_POD_AFFINITY:
            self._count_pod_affinity(info.pod_affinity, 1)
        self._record_change(node, info)

    def _remove_pod(self, uid: str) -> None:
        placed = self._placements.pop(uid, None)
        if placed is None:
            return
        self._assumed.discard(uid)
        info, node = placed.info, placed.node
        node.remove_pod(info)
        if uid in self._terminating:
            self._terminating.discard(uid)
            node.count_terminating(info, -1)
        if info.pod_affinity is not NO_POD_AFFINITY:
            self._count_pod_affinity(info.pod_affinity, -1)
        self._record_change(node, info)
        self._forget_if_empty(node)

    def _begin_terminating(self, uid: str) -> None:
        """Note that a pod is being deleted: it still takes room, but no longer counts for spreading."""
        placed = self._placements[uid]
        self._terminating.add(uid)
        placed.node.count_terminating(placed.info, 1)
        self._record_change(placed.node, placed.info)

    def _count_pod_affinity(self, pod_affinity: PodAffinity, change: int) -> None:
        count = self._pod_affinities.get(pod_affinity, 0) + change
        if count:
            self._pod_affinities[pod_affinity] = count
        else:
            del self._pod_affinities[pod_affinity]
        if not count or count == change:  # the first of its kind, or the last: rules depend on which there are
            self.invalidate_selectors()

    def _node(self, name: str) -> NodeInfo:
        node = self.nodes.get(name)
        if node is None:
            self._made += 1
            node = self.nodes[name] = NodeInfo(name, self._made)
        return node

    def _forget_if_empty(self, node: NodeInfo) -> None:
        if not node.exists and not node.pods and self.nodes.get(node.name) is node:
            del self.nodes[node.name]

    # -- nominations

    def nominate(self, uid: str, requirements: PodRequirements, *, name: str) -> None:
        """Note that a pod is nominated to a node, and gets it when its victims are gone (status.nominatedNodeName)."""
        known = self._nominated.get(uid)
        if known is not None and known.name == name:
            return
        self.delete_nomination(uid)
        if (node := self.nodes.get(name)) is not None:
            node.nominated[uid] = requirements
            self._nominated[uid] = node
            self._record_change(node)

    def delete_nomination(self, uid: str) -> NodeInfo | None:
        """Remove a pod's nomination; return the node, None if it had none."""
        node = self._nominated.pop(uid, None)
        if node is not None:
            node.nominated.pop(uid, None)
            self._record_change(node)
        return node

    # -- feasible nodes

    def feasible_nodes(self, info: PodInfo, default_selector: Callable[[], LabelSelector | None]) -> FeasibleNodes:
        """Return the feasible nodes for pods like this one.

        Args:
            info: the pod.
            default_selector: returns the selector of the pods that it is spread among if it has no constraints; None
                if its owner is not known yet, in which case the result is not cached.
        """
        feasible_nodes = self._by_pod_info.get(info)
        if feasible_nodes is None:
            selector = LabelSelector() if info.spread else default_selector()
            feasible_nodes = self._feasible_nodes_for(info, selector or LabelSelector())
            if selector is not None:
                if len(self._by_pod_info) >= _MAX_CACHED_POD_INFOS:
                    self._by_pod_info.clear()
                self._by_pod_info[info] = feasible_nodes
        self._catch_up(feasible_nodes)
        return feasible_nodes

    def known_feasible_nodes(self, info: PodInfo) -> FeasibleNodes | None:
        """Return the feasible nodes if they are cached for this PodInfo, else None."""
        feasible_nodes = self._by_pod_info.get(info)
        if feasible_nodes is not None:
            self._catch_up(feasible_nodes)
        return feasible_nodes

    def _feasible_nodes_for(self, info: PodInfo, selector: LabelSelector) -> FeasibleNodes:
        default = default_constraints(selector)
        rules = rules_of(info, default=default, others=self._pod_affinities, namespaces=self._namespaces)
        key = (info.requirements, rules)
        feasible_nodes = self._feasible_nodes.pop(key, None)
        if feasible_nodes is None:
            feasible_nodes = FeasibleNodes(info.requirements, rules, namespaces=self._namespaces)
            self._evict_cached()
        self._feasible_nodes[key] = feasible_nodes
        return feasible_nodes

    def _evict_cached(self) -> None:
        while self._feasible_nodes and (len(self._feasible_nodes) + 1) * len(self.nodes) > _MAX_CACHED_NODES:
            gone = self._feasible_nodes.pop(next(iter(self._feasible_nodes)))
            self._by_pod_info = {
                info: feasible_nodes for info, feasible_nodes in self._by_pod_info.items() if feasible_nodes is not gone
            }

    def _catch_up(self, feasible_nodes: FeasibleNodes) -> None:
        end = self._trimmed + len(self._journal)
        if feasible_nodes.journal_position == end:
            return
        changed: dict[NodeInfo, bool] = {}
        if feasible_nodes.journal_position < self._trimmed:
            changed = dict.fromkeys((*self.nodes.values(), *feasible_nodes.nodes), True)
        else:
            for node, info in islice(self._journal, feasible_nodes.journal_position - self._trimmed, None):
                if info is None or feasible_nodes.is_affected_by(info):
                    changed[node] = True
                else:
                    changed.setdefault(node, False)
        feasible_nodes.update(changed)
        feasible_nodes.journal_position = end

    def _record_change(self, node: NodeInfo, info: PodInfo | None = None) -> None:
        """Record a change of a node, for FeasibleNodes to catch up with when they are used next.

        Args:
            node: the node that has changed.
            info: the PodInfo of the pod that came or went; None for any other change.
        """
        self._journal.append((node, info))
        if len(self._journal) > 4 * len(self.nodes) + 1024:
            half = len(self._journal) // 2
            del self._journal[:half]
            self._trimmed += half


def _may_change_pod_info(old: Obj, new: Obj) -> bool:
    """Return True if the pod's PodInfo may differ: its labels differ, or its spec does, as after a resize."""
    before, after = old["metadata"], new["metadata"]
    if old is new:
        return False
    generation = after.get("generation")
    return generation is None or generation != before.get("generation") or before.get("labels") != after.get("labels")
