"""Updates of a CloneSet's pods to the newest revision: in place, or by deleting pods and creating others.

(pkg/controller/cloneset/sync/cloneset_update.go)
"""

from collections.abc import Generator, Iterable
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.controllers.statefulset.identity import revision_name_of
from controller_manager.kruise.cloneset.pods import with_revision
from controller_manager.kruise.cloneset.rolling import diff_of, pods_to_update
from controller_manager.kruise.cloneset.scale import SyncContext
from controller_manager.kruise.cloneset.spec import Member, is_of, short_hash
from controller_manager.kruise.in_place_update import UpdateContext, begin_update, refresh_pods
from controller_manager.kruise.pod_lifecycle import IN_PLACE, IN_PLACE_ONLY, SPECIFIED_DELETE, UPDATING, with_state
from controller_manager.reconcile.contract import WARNING, Action, Patch, Plan, RecordEvent, key_of
from controller_manager.reconcile.in_place import UpdateSpec, spec_between
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.pod_templates import HASH_LABEL
from controller_manager.reconcile.revisions import History


def update_pods(run: SyncContext, history: History) -> Generator[Action, Any, float | None]:
    """Go on with updates of pods, then begin others (Update); return the seconds until the next run, None for none.

    Args:
        run: the run, in which nothing was scaled.
        history: the set's revisions.

    Raises:
        ApiError: the first error, after which nothing else was tried.
    """
    context = UpdateContext(run.now, is_of, labels=_missing_labels)
    refreshed = yield from refresh_pods((member.pod for member in run.members), context)
    if refreshed.changed or run.strategy.on_delete or run.strategy.paused:
        return refreshed.wait
    chosen = pods_to_update(run.members, diff_of(run.members, run.strategy))
    for member in chosen:
        yield from _update_pod(run, member, history)
    in_grace = run.strategy.grace and run.strategy.policy in (IN_PLACE, IN_PLACE_ONLY) and bool(chosen)
    return min(filter(None, (refreshed.wait, float(run.strategy.grace) if in_grace else None)), default=None)


def _missing_labels(pod: Obj) -> dict[str, str]:
    """Return the label that pods of old releases lack (fixPodTemplateHashLabel)."""
    return {} if HASH_LABEL in labels_of(pod) else {HASH_LABEL: short_hash(revision_name_of(pod))}


def _update_pod(run: SyncContext, member: Member, history: History) -> Plan:
    """Update a pod to the update revision (updatePod)."""
    pod, revision = member.pod, name_of(history.update)
    if run.strategy.policy in (IN_PLACE, IN_PLACE_ONLY):
        spec = _update_spec(pod, history, grace=run.strategy.grace)
        if spec is not None:
            yield from begin_update(
                run.parent, pod, spec, mark=lambda current: _with_update(current, revision, run.now), now=run.now
            )
            return
        if run.strategy.policy == IN_PLACE_ONLY:
            message = f"find Pod {member.name} update strategy is InPlaceOnly but can not update in-place"
            raise ApiError(422, "Invalid", message)
    yield from _request_deletion(run, member, revision)


def _update_spec(pod: Obj, history: History, *, grace: int) -> UpdateSpec | None:
    """Return the in-place changes that update a pod, None if that needs another pod."""
    return spec_between(_revision_of(pod, history.revisions), history.update, grace=grace)


def _revision_of(pod: Obj, revisions: Iterable[Obj]) -> Obj | None:
    return next((revision for revision in revisions if is_of(pod, name_of(revision))), None)


def _with_update(pod: Obj, revision: str, now: float) -> Obj:
    return with_state(with_revision(pod, revision), UPDATING, now)


def _request_deletion(run: SyncContext, member: Member, revision: str) -> Plan:
    """Request that a pod is deleted; the next run does so, and creates another (PatchPodSpecifiedDelete)."""
    if SPECIFIED_DELETE in labels_of(member.pod):
        return
    meta = {"uid": member.pod["metadata"]["uid"], "labels": {SPECIFIED_DELETE: "true"}}
    try:
        yield Patch(POD, key_of(member.pod), {"metadata": meta})
    except ApiError as error:
        failure = f"failed to patch pod specified-delete {member.name} for update(revision {revision}): {error.message}"
        yield RecordEvent(run.parent, "FailedUpdatePodReCreate", failure, WARNING)
        raise
    message = f"successfully patch pod {member.name} specified-delete for update(revision {revision})"
    yield RecordEvent(run.parent, "SuccessfulUpdatePodReCreate", message)
