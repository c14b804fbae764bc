"""The annotations of a Deployment: revisions and desired sizes; and which old ReplicaSets to delete."""

from collections.abc import Iterable, Mapping

from apiserver.api.golang.numbers import parse_int
from apiserver.api.meta import Obj, annotations_of
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, age_key, status_count
from controller_manager.controllers.deployment.rolling import max_pods
from controller_manager.reconcile.pod_templates import without_hash
from controller_manager.reconcile.replicas import replicas_of

REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
REVISION_HISTORY_ANNOTATION = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS_ANNOTATION = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS_ANNOTATION = "deployment.kubernetes.io/max-replicas"
ROLLBACK_ANNOTATION = "deprecated.deployment.rollback.to"
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_ANNOTATIONS_TO_SKIP = frozenset(
    (
        LAST_APPLIED_ANNOTATION,
        REVISION_ANNOTATION,
        REVISION_HISTORY_ANNOTATION,
        DESIRED_REPLICAS_ANNOTATION,
        MAX_REPLICAS_ANNOTATION,
        ROLLBACK_ANNOTATION,
    )
)
"""Annotations that are not copied between a Deployment and its ReplicaSets (annotationsToSkip)."""
_MAX_HISTORY_LENGTH = 2000
_NO_LIMIT = 2**31 - 1


def with_annotations(obj: Obj, annotations: Mapping[str, str]) -> Obj:
    """Return the object with its annotations replaced."""
    return obj | {"metadata": obj["metadata"] | {"annotations": dict(annotations)}}


def int_annotation(obj: Obj, annotation: str) -> int | None:
    """Return the 64-bit integer that an annotation holds, or None if it holds none."""
    try:
        return parse_int(annotations_of(obj).get(annotation, ""))
    except ValueError:
        return None


def next_revision(old: Iterable[Obj]) -> int:
    """Return the revision that follows those of the old ReplicaSets (MaxRevision)."""
    return 1 + max((int_annotation(replica_set, REVISION_ANNOTATION) or 0 for replica_set in old), default=0)


def last_revision(sets: Iterable[Obj]) -> int:
    """Return the second newest revision, or 0 if there are fewer than two (LastRevision)."""
    revisions = sorted(
        revision for replica_set in sets if (revision := int_annotation(replica_set, REVISION_ANNOTATION)) is not None
    )
    return max(revisions[-2], 0) if len(revisions) > 1 else 0


def with_revision_of(deployment: Obj, new: Obj) -> Obj:
    """Return the Deployment with its new ReplicaSet's revision; unchanged if it has it (SetDeploymentRevision)."""
    revision = annotations_of(new).get(REVISION_ANNOTATION, "")
    own = annotations_of(deployment)
    return (
        deployment
        if own.get(REVISION_ANNOTATION) == revision
        else with_annotations(deployment, own | {REVISION_ANNOTATION: revision})
    )


def size_annotations(deployment: Obj) -> dict[str, str]:
    """Return the annotations that record the desired and maximum size on a ReplicaSet (SetReplicasAnnotations)."""
    return {
        DESIRED_REPLICAS_ANNOTATION: str(replicas_of(deployment)),
        MAX_REPLICAS_ANNOTATION: str(max_pods(deployment)),
    }


def annotations_for_new(deployment: Obj, new: Obj, revision: int) -> dict[str, str]:
    """Return the annotations that the new ReplicaSet should have (SetNewReplicaSetAnnotations).

    Its revision never decreases. A former revision is added to the history: the template has been used again.

    Args:
        deployment: the Deployment whose annotations are copied.
        new: the ReplicaSet as it is now.
        revision: the revision that it gets if its own is lower.
    """
    own = annotations_of(new)
    copied = own | {key: value for key, value in annotations_of(deployment).items() if key not in _ANNOTATIONS_TO_SKIP}
    before = own.get(REVISION_ANNOTATION, "")
    number = int_annotation(new, REVISION_ANNOTATION)
    if before and number is None:  # upstream gives up on all of them
        return own
    if (number or 0) >= revision:
        return copied
    if before:
        copied[REVISION_HISTORY_ANNOTATION] = _with_entry(own.get(REVISION_HISTORY_ANNOTATION, ""), before)
    return copied | {REVISION_ANNOTATION: str(revision)}


