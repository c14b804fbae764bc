"""The compatibility profile: all differences between releases, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The behaviour of a release; the defaults are the newest release's.

    Attributes:
        scale_from: scaling events of Deployments end in "from M" (1.26 and newer).
        scale_from_to: they end in "from M to N", also for a new ReplicaSet (1.31 and newer).
        recreates_failed_at_once: StatefulSets delete and recreate a failed pod in one sync, with an event (1.20).
        deletion_cost: ReplicaSets use controller.kubernetes.io/pod-deletion-cost (1.22 and newer).
        logarithmic_ages: ReplicaSets compare ages by powers of two when they choose what to delete (1.22 and newer).
        terminating_replicas: status.terminatingReplicas is set (1.35 and newer).
        cleanup_by_revision: old ReplicaSets are deleted by revision, then age; in older releases, by age alone.
        max_unavailable: StatefulSets use rollingUpdate.maxUnavailable (1.35 and newer).
        ordinals: StatefulSets use ordinals.start and label pods with their index (1.27 and newer).
        retention: StatefulSets use persistentVolumeClaimRetentionPolicy (1.27 and newer).
        min_ready_stateful: StatefulSets use minReadySeconds (1.25 and newer).
    """

    scale_from: bool = True
    scale_from_to: bool = True
    recreates_failed_at_once: bool = False
    deletion_cost: bool = True
    logarithmic_ages: bool = True
    terminating_replicas: bool = True
    cleanup_by_revision: bool = True
    max_unavailable: bool = True
    ordinals: bool = True
    retention: bool = True
    min_ready_stateful: bool = True


NEWEST = Profile()
PROFILES = {
    "1.20": Profile(
        scale_from=False,
        scale_from_to=False,
        recreates_failed_at_once=True,
        deletion_cost=False,
        logarithmic_ages=False,
        terminating_replicas=False,
        cleanup_by_revision=False,
        max_unavailable=False,
        ordinals=False,
        retention=False,
        min_ready_stateful=False,
    ),
    "1.30": Profile(scale_from_to=False, terminating_replicas=False, max_unavailable=False),
    "1.35": NEWEST,
}
"""The values of --compatibility."""
