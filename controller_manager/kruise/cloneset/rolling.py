"""How many pods of a CloneSet are made, deleted and updated at a time, and which.

(pkg/controller/cloneset/sync: calculateDiffsWithExpectation, Scale, limitUpdateIndexes) Pods go from older revisions to
the newest and not back: the gate CloneSetPartitionRollback is off, as it is upstream.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_manager.kruise.cloneset.ranks import in_deletion_order, in_update_order, node_ranks
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.reconcile.in_place import is_in_grace

Ranker = Callable[[Sequence[Member]], Mapping[str, float]]
"""How crowded pods are where they run, by their uids: those of the highest rank go first."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What there is to do about pods; scaling comes before updating.

    Attributes:
        create: how many are missing.
        create_limit: how many of those may be made now.
        create_old: how many of those that are made are to be of the current revision; it may be more than there are.
        delete: how many are too many, beside those that are leaving.
        delete_old: how many of those are to be of older revisions; it may be more than there are.
        delete_ready_limit: how many ready pods may be deleted.
        update: how many are to be brought to the update revision.
        update_limit: how many pods may be unavailable meanwhile.
    """

    create: int = 0
    create_limit: int = 0
    create_old: int = 0
    delete: int = 0
    delete_old: int = 0
    delete_ready_limit: int = 0
    update: int = 0
    update_limit: int = 0


@dataclass(frozen=True, slots=True)
class _Tally:
    """Members counted: all of them, and those of older revisions; what leaves does not count as unavailable."""

    total: int
    old: int
    leaving: int
    leaving_old: int
    unavailable: int

    @property
    def new(self) -> int:
        return self.total - self.old


def _tally(members: Sequence[Member]) -> _Tally:
    return _Tally(
        total=len(members),
        old=sum(not each.updated for each in members),
        leaving=sum(each.leaving for each in members),
        leaving_old=sum(each.leaving and not each.updated for each in members),
        unavailable=sum(not each.leaving and not each.available for each in members),
    )


def diff_of(members: Sequence[Member], strategy: Strategy) -> Diff:
    """What there is to do (calculateDiffsWithExpectation)."""
    tally, replicas = _tally(members), strategy.replicas
    too_old = max(tally.old - strategy.partition, 0)
    too_few_new = max(replicas - strategy.partition - tally.new, 0)
    surge = _surge(tally, strategy, moves=min(too_old, too_few_new))
    total, old = replicas + surge.all, strategy.partition + surge.old
    create = max(total - tally.total, 0)
    delete = max(tally.total - tally.leaving - total, 0)
    beyond, update = tally.total - replicas, min(too_old, too_few_new)
    deletes = bool(tally.leaving or delete)
    return Diff(
        create=create,
        create_limit=min(create, max(strategy.most_unavailable_to_grow - tally.unavailable, 0)),
        create_old=max(old - tally.old, 0) if create else 0,
        delete=delete,
        delete_old=max(tally.old - tally.leaving_old - old, 0) if delete else 0,
        delete_ready_limit=max(strategy.max_unavailable + beyond - tally.unavailable, 0) if deletes else 0,
        update=update,
        update_limit=strategy.max_unavailable + beyond if update else 0,
    )


@dataclass(frozen=True, slots=True)
class _Surge:
    """How many pods there are to be beyond replicas for the time being, and how many of them of older revisions."""

    all: int = 0
    old: int = 0


def _surge(tally: _Tally, strategy: Strategy, *, moves: int) -> _Surge:
    """The pods that stand in for others: for those that leave and are missed, or for those that are updated."""
    missed = max(tally.unavailable + tally.leaving - strategy.max_unavailable, 0)
    for_leaving = min(missed, tally.leaving)
    if for_leaving < moves:
        return _Surge(min(strategy.max_surge, moves))
    used = min(strategy.max_surge, for_leaving)
    return _Surge(used, min(used, max(for_leaving - (tally.leaving - tally.leaving_old), 0)))


# -- which pods --------------------------------------------------------------------------------------------------------


def to_be_deleted(members: Sequence[Member], diff: Diff, rank: Ranker = node_ranks) -> list[Member]:
    """The pods that go because there are too many: of older revisions first, and ready ones only so many.

    Args:
        members: of which none is leaving.
        diff: how many.
        rank: how pods are ranked that are alike.
    """
    from_old = min(diff.delete_old, diff.delete)
    old, new = [each for each in members if not each.updated], [each for each in members if each.updated]
    chosen = _first(old, from_old, rank) + _first(new, diff.delete - from_old, rank)
    return within(chosen, diff.delete_ready_limit)


def _first(members: Sequence[Member], count: int, rank: Ranker) -> list[Member]:
    if count <= 0:
        return []
    return list(members) if count >= len(members) else in_deletion_order(members, rank(members))[:count]


def within(members: Iterable[Member], limit: int) -> list[Member]:
    """Those that may be deleted: all that are not ready, and so many of the others."""
    found = []
    for each in members:
        if each.serves:
            if limit <= 0:
                continue
            limit -= 1
        found.append(each)
    return found


def to_be_updated(members: Sequence[Member], diff: Diff) -> list[Member]:
    """The pods that are brought to the update revision now (Update, limitUpdateIndexes).

    A pod that is unavailable already makes no more of them so; but no more than may be unavailable are on their way to
    the update revision, or were brought there and are not available.
    """
    waiting = [each for each in members if not each.updated and not is_in_grace(each.pod)]
    unavailable = sum(not each.available for each in members)
    underway = sum(each.updated and not each.available for each in members)
    chosen: list[Member] = []
    for each in in_update_order(waiting)[: diff.update]:
        if underway + len(chosen) >= diff.update_limit:
            break
        if each.available:
            if unavailable >= diff.update_limit:
                break
            unavailable += 1
        chosen.append(each)
    return chosen
