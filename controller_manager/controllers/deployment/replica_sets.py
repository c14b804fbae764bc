"""The ReplicaSets of a Deployment: the one of its template, all others, and what they count."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from apiserver.api.meta import Obj, name_of
from controller_manager.reconcile.pod_templates import is_same_template
from controller_manager.reconcile.replicas import replicas_of


def count(obj: Obj, field: str) -> int:
    """A number of its status, 0 where it is not told."""
    found: int | None = (obj.get("status") or {}).get(field)
    return found or 0


def age(obj: Obj) -> tuple[str, str]:
    """What sorts objects oldest first (controller_utils.go ReplicaSetsByCreationTimestamp)."""
    return obj["metadata"].get("creationTimestamp") or "", name_of(obj)


def wanted(sets: Iterable[Obj]) -> int:
    """How many pods the sets want together (GetReplicaCountForReplicaSets)."""
    return sum(map(replicas_of, sets))


def sum_status(sets: Iterable[Obj], field: str) -> int:
    """What the sets' statuses count together."""
    return sum(count(replica_set, field) for replica_set in sets)


def terminating(sets: Iterable[Obj]) -> int | None:
    """How many pods of the sets are terminating; None where one does not tell (GetTerminatingReplicaCount…).

    A set that nobody has looked at yet has none.
    """
    total = 0
    for replica_set in sets:
        found = (replica_set.get("status") or {}).get("terminatingReplicas")
        if found is not None:
            total += found
        elif count(replica_set, "observedGeneration"):
            return None
    return total


@dataclass(frozen=True, slots=True)
class Resize:
    """A size that a ReplicaSet is to have; it may have it already."""

    replica_set: Obj
    size: int


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    """The ReplicaSets that a Deployment controls.

    Attributes:
        new: the one of the Deployment's template; of several the oldest (FindNewReplicaSet). None before it is made.
        old: the others, oldest first.
    """

    new: Obj | None
    old: tuple[Obj, ...]

    @property
    def all(self) -> tuple[Obj, ...]:
        """The old ones, then the new one."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[Obj, ...]:
        """Those that want pods (FilterActiveReplicaSets)."""
        return tuple(found for found in self.all if replicas_of(found) > 0)

    @property
    def old_active(self) -> tuple[Obj, ...]:
        """The old ones that want pods."""
        return tuple(found for found in self.old if replicas_of(found) > 0)

    def having(self, changed: Obj) -> Self:
        """The same with one of them as it is now, known by its name."""
        name = name_of(changed)
        if self.new is not None and name_of(self.new) == name:
            return replace(self, new=changed)
        return replace(self, old=tuple(changed if name_of(found) == name else found for found in self.old))


def partition_sets(deployment: Obj, sets: Iterable[Obj]) -> ReplicaSets:
    """The new and the old among the ReplicaSets of a Deployment (FindNewReplicaSet, FindOldReplicaSets)."""
    template, new, old = deployment["spec"]["template"], None, []
    for replica_set in sorted(sets, key=age):
        if new is None and is_same_template(replica_set["spec"].get("template") or {}, template):
            new = replica_set
        else:
            old.append(replica_set)
    return ReplicaSets(new, tuple(old))
