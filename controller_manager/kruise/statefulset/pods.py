"""The actions on an Advanced StatefulSet's pods: those of a StatefulSet, and its own updates.

(pkg/controller/statefulset/stateful_set_control.go)
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.identity import revision_name_of
from controller_manager.controllers.statefulset.ordinals import Replica
from controller_manager.controllers.statefulset.pods import (
    create_missing_claims,
    create_pods,
    delete_condemned,
    delete_pods,
    repair_pods,
)
from controller_manager.controllers.statefulset.sync import SyncInput, actions_for_desired, max_unavailable
from controller_manager.kruise.in_place_update import RefreshResult, UpdateContext, begin_update, refresh_pods
from controller_manager.kruise.pod_lifecycle import IN_PLACE, IN_PLACE_ONLY, lifecycle_of
from controller_manager.kruise.statefulset.spec import (
    Rollout,
    can_be_updated,
    is_of,
    pods_to_update,
    with_updating_state,
)
from controller_manager.kruise.statefulset.status import FAILED_CREATE, FAILED_UPDATE
from controller_manager.reconcile.contract import Action, Plan
from controller_manager.reconcile.in_place import UpdateSpec, spec_between
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.revisions import History


@dataclass(slots=True)
class SyncResult:
    """The result of a sync.

    Attributes:
        former: how many pods of the current revision were deleted or updated.
        newest: how many pods of the update revision were deleted because a label requests it.
        failures: condition type → error message.
        wait: seconds until a grace period is over, None if there is none.
    """

    former: int = 0
    newest: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    wait: float | None = None

    def count(self, work: SyncInput, given_up: Iterable[Replica]) -> None:
        """Count pods that were deleted or are being updated."""
        for replica in given_up:
            revision = revision_name_of(replica.created)
            self.former += revision == work.current.name
            self.newest += revision == work.update.name != work.current.name


def sync_pods(work: SyncInput, rollout: Rollout, *, history: History, outcome: SyncResult) -> Plan:
    """Sync the pods: go on with in-place updates, then proceed like a StatefulSet (updateStatefulSet).

    Args:
        work: the set and its pods.
        rollout: how the set updates pods.
        history: the set's revisions.
        outcome: receives the results.

    Raises:
        ApiError: a request was refused; nothing after it was done.
    """
    refreshed = yield from _continue_updates(work)
    outcome.wait = refreshed.wait
    needs = actions_for_desired(work)
    yield from _with_failure(repair_pods(work, needs.repair), outcome, FAILED_UPDATE)
    yield from create_missing_claims(work, needs.create_claims)
    yield from delete_pods(work, needs.delete)
    yield from _with_failure(create_pods(work, needs.create), outcome, FAILED_CREATE)
    if not needs.proceed or not (yield from delete_condemned(work)):
        return
    if not (refreshed.changed or work.on_delete or rollout.paused):
        yield from _update_pods(work, rollout, history=history, outcome=outcome)


def _continue_updates(work: SyncInput) -> Generator[Action, Any, RefreshResult]:
    """Change pods after their grace period, open gates, and end updates (refreshPodState)."""
    replicas = (*work.pods.replicas, *work.pods.condemned)
    pods = [replica.pod for replica in replicas if replica.pod is not None and is_active(replica.pod)]
    return (yield from refresh_pods(pods, UpdateContext(work.health.now, is_of)))


_VERBS = {FAILED_CREATE: "create", FAILED_UPDATE: "update"}


def _with_failure(actions: Plan, outcome: SyncResult, type_: str) -> Plan:
    """Run a plan; if a request is refused, note it for a condition."""
    try:
        yield from actions
    except ApiError as error:
        outcome.failures[type_] = f"StatefulPodControl failed to {_VERBS[type_]} Pod error: {error.message}"
        raise


# -- updates -----------------------------------------------------------------------------------------------------------


def _update_pods(work: SyncInput, rollout: Rollout, *, history: History, outcome: SyncResult) -> Plan:
    """Delete pods as labels request, and update outdated ones, within the budget."""
    try:
        budget = max_unavailable(work.parent)
    except ValueError as error:
        raise ApiError(422, "Invalid", str(error)) from None
    chosen = pods_to_update(work, budget)
    yield from delete_pods(work, chosen.specified)
    outcome.count(work, chosen.specified)
    replaced = []
    for replica in chosen.outdated:
        spec = _in_place_change(replica.created, rollout, history)
        if spec is None:
            replaced.append(replica)
            continue
        yield from _begin_update(work, replica.created, spec)
        outcome.count(work, (replica,))
        if spec.grace > 0:
            outcome.wait = min(outcome.wait or spec.grace, spec.grace)
    yield from delete_pods(work, replaced)
    outcome.count(work, replaced)


def _in_place_change(pod: Obj, rollout: Rollout, history: History) -> UpdateSpec | None:
    """Return the in-place changes that update a pod, None if the pod is to be replaced (inPlaceUpdatePod).

    Raises:
        ApiError: it must not be replaced, and cannot be updated in place, or not now.
    """
    if rollout.policy not in (IN_PLACE, IN_PLACE_ONLY):
        return None
    current = next((revision for revision in history.revisions if is_of(pod, name_of(revision))), None)
    spec = spec_between(current, history.update, grace=rollout.grace)
    if spec is None and rollout.policy == IN_PLACE_ONLY:
        message = f"find strategy is InPlaceOnly but Pod {name_of(pod)} can not update in-place"
        raise ApiError(422, "Invalid", message)
    if spec is not None and not can_be_updated(pod):
        message = f"not allowed to in-place update pod {name_of(pod)} in state {lifecycle_of(pod)}"
        raise ApiError(422, "Invalid", message)
    return spec


def _begin_update(work: SyncInput, pod: Obj, spec: UpdateSpec) -> Plan:
    now = work.health.now
    yield from begin_update(
        work.parent, pod, spec, mark=lambda current: with_updating_state(current, spec.revision, now), now=now
    )
