"""One sync of a Deployment: create, resize and delete ReplicaSets, and update the status."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of, namespace_of
from controller_manager.controllers.deployment.history import (
    annotations_for_new,
    is_resized,
    last_revision,
    next_revision,
    rollback_revision,
    sets_to_clean_up,
    size_annotations,
    with_annotations,
    with_revision,
    with_revision_of,
    with_template_of,
    without_rollback,
)
from controller_manager.controllers.deployment.proportional_scaling import scaled_sizes
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, Resize, sum_status
from controller_manager.controllers.deployment.rolling import (
    RECREATE,
    clean_up_unhealthy,
    new_replica_set_size,
    next_size,
    scale_down_available,
    strategy_of,
)
from controller_manager.controllers.deployment.status import (
    CREATED,
    FAILED_CREATE,
    FOUND,
    calculate_status,
    has_deadline,
    is_complete,
    progress_check_in,
    progress_of,
    rollout_status,
    status_of,
    with_collision,
    with_pause_condition,
    with_progress,
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
from controller_manager.reconcile.deletion import delete_if_exists
from controller_manager.reconcile.kinds import DEPLOYMENT, REPLICA_SET
from controller_manager.reconcile.pod_templates import is_same_template, selector_with_hash, template_hash, with_hash
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import replicas_of

_MAX_NAME_LENGTH = 253


@dataclass(slots=True)
class SyncContext:
    """One sync of a Deployment: it and its ReplicaSets as the server returned them last."""

    deployment: Obj
    sets: ReplicaSets
    now: float
    profile: Profile


def roll_out(context: SyncContext, sets_with_running_pods: frozenset[str]) -> Plan:
    """Take the rollout one step further, or first give every ReplicaSet its share of a new size.

    Args:
        context: the sync.
        sets_with_running_pods: the uids of ReplicaSets with pods that have not ended; only needed if the strategy is
            Recreate.

    Raises:
        ApiError: a write was refused.
    """
    yield from sync_new_replica_set(context)
    if is_resized(context.deployment, context.sets):
        yield from scale(context)
        return
    if strategy_of(context.deployment) == RECREATE:
        yield from _roll_out_recreate(context, sets_with_running_pods)
    else:
        yield from _roll_out_rolling(context)


# -- the new ReplicaSet ------------------------------------------------------------------------------------------------


def record_pause(context: SyncContext) -> Plan:
    """Record in the status that the Deployment was paused or resumed."""
    yield from _write_status(context, with_pause_condition(context.deployment, context.now))


def sync_new_replica_set(context: SyncContext) -> Plan:
    """Bring the new ReplicaSet up to date, and the Deployment's revision and progress (getNewReplicaSet)."""
    if (new := context.sets.new) is None:
        return
    revision = next_revision(context.sets.old)
    annotations = annotations_for_new(context.deployment, new, revision)
    min_ready_seconds = context.deployment["spec"].get("minReadySeconds", 0)
    spec = new["spec"]
    if min_ready_seconds != spec.get("minReadySeconds", 0):
        spec = spec | {"minReadySeconds": min_ready_seconds}
    if annotations != annotations_of(new) or spec is not new["spec"]:
        new = yield Update(REPLICA_SET, with_annotations(new, annotations) | {"spec": spec})
        context.sets = context.sets.with_updated(new)
    deployment = with_revision_of(context.deployment, new)
    if has_deadline(deployment) and progress_of(deployment) is None:
        message = f'Found new replica set "{name_of(new)}"'
        deployment = with_progress(deployment, TRUE, context.now, reason=FOUND, message=message)
    yield from _write_status(context, deployment)


def _create_new_set(context: SyncContext, *, empty: bool = False) -> Plan:
    """Create the ReplicaSet of the Deployment's template, unless it exists already and the cache was behind."""
    deployment = context.deployment
    replica_set = new_replica_set(deployment, context.sets, owner_reference(DEPLOYMENT, deployment), empty=empty)
    try:
        new = yield Create(REPLICA_SET, replica_set)
    except ApiError as error:
        new = yield from _handle_create_error(context, replica_set, error)
        deployment = with_revision_of(deployment, new)
    else:
        if size := replicas_of(new):
            yield _scaling_event(context, new, before=None, size=size)
        deployment = with_revision_of(deployment, new)
        if has_deadline(deployment):
            message = f'Created new replica set "{name_of(new)}"'
            deployment = with_progress(deployment, TRUE, context.now, reason=CREATED, message=message)
    context.sets = ReplicaSets(new, context.sets.old)
    yield from _write_status(context, deployment)


