"""The ReplicaSets of a Deployment: the one of its current template, the older ones, and their counts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from apiserver.api.meta import Obj, name_of
from controller_manager.reconcile.pod_templates import is_same_template
from controller_manager.reconcile.replicas import replicas_of


def status_count(obj: Obj, field: str) -> int:
    """Return a number of an object's status, or 0 if it is not set."""
    value: int | None = (obj.get("status") or {}).get(field)
    return value or 0


def age_key(obj: Obj) -> tuple[str, str]:
    """Return the key that sorts objects oldest first (controller_utils.go ReplicaSetsByCreationTimestamp)."""
    return obj["metadata"].get("creationTimestamp") or "", name_of(obj)


def total_replicas(sets: Iterable[Obj]) -> int:
    """Return the sum of the sets' spec.replicas (GetReplicaCountForReplicaSets)."""
    return sum(map(replicas_of, sets))


def sum_status(sets: Iterable[Obj], field: str) -> int:
    """Return the sum of a count over the sets' statuses."""
    return sum(status_count(replica_set, field) for replica_set in sets)


def terminating_replicas(sets: Iterable[Obj]) -> int | None:
    """Return how many pods are terminating, or None if a set does not report it (GetTerminatingReplicaCount…).

    A set that its controller has not observed yet has none.
    """
    total = 0
    for replica_set in sets:
        value = (replica_set.get("status") or {}).get("terminatingReplicas")
        if value is not None:
            total += value
        elif status_count(replica_set, "observedGeneration"):
            return None
    return total


@dataclass(frozen=True, slots=True)
class Resize:
    """A size that a ReplicaSet should have; it may have it already."""

    replica_set: Obj
    size: int


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    """The ReplicaSets that a Deployment controls.

    Attributes:
        new: the one with the Deployment's template, the oldest of several (FindNewReplicaSet); None before it exists.
        old: the other ReplicaSets, oldest first.
    """

    new: Obj | None
    old: tuple[Obj, ...]

    @property
    def all(self) -> tuple[Obj, ...]:
        """The old ReplicaSets, then the new one."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[Obj, ...]:
        """The ReplicaSets with spec.replicas above zero (FilterActiveReplicaSets)."""
        return tuple(replica_set for replica_set in self.all if replicas_of(replica_set) > 0)

    @property
    def old_active(self) -> tuple[Obj, ...]:
        """The old ReplicaSets with spec.replicas above zero."""
        return tuple(replica_set for replica_set in self.old if replicas_of(replica_set) > 0)

    def with_updated(self, changed: Obj) -> Self:
        """Return a copy in which the ReplicaSet of the same name is replaced by the changed one."""
        name = name_of(changed)
        if self.new is not None and name_of(self.new) == name:
            return replace(self, new=changed)
        return replace(
            self, old=tuple(changed if name_of(replica_set) == name else replica_set for replica_set in self.old)
        )


def partition_sets(deployment: Obj, sets: Iterable[Obj]) -> ReplicaSets:
    """Return a Deployment's ReplicaSets, divided into the new and the old (FindNewReplicaSet, FindOldReplicaSets)."""
    template, new, old = deployment["spec"]["template"], None, []
    for replica_set in sorted(sets, key=age_key):
        if new is None and is_same_template(replica_set["spec"].get("template") or {}, template):
            new = replica_set
        else:
            old.append(replica_set)
    return ReplicaSets(new, tuple(old))
