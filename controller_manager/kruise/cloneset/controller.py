"""CloneSets of OpenKruise: equal pods with ids of their own, which may be updated in place.

(pkg/controller/cloneset) Not implemented: lifecycle hooks, priorities and scattering of updates, and pre-downloading of
images.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.identity import version_of
from controller_manager.controllers.statefulset.status import is_same_status
from controller_manager.kruise.cloneset.claims import clean_up_claims
from controller_manager.kruise.cloneset.pods import instance_id
from controller_manager.kruise.cloneset.scale import SyncContext, scale
from controller_manager.kruise.cloneset.spec import Member, Strategy, is_of, members_of, next_available_in, strategy_of
from controller_manager.kruise.cloneset.status import (
    FAILED_SCALE,
    FAILED_UPDATE,
    RevisionState,
    counts,
    progress_deadline_in,
    status_of,
    with_failure,
    with_progress,
)
from controller_manager.kruise.cloneset.update import update_pods
from controller_manager.kruise.invalid_spec import InvalidWorkload, fault_of, selector_or_fault
from controller_manager.kruise.pod_lifecycle import changes_sync
from controller_manager.reconcile.contract import (
    ORPHAN_INDEX,
    OWNER_INDEX,
    WARNING,
    Action,
    Change,
    ControllerSpec,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.controller_ref import (
    Parent,
    adopt_and_release,
    controller_of,
    is_deleting,
    resolve_controller,
)
from controller_manager.reconcile.controller_runtime_metrics import with_reconcile_metrics
from controller_manager.reconcile.kinds import CLAIM, CLONE_SET, CONTROLLER_REVISION, NODE, POD
from controller_manager.reconcile.metric_defs import MetricDef
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import History, sync_revisions, template_data, truncate_history

MIN_INTERVAL = 0.05
"""Seconds between two runs for one set, so that pods that change one after the other are handled together."""

EXPECTATION_LEAKAGE = MetricDef(
    "cloneset_scale_expectation_leakage",
    "CloneSets that went on although what they had made or deleted was not seen in time.",
    ("namespace", "name"),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A CloneSet and the objects that belong to it.

    Attributes:
        pods: all pods that it owns.
        revisions: those that it owns, and those that match its selector and have no owner.
        claims: those that it owns.
        nodes: the labels of nodes by name, if the template has topology spread constraints.
    """

    parent: Obj
    selector: LabelSelector
    pods: Sequence[Obj]
    revisions: Sequence[Obj]
    claims: Sequence[Obj]
    nodes: Mapping[str, Mapping[str, str]]