def _handle_create_error(context: SyncContext, desired: Obj, error: ApiError) -> Generator[Action, Any, Obj]:
    """Return the existing ReplicaSet of the name if it is the desired one; raise the error otherwise."""
    if error.reason == "AlreadyExists":
        existing: Obj = yield Get(REPLICA_SET, key_of(desired))
        owner, template = controller_of(existing), context.deployment["spec"]["template"]
        is_ours = owner is not None and owner["uid"] == context.deployment["metadata"]["uid"]
        if is_ours and is_same_template(existing["spec"]["template"], template):
            return existing
        yield from _write_status(context, with_collision(context.deployment))
    elif not is_namespace_terminating(error):
        message = f'Failed to create new replica set "{name_of(desired)}": {error.message}'
        yield RecordEvent(context.deployment, reason=FAILED_CREATE, message=message, type=WARNING)
        if has_deadline(context.deployment):
            failed = with_progress(context.deployment, FALSE, context.now, reason=FAILED_CREATE, message=message)
            yield from _write_status(context, failed)
    raise error


# -- strategies --------------------------------------------------------------------------------------------------------


def _roll_out_rolling(context: SyncContext) -> Plan:
    """Scale up the new ReplicaSet or scale down old ones, as far as possible now (rolling.go rolloutRolling)."""
    if context.sets.new is None:
        yield from _create_new_set(context)
    assert context.sets.new is not None
    before = context.sets
    failure: ApiError | None = None
    if replicas_of(context.sets.new) != replicas_of(context.deployment):
        yield from _scale_set(context, Resize(context.sets.new, next_size(context.deployment, context.sets)))
    if context.sets is before:
        try:
            yield from _scale_down_old(context)
        except ApiError as error:  # first record in the status what was done
            failure = error
    if context.sets is before and failure is None:
        yield from _clean_up_if_complete(context)
    yield from _update_progress(context)
    if failure is not None:
        raise failure


def _scale_down_old(context: SyncContext) -> Plan:
    cuts = clean_up_unhealthy(context.deployment, context.sets)
    if cuts is None:
        return
    for resize in cuts:
        yield from _scale_set(context, resize)
    for resize in scale_down_available(context.deployment, context.sets):
        yield from _scale_set(context, resize)


def _roll_out_recreate(context: SyncContext, sets_with_running_pods: frozenset[str]) -> Plan:
    """Scale old ReplicaSets to zero, wait until their pods are gone, then create new ones (recreate.go)."""
    if active := context.sets.old_active:
        for old in active:
            yield from _scale_set(context, Resize(old, 0))
    elif not sum_status(context.sets.old, "replicas") and sets_with_running_pods.isdisjoint(
        old["metadata"]["uid"] for old in context.sets.old
    ):
        if context.sets.new is None:
            yield from _create_new_set(context)
        assert context.sets.new is not None
        yield from _scale_set(context, Resize(context.sets.new, replicas_of(context.deployment)))
        yield from _clean_up_if_complete(context)
    yield from _update_progress(context)


def scale(context: SyncContext) -> Plan:
    """Scale ReplicaSets to the desired size, or keep a paused Deployment at it, without a rollout (sync)."""
    for resize in scaled_sizes(context.deployment, context.sets):
        yield from _scale_set(context, resize, annotate=True)
    if context.deployment["spec"].get("paused") and rollback_revision(context.deployment) is None:
        yield from _clean_up(context)
    yield from sync_status(context)


def roll_back(context: SyncContext) -> Plan:
    """Replace the Deployment's template by that of an earlier revision, and clear the request (rollback.go)."""
    yield from sync_new_replica_set(context)
    if context.sets.new is None:
        yield from _create_new_set(context, empty=True)  # it is kept for its revision; upstream starts pods
    deployment = context.deployment
    revision = rollback_revision(deployment) or last_revision(context.sets.all)
    target_set = with_revision(context.sets.all, revision) if revision else None
    without_request = without_rollback(deployment)
    if target_set is None:
        message = "Unable to find the revision to rollback to." if revision else "Unable to find last revision."
        yield RecordEvent(deployment, reason="DeploymentRollbackRevisionNotFound", message=message, type=WARNING)
    elif is_same_template(target_set["spec"]["template"], deployment["spec"]["template"]):
        message = f'The rollback revision contains the same template as current deployment "{name_of(deployment)}"'
        yield RecordEvent(deployment, reason="DeploymentRollbackTemplateUnchanged", message=message, type=WARNING)
    else:
        yield Update(DEPLOYMENT, with_template_of(deployment, target_set))
        message = f'Rolled back deployment "{name_of(deployment)}" to revision {revision}'
        yield RecordEvent(deployment, reason="DeploymentRollback", message=message)
        return
    yield Update(DEPLOYMENT, without_request)


# -- single writes -----------------------------------------------------------------------------------------------------


