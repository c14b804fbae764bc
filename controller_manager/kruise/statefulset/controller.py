"""Advanced StatefulSets of OpenKruise: StatefulSets with parallel and in-place updates, and reserved ordinals.

(pkg/controller/statefulset) Not implemented: lifecycle hooks, updates in another order than that of ordinals, resizing
of claims, and pre-downloading of images. These sets behave like those of the newest release of OpenKruise, whichever
Kubernetes release is configured.
"""

from collections.abc import Mapping, Sequence

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.children import (
    Observed,
    adopters,
    adopting_by_name,
    claim_changed,
    observe_set,
    owners_by_policy,
    without_controller,
)
from controller_manager.controllers.statefulset.claim_retention import policy_of
from controller_manager.controllers.statefulset.identity import revision_name_of, version_of
from controller_manager.controllers.statefulset.ordinals import PodsByOrdinal, group_by_ordinal
from controller_manager.controllers.statefulset.status import Progress, is_same_status, progress_of
from controller_manager.controllers.statefulset.sync import SyncInput, partition_of
from controller_manager.kruise.invalid_spec import InvalidWorkload, selector_or_fault
from controller_manager.kruise.pod_lifecycle import changes_sync
from controller_manager.kruise.statefulset.pods import SyncResult, sync_pods
from controller_manager.kruise.statefulset.reserved_ordinals import usable_ordinals
from controller_manager.kruise.statefulset.spec import (
    MESSAGES,
    Rollout,
    fault_of,
    health_of,
    held_back,
    rollout_of,
    scale_max_unavailable,
    with_normal_state,
)
from controller_manager.kruise.statefulset.status import count_pods_and_claims, status_of, with_conditions
from controller_manager.reconcile.collect_errors import collect_errors
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
from controller_manager.reconcile.controller_runtime_metrics import with_reconcile_metrics
from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CLAIM, CONTROLLER_REVISION, POD
from controller_manager.reconcile.pod_triggers import pod_changed
from controller_manager.reconcile.pods import soonest_available
from controller_manager.reconcile.profile import NEWEST
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import (
    History,
    history_limit,
    sync_revisions,
    template_data,
    truncate_history,
)


def observe(listers: Listers, key: Key) -> Observed | InvalidWorkload | None:
    """Return the set with that key and what belongs to it; None if it is gone."""
    parent = listers[ADVANCED_STATEFUL_SET].get(key)
    if parent is None:
        return None
    selector = selector_or_fault(parent, fault_of)
    if isinstance(selector, InvalidWorkload):
        return selector
    return observe_set(listers, parent, selector, ordinals=usable_ordinals(parent), profile=NEWEST)


# -- acting ------------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed | InvalidWorkload, now: float) -> Plan:
    """Adopt objects, record the revision, create, update or delete pods, write the status, and truncate the history.

    (statefulset_controller.go Reconcile, stateful_set_control.go UpdateStatefulSet) An invalid set gets an Event, and
    its pods are left alone.

    Raises:
        ApiError: the first error; the status was written nevertheless.
    """
    parent = observed.parent
    if isinstance(observed, InvalidWorkload):
        message = f"create Pod in StatefulSet {name_of(parent)} failed error: {observed.why}"
        yield RecordEvent(parent, "FailedCreate", message, WARNING)
        return
    adopter = Parent(ADVANCED_STATEFUL_SET, parent, observed.selector)
    named = adopting_by_name(adopter)
    if is_deleting(parent):
        pods = yield from adopt_and_release(named, POD, observed.pods)
        yield from _write_status(observed, pods, progress=progress_of(parent), failures={}, now=now)
        return
    revisions = yield from adopt_and_release(adopter, CONTROLLER_REVISION, observed.revisions)
    pods = yield from adopt_and_release(named, POD, observed.pods)
    history = yield from sync_revisions(adopter, revisions, data=template_data(parent["spec"]["template"]))
    yield from _sync(observed, pods, history=history, now=now)


