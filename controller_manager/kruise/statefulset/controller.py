"""Advanced StatefulSets of OpenKruise: StatefulSets that update many pods at a time, or as they are, and skip ordinals.

(pkg/controller/statefulset) Not among what is here: lifecycle hooks, updates in another order than that of ordinals,
claims that are resized, and images that are pulled before they are needed. Whatever release is asked for, these sets
behave as OpenKruise's newest do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.children import (
    adopters,
    claim_changed,
    claiming_by_name,
    claims_of,
    owners_by_policy,
    plain,
    pods_of,
    revisions_of,
)
from controller_manager.controllers.statefulset.claim_retention import policy_of
from controller_manager.controllers.statefulset.identity import revision_name_of, version_of
from controller_manager.controllers.statefulset.ordinals import Arrangement, arrange
from controller_manager.controllers.statefulset.status import Progress, is_same_status, progress_of
from controller_manager.controllers.statefulset.sync import SyncInput, partition_of
from controller_manager.kruise.invalid_spec import InvalidWorkload, selector_or_fault
from controller_manager.kruise.pod_lifecycle import matters
from controller_manager.kruise.statefulset.pods import Outcome, perform
from controller_manager.kruise.statefulset.reserved_ordinals import usable_ordinals
from controller_manager.kruise.statefulset.spec import (
    WORDS,
    Rollout,
    fault_of,
    growth_of,
    health_of,
    held_back,
    new_and_normal,
    rollout_of,
)
from controller_manager.kruise.statefulset.status import census, status_of, with_conditions
from controller_manager.reconcile.collect_errors import collect_errors
from controller_manager.reconcile.contract import (
    WARNING,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Spec,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.controller_ref import Parent, claim, is_deleting, owner_reference
from controller_manager.reconcile.controller_runtime_metrics import reconciled
from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CLAIM, CONTROLLER_REVISION, POD
from controller_manager.reconcile.pod_triggers import pod_changed
from controller_manager.reconcile.pods import soonest_available
from controller_manager.reconcile.profile import NEWEST
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import History, history_limit, record, template_data, truncate


@dataclass(frozen=True, slots=True)
class Observed:
    """An Advanced StatefulSet and what belongs to it.

    Attributes:
        selector: of its pods and revisions.
        pods: those it owns, and those that it would adopt.
        revisions: likewise.
        claims: the claims of its ordinals, and of its pods', that exist, by name.
    """

    parent: Obj
    selector: LabelSelector
    pods: Sequence[Obj]
    revisions: Sequence[Obj]
    claims: Mapping[str, Obj]


def observe(listers: Listers, key: Key) -> Observed | InvalidWorkload | None:
    """The set of that key and what belongs to it; None where it is gone."""
    parent = listers[ADVANCED_STATEFUL_SET].get(key)
    if parent is None:
        return None
    selector = selector_or_fault(parent, fault_of)
    if isinstance(selector, InvalidWorkload):
        return selector
    pods = pods_of(listers, parent, selector)
    claims = claims_of(listers, parent, pods, wanted=usable_ordinals(parent))
    return Observed(parent, selector, pods, revisions_of(listers, parent, selector), claims)


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed | InvalidWorkload, now: float) -> Plan:
    """Adopt, record what the set is now, make, update or delete pods, tell how many there are, forget old states.

    (statefulset_controller.go Reconcile, stateful_set_control.go UpdateStatefulSet) Of what cannot work it is told, and
    its pods are left alone.

    Raises:
        ApiError: the first that stood in the way; the status was written nevertheless.
    """
    parent = seen.parent
    if isinstance(seen, InvalidWorkload):
        message = f"create Pod in StatefulSet {name_of(parent)} failed error: {seen.why}"
        yield RecordEvent(parent, "FailedCreate", message, WARNING)
        return
    adopter = Parent(ADVANCED_STATEFUL_SET, parent, seen.selector)
    named = claiming_by_name(adopter)
    if is_deleting(parent):
        pods = yield from claim(named, POD, seen.pods)
        yield from _tell(seen, pods, progress=progress_of(parent), failures={}, now=now)
        return
    revisions = yield from claim(adopter, CONTROLLER_REVISION, seen.revisions)
    pods = yield from claim(named, POD, seen.pods)
    history = yield from record(adopter, revisions, data=template_data(parent["spec"]["template"]))
    yield from _sync(seen, pods, history=history, now=now)


def _sync(seen: Observed, pods: Sequence[Obj], *, history: History, now: float) -> Plan:
    parent, rollout, refusals = seen.parent, rollout_of(seen.parent), list[ApiError]()
    outcome = Outcome()
    yield from collect_errors(_perform(seen, pods, rollout, history=history, outcome=outcome, now=now), refusals)
    names = name_of(history.current), name_of(history.update)
    progress = Progress(*names, history.collisions, outcome.former, outcome.newest)
    yield from collect_errors(_tell(seen, pods, progress=progress, failures=outcome.failures, now=now), refusals)
    live = {revision_name_of(pod) for pod in pods}
    yield from collect_errors(truncate(history, live=live, limit=history_limit(parent)), refusals)
    soonest = soonest_available((pod for pod in pods if not is_deleting(pod)), now, minimum=rollout.minimum)
    waits = [wait for wait in (soonest, outcome.wait) if wait is not None]
    if waits:
        yield RequeueAfter(min(waits))
    if refusals:
        raise refusals[0]


def _perform(
    seen: Observed, pods: Sequence[Obj], rollout: Rollout, *, history: History, outcome: Outcome, now: float
) -> Plan:
    try:
        work = _work(seen, pods, rollout, history=history, now=now)
    except ValueError as error:
        raise ApiError(422, "Invalid", str(error)) from None
    yield from perform(work, rollout, history=history, outcome=outcome)


def _work(seen: Observed, pods: Sequence[Obj], rollout: Rollout, *, history: History, now: float) -> SyncInput:
    parent = seen.parent
    wanted, reference = usable_ordinals(parent), owner_reference(ADVANCED_STATEFUL_SET, parent)
    policy = policy_of(parent, NEWEST)
    return SyncInput(
        parent=parent,
        reference=reference,
        pods=arrange(name_of(parent), pods, wanted),
        current=version_of(parent, history.current),
        update=version_of(parent, history.update),
        held=wanted.after(held_back(parent)),
        reach=wanted.after(partition_of(parent)),
        health=health_of(rollout, now),
        claims=seen.claims,
        owners=owners_by_policy(parent, plain(reference), policy=policy, wanted=wanted, controls=False),
        profile=NEWEST,
        growth=growth_of(parent),
        words=WORDS,
        finished=lambda pod: new_and_normal(pod, now),
    )


# -- what is told ------------------------------------------------------------------------------------------------------


def _tell(seen: Observed, pods: Sequence[Obj], *, progress: Progress, failures: Mapping[str, str], now: float) -> Plan:
    """Write the status if it changes (updateStatefulSetStatus)."""
    parent, before = seen.parent, seen.parent.get("status") or {}
    arranged: Arrangement = arrange(name_of(parent), pods, usable_ordinals(parent))
    health = health_of(rollout_of(parent), now)
    found = census(parent, pods, replicas=arranged.replicas, claims=seen.claims, progress=progress, health=health)
    status = status_of(parent, found, progress=progress, selector=str(seen.selector))
    status = with_conditions(status, failures, before=before.get("conditions") or (), now=now)
    if not is_same_status(before, status):
        yield from update(
            ADVANCED_STATEFUL_SET, parent, change=lambda obj: obj | {"status": status}, subresource="status"
        )


SPEC = reconciled(
    Spec(
        name="advancedstatefulset",
        source="statefulset-controller",
        workers=3,
        flag="advancedstatefulset",
        queue="statefulset-controller",
        watches=(
            Watch(ADVANCED_STATEFUL_SET, enqueue_self),
            Watch(POD, pod_changed(ADVANCED_STATEFUL_SET, adopters(ADVANCED_STATEFUL_SET), matters)),
            Watch(CLAIM, claim_changed(ADVANCED_STATEFUL_SET)),
            Watch(CONTROLLER_REVISION),
        ),
        observe=observe,
        reconcile=plan,
    )
)
