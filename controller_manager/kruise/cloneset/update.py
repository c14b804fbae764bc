"""How a CloneSet brings pods to its newest revision: as they are, or by having them deleted and made anew.

(pkg/controller/cloneset/sync/cloneset_update.go)
"""

from collections.abc import Generator, Iterable
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.controllers.statefulset.identity import revision_name_of
from controller_manager.kruise.cloneset.pods import of_revision
from controller_manager.kruise.cloneset.rolling import diff_of, to_be_updated
from controller_manager.kruise.cloneset.scale import SyncContext
from controller_manager.kruise.cloneset.spec import Member, is_of, short_hash
from controller_manager.kruise.in_place_update import UpdateContext, begin, refresh
from controller_manager.kruise.pod_lifecycle import IN_PLACE, IN_PLACE_ONLY, SPECIFIED_DELETE, UPDATING, in_state
from controller_manager.reconcile.contract import WARNING, Action, Patch, Plan, RecordEvent, key_of
from controller_manager.reconcile.in_place import UpdateSpec, spec_between
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.pod_templates import HASH_LABEL
from controller_manager.reconcile.revisions import History


def update_pods(run: SyncContext, history: History) -> Generator[Action, Any, float | None]:
    """Bring all pods on that are being updated, then begin with others (Update); gives the seconds to the next look.

    Args:
        run: the pass, in which nothing was scaled.
        history: of the set.

    Raises:
        ApiError: the first refusal, after which nothing else was tried.
    """
    look = UpdateContext(run.now, is_of, labels=_missing_labels)
    seen = yield from refresh((each.pod for each in run.members), look)
    if seen.moved or run.strategy.on_delete or run.strategy.paused:
        return seen.wait
    chosen = to_be_updated(run.members, diff_of(run.members, run.strategy))
    for member in chosen:
        yield from _update(run, member, history)
    in_grace = run.strategy.grace and run.strategy.policy in (IN_PLACE, IN_PLACE_ONLY) and bool(chosen)
    return min(filter(None, (seen.wait, float(run.strategy.grace) if in_grace else None)), default=None)


def _missing_labels(pod: Obj) -> dict[str, str]:
    """The label that pods of old releases lack (fixPodTemplateHashLabel)."""
    return {} if HASH_LABEL in labels_of(pod) else {HASH_LABEL: short_hash(revision_name_of(pod))}


def _update(run: SyncContext, member: Member, history: History) -> Plan:
    """Bring a pod to the update revision (updatePod)."""
    pod, revision = member.pod, name_of(history.update)
    if run.strategy.policy in (IN_PLACE, IN_PLACE_ONLY):
        spec = _spec(pod, history, grace=run.strategy.grace)
        if spec is not None:
            yield from begin(run.parent, pod, spec, mark=lambda found: _updating(found, revision, run.now), now=run.now)
            return
        if run.strategy.policy == IN_PLACE_ONLY:
            why = f"find Pod {member.name} update strategy is InPlaceOnly but can not update in-place"
            raise ApiError(422, "Invalid", why)
    yield from _have_deleted(run, member, revision)


def _spec(pod: Obj, history: History, *, grace: int) -> UpdateSpec | None:
    """What brings a pod to the update revision as it is, None where that needs another pod."""
    return spec_between(_revision_of(pod, history.revisions), history.update, grace=grace)


def _revision_of(pod: Obj, revisions: Iterable[Obj]) -> Obj | None:
    return next((revision for revision in revisions if is_of(pod, name_of(revision))), None)


def _updating(pod: Obj, revision: str, now: float) -> Obj:
    return in_state(of_revision(pod, revision), UPDATING, now)


def _have_deleted(run: SyncContext, member: Member, revision: str) -> Plan:
    """Ask that a pod is deleted; the next run does so, and makes another (PatchPodSpecifiedDelete)."""
    if SPECIFIED_DELETE in labels_of(member.pod):
        return
    meta = {"uid": member.pod["metadata"]["uid"], "labels": {SPECIFIED_DELETE: "true"}}
    try:
        yield Patch(POD, key_of(member.pod), {"metadata": meta})
    except ApiError as error:
        why = f"failed to patch pod specified-delete {member.name} for update(revision {revision}): {error.message}"
        yield RecordEvent(run.parent, "FailedUpdatePodReCreate", why, WARNING)
        raise
    told = f"successfully patch pod {member.name} specified-delete for update(revision {revision})"
    yield RecordEvent(run.parent, "SuccessfulUpdatePodReCreate", told)