def _sync(observed: Observed, pods: Sequence[Obj], *, history: History, now: float) -> Plan:
    parent, rollout, refusals = observed.parent, rollout_of(observed.parent), list[ApiError]()
    outcome = SyncResult()
    yield from collect_errors(_sync_pods(observed, pods, rollout, history=history, outcome=outcome, now=now), refusals)
    names = name_of(history.current), name_of(history.update)
    progress = Progress(*names, history.collisions, outcome.former, outcome.newest)
    yield from collect_errors(
        _write_status(observed, pods, progress=progress, failures=outcome.failures, now=now), refusals
    )
    live = {revision_name_of(pod) for pod in pods}
    yield from collect_errors(truncate_history(history, live=live, limit=history_limit(parent)), refusals)
    soonest = soonest_available((pod for pod in pods if not is_deleting(pod)), now, minimum=rollout.minimum)
    waits = [wait for wait in (soonest, outcome.wait) if wait is not None]
    if waits:
        yield RequeueAfter(min(waits))
    if refusals:
        raise refusals[0]


def _sync_pods(
    observed: Observed, pods: Sequence[Obj], rollout: Rollout, *, history: History, outcome: SyncResult, now: float
) -> Plan:
    try:
        work = _sync_input(observed, pods, rollout, history=history, now=now)
    except ValueError as error:
        raise ApiError(422, "Invalid", str(error)) from None
    yield from sync_pods(work, rollout, history=history, outcome=outcome)


def _sync_input(
    observed: Observed, pods: Sequence[Obj], rollout: Rollout, *, history: History, now: float
) -> SyncInput:
    parent = observed.parent
    ordinals, reference = usable_ordinals(parent), owner_reference(ADVANCED_STATEFUL_SET, parent)
    policy = policy_of(parent, observed.profile)
    return SyncInput(
        parent=parent,
        reference=reference,
        pods=group_by_ordinal(name_of(parent), pods, ordinals),
        current=version_of(parent, history.current),
        update=version_of(parent, history.update),
        held_back=ordinals.at(held_back(parent)),
        reach=ordinals.at(partition_of(parent)),
        health=health_of(rollout, now),
        claims=observed.claims,
        owners=owners_by_policy(
            parent, without_controller(reference), policy=policy, ordinals=ordinals, controls=False
        ),
        profile=observed.profile,
        scale_max_unavailable=scale_max_unavailable(parent),
        messages=MESSAGES,
        finished=lambda pod: with_normal_state(pod, now),
    )


# -- status ------------------------------------------------------------------------------------------------------------


def _write_status(
    observed: Observed, pods: Sequence[Obj], *, progress: Progress, failures: Mapping[str, str], now: float
) -> Plan:
    """Write the status if it changes (updateStatefulSetStatus)."""
    parent, before = observed.parent, observed.parent.get("status") or {}
    arranged: PodsByOrdinal = group_by_ordinal(name_of(parent), pods, usable_ordinals(parent))
    health = health_of(rollout_of(parent), now)
    counted = count_pods_and_claims(
        parent, pods, replicas=arranged.replicas, claims=observed.claims, progress=progress, health=health
    )
    status = status_of(parent, counted, progress=progress, selector=str(observed.selector))
    status = with_conditions(status, failures, before=before.get("conditions") or (), now=now)
    if not is_same_status(before, status):
        yield from update(
            ADVANCED_STATEFUL_SET, parent, change=lambda obj: obj | {"status": status}, subresource="status"
        )


SPEC = with_reconcile_metrics(
    ControllerSpec(
        name="advancedstatefulset",
        account="kruise-manager",
        source="statefulset-controller",
        workers=3,
        flag="advancedstatefulset",
        queue="statefulset-controller",
        watches=(
            Watch(ADVANCED_STATEFUL_SET, enqueue_self),
            Watch(POD, pod_changed(ADVANCED_STATEFUL_SET, adopters(ADVANCED_STATEFUL_SET), changes_sync)),
            Watch(CLAIM, claim_changed(ADVANCED_STATEFUL_SET)),
            Watch(CONTROLLER_REVISION),
        ),
        observe=observe,
        reconcile=reconcile,
    )
)
