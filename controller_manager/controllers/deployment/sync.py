"""What a Deployment's controller does in one run: make, resize and delete ReplicaSets, and tell how far it is."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of
from controller_manager.controllers.deployment import history
from controller_manager.controllers.deployment import status as statuses
from controller_manager.controllers.deployment.history import with_annotations
from controller_manager.controllers.deployment.new_replica_set import new_replica_set, scaling_message
from controller_manager.controllers.deployment.proportional_scaling import resized
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, Resize, sum_status
from controller_manager.controllers.deployment.rolling import (
    RECREATE,
    next_size,
    strategy_of,
    without_surplus,
    without_unhealthy,
)
from controller_manager.reconcile.conditions import FALSE, TRUE
from controller_manager.reconcile.contract import (
    WARNING,
    Action,
    Create,
    Delete,
    Get,
    Plan,
    RecordEvent,
    RequeueAfter,
    Update,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of, owner_reference
from controller_manager.reconcile.deletion import remove
from controller_manager.reconcile.kinds import DEPLOYMENT, REPLICA_SET
from controller_manager.reconcile.pod_templates import is_same_template
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import replicas_of


@dataclass(slots=True)
class SyncContext:
    """One run over a Deployment: it and its ReplicaSets as the server has told them last."""

    deployment: Obj
    sets: ReplicaSets
    now: float
    profile: Profile


def roll_out(run: SyncContext, busy: frozenset[str]) -> Plan:
    """Take the rollout one step further, or first give all ReplicaSets their part of a new size.

    Args:
        run: the pass.
        busy: the uids of ReplicaSets that have pods which have not ended; only needed where the strategy is Recreate.

    Raises:
        ApiError: a write was refused.
    """
    yield from keep_revision(run)
    if history.is_resized(run.deployment, run.sets):
        yield from resize(run)
        return
    if strategy_of(run.deployment) == RECREATE:
        yield from _recreate(run, busy)
    else:
        yield from _roll(run)


# -- the new ReplicaSet ------------------------------------------------------------------------------------------------


def note_pause(run: SyncContext) -> Plan:
    """Write that the Deployment is paused, or no more."""
    yield from _put(run, statuses.with_pause_noted(run.deployment, run.now))


def keep_revision(run: SyncContext) -> Plan:
    """Bring the annotations of the new ReplicaSet up to date, and the Deployment's revision (getNewReplicaSet)."""
    if (new := run.sets.new) is None:
        return
    revision = history.next_revision(run.sets.old)
    bounded = run.profile.bounded_history
    annotations = history.annotations_for_new(run.deployment, new, revision, bounded=bounded)
    ready = run.deployment["spec"].get("minReadySeconds", 0)
    spec = new["spec"]
    if ready != spec.get("minReadySeconds", 0):
        spec = spec | {"minReadySeconds": ready}
    if annotations != annotations_of(new) or spec is not new["spec"]:
        new = yield Update(REPLICA_SET, with_annotations(new, annotations) | {"spec": spec})
        run.sets = run.sets.having(new)
    deployment = history.with_revision_of(run.deployment, new)
    if statuses.has_deadline(deployment) and statuses.progress_of(deployment) is None:
        told = f'Found new replica set "{name_of(new)}"'
        deployment = statuses.with_progress(deployment, TRUE, run.now, reason=statuses.FOUND, message=told)
    yield from _put(run, deployment)


def _make_new(run: SyncContext, *, empty: bool = False) -> Plan:
    """Make the ReplicaSet of the Deployment's template, unless it is there already and the cache was behind."""
    deployment = run.deployment
    wanted = new_replica_set(deployment, run.sets, owner_reference(DEPLOYMENT, deployment), empty=empty)
    try:
        new = yield Create(REPLICA_SET, wanted)
    except ApiError as error:
        new = yield from _instead(run, wanted, error)
        deployment = history.with_revision_of(deployment, new)
    else:
        if size := replicas_of(new):
            yield _scaled(run, new, before=None, size=size)
        deployment = history.with_revision_of(deployment, new)
        if statuses.has_deadline(deployment):
            told = f'Created new replica set "{name_of(new)}"'
            deployment = statuses.with_progress(deployment, TRUE, run.now, reason=statuses.CREATED, message=told)
    run.sets = ReplicaSets(new, run.sets.old)
    yield from _put(run, deployment)


