"""The cluster as the scheduler sees it: nodes with what they have left, who is placed, who is promised a place.

A pod that was given a node counts there at once (it is assumed), so that the next one finds the room taken; the watch
confirms it, and a refused binding takes it back (pkg/scheduler/backend/cache).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from apiserver.api.meta import Obj
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.pods import is_terminal
from controller_manager.scheduler.feasible_nodes import Board
from controller_manager.scheduler.node_info import NodeInfo
from controller_manager.scheduler.pod_affinity import Rules, rules_of
from controller_manager.scheduler.pod_info import PodInfo, PodInfos, Shape
from controller_manager.scheduler.topology import ANY_COMPANY, Company, default_constraints

_PLACES = 65_536
"""How many nodes all boards together may remember; the boards that were of use last stay."""
_BOARDS = 1024
"""For how many kinds of pods their board is remembered."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a pod is."""

    info: PodInfo
    node: NodeInfo


class Cluster:
    """Nodes, pods and boards.

    Attributes:
        nodes: by name; also those that pods name and nobody has seen.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self._infos = PodInfos()
        self._placed: dict[str, Placed] = {}
        self._assumed: set[str] = set()
        self._leaving: set[str] = set()
        self._promised: dict[str, NodeInfo] = {}
        self._companies: dict[Company, int] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._made = 0
        self._seen = 0
        self._journal: list[tuple[NodeInfo, PodInfo | None]] = []
        self._trimmed = 0
        self._boards: dict[tuple[Shape, Rules], Board] = {}
        self._of: dict[PodInfo, Board] = {}

    def __len__(self) -> int:
        """How many nodes there are."""
        return self._seen

    def info_of(self, pod: Obj) -> PodInfo:
        """What is to be known of a pod (PodInfos.of)."""
        return self._infos.of(pod)

    # -- what the watch says

    def node_changed(self, name: str, node: Obj | None) -> None:
        """A node came, changed, or went (None)."""
        found = self._node(name)
        self._seen += (node is not None) - found.exists
        found.set_node(node)
        self._note(found)
        if node is None:
            self._forget_if_empty(found)

    def pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A pod came, changed, or went (None)."""
        if new is None:
            uid = (old or {})["metadata"]["uid"]
            self._take(uid)
            self.take_back_promise(uid)
            return
        uid = new["metadata"]["uid"]
        name = new["spec"].get("nodeName")
        if not name:
            self._waits(uid, new, old=old)
        elif is_terminal(new):
            self._take(uid)
        else:
            self._stands(uid, new, old=old, name=name)

    def _waits(self, uid: str, new: Obj, *, old: Obj | None) -> None:
        """A pod has no node, as far as the watch knows: it may have been given one a moment ago."""
        before = ((old or {}).get("status") or {}).get("nominatedNodeName")
        after = (new.get("status") or {}).get("nominatedNodeName")
        if after == before or uid in self._placed:
            return
        if after:
            self.promise(uid, self._infos.of(new).shape, name=after)
        else:
            self.take_back_promise(uid)

    def _stands(self, uid: str, new: Obj, *, old: Obj | None, name: str) -> None:
        placed = self._placed.get(uid)
        if placed is None or placed.node.name != name:
            self._take(uid)
            self._place(uid, self._infos.of(new), name=name)
        elif old is not None and _may_be_another(old, new):
            info = self._infos.of(new)
            if info is not placed.info:
                self._take(uid)
                self._place(uid, info, name=name)
        if new["metadata"].get("deletionTimestamp") and uid not in self._leaving:
            self._leave(uid)
        self._assumed.discard(uid)
        if self._promised:
            self.take_back_promise(uid)

    def namespace_changed(self, name: str, labels: Mapping[str, str] | None) -> None:
        """A namespace came, got other labels, or went (None)."""
        before = self._namespaces.pop(name, None)
        if labels is not None:
            self._namespaces[name] = labels
        if before is not None and before != labels:
            self.outdate()
            self._boards.clear()

    def outdate(self) -> None:
        """Something changed by which pods are spread, such as a Service: look it up again."""
        self._of.clear()

    # -- who is where

    def placed(self, uid: str) -> Placed | None:
        """Where a pod is or is assumed to be, None if nowhere."""
        return self._placed.get(uid)

    def is_assumed(self, uid: str) -> bool:
        """Whether the pod was given a node and the watch has not confirmed it."""
        return uid in self._assumed

    def assume(self, uid: str, info: PodInfo, *, node: NodeInfo) -> None:
        """Count a pod where it will be."""
        self._place(uid, info, name=node.name)
        self._assumed.add(uid)
        self.take_back_promise(uid)

    def forget(self, uid: str) -> None:
        """The pod did not come to be where it was assumed; nothing where the watch says that it did."""
        if uid in self._assumed:
            self._take(uid)

    def _place(self, uid: str, info: PodInfo, *, name: str) -> None:
        node = self._node(name)
        node.add(info)
        self._placed[uid] = Placed(info, node)
        if info.company is not ANY_COMPANY:
            self._count_company(info.company, 1)
        self._note(node, info)

    def _take(self, uid: str) -> None:
        placed = self._placed.pop(uid, None)
        if placed is None:
            return
        self._assumed.discard(uid)
        info, node = placed.info, placed.node
        node.remove(info)
        if uid in self._leaving:
            self._leaving.discard(uid)
            node.mark_leaving(info, -1)
        if info.company is not ANY_COMPANY:
            self._count_company(info.company, -1)
        self._note(node, info)
        self._forget_if_empty(node)

    def _leave(self, uid: str) -> None:
        """The pod is being deleted: it takes room, but is not one of those that are spread."""
        placed = self._placed[uid]
        self._leaving.add(uid)
        placed.node.mark_leaving(placed.info, 1)
        self._note(placed.node, placed.info)

    def _count_company(self, company: Company, change: int) -> None:
        count = self._companies.get(company, 0) + change
        if count:
            self._companies[company] = count
        else:
            del self._companies[company]
        if not count or count == change:  # the first of its kind, or the last: rules depend on which there are
            self.outdate()

    def _node(self, name: str) -> NodeInfo:
        found = self.nodes.get(name)
        if found is None:
            self._made += 1
            found = self.nodes[name] = NodeInfo(name, self._made)
        return found

    def _forget_if_empty(self, node: NodeInfo) -> None:
        if not node.exists and not node.pods and self.nodes.get(node.name) is node:
            del self.nodes[node.name]

    # -- promises

    def promise(self, uid: str, shape: Shape, *, name: str) -> None:
        """A pod is to have this node when others have left (status.nominatedNodeName)."""
        known = self._promised.get(uid)
        if known is not None and known.name == name:
            return
        self.take_back_promise(uid)
        if (node := self.nodes.get(name)) is not None:
            node.nominated[uid] = shape
            self._promised[uid] = node
            self._note(node)

    def take_back_promise(self, uid: str) -> NodeInfo | None:
        """The pod is promised no node any more; gives the one that it was."""
        node = self._promised.pop(uid, None)
        if node is not None:
            node.nominated.pop(uid, None)
            self._note(node)
        return node

    # -- boards

    def board(self, info: PodInfo, default_selector: Callable[[], LabelSelector | None]) -> Board:
        """The nodes for pods like this one.

        Args:
            info: the pod.
            default_selector: finds the pods among which it is spread if it says nothing itself; None where that is not
                known yet, which is not remembered.
        """
        board = self._of.get(info)
        if board is None:
            selector = LabelSelector() if info.spread else default_selector()
            board = self._find(info, selector or LabelSelector())
            if selector is not None:
                if len(self._of) >= _BOARDS:
                    self._of.clear()
                self._of[info] = board
        self._catch_up(board)
        return board

    def known_board(self, info: PodInfo) -> Board | None:
        """The same where nothing has to be looked up for it, else None."""
        board = self._of.get(info)
        if board is not None:
            self._catch_up(board)
        return board

    def _find(self, info: PodInfo, selector: LabelSelector) -> Board:
        default = default_constraints(selector)
        rules = rules_of(info, default=default, others=self._companies, namespaces=self._namespaces)
        key = (info.shape, rules)
        board = self._boards.pop(key, None)
        if board is None:
            board = Board(info.shape, rules, namespaces=self._namespaces)
            self._make_room()
        self._boards[key] = board
        return board

    def _make_room(self) -> None:
        while self._boards and (len(self._boards) + 1) * len(self.nodes) > _PLACES:
            gone = self._boards.pop(next(iter(self._boards)))
            self._of = {info: board for info, board in self._of.items() if board is not gone}

    def _catch_up(self, board: Board) -> None:
        end = self._trimmed + len(self._journal)
        if board.seen == end:
            return
        changed: dict[NodeInfo, bool] = {}
        if board.seen < self._trimmed:
            changed = dict.fromkeys((*self.nodes.values(), *board.nodes), True)
        else:
            for node, info in islice(self._journal, board.seen - self._trimmed, None):
                if info is None or board.matters(info):
                    changed[node] = True
                else:
                    changed.setdefault(node, False)
        board.settle(changed)
        board.seen = end

    def _note(self, node: NodeInfo, info: PodInfo | None = None) -> None:
        """Have the boards look at the node again when they are asked next.

        Args:
            node: what has changed.
            info: the kind of the pod that came or went; None where it is something else.
        """
        self._journal.append((node, info))
        if len(self._journal) > 4 * len(self.nodes) + 1024:
            half = len(self._journal) // 2
            del self._journal[:half]
            self._trimmed += half


def _may_be_another(old: Obj, new: Obj) -> bool:
    """Whether a pod may be of another kind now: its labels differ, or its spec does, as after a resize."""
    before, after = old["metadata"], new["metadata"]
    if old is new:
        return False
    generation = after.get("generation")
    return generation is None or generation != before.get("generation") or before.get("labels") != after.get("labels")
