"""The numbers of pods of a CloneSet to create, delete and update now, and the choice of pods.

(pkg/controller/cloneset/sync: calculateDiffsWithExpectation, Scale, limitUpdateIndexes) Pods go from older revisions to
the newest and not back: the gate CloneSetPartitionRollback is off, as it is upstream.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_manager.kruise.cloneset.ranks import in_deletion_order, in_update_order, node_ranks
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.reconcile.in_place import is_in_grace

Ranker = Callable[[Sequence[Member]], Mapping[str, float]]
"""Returns how crowded pods are where they run, by uid; those with the highest rank are deleted first."""


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes to make; scaling comes before updating.

    Attributes:
        create: how many pods are missing.
        create_limit: how many of those may be created now.
        create_old: how many of the created ones are to be of the current revision; may be more than create.
        delete: how many pods are too many, not counting those that are leaving.
        delete_old: how many of those are to be of older revisions; may be more than delete.
        delete_ready_limit: how many ready pods may be deleted.
        update: how many pods are to be updated.
        update_limit: how many pods may be unavailable during that.
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
    """Counts of members: all of them, and those of older revisions; leaving ones do not count as unavailable."""

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
        old=sum(not member.updated for member in members),
        leaving=sum(member.terminating for member in members),
        leaving_old=sum(member.terminating and not member.updated for member in members),
        unavailable=sum(not member.terminating and not member.available for member in members),
    )


def diff_of(members: Sequence[Member], strategy: Strategy) -> Diff:
    """Return the changes to make (calculateDiffsWithExpectation)."""
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
        create_limit=min(create, max(strategy.scale_max_unavailable - tally.unavailable, 0)),
        create_old=max(old - tally.old, 0) if create else 0,
        delete=delete,
        delete_old=max(tally.old - tally.leaving_old - old, 0) if delete else 0,
        delete_ready_limit=max(strategy.max_unavailable + beyond - tally.unavailable, 0) if deletes else 0,
        update=update,
        update_limit=strategy.max_unavailable + beyond if update else 0,
    )


@dataclass(frozen=True, slots=True)
class _Surge:
    """The number of pods beyond replicas for the time being, and how many of them are of older revisions."""

    all: int = 0
    old: int = 0


def _surge(tally: _Tally, strategy: Strategy, *, moves: int) -> _Surge:
    """Return the surge for pods that leave and have to be replaced first, or for pods that are updated."""
    missed = max(tally.unavailable + tally.leaving - strategy.max_unavailable, 0)
    for_leaving = min(missed, tally.leaving)
    if for_leaving < moves:
        return _Surge(min(strategy.max_surge, moves))
    used = min(strategy.max_surge, for_leaving)
    return _Surge(used, min(used, max(for_leaving - (tally.leaving - tally.leaving_old), 0)))


# -- which pods --------------------------------------------------------------------------------------------------------


def pods_to_delete(members: Sequence[Member], diff: Diff, rank: Ranker = node_ranks) -> list[Member]:
    """Choose the pods to delete because there are too many: older revisions first, and ready pods only up to the limit.

    Args:
        members: none of them is leaving.
        diff: how many to delete.
        rank: ranks pods that are equal otherwise.
    """
    from_old = min(diff.delete_old, diff.delete)
    old, new = [member for member in members if not member.updated], [member for member in members if member.updated]
    chosen = _first_ranked(old, from_old, rank) + _first_ranked(new, diff.delete - from_old, rank)
    return limit_ready(chosen, diff.delete_ready_limit)


def _first_ranked(members: Sequence[Member], count: int, rank: Ranker) -> list[Member]:
    if count <= 0:
        return []
    return list(members) if count >= len(members) else in_deletion_order(members, rank(members))[:count]


def limit_ready(members: Iterable[Member], limit: int) -> list[Member]:
    """Return the members that may be deleted: all that are not ready, and up to `limit` of the others."""
    deletable = []
    for member in members:
        if member.is_serving:
            if limit <= 0:
                continue
            limit -= 1
        deletable.append(member)
    return deletable


def pods_to_update(members: Sequence[Member], diff: Diff) -> list[Member]:
    """Choose the pods to update now (Update, limitUpdateIndexes).

    Updating an unavailable pod does not make more pods unavailable. But the pods that are being updated, or were
    updated and are not available yet, are never more than may be unavailable.
    """
    waiting = [member for member in members if not member.updated and not is_in_grace(member.pod)]
    unavailable = sum(not member.available for member in members)
    in_progress = sum(member.updated and not member.available for member in members)
    chosen: list[Member] = []
    for member in in_update_order(waiting)[: diff.update]:
        if in_progress + len(chosen) >= diff.update_limit:
            break
        if member.available:
            if unavailable >= diff.update_limit:
                break
            unavailable += 1
        chosen.append(member)
    return chosen