def _instead(run: SyncContext, wanted: Obj, error: ApiError) -> Generator[Action, Any, Obj]:
    """The ReplicaSet that was in the way, if it is the wanted one; everything else is an error, to be tried again."""
    if error.reason == "AlreadyExists":
        found: Obj = yield Get(REPLICA_SET, key_of(wanted))
        owner, template = controller_of(found), run.deployment["spec"]["template"]
        mine = owner is not None and owner["uid"] == run.deployment["metadata"]["uid"]
        if mine and is_same_template(found["spec"]["template"], template):
            return found
        yield from _put(run, statuses.with_collision(run.deployment))
    elif not is_namespace_terminating(error):
        told = f'Failed to create new replica set "{name_of(wanted)}": {error.message}'
        yield RecordEvent(run.deployment, reason=statuses.FAILED_CREATE, message=told, type=WARNING)
        if statuses.has_deadline(run.deployment):
            reason = statuses.FAILED_CREATE
            yield from _put(run, statuses.with_progress(run.deployment, FALSE, run.now, reason=reason, message=told))
    raise error


# -- strategies --------------------------------------------------------------------------------------------------------


def _roll(run: SyncContext) -> Plan:
    """Grow the new ReplicaSet or shrink old ones, as far as it may go now (rolling.go rolloutRolling)."""
    if run.sets.new is None:
        yield from _make_new(run)
    assert run.sets.new is not None
    before = run.sets
    failure: ApiError | None = None
    if replicas_of(run.sets.new) != replicas_of(run.deployment):
        yield from _scale(run, Resize(run.sets.new, next_size(run.deployment, run.sets)))
    if run.sets is before:
        try:
            yield from _shrink_old(run)
        except ApiError as error:  # what was done is told first
            failure = error
    if run.sets is before and failure is None:
        yield from _forget_if_complete(run)
    yield from _put_progress(run)
    if failure is not None:
        raise failure


def _shrink_old(run: SyncContext) -> Plan:
    unhealthy = without_unhealthy(run.deployment, run.sets)
    if unhealthy is None:
        return
    for resize in unhealthy:
        yield from _scale(run, resize)
    for resize in without_surplus(run.deployment, run.sets):
        yield from _scale(run, resize)


def _recreate(run: SyncContext, busy: frozenset[str]) -> Plan:
    """Take all old pods away, wait until they are gone, then ask for new ones (recreate.go rolloutRecreate)."""
    if active := run.sets.old_active:
        for old in active:
            yield from _scale(run, Resize(old, 0))
    elif not sum_status(run.sets.old, "replicas") and busy.isdisjoint(old["metadata"]["uid"] for old in run.sets.old):
        if run.sets.new is None:
            yield from _make_new(run)
        assert run.sets.new is not None
        yield from _scale(run, Resize(run.sets.new, replicas_of(run.deployment)))
        yield from _forget_if_complete(run)
    yield from _put_progress(run)


def resize(run: SyncContext) -> Plan:
    """Bring ReplicaSets to the size that is asked for, or keep a paused Deployment at it; nothing is rolled (sync)."""
    for resize in resized(run.deployment, run.sets):
        yield from _scale(run, resize, told=True)
    if run.deployment["spec"].get("paused") and history.rollback_revision(run.deployment) is None:
        yield from _forget(run)
    yield from put_counts(run)


