"""StatefulSets: pods with stable names, created, updated and deleted in order, each with claims that outlive it."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.selectors import SelectorError, label_selector_of
from controller_manager.controllers.statefulset.children import (
    Observed,
    adopters,
    adopting_by_name,
    claim_changed,
    observe_set,
    owners_by_policy,
)
from controller_manager.controllers.statefulset.claim_retention import policy_of
from controller_manager.controllers.statefulset.identity import revision_name_of, version_of
from controller_manager.controllers.statefulset.metrics import GAUGES
from controller_manager.controllers.statefulset.ordinals import desired_ordinals, group_by_ordinal, health_of
from controller_manager.controllers.statefulset.pods import sync_pods
from controller_manager.controllers.statefulset.status import (
    Progress,
    count_pods,
    is_same_status,
    progress_of,
    status_of,
    with_condition,
)
from controller_manager.controllers.statefulset.sync import SyncInput, held_back, partition_of
from controller_manager.reconcile.collect_errors import collect_errors
from controller_manager.reconcile.conditions import condition_of, phase_of
from controller_manager.reconcile.contract import (
    WARNING,
    ControllerSpec,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.controller_ref import Parent, adopt_and_release, is_deleting, owner_reference
from controller_manager.reconcile.kinds import CLAIM, CONTROLLER_REVISION, POD, STATEFUL_SET
from controller_manager.reconcile.pod_triggers import pod_changed
from controller_manager.reconcile.pods import counts_differently, soonest_available
from controller_manager.reconcile.replicas import REPLICA_FAILURE, ReplicaFailure, replicas_of
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import (
    History,
    history_limit,
    sync_revisions,
    template_data,
    truncate_history,
)


@dataclass(frozen=True, slots=True)
class InvalidSelector:
    """A StatefulSet whose selector cannot be parsed, and the reason."""

    parent: Obj
    why: str


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | InvalidSelector | None:
    """Return the StatefulSet of that key and what belongs to it, or None if it is gone."""
    parent = listers[STATEFUL_SET].get(key)
    if parent is None:
        return None
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return InvalidSelector(parent, str(error))
    ordinals = desired_ordinals(parent, listers.profile)
    return observe_set(listers, parent, selector, ordinals=ordinals, profile=listers.profile)


def _matters(old: Obj, new: Obj) -> bool:
    """Return whether a change of a pod may change the set's actions or counts."""
    return counts_differently(old, new) or phase_of(old) != phase_of(new)


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed | InvalidSelector, now: float) -> Plan:
    """Adopt, record the revision, create, update or delete pods, update the status, delete old revisions.

    (stateful_set.go sync, stateful_set_control.go UpdateStatefulSet)

    Raises:
        ApiError: the first refused write; the status was updated nevertheless.
    """
    parent = observed.parent
    if isinstance(observed, InvalidSelector):
        yield from _report_invalid(parent, ReplicaFailure("InvalidSelector", observed.why), now=now)
        return
    adopter = Parent(STATEFUL_SET, parent, observed.selector)
    parent_by_name = adopting_by_name(adopter)
    if is_deleting(parent):
        pods = yield from adopt_and_release(parent_by_name, POD, observed.pods)
        yield from _update_status(observed, pods, progress=progress_of(parent), now=now)
        return
    revisions = yield from adopt_and_release(adopter, CONTROLLER_REVISION, observed.revisions)
    pods = yield from adopt_and_release(parent_by_name, POD, observed.pods)
    history = yield from sync_revisions(adopter, revisions, data=template_data(parent["spec"]["template"]))
    yield from _sync(observed, pods, history=history, now=now)


def _sync(observed: Observed, pods: Sequence[Obj], *, history: History, now: float) -> Plan:
    parent, refusals = observed.parent, list[ApiError]()
    deleted = yield from collect_errors(sync_pods(_sync_input(observed, pods, history=history, now=now)), refusals)
    progress = Progress(name_of(history.current), name_of(history.update), history.collisions, deleted or 0)
    failure = _failure(parent, pods, refusals=refusals)
    yield from collect_errors(_update_status(observed, pods, progress=progress, now=now, failure=failure), refusals)
    live = {revision_name_of(pod) for pod in pods}
    yield from collect_errors(truncate_history(history, live=live, limit=history_limit(parent)), refusals)
    health = health_of(parent, now, observed.profile)
    wait = soonest_available((pod for pod in pods if not is_deleting(pod)), now, minimum=health.minimum)
    if wait is not None:
        yield RequeueAfter(wait)
    if refusals:
        raise refusals[0]


def _sync_input(observed: Observed, pods: Sequence[Obj], *, history: History, now: float) -> SyncInput:
    parent = observed.parent
    ordinals, reference = desired_ordinals(parent, observed.profile), owner_reference(STATEFUL_SET, parent)
    return SyncInput(
        parent=parent,
        reference=reference,
        pods=group_by_ordinal(name_of(parent), pods, ordinals),
        current=version_of(parent, history.current),
        update=version_of(parent, history.update),
        held_back=ordinals.start + held_back(parent),
        reach=ordinals.start + partition_of(parent),
        health=health_of(parent, now, observed.profile),
        claims=observed.claims,
        owners=owners_by_policy(parent, reference, policy=policy_of(parent, observed.profile), ordinals=ordinals),
        profile=observed.profile,
    )


def _failure(parent: Obj, pods: Sequence[Obj], *, refusals: Sequence[ApiError]) -> ReplicaFailure | None:
    """Return the failure that the set's own spec causes: the server rejects the objects made from it as invalid."""
    invalid = next((error for error in refusals if error.code in (400, 422)), None)
    if invalid is None:
        return None
    missing = len(pods) < replicas_of(parent)
    return ReplicaFailure("FailedCreate" if missing else "FailedUpdate", invalid.message)


# -- status ------------------------------------------------------------------------------------------------------------


def _update_status(
    observed: Observed, pods: Sequence[Obj], *, progress: Progress, now: float, failure: ReplicaFailure | None = None
) -> Plan:
    """Write the status if it changes (updateStatefulSetStatus)."""
    numbers = count_pods(pods, progress, health=health_of(observed.parent, now, observed.profile))
    status = with_condition(
        status_of(observed.parent, numbers, progress=progress, profile=observed.profile), failure, now=now
    )
    if not is_same_status(observed.parent.get("status") or {}, status):
        yield from update(
            STATEFUL_SET, observed.parent, change=lambda obj: obj | {"status": status}, subresource="status"
        )


def _report_invalid(parent: Obj, failure: ReplicaFailure, *, now: float) -> Plan:
    """Report once that the selector cannot be parsed; the pods stay as they are."""
    if condition_of(parent, REPLICA_FAILURE) is None:
        yield RecordEvent(parent, failure.reason, f"Error selecting pods: {failure.message}", WARNING)
        status = with_condition(parent.get("status") or {"replicas": 0}, failure, now=now)
        yield from update(STATEFUL_SET, parent, change=lambda obj: obj | {"status": status}, subresource="status")


SPEC = ControllerSpec(
    name="statefulset",
    account="statefulset-controller",
    watches=(
        Watch(STATEFUL_SET, enqueue_self),
        Watch(POD, pod_changed(STATEFUL_SET, adopters(STATEFUL_SET), _matters)),
        Watch(CLAIM, claim_changed(STATEFUL_SET)),
        Watch(CONTROLLER_REVISION),
    ),
    observe=observe,
    reconcile=reconcile,
    source="statefulset-controller",
    flag="statefulset",
    gauges=GAUGES,
)