def _scale_set(context: SyncContext, resize: Resize, *, annotate: bool = False) -> Plan:
    """Set the size of a ReplicaSet (scaleReplicaSet).

    Args:
        context: the sync.
        resize: the ReplicaSet and its size.
        annotate: True to update the size annotations even if the set has the size already.
    """
    old, before = resize.replica_set, replicas_of(resize.replica_set)
    annotations = annotations_of(old) | size_annotations(context.deployment)
    if before == resize.size and (not annotate or annotations == annotations_of(old)):
        return
    changed = with_annotations(old, annotations) | {"spec": old["spec"] | {"replicas": resize.size}}
    context.sets = context.sets.with_updated((yield Update(REPLICA_SET, changed)))
    if before != resize.size:
        yield _scaling_event(context, old, before=before, size=resize.size)


def _scaling_event(context: SyncContext, replica_set: Obj, *, before: int | None, size: int) -> RecordEvent:
    message = scaling_message(name_of(replica_set), before, size, profile=context.profile)
    return RecordEvent(context.deployment, reason="ScalingReplicaSet", message=message)


def _clean_up_if_complete(context: SyncContext) -> Plan:
    if is_complete(context.deployment, status_of(context.deployment)):
        yield from _clean_up(context)


def _clean_up(context: SyncContext) -> Plan:
    """Delete old ReplicaSets over revisionHistoryLimit (cleanupDeployment)."""
    for old in sets_to_clean_up(context.deployment, context.sets, by_revision=context.profile.cleanup_by_revision):
        yield from delete_if_exists(Delete(REPLICA_SET, key_of(old)))


def _write_status(context: SyncContext, deployment: Obj) -> Plan:
    """Write the status, and with it the annotations, if the Deployment has changed."""
    if deployment != context.deployment:
        context.deployment = yield Update(DEPLOYMENT, deployment, subresource="status")


def sync_status(context: SyncContext) -> Plan:
    """Write the status calculated from the ReplicaSets (syncDeploymentStatus)."""
    status = calculate_status(context.deployment, context.sets, context.now, profile=context.profile)
    if status != status_of(context.deployment):
        yield from _write_status(context, context.deployment | {"status": status})


def _update_progress(context: SyncContext) -> Plan:
    """Write the status and the progress of the rollout, or requeue so that a timeout is noticed."""
    status = rollout_status(context.deployment, context.sets, context.now, profile=context.profile)
    if status != status_of(context.deployment):
        yield from _write_status(context, context.deployment | {"status": status})
    if (wait := progress_check_in(context.deployment, status, context.now)) is not None:
        yield RequeueAfter(wait)


# -- the new ReplicaSet as an object, and the message about its size ---------------------------------------------------


def new_replica_set(deployment: Obj, sets: ReplicaSets, reference: Obj, *, empty: bool = False) -> Obj:
    """Return the ReplicaSet to create for a Deployment's template (sync.go getNewReplicaSet).

    Args:
        deployment: the Deployment that provides the template.
        sets: the ReplicaSets that it has; there is no new one among them.
        reference: the owner reference to the Deployment.
        empty: True to start without pods, False with as many as the strategy allows.
    """
    spec = deployment["spec"]
    hash_ = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    template = with_hash(spec["template"], hash_)
    replica_set: Obj = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set_name(name_of(deployment), hash_),
            "namespace": namespace_of(deployment),
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": 0 if empty else new_replica_set_size(deployment, sets),
            "selector": selector_with_hash(spec.get("selector") or {}, hash_),
            "template": template,
        },
    }
    if min_ready_seconds := spec.get("minReadySeconds"):
        replica_set["spec"]["minReadySeconds"] = min_ready_seconds
    annotations = annotations_for_new(deployment, replica_set, next_revision(sets.old))
    replica_set["metadata"]["annotations"] = annotations | size_annotations(deployment)
    return replica_set


def replica_set_name(deployment: str, hash_: str) -> str:
    """Return the Deployment's name, shortened if need be, and the hash (generateReplicaSetName)."""
    return f"{deployment[: _MAX_NAME_LENGTH - 1 - len(hash_)]}-{hash_}"


def scaling_message(name: str, before: int | None, size: int, *, profile: Profile) -> str:
    """Return the message of the event ScalingReplicaSet.

    Args:
        name: the ReplicaSet's name.
        before: its former size, or None if it was created just now.
        size: the size that it has now.
        profile: selects the wording of the Kubernetes release.
    """
    verb = "down" if before is not None and size < before else "up"
    if profile.scale_from_to:
        return f"Scaled {verb} replica set {name} from {before or 0} to {size}"
    if profile.scale_from and before is not None:
        return f"Scaled {verb} replica set {name} to {size} from {before}"
    return f"Scaled {verb} replica set {name} to {size}"