def roll_back(run: SyncContext) -> Plan:
    """Put the template of an earlier revision in place of the Deployment's, and take the request away (rollback.go)."""
    yield from keep_revision(run)
    if run.sets.new is None:
        yield from _make_new(run, empty=True)  # it has a revision, and will hardly need pods (upstream starts some)
    deployment = run.deployment
    revision = history.rollback_revision(deployment) or history.last_revision(run.sets.all)
    to = history.with_revision(run.sets.all, revision) if revision else None
    changed = history.without_rollback(deployment)
    if to is None:
        told = "Unable to find the revision to rollback to." if revision else "Unable to find last revision."
        yield RecordEvent(deployment, reason="DeploymentRollbackRevisionNotFound", message=told, type=WARNING)
    elif is_same_template(to["spec"]["template"], deployment["spec"]["template"]):
        told = f'The rollback revision contains the same template as current deployment "{name_of(deployment)}"'
        yield RecordEvent(deployment, reason="DeploymentRollbackTemplateUnchanged", message=told, type=WARNING)
    else:
        yield Update(DEPLOYMENT, history.rolled_back(deployment, to))
        told = f'Rolled back deployment "{name_of(deployment)}" to revision {revision}'
        yield RecordEvent(deployment, reason="DeploymentRollback", message=told)
        return
    yield Update(DEPLOYMENT, changed)


# -- single writes -----------------------------------------------------------------------------------------------------


def _scale(run: SyncContext, resize: Resize, *, told: bool = False) -> Plan:
    """Give a ReplicaSet its size (scaleReplicaSet).

    Args:
        run: the pass.
        resize: the set and its size.
        told: whether a set that has the size already is to be told of the sizes as of now.
    """
    old, before = resize.replica_set, replicas_of(resize.replica_set)
    annotations = annotations_of(old) | history.size_annotations(run.deployment)
    if before == resize.size and (not told or annotations == annotations_of(old)):
        return
    changed = with_annotations(old, annotations) | {"spec": old["spec"] | {"replicas": resize.size}}
    run.sets = run.sets.having((yield Update(REPLICA_SET, changed)))
    if before != resize.size:
        yield _scaled(run, old, before=before, size=resize.size)


def _scaled(run: SyncContext, replica_set: Obj, *, before: int | None, size: int) -> RecordEvent:
    message = scaling_message(name_of(replica_set), before, size, profile=run.profile)
    return RecordEvent(run.deployment, reason="ScalingReplicaSet", message=message)


def _forget_if_complete(run: SyncContext) -> Plan:
    if statuses.is_complete(run.deployment, statuses.status_of(run.deployment)):
        yield from _forget(run)


def _forget(run: SyncContext) -> Plan:
    """Delete old ReplicaSets over revisionHistoryLimit (cleanupDeployment)."""
    for old in history.to_forget(run.deployment, run.sets, by_revision=run.profile.cleanup_by_revision):
        yield from remove(Delete(REPLICA_SET, key_of(old)))


def _put(run: SyncContext, deployment: Obj) -> Plan:
    """Write the status, and with it the annotations, if they are not what they were."""
    if deployment != run.deployment:
        run.deployment = yield Update(DEPLOYMENT, deployment, subresource="status")


def put_counts(run: SyncContext) -> Plan:
    """Write what the ReplicaSets count (syncDeploymentStatus)."""
    status = statuses.status_now(run.deployment, run.sets, run.now, profile=run.profile)
    if status != statuses.status_of(run.deployment):
        yield from _put(run, run.deployment | {"status": status})


def _put_progress(run: SyncContext) -> Plan:
    """Write what the ReplicaSets count and how far the rollout is, or see to it that a standstill is noticed."""
    status = statuses.rollout_status(run.deployment, run.sets, run.now, profile=run.profile)
    if status != statuses.status_of(run.deployment):
        yield from _put(run, run.deployment | {"status": status})
    if (wait := statuses.look_again_in(run.deployment, status, run.now)) is not None:
        yield RequeueAfter(wait)