# -- observing ---------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | InvalidWorkload | None:
    """Return the CloneSet with that key and what belongs to it; None if it is gone."""
    parent = listers[CLONE_SET].get(key)
    if parent is None:
        return None
    selector = selector_or_fault(parent, fault_of)
    if isinstance(selector, InvalidWorkload):
        return selector
    uid = parent["metadata"]["uid"]
    revision_cache = listers[CONTROLLER_REVISION]
    revisions = (
        *revision_cache.by_index(OWNER_INDEX, uid),
        *revision_cache.by_index(ORPHAN_INDEX, namespace_of(parent)),
    )
    spreads = parent["spec"]["template"]["spec"].get("topologySpreadConstraints")
    return Observed(
        parent,
        selector,
        pods=list(listers[POD].by_index(OWNER_INDEX, uid)),
        revisions=[revision for revision in revisions if selector.matches(labels_of(revision))],
        claims=list(listers[CLAIM].by_index(OWNER_INDEX, uid)),
        nodes={name_of(node): labels_of(node) for node in listers[NODE]} if spreads else {},
    )


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of the sets that owned or own a changed pod; pods without an owner are not adopted."""
    old, new = change.old, change.new
    if old is not None and new is not None:
        if old is new or not changes_sync(old, new):
            return ()
        if controller_of(old) != controller_of(new):
            return {*_owners(listers, old), *_owners(listers, new)}
    return _owners(listers, change.obj)


def _owners(listers: Listers, pod: Obj) -> Iterable[Key]:
    owner = resolve_controller(listers, CLONE_SET, pod)
    return () if owner is None else (key_of(owner),)


# -- acting ------------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed | InvalidWorkload, now: float) -> Plan:
    """Release pods that are not the set's, record its revision, scale or else update it, and write its status.

    (cloneset_controller.go doReconcile) An invalid set gets an Event, and its pods are left alone.

    Raises:
        ApiError: the first error; the status was written nevertheless.
    """
    if isinstance(observed, InvalidWorkload):
        yield RecordEvent(observed.parent, "FailedCreate", f"failed to create pod: {observed.why}", WARNING)
        return
    parent, strategy = observed.parent, strategy_of(observed.parent)
    active, inactive = _partition_pods(observed.pods)
    if is_deleting(parent):
        revision_state = _revision_state(parent)
        members = members_of(active, revision_state.update, strategy=strategy, now=now)
        yield from _write_status(
            observed, _status(observed, members, strategy=strategy, revision_state=revision_state, now=now)
        )
        return
    claims: Sequence[Obj] = [claim for claim in observed.claims if not is_deleting(claim)]
    if claims and not strategy.reuses_claims:
        claims = yield from clean_up_claims(parent, claims, active=active, inactive=inactive)
    owner = Parent(CLONE_SET, parent, observed.selector)
    owned = yield from adopt_and_release(owner, POD, active)
    history = yield from sync_revisions(owner, observed.revisions, data=template_data(parent["spec"]["template"]))
    run = SyncContext(
        parent,
        strategy,
        members=members_of(owned, name_of(history.update), strategy=strategy, now=now),
        claims=claims,
        taken=frozenset(map(instance_id, (*observed.pods, *observed.claims))),
        current=version_of(parent, history.current),
        update=version_of(parent, history.update),
        nodes=observed.nodes,
        now=now,
    )
    yield from _sync(observed, run, history)


def _partition_pods(pods: Iterable[Obj]) -> tuple[list[Obj], list[Obj]]:
    """Return active pods, and all others."""
    active, inactive = list[Obj](), list[Obj]()
    for pod in pods:
        (active if is_active(pod) else inactive).append(pod)
    return active, inactive


def _sync(observed: Observed, run: SyncContext, history: History) -> Plan:
    revision_state = RevisionState(name_of(history.current), name_of(history.update), history.collisions)
    status = _status(observed, run.members, strategy=run.strategy, revision_state=revision_state, now=run.now)
    scaled, wait, failure = (yield from scale(run)), None, None
    if not scaled.changed:
        try:
            wait = yield from update_pods(run, history)
        except ApiError as error:
            failure = error
    if scaled.refusal:
        status = with_failure(status, FAILED_SCALE, scaled.refusal.message, run.now)
    if failure:
        status = with_failure(status, FAILED_UPDATE, failure.message, run.now)
    parent = yield from _write_status(observed, status)
    yield from _truncate_pods_to_delete(parent, run)
    yield from _truncate_history(run, history)
    waits = (
        wait,
        next_available_in(run.members, run.now, minimum=run.strategy.minimum),
        progress_deadline_in(parent, status, run.now),
    )
    if (next_run := min((delay for delay in waits if delay is not None), default=None)) is not None:
        yield RequeueAfter(next_run)
    if refusal := scaled.refusal or failure:
        raise refusal


def _truncate_pods_to_delete(parent: Obj, run: SyncContext) -> Plan:
    """Remove names of pods that are gone from scaleStrategy.podsToDelete (truncatePodsToDelete)."""
    living = {member.name for member in run.members}
    if run.strategy.named <= living:
        return

    def forgetful(current: Obj) -> Obj:
        scaling = current["spec"].get("scaleStrategy") or {}
        names = [name for name in scaling.get("podsToDelete") or () if name in living]
        return current | {"spec": current["spec"] | {"scaleStrategy": scaling | {"podsToDelete": names}}}

    yield from update(CLONE_SET, parent, change=forgetful)


def _truncate_history(run: SyncContext, history: History) -> Plan:
    """Delete the oldest revisions beyond the limit that have no pods (truncateHistory)."""
    limit = run.parent["spec"].get("revisionHistoryLimit")
    names = [name_of(revision) for revision in history.revisions]
    live = {name for name in names if any(is_of(member.pod, name) for member in run.members)}
    yield from truncate_history(history, live=live, limit=10 if limit is None else limit)


# -- status ------------------------------------------------------------------------------------------------------------


def _revision_state(parent: Obj) -> RevisionState:
    """Return the revisions and collision count in the set's status."""
    status = parent.get("status") or {}
    current, latest = status.get("currentRevision") or "", status.get("updateRevision") or ""
    return RevisionState(current, latest, status.get("collisionCount") or 0)


def _status(
    observed: Observed, members: Sequence[Member], *, strategy: Strategy, revision_state: RevisionState, now: float
) -> Obj:
    status = status_of(
        observed.parent,
        counts(members),
        strategy=strategy,
        revision_state=revision_state,
        selector=str(observed.selector),
    )
    return with_progress(observed.parent, status, strategy=strategy, now=now)


def _write_status(observed: Observed, status: Obj) -> Generator[Action, Any, Obj]:
    """Write the status if it changes; return the set as it is then (UpdateCloneSetStatus)."""
    if is_same_status(observed.parent.get("status") or {}, status):
        return observed.parent
    change = {"status": status}
    return (
        yield from update(CLONE_SET, observed.parent, change=lambda current: current | change, subresource="status")
    )


SPEC = with_reconcile_metrics(
    ControllerSpec(
        name="cloneset",
        account="kruise-manager",
        source="cloneset-controller",
        workers=3,
        flag="cloneset",
        min_interval=MIN_INTERVAL,
        queue="cloneset-controller",
        watches=(
            Watch(CLONE_SET, enqueue_self),
            Watch(POD, pod_changed),
            Watch(CLAIM),
            Watch(CONTROLLER_REVISION),
            Watch(NODE),
        ),
        observe=observe,
        reconcile=reconcile,
        metrics=(EXPECTATION_LEAKAGE,),
        expectation_timeouts=EXPECTATION_LEAKAGE,
    )
)