def _with_entry(history: str, entry: str) -> str:
    """Return the history with one more entry and without its oldest ones if it gets long.

    It stays unchanged if the entry alone is too long.
    """
    if not history:
        return entry
    entries = [*history.split(","), entry]
    length = len(history) + 1 + len(entry)
    while length > _MAX_HISTORY_LENGTH and len(entries) > 1:
        length -= len(entries.pop(0)) + 1
    return ",".join(entries) if length <= _MAX_HISTORY_LENGTH else history


# -- rolling back by annotation ----------------------------------------------------------------------------------------


def rollback_revision(deployment: Obj) -> int | None:
    """Return the revision to roll back to by annotation, 0 for the previous one; None if there is no request."""
    return int_annotation(deployment, ROLLBACK_ANNOTATION)


def without_rollback(deployment: Obj) -> Obj:
    """Return the Deployment without its rollback request (updateDeploymentAndClearRollbackTo)."""
    rest = {key: value for key, value in annotations_of(deployment).items() if key != ROLLBACK_ANNOTATION}
    return with_annotations(deployment, rest)


def with_template_of(deployment: Obj, to: Obj) -> Obj:
    """Return the Deployment with the template and the annotations of a ReplicaSet (rollbackToTemplate)."""
    kept = {
        key: value
        for key, value in annotations_of(deployment).items()
        if key in _ANNOTATIONS_TO_SKIP and key != ROLLBACK_ANNOTATION
    }
    back = {key: value for key, value in annotations_of(to).items() if key not in _ANNOTATIONS_TO_SKIP}
    changed = with_annotations(deployment, kept | back)
    return changed | {"spec": deployment["spec"] | {"template": without_hash(to["spec"]["template"])}}


# -- clean-up of old ReplicaSets ---------------------------------------------------------------------------------------


def sets_to_clean_up(deployment: Obj, sets: ReplicaSets, *, by_revision: bool) -> list[Obj]:
    """Return the old ReplicaSets to delete because there are more than revisionHistoryLimit (cleanupDeployment).

    The oldest are chosen first. One of these that still has pods, or whose controller is behind, is kept, and no other
    is deleted instead.

    Args:
        deployment: the Deployment whose limit applies.
        sets: its ReplicaSets.
        by_revision: True if the lowest revision counts as the oldest, False if the first created does
            (Profile.cleanup_by_revision).
    """
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None or limit == _NO_LIMIT:
        return []
    kept = [replica_set for replica_set in sets.old if not replica_set["metadata"].get("deletionTimestamp")]
    if by_revision:
        kept.sort(key=lambda replica_set: (int_annotation(replica_set, REVISION_ANNOTATION) or 0, age_key(replica_set)))
    return [replica_set for replica_set in kept[: max(0, len(kept) - limit)] if _is_idle(replica_set)]


def _is_idle(replica_set: Obj) -> bool:
    is_synced = status_count(replica_set, "observedGeneration") >= replica_set["metadata"].get("generation", 0)
    return is_synced and not status_count(replica_set, "replicas") and not replicas_of(replica_set)


def with_revision(sets: Iterable[Obj], revision: int) -> Obj | None:
    """Return the ReplicaSet of a revision, or None if there is none."""
    return next(
        (replica_set for replica_set in sets if int_annotation(replica_set, REVISION_ANNOTATION) == revision), None
    )


def is_resized(deployment: Obj, sets: ReplicaSets) -> bool:
    """Return whether a ReplicaSet that has pods was sized for another spec.replicas (isScalingEvent)."""
    sizes = (int_annotation(replica_set, DESIRED_REPLICAS_ANNOTATION) for replica_set in sets.active)
    return any(desired is not None and desired != replicas_of(deployment) for desired in sizes)
